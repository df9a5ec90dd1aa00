//! Rows of a table, and their gradient.

use burn_backend::ops::ModuleOps;
use burn_hearth::Hearth;

use crate::reference::*;

/// Rows, their width, batch and length.
const CASES: [[usize; 4]; 4] = [[5, 3, 2, 4], [9, 1, 1, 1], [2, 8, 3, 5], [40, 4, 2, 3]];

/// The gradient was the table itself, or that of one row for all.
#[test]
fn gradients_of_rows_are_added() {
    for [rows, width, batch, length] in CASES {
        let table = scattered(&[rows, width], 1);
        let picked = picks(&[batch, length], rows, 2);
        let shape = [batch, length, width];
        let row = |index: &[usize]| picked.at(&index[..2]) as usize;

        let expected = Grid::new(&shape, |index| table.at(&[row(index), index[2]]));
        for tensor in layouts(&table) {
            assert_close(Hearth::embedding(tensor, ints(&picked)), &expected, 0.0);
        }

        let gradient = scattered(&shape, 3);
        let mut expected = Grid::new(&[rows, width], |_| 0.0);
        for index in indices(&shape) {
            *expected.at_mut(&[row(&index), index[2]]) += gradient.at(&index);
        }
        for gradient in layouts(&gradient) {
            let got = Hearth::embedding_backward(floats(&table), gradient, ints(&picked));
            assert_close(got, &expected, 1e-13);
        }
    }
}
