//! Burn 0.21: what its traits and types have that those of other versions have not, or have
//! otherwise.

#[macro_use]
mod methods;
mod schemes;

use std::ffi::CStr;

use burn_backend::ops::{ConvOptions, InterpolateMode};
use burn_backend::{
    BackendTypes, Bytes, DType, DeviceOps, IntDType, Shape, TensorData, get_device_settings,
};

use crate::backend::Hearth;
use crate::device::HearthDevice;
use crate::quantized::HearthQuantizedTensor;
use crate::tensor::HearthTensor;

pub use schemes::*;

impl BackendTypes for Hearth {
    type Device = HearthDevice;
    type FloatTensorPrimitive = HearthTensor;
    type FloatElem = f32;
    type IntTensorPrimitive = HearthTensor;
    type IntElem = i32;
    type BoolTensorPrimitive = HearthTensor;
    type BoolElem = bool;
    type QuantizedTensorPrimitive = HearthQuantizedTensor;
}

impl DeviceOps for HearthDevice {}

/// The dtype of indices that nobody names.
pub fn default_int(beside: &HearthTensor) -> IntDType {
    get_device_settings::<Hearth>(&beside.device()).int_dtype
}

pub fn parts(data: TensorData) -> (Bytes, Shape, DType) {
    (data.bytes, data.shape, data.dtype)
}

/// In front of each axis, and behind it where that differs.
pub fn conv_padding<const N: usize>(options: &ConvOptions<N>) -> ([usize; N], Option<[usize; N]>) {
    (options.padding, None)
}

pub fn interpolate_mode(mode: &InterpolateMode) -> &'static CStr {
    match mode {
        InterpolateMode::Nearest => c"nearest",
        InterpolateMode::Bilinear => c"linear",
        InterpolateMode::Bicubic => c"cubic",
        InterpolateMode::Lanczos3 => c"lanczos",
    }
}
