//! Images of another size.

use std::f64::consts::PI;

use burn_backend::ops::{InterpolateMode, InterpolateOptions, ModuleOps};
use burn_hearth::Hearth;

use crate::reference::*;

/// Input and output, rows and columns.
const SIZES: [[[usize; 2]; 2]; 5] = [
    [[4, 5], [8, 10]],
    [[7, 6], [3, 4]],
    [[5, 3], [2, 11]],
    [[1, 8], [3, 8]],
    [[6, 9], [1, 5]],
];

fn modes() -> [InterpolateMode; 4] {
    use InterpolateMode::*;
    [Nearest, Bilinear, Bicubic, Lanczos3]
}

fn keys(t: f64) -> f64 {
    const A: f64 = -0.75;
    let t = t.abs();
    match t {
        _ if t <= 1.0 => (A + 2.0) * t.powi(3) - (A + 3.0) * t.powi(2) + 1.0,
        _ if t < 2.0 => A * (t.powi(3) - 5.0 * t.powi(2) + 8.0 * t - 4.0),
        _ => 0.0,
    }
}

fn lanczos(t: f64) -> f64 {
    let sinc = |t: f64| {
        if t == 0.0 {
            1.0
        } else {
            (PI * t).sin() / (PI * t)
        }
    };
    if t.abs() < 3.0 {
        sinc(t) * sinc(t / 3.0)
    } else {
        0.0
    }
}

/// What element `o` of `to` is made of, of `from` elements along an axis: a weight for each.
fn weights(options: &InterpolateOptions, o: usize, from: usize, to: usize) -> Vec<f64> {
    let mut weights = vec![0.0; from];
    if let InterpolateMode::Nearest = options.mode {
        weights[o * from / to] = 1.0;
        return weights;
    }
    let at = if options.align_corners {
        (o * (from - 1)) as f64 / (to - 1).max(1) as f64
    } else {
        (o as f64 + 0.5) * from as f64 / to as f64 - 0.5
    };
    let last = from as isize - 1;
    let around = |reach: isize| {
        let first = at.floor() as isize;
        first - reach + 1..=first + reach
    };
    match options.mode {
        InterpolateMode::Bilinear => {
            for i in around(1) {
                weights[i.clamp(0, last) as usize] += 1.0 - (at - i as f64).abs();
            }
        }
        InterpolateMode::Bicubic => {
            for i in around(2) {
                weights[i.clamp(0, last) as usize] += keys(at - i as f64);
            }
        }
        _ => {
            for i in around(3).filter(|i| (0..=last).contains(i)) {
                weights[i as usize] = lanczos(at - i as f64);
            }
            let sum: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|weight| *weight /= sum);
        }
    }
    weights
}

fn interpolate(x: &Grid, to: [usize; 2], options: &InterpolateOptions) -> Grid {
    let [batch, channels, height, width] = x.shape[..] else {
        unreachable!()
    };
    Grid::new(&[batch, channels, to[0], to[1]], |o| {
        let rows = weights(options, o[2], height, to[0]);
        let columns = weights(options, o[3], width, to[1]);
        let value =
            |at: &Vec<usize>| rows[at[0]] * columns[at[1]] * x.at(&[o[0], o[1], at[0], at[1]]);
        indices(&[height, width]).iter().map(value).sum()
    })
}

fn cases() -> Vec<(Grid, [usize; 2], InterpolateOptions)> {
    let mut all = Vec::new();
    for mode in modes() {
        for align_corners in [false, true] {
            for [[height, width], to] in SIZES {
                let x = scattered(&[2, 3, height, width], all.len() + 1);
                let options = InterpolateOptions::new(mode.clone());
                all.push((x, to, options.with_align_corners(align_corners)));
            }
        }
    }
    all
}

/// Bicubic and Lanczos were bilinear without a word.
#[test]
fn each_mode_is_itself() {
    for (x, to, options) in cases() {
        let expected = interpolate(&x, to, &options);
        for x in layouts(&x) {
            assert_close(
                Hearth::interpolate(x, to, options.clone()),
                &expected,
                1e-12,
            );
        }
    }
}

/// There was no gradient.
#[test]
fn each_mode_has_a_gradient() {
    for (x, to, options) in cases() {
        let [batch, channels, ..] = x.shape[..] else {
            unreachable!()
        };
        let grad = scattered(&[batch, channels, to[0], to[1]], 7);
        let gradient = Hearth::interpolate_backward(floats(&x), floats(&grad), to, options.clone());
        assert_gradient(gradient, &x, &grad, |x| {
            Hearth::interpolate(x, to, options.clone())
        });
    }
}
