//! Quantized tensors: codes and scales of floats.

use burn_backend::quantization::{BlockSize, QuantMode, QuantScheme, QuantStore, QuantValue};
use burn_backend::{DType, Shape, TensorData, TensorMetadata};
use hearth_sys::*;

use crate::call::{Argument, check};
use crate::data::{self, Read};
use crate::device::HearthDevice;
use crate::dtypes;
use crate::tensor::HearthTensor;
use crate::version::{self, ScaleDtype};

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
        Self::made(|array| unsafe {
            hearth_quantize(tensor.handle(), &scheme, scales, global, array)
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

/// The scheme of what is quantized by it: codes smaller than a byte are packed, whatever store Burn
/// asks for.
fn stored(scheme: &QuantScheme) -> QuantScheme {
    let native = matches!(scheme.store, QuantStore::Native);
    match scheme.value {
        QuantValue::Q4F | QuantValue::Q4S | QuantValue::Q2F | QuantValue::Q2S if native => {
            scheme.with_store(QuantStore::PackedU32(0))
        }
        _ => *scheme,
    }
}

/// Whether tensors can be quantized by it and keep its store.
pub fn supports(scheme: &QuantScheme) -> bool {
    if !by_scales(scheme) {
        return false;
    }
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
const SCALES: [ScaleDtype; 5] = [
    ScaleDtype::F32,
    ScaleDtype::F16,
    ScaleDtype::BF16,
    ScaleDtype::UE4M3,
    ScaleDtype::UE8M0,
];

fn number<T: PartialEq>(all: &[T], one: &T) -> i32 {
    all.iter()
        .position(|each| each == one)
        .expect("an enumerator that Hearth has") as i32
}

/// Whether codes are numbers to be scaled, not places in a table.
fn by_scales(scheme: &QuantScheme) -> bool {
    matches!(scheme.mode, QuantMode::Symmetric)
}

fn to_hearth(scheme: &QuantScheme) -> hearth_scheme {
    assert!(by_scales(scheme), "Hearth has no scheme {scheme:?}");
    let (store, store_axis) = match scheme.store {
        QuantStore::Native => (HEARTH_STORE_NATIVE, 0),
        QuantStore::PackedU32(axis) => (HEARTH_STORE_PACKED_U32, axis),
        QuantStore::PackedNative(axis) => (HEARTH_STORE_PACKED_NATIVE, axis),
    };
    let mut found = hearth_scheme {
        value: number(&VALUES, &scheme.value),
        store,
        store_axis: store_axis as i32,
        tensor_scale: HEARTH_SCALE_NONE,
        block_scale: HEARTH_SCALE_NONE,
        ..Default::default()
    };
    let (tensor, block) = version::scales(scheme);
    if let Some(scale) = tensor {
        found.tensor_scale = number(&SCALES, &scale);
    }
    if let Some((size, scale)) = block {
        found.block_scale = number(&SCALES, &scale);
        found.block_rank = size.as_slice().len() as i32;
        for (to, from) in found.block.iter_mut().zip(size.iter()) {
            *to = i64::from(*from);
        }
    }
    found
}

fn from_hearth(scheme: &hearth_scheme) -> QuantScheme {
    let axis = scheme.store_axis as usize;
    let store = match scheme.store {
        HEARTH_STORE_NATIVE => QuantStore::Native,
        HEARTH_STORE_PACKED_U32 => QuantStore::PackedU32(axis),
        _ => QuantStore::PackedNative(axis),
    };
    // Negative where there is none.
    let scale = |number| {
        usize::try_from(number)
            .ok()
            .map(|number: usize| SCALES[number])
    };
    let block = scale(scheme.block_scale).map(|scale| {
        let extents = &scheme.block[..scheme.block_rank as usize];
        let size: Vec<u8> = extents.iter().map(|extent| *extent as u8).collect();
        (BlockSize::new(size), scale)
    });
    let value = VALUES[scheme.value as usize];
    version::scheme(value, store, scale(scheme.tensor_scale), block)
}
