//! Hearth in the place that Burn 0.22 keeps for LibTorch.
//!
//! Tensors of Burn 0.22 are of one of the backends that Burn itself lists. LibTorch is one of them,
//! by the crate `burn-tch`; a program that patches this crate into its place has Hearth as
//! `Device::libtorch()`:
//!
//! ```toml
//! [patch.crates-io]
//! burn-tch = { path = "hearth/bindings/burn/burn-0.22/burn-tch" }
//! ```

pub use burn_hearth::{Hearth as LibTorch, HearthDevice as LibTorchDevice};
