//! Stock programs in process, where `Device::libtorch()` is Hearth.

#![allow(deprecated)] // LibTorch is, in Burn.

mod program;

use burn::tensor::quantization::QuantValue;
use burn::tensor::{DType, Device, DeviceType, Tensor};

#[test]
fn programs_run_as_they_are() {
    let device = Device::libtorch();
    program::multiplies(&device);
    program::differentiates(&device);
    program::learns(&device);
}

#[test]
fn tensors_quantize() {
    let device = Device::libtorch();
    let x = Tensor::<2>::from_data([[-1.27, 0.5], [0.02, 1.27]], &device);
    let scheme = device.settings().quantization.scheme;
    let scheme = scheme.with_value(QuantValue::Q8S);
    let quantized = x.quantize_dynamic(&scheme);
    assert!(matches!(quantized.dtype(), DType::QFloat(_)));
    program::assert_near(quantized.dequantize(), [[-1.27, 0.5], [0.02, 1.27]]);
}

/// Those of kind LibTorch that Burn lists are GPUs.
#[test]
fn devices_that_are_listed_are_there() {
    for device in Device::enumerate(DeviceType::LibTorch).into_vec() {
        program::multiplies(&device);
    }
}
