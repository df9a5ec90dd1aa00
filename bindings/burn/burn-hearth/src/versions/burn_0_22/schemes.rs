//! Schemes of quantization: codes have a scale of the tensor, of their block, or both.

use burn_backend::quantization::{
    BlockSize, QuantScheme, QuantStore, QuantValue, QuantizationParametersPrimitive,
};

pub use burn_backend::quantization::ScaleDtype;

use burn_backend::Shape;

use crate::backend::Hearth;
use crate::tensor::HearthTensor;

/// What the scales of the tensor and of blocks are stored as; neither where the scheme leaves it
/// open, which is another scheme than one that names what it is then.
pub fn scales(scheme: &QuantScheme) -> (Option<ScaleDtype>, Option<(BlockSize, ScaleDtype)>) {
    let named = |scale: &ScaleDtype| scheme.per_tensor(*scale) == *scheme;
    let block = scheme.block_scale().map(|block| (block.size, block.dtype));
    (scheme.tensor_scale().filter(named), block)
}

pub fn scheme(
    value: QuantValue,
    store: QuantStore,
    tensor: Option<ScaleDtype>,
    block: Option<(BlockSize, ScaleDtype)>,
) -> QuantScheme {
    let mut scheme = QuantScheme::default().with_value(value).with_store(store);
    if let Some(scale) = tensor {
        scheme = scheme.per_tensor(scale);
    }
    if let Some((size, scale)) = block {
        scheme = scheme.per_block(size.as_slice(), scale);
    }
    scheme
}

/// The scale of the tensor beside those of blocks.
pub fn global(parameters: &QuantizationParametersPrimitive<Hearth>) -> Option<&HearthTensor> {
    parameters.global.as_ref()
}

/// `TensorData::quantized()` writes scales as the scheme stores them.
pub fn scales_in_f32(_: usize, _: &Shape, _: &QuantScheme) -> Option<(QuantScheme, usize, Shape)> {
    None
}
