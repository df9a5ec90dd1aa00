//! Elements by their indices.

use burn_backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_hearth::Hearth;

use crate::reference::*;

const SHAPES: [&[usize]; 4] = [&[5], &[3, 4], &[2, 3, 4], &[3, 1, 2, 5]];

/// Shapes, axes, and indices along them, of as many as the axis has and of others.
fn cases() -> Vec<(Grid, usize, Grid<i64>)> {
    let mut all = Vec::new();
    for shape in SHAPES {
        for axis in 0..shape.len() {
            for count in [1, shape[axis], 7] {
                let seed = all.len() + 1;
                let picked = picks(&with(shape, axis, count), shape[axis], seed);
                all.push((scattered(shape, seed), axis, picked));
            }
        }
    }
    all
}

/// Whole rows were taken, as select does, where an element has an index of its own.
#[test]
fn gather_takes_an_element_for_each_index() {
    for (x, axis, picked) in cases() {
        let source = |index: &[usize]| with(index, axis, picked.at(index) as usize);
        let expected = Grid::new(&picked.shape, |index| x.at(&source(index)));
        for tensor in layouts(&x) {
            assert_close(
                Hearth::float_gather(axis, tensor, ints(&picked)),
                &expected,
                0.0,
            );
        }
        let whole = Grid::new(&x.shape, |index| (x.at(index) * 1000.0) as i64);
        let expected = Grid::new(&picked.shape, |index| whole.at(&source(index)));
        let gathered = Hearth::int_gather(axis, ints(&whole), ints(&picked));
        assert_eq!(ints_of(gathered), expected);
        let positive = Grid::new(&x.shape, |index| x.at(index) > 0.0);
        let expected = Grid::new(&picked.shape, |index| positive.at(&source(index)));
        let gathered = Hearth::bool_gather(axis, bools(&positive), ints(&picked));
        assert_eq!(bools_of(gathered), expected);
    }
}

/// The last of several values for one element overwrote the others.
#[test]
fn scatter_adds_all_values_of_an_element() {
    for (x, axis, picked) in cases() {
        let added = scattered(&picked.shape, 99);
        let mut expected = x.clone();
        for index in indices(&picked.shape) {
            *expected.at_mut(&with(&index, axis, picked.at(&index) as usize)) += added.at(&index);
        }
        for value in layouts(&added) {
            let sum = Hearth::float_scatter_add(axis, floats(&x), ints(&picked), value);
            assert_close(sum, &expected, 1e-12);
        }
    }
}

/// Indices of rows were handed to a scatter of elements.
#[test]
fn select_adds_rows() {
    for shape in SHAPES {
        for axis in 0..shape.len() {
            let x = scattered(shape, axis + 1);
            let picked = picks(&[6], shape[axis], axis + 3);
            let added = scattered(&with(shape, axis, 6), axis + 7);
            let mut expected = x.clone();
            for index in indices(&added.shape) {
                let row = picked.values[index[axis]] as usize;
                *expected.at_mut(&with(&index, axis, row)) += added.at(&index);
            }
            let selected = Hearth::float_select(floats(&x), axis, ints(&picked));
            let rows = Grid::new(&added.shape, |index| {
                x.at(&with(index, axis, picked.values[index[axis]] as usize))
            });
            assert_close(selected, &rows, 0.0);
            let sum = Hearth::float_select_add(floats(&x), axis, ints(&picked), floats(&added));
            assert_close(sum, &expected, 1e-12);
        }
    }
}
