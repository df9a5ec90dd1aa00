//! Schemes of quantization: codes have one scale, of the tensor or of their block.

use burn_backend::QTensorPrimitive;
use burn_backend::quantization::{
    BlockSize, QuantLevel, QuantMode, QuantScheme, QuantStore, QuantValue,
    QuantizationParametersPrimitive,
};

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
