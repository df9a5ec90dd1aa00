//! Burn 0.22: what its traits and types have that those of other versions have not, or have
//! otherwise.

#[cfg(feature = "ir")]
mod ir;
#[macro_use]
mod methods;
mod ops;
mod schemes;
#[cfg(feature = "ir")]
mod signal;

use std::ffi::CStr;

use burn_backend::distributed::DistributedOps;
use burn_backend::ops::{ConvOptions, InterpolateMode};
use burn_backend::quantization::{QuantScheme, QuantStore};
use burn_backend::{
    BackendTypes, BoolStore, Bytes, DType, DeviceOps, DeviceSettings, GraphUnsupported, Shape,
    TensorData,
};

use crate::backend::Hearth;
use crate::device::HearthDevice;
use crate::quantized::HearthQuantizedTensor;
use crate::tensor::HearthTensor;

pub use ops::*;
pub use schemes::*;

impl BackendTypes for Hearth {
    type Device = HearthDevice;
    type FloatTensorPrimitive = HearthTensor;
    type IntTensorPrimitive = HearthTensor;
    type BoolTensorPrimitive = HearthTensor;
    type QuantizedTensorPrimitive = HearthQuantizedTensor;
    /// Plans are captured and replayed without being asked.
    type GraphPrimitive = GraphUnsupported;
}

/// The kinds of device that burn-tch has and Hearth names otherwise, for a crate that fills its
/// place.
#[doc(hidden)]
#[allow(non_upper_case_globals)]
impl HearthDevice {
    pub const Mps: Self = Self::Metal(0);
    /// A device that no machine has: using it is refused.
    pub const Vulkan: Self = Self::Metal(u16::MAX as usize);
}

impl DeviceOps for HearthDevice {
    fn defaults(&self) -> DeviceSettings {
        let bools = DType::Bool(BoolStore::Native);
        let mut settings = DeviceSettings::with_dtypes(DType::F32, DType::I32, bools);
        settings.quantization.scheme = QuantScheme::default().with_store(QuantStore::Native);
        settings
    }
}

/// There is one process and one device a tensor: nothing is reduced between them.
impl DistributedOps<Hearth> for Hearth {}

pub fn parts(data: TensorData) -> (Bytes, Shape, DType) {
    data.into_parts()
}

/// In front of each axis, and behind it where that differs.
pub fn conv_padding<const N: usize>(options: &ConvOptions<N>) -> ([usize; N], Option<[usize; N]>) {
    let end = options.is_asymmetric().then(|| options.padding_end());
    (options.padding_begin(), end)
}

pub fn interpolate_mode(mode: &InterpolateMode) -> &'static CStr {
    match mode {
        InterpolateMode::Nearest => c"nearest",
        InterpolateMode::NearestExact => c"nearest_exact",
        InterpolateMode::Bilinear => c"linear",
        InterpolateMode::Bicubic => c"cubic",
        InterpolateMode::Lanczos3 => c"lanczos",
    }
}
