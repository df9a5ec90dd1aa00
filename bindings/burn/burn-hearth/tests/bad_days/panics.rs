//! Panics while work is pending, and tensors that other threads drop.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Wake, Waker};
use std::thread;

use burn_backend::Scalar;
use burn_backend::ops::FloatTensorOps;
use burn_hearth::{Hearth, HearthTensor};

use crate::*;

const COUNT: usize = 50_000;

/// e^0 * 2, which is pending.
fn pending() -> HearthTensor {
    let ones = Hearth::float_exp(floats(vec![0.0; COUNT]));
    Hearth::float_mul_scalar(ones, Scalar::Float(2.0))
}

fn panics(f: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
}

#[test]
fn a_thread_that_panics_takes_nobody_along() {
    let _alone = alone();
    let before = held();
    for _ in 0..20 {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || {
            let (given, kept) = (pending(), pending());
            let _read = Hearth::float_into_data(kept.clone());
            sender.send(given).unwrap();
            let three = floats(vec![1.0; 3]);
            Hearth::float_add(kept, three); // shapes that do not fit
        });
        let given = receiver.recv().unwrap();
        let sum = Hearth::float_add_scalar(given, Scalar::Float(1.0));
        assert!(thread.join().is_err());
        assert_eq!(read(sum).unwrap(), vec![3.0; COUNT]);
    }
    assert_eq!(held(), before);
}

#[test]
fn a_panic_in_a_step_leaves_the_thread_usable() {
    let _alone = alone();
    let before = held();
    let kept = pending();
    panics(|| {
        let (x, y) = (pending(), pending());
        let _sum = Hearth::float_add(x, y);
        panic!("in the middle");
    });
    panics(|| {
        let read = Hearth::float_into_data(pending());
        drop(kept.clone());
        let _read = read;
        panic!("with a read that has begun");
    });
    assert_eq!(read(kept).unwrap(), vec![2.0; COUNT]);
    assert_eq!(held(), before);
}

#[test]
fn tensors_are_dropped_by_other_threads_while_they_are_computed() {
    let _alone = alone();
    let before = held();
    let (sender, receiver) = mpsc::channel::<HearthTensor>();
    let mut threads = vec![thread::spawn(move || receiver.into_iter().for_each(drop))];
    for _ in 0..4 {
        let sender = sender.clone();
        threads.push(thread::spawn(move || {
            let mut x = pending();
            for round in 0..100 {
                sender.send(x.clone()).unwrap();
                let next = Hearth::float_mul_scalar(x.clone(), Scalar::Float(1.0));
                sender.send(std::mem::replace(&mut x, next)).unwrap();
                if round % 10 == 0 {
                    assert_eq!(read(x.clone()).unwrap(), vec![2.0; COUNT]);
                }
            }
        }));
    }
    drop(sender);
    join(threads);
    assert_eq!(held(), before);
}

struct Throws;

impl Wake for Throws {
    fn wake(self: Arc<Self>) {
        panic!("a waker that throws");
    }
}

/// It is called by a thread of Hearth's, which goes on.
#[test]
fn a_waker_may_panic() {
    let _alone = alone();
    let waker = Waker::from(Arc::new(Throws));
    for _ in 0..20 {
        let mut pending = pin!(Hearth::float_into_data(pending()));
        let first = pending.as_mut().poll(&mut Context::from_waker(&waker));
        if first.is_pending() {
            let data = read_sync(pending).unwrap();
            assert_eq!(data.into_vec::<f32>().unwrap(), vec![2.0; COUNT]);
        }
    }
    assert_eq!(read(pending()).unwrap(), vec![2.0; COUNT]);
}
