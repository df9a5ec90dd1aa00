//! A small network of convolutions on images of 28 x 28 that are drawn here: each class is a bright
//! square at a place of its own, in noise.

use burn::module::Module;
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::pool::{AdaptiveAvgPool2d, AdaptiveAvgPool2dConfig};
use burn::nn::{Dropout, DropoutConfig, Linear, LinearConfig, Relu};
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::{Int, Tensor, TensorData};
use burn::train::{ClassificationOutput, InferenceStep, TrainOutput, TrainStep};

use crate::training::{self, Program};

const BATCH: usize = 64;
const CLASSES: usize = 10;
const SIDE: usize = 28;

/// Images `[batch, side, side]` and their classes `[batch]`.
pub type Batch<B> = (Tensor<B, 3>, Tensor<B, 1, Int>);

#[derive(Module, Debug)]
pub struct Network<B: Backend> {
    first: Conv2d<B>,
    second: Conv2d<B>,
    pool: AdaptiveAvgPool2d,
    dropout: Dropout,
    hidden: Linear<B>,
    output: Linear<B>,
    activation: Relu,
}

impl<B: Backend> Network<B> {
    pub fn new(device: &B::Device) -> Self {
        Self {
            first: Conv2dConfig::new([1, 8], [3, 3]).init(device),
            second: Conv2dConfig::new([8, 16], [3, 3]).init(device),
            pool: AdaptiveAvgPool2dConfig::new([8, 8]).init(),
            dropout: DropoutConfig::new(0.5).init(),
            hidden: LinearConfig::new(16 * 8 * 8, 512).init(device),
            output: LinearConfig::new(512, CLASSES).init(device),
            activation: Relu::new(),
        }
    }

    /// Images `[batch, side, side]` to scores `[batch, classes]`.
    fn forward(&self, images: Tensor<B, 3>) -> Tensor<B, 2> {
        let [batch, height, width] = images.dims();
        let x = images.reshape([batch, 1, height, width]);
        let x = self.dropout.forward(self.first.forward(x));
        let x = self.dropout.forward(self.second.forward(x));
        let x = self.pool.forward(self.activation.forward(x));
        let x = self.hidden.forward(x.reshape([batch, 16 * 8 * 8]));
        self.output
            .forward(self.activation.forward(self.dropout.forward(x)))
    }
}

/// The images of batch number `number`, and their classes.
fn batch<B: Backend>(number: usize, device: &B::Device) -> Batch<B> {
    let mut state = number as u64 + 1;
    let mut noise = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u32 << 24) as f32
    };
    let classes: Vec<i32> = (0..BATCH)
        .map(|i| ((i * 7 + number) % CLASSES) as i32)
        .collect();
    let mut pixels = Vec::with_capacity(BATCH * SIDE * SIDE);
    for &class in &classes {
        let (top, left) = (4 + 12 * (class as usize / 5), 1 + 5 * (class as usize % 5));
        for row in 0..SIDE {
            for column in 0..SIDE {
                let inside = (top..top + 5).contains(&row) && (left..left + 5).contains(&column);
                pixels.push(0.3 * noise() + if inside { 0.7 } else { 0.0 });
            }
        }
    }
    let images = TensorData::new(pixels, [BATCH, SIDE, SIDE]);
    (
        Tensor::from_data(images, device),
        Tensor::from_data(TensorData::new(classes, [BATCH]), device),
    )
}

impl<B: Backend> InferenceStep for Network<B> {
    type Input = Batch<B>;
    type Output = ClassificationOutput<B>;

    fn step(&self, (images, classes): Batch<B>) -> ClassificationOutput<B> {
        training::classified(self.forward(images), classes)
    }
}

impl<B: AutodiffBackend> TrainStep for Network<B> {
    type Input = Batch<B>;
    type Output = ClassificationOutput<B>;

    fn step(&self, batch: Batch<B>) -> TrainOutput<ClassificationOutput<B>> {
        let item = InferenceStep::step(self, batch);
        TrainOutput::new(self, item.loss.backward(), item)
    }
}

impl<B: AutodiffBackend> Program<B> for Network<B> {
    const NAME: &str = "cnn";

    fn new(device: &B::Device) -> Self {
        Network::new(device)
    }

    fn batch(number: usize, device: &B::Device) -> Batch<B> {
        batch(number, device)
    }
}
