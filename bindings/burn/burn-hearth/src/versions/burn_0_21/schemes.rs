//! Schemes of quantization: codes have one scale, of the tensor or of their block.

use burn_backend::quantization::{
    BlockSize, QuantLevel, QuantMode, QuantScheme, QuantStore, QuantValue,
    QuantizationParametersPrimitive, params_shape,
};
use burn_backend::{QTensorPrimitive, Shape};

pub use burn_backend::quantization::QuantParam as ScaleDtype;

use crate::backend::Hearth;
use crate::quantized::HearthQuantizedTensor;
use crate::tensor::HearthTensor;

impl QTensorPrimitive for HearthQuantizedTensor {
    fn scheme(&self) -> &QuantScheme {
        &self.scheme
    }

    fn default_scheme() -> QuantScheme {
        QuantScheme::default().with_store(QuantStore::Native)
    }
}

/// What the scales of the tensor and of blocks are stored as.
pub fn scales(scheme: &QuantScheme) -> (Option<ScaleDtype>, Option<(BlockSize, ScaleDtype)>) {
    match scheme.level {
        QuantLevel::Tensor => (Some(scheme.param), None),
        QuantLevel::Block(size) => (None, Some((size, scheme.param))),
    }
}

pub fn scheme(
    value: QuantValue,
    store: QuantStore,
    tensor: Option<ScaleDtype>,
    block: Option<(BlockSize, ScaleDtype)>,
) -> QuantScheme {
    let (level, param) = match block {
        Some((size, scale)) => (QuantLevel::Block(size), scale),
        None => (QuantLevel::Tensor, tensor.unwrap_or(ScaleDtype::F32)),
    };
    QuantScheme {
        value,
        param,
        store,
        level,
        mode: QuantMode::Symmetric,
    }
}

/// The scale of the tensor beside those of blocks.
pub fn global(_parameters: &QuantizationParametersPrimitive<Hearth>) -> Option<&HearthTensor> {
    None
}

/// Of data whose scales are of f32 though the scheme stores others, as `TensorData::quantized()`
/// writes them: a scheme that says so, the bytes of the codes, and the shape of the scales.
pub fn scales_in_f32(
    bytes: usize,
    shape: &Shape,
    scheme: &QuantScheme,
) -> Option<(QuantScheme, usize, Shape)> {
    let mut words = shape.clone();
    if let QuantStore::PackedU32(axis) | QuantStore::PackedNative(axis) = scheme.store
        && let Some(extent) = words.iter_mut().rev().nth(axis)
    {
        *extent = extent.div_ceil(scheme.num_quants());
    }
    let codes = words.num_elements() * scheme.size_bits_stored() / 8;
    let count = params_shape(shape, scheme.level);
    let in_f32 = codes + count.num_elements() * size_of::<f32>() == bytes;
    (scheme.param != ScaleDtype::F32 && in_f32)
        .then(|| (scheme.with_param(ScaleDtype::F32), codes, count))
}
