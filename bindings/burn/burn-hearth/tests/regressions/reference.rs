//! Tensors in plain memory, and how those of Hearth compare with them.

use burn_backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_backend::{DType, Slice, TensorData, TensorMetadata, read_sync};
use burn_hearth::{Hearth, HearthDevice, HearthTensor};

#[derive(Clone, Debug, PartialEq)]
pub struct Grid<T = f64> {
    pub shape: Vec<usize>,
    pub values: Vec<T>,
}

/// All indices of a shape, in row-major order.
pub fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for extent in shape {
        all = all
            .iter()
            .flat_map(|index| (0..*extent).map(|i| [index.as_slice(), &[i]].concat()))
            .collect();
    }
    all
}

impl<T: Copy> Grid<T> {
    pub fn new(shape: &[usize], value: impl FnMut(&[usize]) -> T) -> Self {
        let mut value = value;
        Self {
            shape: shape.to_vec(),
            values: indices(shape).iter().map(|index| value(index)).collect(),
        }
    }

    fn place(&self, index: &[usize]) -> usize {
        assert_eq!(index.len(), self.shape.len());
        let steps = index.iter().zip(&self.shape);
        steps.fold(0, |place, (i, extent)| {
            assert!(i < extent, "{index:?} of {:?}", self.shape);
            place * extent + i
        })
    }

    pub fn at(&self, index: &[usize]) -> T {
        self.values[self.place(index)]
    }

    pub fn at_mut(&mut self, index: &[usize]) -> &mut T {
        let place = self.place(index);
        &mut self.values[place]
    }

    /// The values along an axis at an index of the other axes, whose own there is not read.
    pub fn row(&self, index: &[usize], axis: usize) -> Vec<T> {
        (0..self.shape[axis])
            .map(|i| self.at(&with(index, axis, i)))
            .collect()
    }
}

pub fn with(index: &[usize], axis: usize, i: usize) -> Vec<usize> {
    let mut changed = index.to_vec();
    changed[axis] = i;
    changed
}

/// Values in -1..1 that follow no order.
pub fn scattered(shape: &[usize], seed: usize) -> Grid {
    let mut state = seed as u64;
    Grid::new(shape, |_| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f64 / (1u64 << 23) as f64 - 1.0
    })
}

/// Integers below a limit that follow no order.
pub fn picks(shape: &[usize], limit: usize, seed: usize) -> Grid<i64> {
    let values = scattered(shape, seed).values;
    Grid {
        shape: shape.to_vec(),
        values: values
            .iter()
            .map(|value| ((value + 1.0) / 2.0 * limit as f64) as i64)
            .collect(),
    }
}

const CPU: HearthDevice = HearthDevice::Cpu;

pub fn floats(grid: &Grid) -> HearthTensor {
    Hearth::float_from_data(
        TensorData::new(grid.values.clone(), grid.shape.clone()),
        &CPU,
    )
}

pub fn ints(grid: &Grid<i64>) -> HearthTensor {
    Hearth::int_from_data(
        TensorData::new(grid.values.clone(), grid.shape.clone()),
        &CPU,
    )
}

pub fn bools(grid: &Grid<bool>) -> HearthTensor {
    Hearth::bool_from_data(
        TensorData::new(grid.values.clone(), grid.shape.clone()),
        &CPU,
    )
}

/// The same elements in memory as they come, behind swapped axes, and behind negative steps.
pub fn layouts(grid: &Grid) -> Vec<HearthTensor> {
    let last = grid.shape.len() - 1;
    let mut swapped_shape = grid.shape.clone();
    swapped_shape.swap(0, last);
    let swapped = Grid::new(&swapped_shape, |index| {
        let mut index = index.to_vec();
        index.swap(0, last);
        grid.at(&index)
    });
    // Twice as many along the last axis, from its end.
    let extent = grid.shape[last];
    let backward = Grid::new(&with(&grid.shape, last, 2 * extent), |index| {
        let i = 2 * extent - 1 - index[last];
        if i % 2 == 0 {
            grid.at(&with(index, last, i / 2))
        } else {
            1e9
        }
    });
    let mut slices = vec![Slice::full(); last];
    slices.push(Slice::new(0, None, -2));
    vec![
        floats(grid),
        Hearth::float_swap_dims(floats(&swapped), 0, last),
        Hearth::float_slice(floats(&backward), &slices),
    ]
}

pub fn values_of(tensor: HearthTensor) -> Grid {
    let shape = tensor.shape().to_vec();
    let data = read_sync(Hearth::float_into_data(tensor)).unwrap();
    let values = data.convert_dtype(DType::F64).into_vec().unwrap();
    Grid { shape, values }
}

pub fn ints_of(tensor: HearthTensor) -> Grid<i64> {
    let shape = tensor.shape().to_vec();
    let data = read_sync(Hearth::int_into_data(tensor)).unwrap();
    let values = data.convert_dtype(DType::I64).into_vec().unwrap();
    Grid { shape, values }
}

pub fn bools_of(tensor: HearthTensor) -> Grid<bool> {
    let shape = tensor.shape().to_vec();
    let values = read_sync(Hearth::bool_into_data(tensor))
        .unwrap()
        .into_vec()
        .unwrap();
    Grid { shape, values }
}

/// NaN is close to nothing.
#[track_caller]
pub fn assert_close(tensor: HearthTensor, expected: &Grid, tolerance: f64) {
    let got = values_of(tensor);
    assert_eq!(got.shape, expected.shape);
    for (i, (got, expected)) in got.values.iter().zip(&expected.values).enumerate() {
        let distance = (got - expected).abs();
        assert!(
            distance <= tolerance,
            "element {i}: got {got}, expected {expected}"
        );
    }
}

/// `gradient` is that of sum(f(x) * weights) in x, as differences of f say.
#[track_caller]
pub fn assert_gradient(
    gradient: HearthTensor,
    x: &Grid,
    weights: &Grid,
    f: impl Fn(HearthTensor) -> HearthTensor,
) {
    const STEP: f64 = 1e-5;
    let loss = |x: &Grid| -> f64 {
        let result = values_of(f(floats(x)));
        assert_eq!(result.shape, weights.shape);
        result
            .values
            .iter()
            .zip(&weights.values)
            .map(|(y, w)| y * w)
            .sum()
    };
    let moved = |i: usize, by: f64| {
        let mut x = x.clone();
        x.values[i] += by;
        loss(&x)
    };
    let mut expected = x.clone();
    for (i, value) in expected.values.iter_mut().enumerate() {
        *value = (moved(i, STEP) - moved(i, -STEP)) / (2.0 * STEP);
    }
    assert!(expected.values.iter().any(|value| value.abs() > 1e-3));
    assert_close(gradient, &expected, 1e-7);
}
