//! Bools that move.

use burn_backend::Slice;
use burn_backend::ops::BoolTensorOps;
use burn_hearth::Hearth;

use crate::reference::*;

const SHAPES: [&[usize]; 3] = [&[7], &[5, 8], &[3, 4, 6]];

fn truths(shape: &[usize], seed: usize) -> Grid<bool> {
    let x = scattered(shape, seed);
    Grid::new(shape, |index| x.at(index) > 0.0)
}

/// Slices of a shape, and for each axis the positions that they take.
fn slices(shape: &[usize]) -> Vec<(Vec<Slice>, Vec<Vec<usize>>)> {
    let all = |axis: usize| {
        let extent = shape[axis];
        [
            (
                Slice::new(1, Some(extent as isize - 1), 1),
                (1..extent - 1).collect(),
            ),
            (Slice::new(-2, None, 1), (extent - 2..extent).collect()),
            (Slice::new(0, None, 2), (0..extent).step_by(2).collect()),
            (Slice::new(0, None, -1), (0..extent).rev().collect()),
            (
                Slice::new(1, None, -2),
                (1..extent).rev().step_by(2).collect::<Vec<_>>(),
            ),
        ]
    };
    (0..5)
        .map(|first| {
            (0..shape.len())
                .map(|axis| all(axis)[(first + 2 * axis) % 5].clone())
                .unzip()
        })
        .collect()
}

/// The tensor came back as it was.
#[test]
fn slices_of_bools_are_taken() {
    for shape in SHAPES {
        let x = truths(shape, 3);
        for (slices, positions) in slices(shape) {
            let taken: Vec<usize> = positions.iter().map(Vec::len).collect();
            let expected = Grid::new(&taken, |index| {
                let source = index.iter().zip(&positions).map(|(i, places)| places[*i]);
                x.at(&source.collect::<Vec<_>>())
            });
            let got = bools_of(Hearth::bool_slice(bools(&x), &slices));
            assert_eq!(got, expected, "{slices:?} of {shape:?}");
        }
    }
}

/// Nothing was assigned.
#[test]
fn slices_of_bools_are_assigned() {
    for shape in SHAPES {
        let x = truths(shape, 6);
        for (slices, positions) in slices(shape) {
            let taken: Vec<usize> = positions.iter().map(Vec::len).collect();
            let value = truths(&taken, 17);
            let mut expected = x.clone();
            for index in indices(&taken) {
                let target = index.iter().zip(&positions).map(|(i, places)| places[*i]);
                *expected.at_mut(&target.collect::<Vec<_>>()) = value.at(&index);
            }
            assert_ne!(expected, x);
            let tensor = bools(&x);
            let got = Hearth::bool_slice_assign(tensor.clone(), &slices, bools(&value));
            assert_eq!(bools_of(got), expected, "{slices:?} of {shape:?}");
            assert_eq!(bools_of(tensor), x, "the operand keeps its elements");
        }
    }
}

/// The tensor came back as it was.
#[test]
fn bools_are_flipped() {
    for shape in SHAPES {
        let x = truths(shape, 9);
        for axis in 0..shape.len() {
            let expected = Grid::new(shape, |index| {
                x.at(&with(index, axis, shape[axis] - 1 - index[axis]))
            });
            assert_ne!(expected, x);
            assert_eq!(bools_of(Hearth::bool_flip(bools(&x), &[axis])), expected);
        }
    }
}
