//! The transformer, loaded from a safetensors file: how long that takes, and a batch of guesses.

use std::path::Path;
use std::time::Instant;

use burn::tensor::ElementConversion;
use burn::tensor::backend::Backend;
use burn_store::{ModuleSnapshot, SafetensorsStore};

use crate::timing::Steps;
use crate::transformer::{self, Network};

const WARM_UP: usize = 3;

pub fn run<B: Backend>(weights: &Path, count: usize, device: &B::Device) {
    B::seed(device, 5);
    let mut model = Network::<B>::new(device);
    if !weights.exists() {
        let made = model.save_into(&mut SafetensorsStore::from_file(weights));
        made.expect("the weights can be written");
    }
    let begin = Instant::now();
    let loaded = model.load_from(&mut SafetensorsStore::from_file(weights));
    assert!(loaded.expect("a file of weights").is_success());
    println!("loaded in {:.1} ms", begin.elapsed().as_secs_f64() * 1e3);

    let steps = Steps::new(WARM_UP);
    let mut sum = 0i64;
    for number in 0..WARM_UP + count {
        let (tokens, _) = transformer::batch::<B>(number, device);
        let guesses = model.forward(tokens).argmax(1);
        sum += guesses.sum().into_scalar().elem::<i64>();
        steps.end();
    }
    println!("infer {}: {steps}, sum of guesses {sum}", B::name(device));
}
