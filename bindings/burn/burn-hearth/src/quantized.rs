//! Quantized tensors: codes and scales of floats.

use std::borrow::Cow;

use burn_backend::quantization::QuantScheme;
use burn_backend::{DType, Shape, TensorData, TensorMetadata};
use hearth_sys::*;

use crate::call::{Argument, check};
use crate::data::{self, Read};
use crate::device::HearthDevice;
use crate::dtypes;
use crate::schemes::{from_hearth, packed, stored, to_hearth};
use crate::tensor::HearthTensor;
use crate::version;

/// An array of Hearth's that is quantized, and by what.
#[derive(Clone, Debug)]
pub struct HearthQuantizedTensor {
    tensor: HearthTensor,
    pub(crate) scheme: QuantScheme,
    bytes: usize,
}

impl HearthQuantizedTensor {
    /// Of a tensor that is quantized.
    pub(crate) fn new(tensor: HearthTensor) -> Self {
        let (mut scheme, mut bytes) = (hearth_scheme::default(), 0);
        // SAFETY: Hearth writes one scheme and one number.
        check(unsafe { hearth_quantized_describe(tensor.handle(), &mut scheme, &mut bytes) });
        Self {
            tensor,
            scheme: from_hearth(&scheme),
            bytes,
        }
    }

    fn made(make: impl FnOnce(&mut hearth_array) -> hearth_status) -> Self {
        let mut array = hearth_array::default();
        check(make(&mut array));
        Self::new(HearthTensor::own(array))
    }

    /// Of codes as they are stored, and scales behind them.
    pub(crate) fn from_data(data: TensorData, device: &HearthDevice) -> Self {
        let (bytes, shape, dtype) = version::parts(data);
        let DType::QFloat(scheme) = dtype else {
            panic!("quantized data is of a scheme; got {dtype:?}");
        };
        let (bytes, scheme) = match packed(&bytes, &shape, &scheme) {
            Some(packed) => (Cow::Owned(packed), stored(&scheme)),
            None => (Cow::Borrowed(&bytes[..]), scheme),
        };
        let Some((floats, codes, count)) = version::scales_in_f32(bytes.len(), &shape, &scheme)
        else {
            return Self::from_bytes(&bytes, &shape, &scheme, device);
        };
        let floats = Self::from_bytes(&bytes, &shape, &floats, device);
        let scales = TensorData::from_bytes_vec(bytes[codes..].to_vec(), count, DType::F32);
        let scales = data::from_data(scales, device);
        Self::quantize(&floats.dequantize(DType::F32), &scheme, Some(&scales), None)
    }

    fn from_bytes(
        bytes: &[u8],
        shape: &Shape,
        scheme: &QuantScheme,
        device: &HearthDevice,
    ) -> Self {
        let shape: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
        // SAFETY: the bytes, the scheme and the extents outlive the call, which copies them.
        Self::made(|array| unsafe {
            hearth_array_from_quantized_bytes(
                bytes.as_ptr().cast(),
                bytes.len(),
                &to_hearth(scheme),
                HEARTH_F32,
                shape.as_ptr(),
                shape.len(),
                device.index(),
                array,
            )
        })
    }

    /// By the scales given, of f32, or by those that the elements ask for.
    pub(crate) fn quantize(
        tensor: &HearthTensor,
        scheme: &QuantScheme,
        scales: Option<&HearthTensor>,
        global: Option<&HearthTensor>,
    ) -> Self {
        let [scales, global] =
            [scales, global].map(|scale| scale.map(HearthTensor::handle).unwrap_or_default());
        let scheme = to_hearth(&stored(scheme));
        // SAFETY: the scheme outlives the call, which copies it and writes one handle.
        Self::made(|array| unsafe {
            hearth_quantize(tensor.handle(), &scheme, scales, global, array)
        })
    }

    /// By the scheme of `self`, with scales of the elements.
    pub(crate) fn requantize(&self, tensor: &HearthTensor) -> Self {
        // SAFETY: takes handles and numbers, and writes one handle.
        Self::made(|array| unsafe {
            hearth_quantize_like(tensor.handle(), self.tensor.handle(), 0, array)
        })
    }

    /// By the scheme and the scales of `self`, of which `tensor` has elements.
    pub(crate) fn pick(&self, tensor: &HearthTensor) -> Self {
        // SAFETY: takes handles and numbers, and writes one handle.
        Self::made(|array| unsafe {
            hearth_quantize_like(tensor.handle(), self.tensor.handle(), 1, array)
        })
    }

    pub(crate) fn dequantize(&self, dtype: impl Into<DType>) -> HearthTensor {
        let mut array = hearth_array::default();
        let dtype = dtypes::to_hearth(dtype);
        // SAFETY: takes handles and numbers, and writes one handle.
        check(unsafe { hearth_dequantize(self.tensor.handle(), dtype, &mut array) });
        HearthTensor::own(array)
    }

    pub(crate) fn to_device(&self, device: &HearthDevice) -> Self {
        // SAFETY: takes handles and numbers, and writes one handle.
        Self::made(|array| unsafe {
            hearth_quantized_to_device(self.tensor.handle(), device.index(), array)
        })
    }

    pub(crate) fn device(&self) -> HearthDevice {
        self.tensor.device()
    }

    pub(crate) fn read(self) -> Read {
        let dtype = self.dtype();
        Read::start(self.tensor, dtype, self.bytes)
    }
}

impl Argument for HearthQuantizedTensor {
    fn value(&self) -> Value<'_> {
        self.tensor.value()
    }
}

impl TensorMetadata for HearthQuantizedTensor {
    tensor_metadata! {}

    fn dtype(&self) -> DType {
        DType::QFloat(self.scheme)
    }

    fn shape(&self) -> Shape {
        self.tensor.shape()
    }

    fn rank(&self) -> usize {
        self.tensor.rank()
    }
}
