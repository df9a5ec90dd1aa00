//! Activations and their gradients.

use burn_backend::ops::ActivationOps;
use burn_hearth::Hearth;

use crate::reference::*;

/// From -6 to 6 but for the ends, and far away.
fn points() -> Grid {
    let mut x = scattered(&[4, 30], 1);
    x.values.iter_mut().for_each(|value| *value *= 6.0);
    x.values[..4].copy_from_slice(&[0.0, -800.0, 800.0, -40.0]);
    x
}

/// e^(-t^2) from 0 to x by Simpson's rule.
fn erf(x: f64) -> f64 {
    const STEPS: usize = 2000;
    let end = x.abs().min(7.0);
    let width = end / STEPS as f64;
    let sum: f64 = (0..=STEPS)
        .map(|i| {
            let weight = match i {
                0 | STEPS => 1.0,
                _ if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * (-(i as f64 * width).powi(2)).exp()
        })
        .sum();
    x.signum() * sum * width / 3.0 * 2.0 / std::f64::consts::PI.sqrt()
}

/// A sigmoid stood in for erf, and the gradient was what came in.
#[test]
fn gelu_is_of_erf_and_has_its_gradient() {
    let x = points();
    let half = |x: f64| 0.5 * (1.0 + erf(x / 2.0f64.sqrt()));
    let expected = Grid::new(&x.shape, |index| x.at(index) * half(x.at(index)));
    for tensor in layouts(&x) {
        assert_close(Hearth::gelu(tensor), &expected, 1e-9);
    }
    let gradient = scattered(&x.shape, 2);
    let expected = Grid::new(&x.shape, |index| {
        let at = x.at(index);
        let density = (-at * at / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        gradient.at(index) * (half(at) + at * density)
    });
    let got = Hearth::gelu_backward(floats(&x), floats(&gradient));
    assert_close(got, &expected, 1e-9);
}

/// The logarithm of a sigmoid that is 0 was infinite.
#[test]
fn log_sigmoid_is_finite() {
    let x = points();
    let expected = Grid::new(&x.shape, |index| {
        let at = x.at(index);
        at.min(0.0) - (-at.abs()).exp().ln_1p()
    });
    for tensor in layouts(&x) {
        assert_close(Hearth::log_sigmoid(tensor), &expected, 1e-12);
    }
}
