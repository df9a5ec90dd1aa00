//! Programs of Burn's users on the backend that the build chose, and what they take.

mod backend;
mod cnn;
mod inference;
mod loader;
mod ops;
mod timing;
mod training;
mod transformer;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use backend::Chosen;

#[derive(Parser)]
#[command(about)]
struct Options {
    /// Compute on the first CUDA GPU
    #[arg(long, global = true)]
    gpu: bool,
    #[command(subcommand)]
    program: Program,
}

#[derive(Subcommand)]
enum Program {
    /// Train a small network of convolutions on images of 28 x 28
    Cnn(training::Options),
    /// Train a transformer of four layers on a text that counts
    Transformer(training::Options),
    /// Load the transformer from a safetensors file and let it guess the next tokens
    Infer {
        /// A file of weights; one of random weights is made where there is none
        weights: PathBuf,
        /// Batches that are counted
        #[arg(long, default_value_t = 20, value_parser = timing::at_least_one())]
        steps: usize,
    },
    /// Add four floats: alone, and in a chain that is read
    Ops,
}

fn main() {
    let options = Options::parse();
    let device = backend::device(options.gpu);
    match options.program {
        Program::Cnn(options) => training::run::<Chosen, cnn::Network<_>>(&options, &device),
        Program::Transformer(options) => {
            training::run::<Chosen, transformer::Network<_>>(&options, &device)
        }
        Program::Infer { weights, steps } => {
            inference::run::<backend::Inner>(&weights, steps, &device)
        }
        Program::Ops => ops::run::<backend::Inner>(&device),
    }
}
