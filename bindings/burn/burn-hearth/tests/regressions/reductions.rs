//! Sums and their like: ranks, and values whatever the layout.

use burn_backend::BoolDType;
use burn_backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_hearth::{Hearth, HearthTensor};

use crate::reference::*;

const SHAPES: [&[usize]; 4] = [&[6], &[3, 5], &[2, 1, 7], &[2, 3, 4, 5]];

type Reduction = (
    fn(HearthTensor) -> HearthTensor,
    fn(HearthTensor, usize) -> HearthTensor,
    fn(&[f64]) -> f64,
);

fn sum(values: &[f64]) -> f64 {
    values.iter().sum()
}
fn mean(values: &[f64]) -> f64 {
    sum(values) / values.len() as f64
}
fn product(values: &[f64]) -> f64 {
    values.iter().product()
}
fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
fn smallest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

const REDUCTIONS: [Reduction; 5] = [
    (Hearth::float_sum, Hearth::float_sum_dim, sum),
    (Hearth::float_mean, Hearth::float_mean_dim, mean),
    (Hearth::float_prod, Hearth::float_prod_dim, product),
    (Hearth::float_max, Hearth::float_max_dim, largest),
    (Hearth::float_min, Hearth::float_min_dim, smallest),
];

/// A sum of everything had rank 0, where Burn's tensors have one axis at least.
#[test]
fn a_sum_of_everything_has_one_axis() {
    for shape in SHAPES {
        let x = scattered(shape, 2);
        for (whole, _, reference) in REDUCTIONS {
            let expected = Grid::new(&[1], |_| reference(&x.values));
            for tensor in layouts(&x) {
                assert_close(whole(tensor), &expected, 1e-13);
            }
        }
        let whole = Grid::new(shape, |index| (x.at(index) * 100.0) as i64);
        let got = ints_of(Hearth::int_sum(ints(&whole)));
        assert_eq!(
            (got.shape, got.values),
            (vec![1], vec![whole.values.iter().sum()])
        );
        let positive = Grid::new(shape, |index| x.at(index) > 0.5);
        for (got, expected) in [
            (
                Hearth::bool_any(bools(&positive)),
                positive.values.contains(&true),
            ),
            (
                Hearth::bool_all(bools(&positive)),
                !positive.values.contains(&false),
            ),
            (
                Hearth::float_any(floats(&x), BoolDType::Native),
                x.values.iter().any(|value| *value != 0.0),
            ),
        ] {
            assert_eq!(bools_of(got), Grid::new(&[1], |_| expected));
        }
    }
}

#[test]
fn a_sum_along_an_axis_keeps_it() {
    for shape in SHAPES {
        let x = scattered(shape, 4);
        for axis in 0..shape.len() {
            for (_, along, reference) in REDUCTIONS {
                let kept = with(shape, axis, 1);
                let expected = Grid::new(&kept, |index| reference(&x.row(index, axis)));
                for tensor in layouts(&x) {
                    assert_close(along(tensor, axis), &expected, 1e-13);
                }
            }
        }
    }
}
