//! Quantized tensors: codes and scales of floats.

use burn_backend::quantization::{
    BlockSize, QuantLevel, QuantMode, QuantParam, QuantScheme, QuantStore, QuantValue, params_shape,
};
use burn_backend::{DType, QTensorPrimitive, Shape, TensorData, TensorMetadata};
use hearth_sys::*;

use crate::call::{Argument, check};
use crate::data::{self, Read};
use crate::device::HearthDevice;
use crate::dtypes;
use crate::tensor::HearthTensor;

/// An array of Hearth's that is quantized, and by what.
#[derive(Clone, Debug)]
pub struct HearthQuantizedTensor {
    tensor: HearthTensor,
    scheme: QuantScheme,
    bytes: usize,
}

impl HearthQuantizedTensor {
    /// Of a tensor that is quantized.
    pub(crate) fn new(tensor: HearthTensor) -> Self {
        let (mut scheme, mut bytes) = (hearth_scheme::default(), 0);
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

    /// Of codes as they are stored, and scales behind them: as the scheme stores them, or in f32, as
    /// `TensorData::quantized()` writes them whatever the scheme.
    pub(crate) fn from_data(data: TensorData, device: &HearthDevice) -> Self {
        let DType::QFloat(scheme) = data.dtype else {
            panic!("quantized data is of a scheme; got {:?}", data.dtype);
        };
        let words = data.shape.num_elements().div_ceil(scheme.num_quants());
        let codes = words * scheme.size_bits_stored() / 8;
        let count = params_shape(&data.shape, scheme.level);
        let in_f32 = codes + count.num_elements() * size_of::<f32>() == data.bytes.len();
        if scheme.param == QuantParam::F32 || !in_f32 {
            return Self::from_bytes(&data.bytes, &data.shape, &scheme, device);
        }
        let floats = scheme.with_param(QuantParam::F32);
        let floats = Self::from_bytes(&data.bytes, &data.shape, &floats, device);
        let scales = TensorData::from_bytes_vec(data.bytes[codes..].to_vec(), count, DType::F32);
        let scales = data::from_data(scales, device);
        Self::quantize(&floats.dequantize(DType::F32), &scheme, Some(&scales))
    }

    fn from_bytes(
        bytes: &[u8],
        shape: &Shape,
        scheme: &QuantScheme,
        device: &HearthDevice,
    ) -> Self {
        let shape: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
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
    ) -> Self {
        let scales = scales.map(HearthTensor::handle).unwrap_or_default();
        let global = hearth_array::default();
        Self::made(|array| unsafe {
            hearth_quantize(tensor.handle(), &to_hearth(scheme), scales, global, array)
        })
    }

    /// By the scheme of `self`, with scales of the elements.
    pub(crate) fn requantize(&self, tensor: &HearthTensor) -> Self {
        Self::made(|array| unsafe {
            hearth_quantize_like(tensor.handle(), self.tensor.handle(), 0, array)
        })
    }

    /// By the scheme and the scales of `self`, of which `tensor` has elements.
    pub(crate) fn pick(&self, tensor: &HearthTensor) -> Self {
        Self::made(|array| unsafe {
            hearth_quantize_like(tensor.handle(), self.tensor.handle(), 1, array)
        })
    }

    pub(crate) fn dequantize(&self, dtype: impl Into<DType>) -> HearthTensor {
        let mut array = hearth_array::default();
        let dtype = dtypes::to_hearth(dtype);
        check(unsafe { hearth_dequantize(self.tensor.handle(), dtype, &mut array) });
        HearthTensor::own(array)
    }

    pub(crate) fn to_device(&self, device: &HearthDevice) -> Self {
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
    fn value(&self) -> hearth_value {
        self.tensor.value()
    }
}

impl TensorMetadata for HearthQuantizedTensor {
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

impl QTensorPrimitive for HearthQuantizedTensor {
    fn scheme(&self) -> &QuantScheme {
        &self.scheme
    }

    fn default_scheme() -> QuantScheme {
        QuantScheme::default().with_store(QuantStore::Native)
    }
}

/// Whether tensors can be quantized by it.
pub fn supports(scheme: &QuantScheme) -> bool {
    let mut supported = 0;
    check(unsafe { hearth_scheme_supported(&to_hearth(scheme), &mut supported) });
    supported != 0
}

// Burn's enumerators by Hearth's numbers.
const VALUES: [QuantValue; 9] = [
    QuantValue::Q8F,
    QuantValue::Q8S,
    QuantValue::Q4F,
    QuantValue::Q4S,
    QuantValue::Q2F,
    QuantValue::Q2S,
    QuantValue::E4M3,
    QuantValue::E5M2,
    QuantValue::E2M1,
];
const SCALES: [QuantParam; 5] = [
    QuantParam::F32,
    QuantParam::F16,
    QuantParam::BF16,
    QuantParam::UE4M3,
    QuantParam::UE8M0,
];

fn number<T: PartialEq>(all: &[T], one: &T) -> i32 {
    all.iter()
        .position(|each| each == one)
        .expect("an enumerator that Hearth has") as i32
}

fn to_hearth(scheme: &QuantScheme) -> hearth_scheme {
    let QuantMode::Symmetric = scheme.mode;
    let mut found = hearth_scheme {
        value: number(&VALUES, &scheme.value),
        tensor_scale: HEARTH_SCALE_NONE,
        block_scale: HEARTH_SCALE_NONE,
        ..Default::default()
    };
    (found.store, found.store_axis) = match scheme.store {
        QuantStore::Native => (HEARTH_STORE_NATIVE, 0),
        QuantStore::PackedU32(axis) => (HEARTH_STORE_PACKED_U32, axis as i32),
        QuantStore::PackedNative(axis) => (HEARTH_STORE_PACKED_NATIVE, axis as i32),
    };
    let scale = number(&SCALES, &scheme.param);
    match scheme.level {
        QuantLevel::Tensor => found.tensor_scale = scale,
        QuantLevel::Block(size) => {
            found.block_scale = scale;
            found.block_rank = size.as_slice().len() as i32;
            for (to, from) in found.block.iter_mut().zip(size.iter()) {
                *to = i64::from(*from);
            }
        }
    }
    found
}

fn from_hearth(scheme: &hearth_scheme) -> QuantScheme {
    let axis = scheme.store_axis as usize;
    let (level, scale) = if scheme.block_scale == HEARTH_SCALE_NONE {
        (
            QuantLevel::Tensor,
            scheme.tensor_scale.max(HEARTH_SCALE_F32),
        )
    } else {
        let extents = &scheme.block[..scheme.block_rank as usize];
        let size: Vec<u8> = extents.iter().map(|extent| *extent as u8).collect();
        (QuantLevel::Block(BlockSize::new(size)), scheme.block_scale)
    };
    QuantScheme {
        value: VALUES[scheme.value as usize],
        param: SCALES[scale as usize],
        store: match scheme.store {
            HEARTH_STORE_NATIVE => QuantStore::Native,
            HEARTH_STORE_PACKED_U32 => QuantStore::PackedU32(axis),
            _ => QuantStore::PackedNative(axis),
        },
        level,
        mode: QuantMode::Symmetric,
    }
}
