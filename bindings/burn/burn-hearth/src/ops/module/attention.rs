//! Attention.

use burn_backend::ops::AttentionModuleOptions;

use crate::tensor::HearthTensor;

/// mask (true: masked out) and bias broadcast to [batch, heads, query, key].
pub fn attention(
    query: HearthTensor,
    key: HearthTensor,
    value: HearthTensor,
    mask: Option<HearthTensor>,
    bias: Option<HearthTensor>,
    options: AttentionModuleOptions,
) -> HearthTensor {
    call!(
        attention(query, key, value),
        scale = options.scale,
        softcap = options.softcap,
        causal = options.is_causal,
        mask = mask,
        bias = bias
    )
}
