//! Order.

use std::cmp::Ordering;

use burn_backend::IntDType;
use burn_backend::ops::{FloatTensorOps, IntTensorOps};
use burn_hearth::Hearth;

use crate::reference::*;

const SHAPES: [&[usize]; 4] = [&[1], &[17], &[5, 6], &[3, 9, 4]];

/// NaN is beyond infinity; equal elements keep their order either way.
fn order(row: &[f64], descending: bool) -> Vec<i64> {
    let rank = |i: &i64| row[*i as usize];
    let mut positions: Vec<i64> = (0..row.len() as i64).collect();
    positions.sort_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        let ascending = match (a.is_nan(), b.is_nan()) {
            (false, false) => a.partial_cmp(&b).unwrap(),
            (a, b) => a.cmp(&b),
        };
        match ascending {
            Ordering::Equal => Ordering::Equal,
            _ if descending => ascending.reverse(),
            _ => ascending,
        }
    });
    positions
}

fn sorted_along(x: &Grid, axis: usize, descending: bool) -> Grid<i64> {
    Grid::new(&x.shape, |index| {
        order(&x.row(index, axis), descending)[index[axis]]
    })
}

/// Bits, so that NaN equals NaN; of either sign, and with whatever payload.
fn bits(grid: &Grid) -> Vec<u64> {
    let all = grid.values.iter();
    all.map(|value| {
        if value.is_nan() {
            u64::MAX
        } else {
            value.to_bits()
        }
    })
    .collect()
}

fn check(x: &Grid) {
    for axis in 0..x.shape.len() {
        for descending in [false, true] {
            let positions = sorted_along(x, axis, descending);
            let sorted = Grid::new(&x.shape, |index| {
                x.at(&with(index, axis, positions.at(index) as usize))
            });
            for tensor in layouts(x) {
                let got = Hearth::float_sort(tensor.clone(), axis, descending);
                assert_eq!(bits(&values_of(got)), bits(&sorted));
                let got = Hearth::float_argsort(tensor.clone(), axis, descending, IntDType::I32);
                assert_eq!(ints_of(got), positions, "{x:?} along {axis}");
                let (got, places) =
                    Hearth::float_sort_with_indices(tensor, axis, descending, IntDType::I64);
                assert_eq!(bits(&values_of(got)), bits(&sorted));
                assert_eq!(ints_of(places), positions);
            }
        }
    }
}

/// The flag for descending order was not read.
#[test]
fn sort_goes_down_where_asked() {
    for shape in SHAPES {
        check(&scattered(shape, 5));
    }
}

#[test]
fn equal_elements_keep_their_order() {
    for shape in SHAPES {
        let few = picks(shape, 3, 8);
        check(&Grid::new(shape, |index| few.at(index) as f64));
        for descending in [false, true] {
            let expected = Grid::new(shape, |index| {
                let row = few.row(index, 0);
                let row: Vec<f64> = row.iter().map(|value| *value as f64).collect();
                order(&row, descending)[index[0]]
            });
            let got = Hearth::int_argsort(ints(&few), 0, descending);
            assert_eq!(ints_of(got), expected);
        }
    }
}

#[test]
fn nan_and_infinities_have_their_places() {
    const SPECIAL: [f64; 6] = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        1.5,
        -f64::NAN,
    ];
    for shape in SHAPES {
        let chosen = picks(shape, SPECIAL.len(), 3);
        check(&Grid::new(shape, |index| {
            SPECIAL[chosen.at(index) as usize]
        }));
    }
}
