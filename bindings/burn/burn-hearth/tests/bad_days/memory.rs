//! Memory that runs out in the middle of a step.

use std::thread;

use burn_autodiff::Autodiff;
use burn_backend::ops::FloatTensorOps;
use burn_backend::{AutodiffBackend, Scalar, Shape};
use burn_hearth::{Hearth, HearthTensor};
use hearth_sys::{HEARTH_OK, hearth_device_set_memory_limit};

use crate::*;

const COUNT: usize = 1 << 18;

/// Takes the limit away again, also where a test fails.
struct Limited;

impl Limited {
    /// To so many bytes more than there are in use.
    fn to(room: i64) -> Self {
        Hearth::memory_cleanup(&CPU);
        set(statistic(c"memory.in_use") + room);
        Self
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        set(1 << 40);
    }
}

fn set(bytes: i64) {
    // SAFETY: takes numbers, and is called by any thread.
    let status = unsafe { hearth_device_set_memory_limit(cpu(), bytes) };
    assert_eq!(status, HEARTH_OK);
}

fn step(x: &HearthTensor) -> HearthTensor {
    let ones = Hearth::float_exp(x.clone());
    Hearth::float_mul_scalar(ones, Scalar::Float(2.0))
}

/// What a program is told where there is no memory.
fn assert_no_memory<T>(result: Result<T, ExecutionError>) {
    let message = result.err().expect("an error").to_string();
    assert!(message.contains("memory"), "{message}");
}

#[test]
fn reads_and_sync_report_that_there_is_no_memory() {
    let _alone = alone();
    let x = floats(vec![0.0; COUNT]);
    let before = held();
    let limited = Limited::to(1 << 10);
    assert_no_memory(read(step(&x)));
    let failed = step(&x);
    assert_no_memory(Hearth::sync(&CPU));
    assert!(Hearth::sync(&CPU).is_ok(), "it is told once");
    assert_no_memory(read(failed.clone()));
    // What is made of it has failed with it.
    assert_no_memory(read(Hearth::float_sum(failed.clone())));
    // What needs no more memory is computed.
    let one = Hearth::float_slice(x.clone(), &[burn_backend::Slice::new(0, Some(1), 1)]);
    assert_eq!(read(step(&one)).unwrap(), [2.0]);
    drop(limited);
    assert_no_memory(read(failed)); // it is not tried again
    assert_eq!(read(step(&x)).unwrap(), vec![2.0; COUNT]);
    drop(one);
    assert_eq!(held(), before);
}

#[test]
fn reads_of_more_than_the_host_has_are_errors() {
    let _alone = alone();
    let before = held();
    let shape = Shape::from(vec![1usize << 40, 1 << 10]);
    assert_no_memory(read(Hearth::float_expand(floats(vec![0.5]), shape)));
    assert_eq!(held(), before);
}

#[test]
fn a_training_step_that_found_no_memory_is_repeated() {
    type A = Autodiff<Hearth>;
    let _alone = alone();
    let values = vec![0.5; COUNT];
    let x = floats(values);
    let gradient = || {
        let x = A::float_set_require_grad(A::from_inner(x.clone()), true);
        let loss = A::float_sum(A::float_mul(A::float_exp(x.clone()), x.clone()));
        let gradients = A::backward(loss);
        A::grad(&x, &gradients).unwrap()
    };
    let limited = Limited::to(1 << 12);
    for _ in 0..3 {
        assert_no_memory(read(gradient()));
    }
    drop(limited);
    let expected = (0.5f64.exp() * 1.5) as f32;
    let got = read(gradient()).unwrap();
    assert_eq!(got.len(), COUNT);
    assert!(got.iter().all(|value| (value - expected).abs() < 1e-6));
}

#[test]
fn threads_without_memory_hurt_no_others() {
    let _alone = alone();
    let x = floats(vec![0.0; COUNT]);
    let before = held();
    let limited = Limited::to(1 << 10);
    let work = |x: HearthTensor| {
        for _ in 0..10 {
            assert_no_memory(read(step(&x)));
            match read(step(&floats(vec![0.0; 4]))) {
                Ok(values) => assert_eq!(values, [2.0; 4]),
                failed => assert_no_memory(failed),
            }
        }
    };
    join((0..4).map(|_| {
        thread::spawn({
            let x = x.clone();
            move || work(x)
        })
    }));
    drop(limited);
    assert_eq!(read(step(&x)).unwrap(), vec![2.0; COUNT]);
    assert_eq!(held(), before);
}
