//! Hearth, a lazy tensor engine, as a backend of Burn.
//!
//! ```no_run
//! use burn_hearth::{Hearth, HearthDevice};
//! // In a program that depends on `burn`:
//! // let x = burn::tensor::Tensor::<Hearth, 2>::ones([2, 3], &HearthDevice::Cpu);
//! # let _ = (Hearth, HearthDevice::Cpu);
//! ```
//!
//! Ops record and compute nothing; reading computes. What cannot be done is a panic with Hearth's
//! message, as Burn's backends have it; what fails only when it is computed comes from the read.

#[macro_use]
mod call;
#[macro_use]
#[cfg_attr(burn_0_22, path = "versions/burn_0_22/mod.rs")]
#[cfg_attr(not(burn_0_22), path = "versions/burn_0_21/mod.rs")]
mod version;
mod backend;
mod data;
mod device;
mod dtypes;
mod ops;
mod quantized;
mod schemes;
mod tensor;

pub use backend::Hearth;
pub use device::HearthDevice;
pub use quantized::HearthQuantizedTensor;
pub use tensor::HearthTensor;
