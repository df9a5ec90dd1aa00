//! The backend that the build chose by a feature.

use burn::backend::Autodiff;

#[cfg(feature = "hearth")]
pub type Inner = burn_hearth::Hearth;
#[cfg(feature = "flex")]
pub type Inner = burn_flex::Flex;
#[cfg(feature = "ndarray")]
pub type Inner = burn_ndarray::NdArray;
#[cfg(feature = "candle")]
pub type Inner = burn_candle::Candle;
#[cfg(feature = "tch")]
pub type Inner = burn_tch::LibTorch;
#[cfg(feature = "cuda")]
pub type Inner = burn_cuda::Cuda;

pub type Chosen = Autodiff<Inner>;
