//! A transformer of four layers that learns which token comes next in a text that counts.

use burn::module::Module;
use burn::nn::attention::generate_autoregressive_mask;
use burn::nn::transformer::{
    TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::{Int, Tensor, TensorData};
use burn::train::{ClassificationOutput, InferenceStep, TrainOutput, TrainStep};

use crate::training::{self, Program};

const BATCH: usize = 8;
const LENGTH: usize = 128;
const TOKENS: usize = 256;
const WIDTH: usize = 256;

/// Tokens `[batch, length]` and those that come next `[batch * length]`.
pub type Batch<B> = (Tensor<B, 2, Int>, Tensor<B, 1, Int>);

#[derive(Module, Debug)]
pub struct Network<B: Backend> {
    tokens: Embedding<B>,
    positions: Embedding<B>,
    layers: TransformerEncoder<B>,
    output: Linear<B>,
}

impl<B: Backend> Network<B> {
    pub fn new(device: &B::Device) -> Self {
        Self {
            tokens: EmbeddingConfig::new(TOKENS, WIDTH).init(device),
            positions: EmbeddingConfig::new(LENGTH, WIDTH).init(device),
            layers: TransformerEncoderConfig::new(WIDTH, 4 * WIDTH, 8, 4)
                .with_norm_first(true)
                .init(device),
            output: LinearConfig::new(WIDTH, TOKENS).init(device),
        }
    }

    /// Tokens `[batch, length]` to scores `[batch * length, tokens]`.
    pub fn forward(&self, tokens: Tensor<B, 2, Int>) -> Tensor<B, 2> {
        let [batch, length] = tokens.dims();
        let device = &tokens.device();
        let positions = Tensor::arange(0..length as i64, device).reshape([1, length]);
        let x = self.tokens.forward(tokens) + self.positions.forward(positions);
        let mask = generate_autoregressive_mask(batch, length, device);
        let x = self
            .layers
            .forward(TransformerEncoderInput::new(x).mask_attn(mask));
        self.output.forward(x).reshape([batch * length, TOKENS])
    }
}

/// Tokens of batch number `number` and those that come next: each line counts by a step of its own.
pub fn batch<B: Backend>(number: usize, device: &B::Device) -> Batch<B> {
    let token = |line: usize, i: usize| {
        let line = number * BATCH + line;
        ((line * 31 + i * (1 + line % 7)) % TOKENS) as i32
    };
    let lines = |first: usize| {
        let tokens: Vec<i32> = (0..BATCH)
            .flat_map(|line| (first..first + LENGTH).map(move |i| token(line, i)))
            .collect();
        TensorData::new(tokens, [BATCH, LENGTH])
    };
    let next = Tensor::<B, 2, Int>::from_data(lines(1), device);
    (
        Tensor::from_data(lines(0), device),
        next.reshape([BATCH * LENGTH]),
    )
}

impl<B: Backend> InferenceStep for Network<B> {
    type Input = Batch<B>;
    type Output = ClassificationOutput<B>;

    fn step(&self, (tokens, next): Batch<B>) -> ClassificationOutput<B> {
        training::classified(self.forward(tokens), next)
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
    const NAME: &str = "transformer";

    fn new(device: &B::Device) -> Self {
        Network::new(device)
    }

    fn batch(number: usize, device: &B::Device) -> Batch<B> {
        batch(number, device)
    }
}
