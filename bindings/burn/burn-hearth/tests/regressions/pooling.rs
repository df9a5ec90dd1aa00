//! Windows: what they cover, and where their gradients go.

use burn_backend::ops::ModuleOps;
use burn_hearth::Hearth;

use crate::reference::*;

/// Size, kernel, stride and padding along one axis, where no window is empty.
const AXES: [[usize; 4]; 4] = [[7, 3, 2, 1], [6, 3, 2, 0], [5, 3, 1, 1], [8, 4, 3, 2]];

/// How many windows there are.
fn windows([size, kernel, stride, padding]: [usize; 4], ceil: bool) -> usize {
    let room = size + 2 * padding - kernel;
    1 + if ceil {
        room.div_ceil(stride)
    } else {
        room / stride
    }
}

/// The elements that window `o` covers.
fn covered([size, kernel, stride, padding]: [usize; 4], o: usize) -> std::ops::Range<usize> {
    let first = o * stride;
    first.saturating_sub(padding)..(first + kernel).saturating_sub(padding).min(size)
}

/// `f` of the elements of each window of an image.
fn pool(x: &Grid, axes: [[usize; 4]; 2], ceil: bool, f: impl Fn(&[f64]) -> f64) -> Grid {
    let [rows, columns] = axes.map(|axis| windows(axis, ceil));
    Grid::new(&[x.shape[0], x.shape[1], rows, columns], |o| {
        let mut elements = Vec::new();
        for row in covered(axes[0], o[2]) {
            elements.extend(covered(axes[1], o[3]).map(|column| x.at(&[o[0], o[1], row, column])));
        }
        f(&elements)
    })
}

fn cases() -> Vec<(Grid, [[usize; 4]; 2])> {
    let pairs = [[0, 1], [1, 2], [2, 3], [3, 0]];
    let case = |[rows, columns]: [usize; 2]| {
        let axes = [AXES[rows], AXES[columns]];
        (scattered(&[2, 3, axes[0][0], axes[1][0]], rows + 1), axes)
    };
    pairs.map(case).to_vec()
}

fn parts(axes: [[usize; 4]; 2]) -> [[usize; 2]; 3] {
    [1, 2, 3].map(|part| axes.map(|axis| axis[part]))
}

/// A last window that reaches beyond the input was left out.
#[test]
fn pools_round_up_where_asked() {
    for (x, axes) in cases() {
        let [kernel, stride, padding] = parts(axes);
        for ceil in [false, true] {
            let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
            let largest = |all: &[f64]| all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let (means, maxima) = (pool(&x, axes, ceil, mean), pool(&x, axes, ceil, largest));
            for x in layouts(&x) {
                let got = Hearth::avg_pool2d(x.clone(), kernel, stride, padding, false, ceil);
                assert_close(got, &means, 1e-13);
                let got = Hearth::max_pool2d(x.clone(), kernel, stride, padding, [1, 1], ceil);
                assert_close(got, &maxima, 0.0);
            }
            let grad = scattered(&means.shape, 5);
            let got = Hearth::avg_pool2d_backward(
                floats(&x),
                floats(&grad),
                kernel,
                stride,
                padding,
                false,
                ceil,
            );
            assert_gradient(got, &x, &grad, |x| {
                Hearth::avg_pool2d(x, kernel, stride, padding, false, ceil)
            });
        }
    }
}

/// The way back from indices was never tried.
#[test]
fn gradients_of_max_pools_go_to_the_largest() {
    for (x, axes) in cases() {
        let [kernel, stride, padding] = parts(axes);
        let both =
            Hearth::max_pool2d_with_indices(floats(&x), kernel, stride, padding, [1, 1], true);
        let maxima = values_of(both.output);
        let places = ints_of(both.indices.clone());
        for index in indices(&maxima.shape) {
            let place = places.at(&index) as usize;
            let (row, column) = (place / x.shape[3], place % x.shape[3]);
            assert_eq!(x.at(&[index[0], index[1], row, column]), maxima.at(&index));
        }
        let grad = scattered(&maxima.shape, 6);
        let got = Hearth::max_pool2d_with_indices_backward(
            floats(&x),
            kernel,
            stride,
            padding,
            [1, 1],
            true,
            floats(&grad),
            both.indices,
        );
        assert_gradient(got.x_grad, &x, &grad, |x| {
            Hearth::max_pool2d(x, kernel, stride, padding, [1, 1], true)
        });
    }
}

/// Only sizes that divide gave windows, and the gradient was zero.
#[test]
fn adaptive_pools_cover_sizes_that_do_not_divide() {
    for (size, to) in [([7, 5], [3, 2]), ([4, 6], [3, 6]), ([3, 2], [5, 3])] {
        let x = scattered(&[2, 2, size[0], size[1]], 4);
        let window = |axis: usize, o: usize| {
            o * size[axis] / to[axis]..((o + 1) * size[axis]).div_ceil(to[axis])
        };
        let expected = Grid::new(&[2, 2, to[0], to[1]], |o| {
            let (rows, columns) = (window(0, o[2]), window(1, o[3]));
            let count = rows.len() * columns.len();
            let at = |row| columns.clone().map(move |column| (row, column));
            let all = rows.flat_map(at);
            let sum: f64 = all
                .map(|(row, column)| x.at(&[o[0], o[1], row, column]))
                .sum();
            sum / count as f64
        });
        for x in layouts(&x) {
            assert_close(Hearth::adaptive_avg_pool2d(x, to), &expected, 1e-13);
        }
        let grad = scattered(&expected.shape, 8);
        let got = Hearth::adaptive_avg_pool2d_backward(floats(&x), floats(&grad));
        assert_gradient(got, &x, &grad, |x| Hearth::adaptive_avg_pool2d(x, to));
    }
}
