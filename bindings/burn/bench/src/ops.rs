//! What one addition of four floats takes: recorded alone, by Burn's tensor and by the backend's
//! own method, and in a chain that is read once.

use std::hint::black_box;
use std::time::Instant;

use burn::tensor::backend::Backend;
use burn::tensor::{Tensor, TensorData};

use crate::timing::median;

const CHAIN: usize = 1000;

pub fn run<B: Backend>(device: &B::Device) {
    let make = |values: [f32; 4]| Tensor::<B, 1>::from_data(TensorData::from(values), device);
    let (a, b) = (make([1.0, 2.0, 3.0, 4.0]), make([0.5, 0.25, 0.125, 1.0]));
    let (x, y) = (
        a.clone().into_primitive().tensor(),
        b.clone().into_primitive().tensor(),
    );
    let each = |f: &dyn Fn()| {
        let mut times: Vec<f64> = (0..50)
            .map(|_| {
                let begin = Instant::now();
                f();
                begin.elapsed().as_secs_f64() * 1e6 / CHAIN as f64
            })
            .collect();
        median(&mut times)
    };
    let alone = each(&|| {
        for _ in 0..CHAIN {
            black_box(a.clone() + b.clone());
        }
    });
    let primitive = each(&|| {
        for _ in 0..CHAIN {
            black_box(B::float_add(x.clone(), y.clone()));
        }
    });
    let chained = each(&|| {
        let sum = (0..CHAIN).fold(a.clone(), |sum, _| sum + b.clone());
        black_box(sum.into_data());
    });
    println!(
        "ops {}: {alone:.3} us an addition, {primitive:.3} by the backend's method, \
         {chained:.3} in a chain of {CHAIN} that is read",
        B::name(device)
    );
}
