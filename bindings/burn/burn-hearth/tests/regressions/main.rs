//! Faults that backends of Burn for Apple's GPUs had: each test names the one that it guards
//! against, and compares with loops over f64.

mod activations;
mod bools;
mod convolutions;
mod deformable;
mod embeddings;
mod indexing;
mod pooling;
mod quantization;
mod random;
mod reductions;
mod reference;
mod resizing;
mod sorting;
