//! Training as Burn's book has it: by a loop of one's own, or by Burn's learner with its dashboard.

use std::sync::Arc;

use burn::module::AutodiffModule;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::optim::{AdamConfig, Optimizer};
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::{ElementConversion, Int, Tensor};
use burn::train::metric::{AccuracyMetric, LossMetric};
use burn::train::{ClassificationOutput, InferenceStep, Learner, SupervisedTraining, TrainStep};

use crate::loader::Loader;
use crate::timing::{self, Steps};

const RATE: f64 = 1e-3;

#[derive(clap::Args)]
pub struct Options {
    /// Steps that are counted
    #[arg(long, default_value_t = 20, value_parser = timing::at_least_one())]
    steps: usize,
    /// Steps before those
    #[arg(long, default_value_t = 5)]
    warm_up: usize,
    /// Train by Burn's learner, which shows its dashboard where it has a terminal
    #[arg(long)]
    dashboard: bool,
    /// Steps from one reading of the loss to the next, without a dashboard
    #[arg(long, default_value_t = 1, value_parser = timing::at_least_one())]
    read_every: usize,
    #[arg(long, default_value_t = 5)]
    seed: u64,
}

/// A model that draws its own batches.
pub trait Program<B: AutodiffBackend>:
    AutodiffModule<B, InnerModule: InferenceStep<Output = ClassificationOutput<B::InnerBackend>>>
    + TrainStep<Output = ClassificationOutput<B>>
    + std::fmt::Display
    + 'static
{
    const NAME: &str;

    fn new(device: &B::Device) -> Self;
    fn batch(number: usize, device: &B::Device) -> Self::Input;
}

/// Scores `[n, classes]` and their classes `[n]`, with the loss.
pub fn classified<B: Backend>(
    output: Tensor<B, 2>,
    targets: Tensor<B, 1, Int>,
) -> ClassificationOutput<B> {
    let loss = CrossEntropyLossConfig::new().init(&output.device());
    let loss = loss.forward(output.clone(), targets.clone());
    ClassificationOutput::new(loss, output, targets)
}

/// Trains, and prints what a step took.
pub fn run<B: AutodiffBackend, M: Program<B>>(options: &Options, device: &B::Device) {
    B::seed(device, options.seed);
    let steps = Steps::new(options.warm_up);
    if options.dashboard {
        learn::<B, M>(options, device, &steps);
    } else {
        let loss = train::<B, M>(options, device, &steps);
        println!("loss {loss:.4}");
    }
    let how = if options.dashboard {
        " by the learner"
    } else {
        ""
    };
    println!("{} {}{how}: {steps}", M::NAME, B::name(device));
}

/// Returns the last loss.
fn train<B: AutodiffBackend, M: Program<B>>(
    options: &Options,
    device: &B::Device,
    steps: &Steps,
) -> f32 {
    let mut model = M::new(device);
    let mut optimizer = AdamConfig::new().init();
    let mut last = f32::NAN;
    let count = options.warm_up + options.steps;
    for number in 1..=count {
        let output = model.step(M::batch(number - 1, device));
        model = optimizer.step(RATE, model, output.grads);
        if number % options.read_every == 0 || number == count {
            last = output.item.loss.into_scalar().elem();
        }
        steps.end();
    }
    last
}

fn learn<B: AutodiffBackend, M: Program<B>>(options: &Options, device: &B::Device, steps: &Steps) {
    let batches = {
        let (device, steps) = (device.clone(), steps.clone());
        Loader::new(options.warm_up + options.steps, move |number| {
            if number > 0 {
                steps.end();
            }
            M::batch(number, &device)
        })
    };
    let folder = std::env::temp_dir().join(format!("burn-bench-{}", std::process::id()));
    let learner = Learner::new(M::new(device), AdamConfig::new().init(), RATE);
    SupervisedTraining::new(&folder, Arc::new(batches), Arc::new(Loader::empty()))
        .metrics((AccuracyMetric::new(), LossMetric::new()))
        .num_epochs(1)
        .launch(learner);
    steps.end(); // with all metrics
    let _ = std::fs::remove_dir_all(folder);
}
