//! The backend that the build chose by a feature.

use burn::backend::Autodiff;
use burn::tensor::Device;

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

/// The backend's own choice, or the first CUDA GPU of those that can compute there.
pub fn device(gpu: bool) -> Device<Inner> {
    #[cfg(feature = "hearth")]
    if gpu {
        return burn_hearth::HearthDevice::Cuda(0);
    }
    #[cfg(feature = "tch")]
    if gpu {
        return burn_tch::LibTorchDevice::Cuda(0);
    }
    assert!(!gpu || cfg!(feature = "cuda"), "no GPU with this backend");
    Default::default()
}
