//! Models that come and go.

use burn_autodiff::Autodiff;
use burn_backend::ops::{ActivationOps, FloatTensorOps};
use burn_backend::{AutodiffBackend, Scalar};
use burn_hearth::{Hearth, HearthTensor};

use crate::*;

type A = Autodiff<Hearth>;

fn matrix(shape: [usize; 2], value: f32) -> HearthTensor {
    let values = vec![value; shape[0] * shape[1]];
    Hearth::float_from_data(TensorData::new(values, shape), &CPU)
}

/// Two layers, one step; the loss of the next. By hand: of x = 1 [4, 3], w1 = 0.5 [3, 5] and w2 = v
/// [5, 1] each hidden value is 1.5, the output 7.5 v and the loss its square.
fn train(second: f32) -> f32 {
    let x = A::from_inner(matrix([4, 3], 1.0));
    let leaf = |tensor| A::float_set_require_grad(A::from_inner(tensor), true);
    let (w1, w2) = (leaf(matrix([3, 5], 0.5)), leaf(matrix([5, 1], second)));
    let loss = |w1, w2| {
        let hidden = A::relu(A::float_matmul(x.clone(), w1));
        let out = A::float_matmul(hidden, w2);
        A::float_mean(A::float_mul(out.clone(), out))
    };
    let gradients = A::backward(loss(w1.clone(), w2.clone()));
    let stepped = |w| {
        let gradient = A::grad(&w, &gradients).unwrap();
        let change = Hearth::float_mul_scalar(gradient, Scalar::Float(0.01));
        A::from_inner(Hearth::float_sub(A::inner(w), change))
    };
    let next = loss(stepped(w1.clone()), stepped(w2.clone()));
    read(A::inner(next)).unwrap()[0]
}

/// Of train(), in f64.
fn expected(second: f64) -> f64 {
    let out = 7.5 * second;
    // d loss / d w2 = 2 out * 1.5, d loss / d w1 = 2 out * v * 1, each the mean over 4 equal rows.
    let w1 = 0.5 - 0.01 * 2.0 * out * second;
    let w2 = second - 0.01 * 2.0 * out * 1.5;
    (5.0 * 3.0 * w1 * w2).powi(2)
}

/// Pages of this process that lie in memory, in bytes.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

#[test]
fn ten_thousand_models_leave_nothing() {
    let _alone = alone();
    let some = |count: usize| {
        for i in 0..count {
            let second = 0.1 + (i % 7) as f32 * 0.1;
            let (got, expected) = (train(second), expected(f64::from(second)));
            let distance = (f64::from(got) - expected).abs();
            assert!(
                distance < 1e-4 * (1.0 + expected),
                "got {got}, expected {expected}"
            );
        }
    };
    some(1000);
    let before = held();
    #[cfg(target_os = "linux")]
    let pages = resident();
    some(9000);
    assert_eq!(held(), before);
    #[cfg(target_os = "linux")]
    assert!(
        resident() < pages + (2 << 20),
        "from {pages} to {}",
        resident()
    );
}
