//! Draws. They share the process's seed: one test at a time.

use std::sync::Mutex;

use burn_backend::ops::{FloatTensorOps, IntTensorOps};
use burn_backend::{Backend, Distribution, FloatDType, IntDType, Shape};
use burn_hearth::{Hearth, HearthDevice};

use crate::reference::*;

const CPU: HearthDevice = HearthDevice::Cpu;
static SEED: Mutex<()> = Mutex::new(());

fn draw(distribution: Distribution, dtype: FloatDType) -> Vec<f64> {
    let shape = Shape::new([6, 50]);
    values_of(Hearth::float_random(shape, distribution, &CPU, dtype)).values
}

const DISTRIBUTIONS: [Distribution; 3] = [
    Distribution::Default,
    Distribution::Uniform(-3.0, 5.0),
    Distribution::Normal(1.0, 2.0),
];

/// Each call began the stream again: two tensors of one shape were equal.
#[test]
fn a_seed_repeats_and_calls_differ() {
    let _alone = SEED.lock();
    for distribution in DISTRIBUTIONS {
        for dtype in [FloatDType::F32, FloatDType::F64, FloatDType::F16] {
            let draws = |seed| {
                Hearth::seed(&CPU, seed);
                [(); 3].map(|()| draw(distribution, dtype))
            };
            let first = draws(11);
            assert_eq!(first, draws(11));
            assert_ne!(first[0], first[1]);
            assert_ne!(first[1], first[2]);
            assert_ne!(first[0], first[2]);
            let other = draws(12);
            assert_ne!(first[0], other[0]);
            assert!(first.iter().flatten().all(|value| value.is_finite()));
        }
    }
}

/// The dtype was f32 whatever was asked for: no value of f64 had more digits.
#[test]
fn draws_have_the_digits_of_their_dtype() {
    let _alone = SEED.lock();
    Hearth::seed(&CPU, 3);
    let values = draw(Distribution::Default, FloatDType::F64);
    let wide = values
        .iter()
        .filter(|value| f64::from(**value as f32) != **value);
    assert!(wide.count() > values.len() / 2);
    assert!(values.iter().all(|value| (0.0..1.0).contains(value)));
}

#[test]
fn a_seed_repeats_ints_and_all_kinds_in_turn() {
    let _alone = SEED.lock();
    let draws = || {
        Hearth::seed(&CPU, 5);
        let shape = Shape::new([100]);
        let uniform = Distribution::Uniform(0.0, 1000.0);
        let ints = || {
            ints_of(Hearth::int_random(
                shape.clone(),
                uniform,
                &CPU,
                IntDType::I32,
            ))
        };
        (ints(), draw(uniform, FloatDType::F32), ints())
    };
    let first = draws();
    assert_eq!(first, draws());
    assert_ne!(first.0, first.2);
    assert!(first.0.values.iter().all(|value| (0..1000).contains(value)));
}
