//! Ops of quantized tensors.
//!
//! Codes move as they are where each keeps its scale; what picks elements keeps the scale too. All
//! else is what Burn does unless told: dequantize, compute, and quantize again where that
//! propagates.

use burn_backend::ops::{FloatTensorOps, QTensorOps};
use burn_backend::quantization::{QuantScheme, QuantizationParametersPrimitive};
use burn_backend::{
    DType, ExecutionError, FloatDType, IntDType, Shape, Slice, TensorData, TensorMetadata,
};

use super::values;
use crate::backend::Hearth;
use crate::call::Slices;
use crate::device::HearthDevice;
use crate::quantized::HearthQuantizedTensor;
use crate::tensor::HearthTensor;
use crate::version;

type Quantized = HearthQuantizedTensor;

/// What a function of floats picks of the elements.
fn picked(tensor: Quantized, f: impl FnOnce(HearthTensor) -> HearthTensor) -> Quantized {
    tensor.pick(&f(tensor.dequantize(DType::F32)))
}

fn picked_with_indices(
    tensor: Quantized,
    f: impl FnOnce(HearthTensor) -> (HearthTensor, HearthTensor),
) -> (Quantized, HearthTensor) {
    let (elements, indices) = f(tensor.dequantize(DType::F32));
    (tensor.pick(&elements), indices)
}

/// What a function of floats gives, by the scheme of the tensor.
fn requantized(tensor: Quantized, f: impl FnOnce(HearthTensor) -> HearthTensor) -> Quantized {
    tensor.requantize(&f(tensor.dequantize(DType::F32)))
}

impl QTensorOps<Hearth> for Hearth {
    quantized_methods! {}

    fn q_from_data(data: TensorData, device: &HearthDevice) -> Quantized {
        Quantized::from_data(data, device)
    }
    fn q_to_device(tensor: Quantized, device: &HearthDevice) -> Quantized {
        tensor.to_device(device)
    }
    fn q_into_data(
        tensor: Quantized,
    ) -> impl Future<Output = Result<TensorData, ExecutionError>> + Send {
        tensor.read()
    }

    fn quantize(
        tensor: HearthTensor,
        scheme: &QuantScheme,
        qparams: QuantizationParametersPrimitive<Hearth>,
    ) -> Quantized {
        let scales = values::cast(qparams.scales.clone(), DType::F32);
        Quantized::quantize(&tensor, scheme, Some(&scales), version::global(&qparams))
    }
    fn quantize_dynamic(tensor: HearthTensor, scheme: &QuantScheme) -> Quantized {
        Quantized::quantize(&tensor, scheme, None, None)
    }
    fn dequantize(tensor: Quantized, dtype: FloatDType) -> HearthTensor {
        tensor.dequantize(dtype)
    }

    fn q_reshape(tensor: Quantized, shape: Shape) -> Quantized {
        Quantized::new(call!(reshape(tensor), shape = shape))
    }
    fn q_expand(tensor: Quantized, shape: Shape) -> Quantized {
        Quantized::new(call!(expand(tensor), shape = shape))
    }
    fn q_transpose(tensor: Quantized) -> Quantized {
        Quantized::new(call!(transpose(tensor)))
    }
    fn q_swap_dims(tensor: Quantized, dim1: usize, dim2: usize) -> Quantized {
        Quantized::new(call!(swap_axes(tensor), a = dim1, b = dim2))
    }
    fn q_permute(tensor: Quantized, axes: &[usize]) -> Quantized {
        Quantized::new(call!(permute(tensor), axes = axes))
    }
    fn q_flip(tensor: Quantized, axes: &[usize]) -> Quantized {
        Quantized::new(call!(flip(tensor), axes = axes))
    }
    fn q_select(tensor: Quantized, dim: usize, indices: HearthTensor) -> Quantized {
        Quantized::new(call!(select(tensor, values::indices(indices)), axis = dim))
    }
    fn q_gather(dim: usize, tensor: Quantized, indices: HearthTensor) -> Quantized {
        Quantized::new(call!(gather(tensor, values::indices(indices)), axis = dim))
    }
    fn q_slice(tensor: Quantized, slices: &[Slice]) -> Quantized {
        Quantized::new(call!(
            slice(tensor),
            slices = Slices::new(tensor.shape().as_slice(), slices)
        ))
    }
    fn q_repeat_dim(tensor: Quantized, dim: usize, times: usize) -> Quantized {
        Quantized::new(call!(
            repeat(tensor),
            times = values::one_axis(tensor.rank(), dim, times)
        ))
    }
    fn q_cat(tensors: Vec<Quantized>, dim: usize) -> Quantized {
        Quantized::new(values::cat(&tensors, dim))
    }

    fn q_abs(tensor: Quantized) -> Quantized {
        requantized(tensor, |x| call!(abs(x)))
    }
    fn q_max_abs(tensor: Quantized) -> Quantized {
        requantized(tensor, Hearth::float_max_abs)
    }
    fn q_max_abs_dim(tensor: Quantized, dim: usize) -> Quantized {
        requantized(tensor, |x| Hearth::float_max_abs_dim(x, dim))
    }

    fn q_max(tensor: Quantized) -> Quantized {
        picked(tensor, Hearth::float_max)
    }
    fn q_min(tensor: Quantized) -> Quantized {
        picked(tensor, Hearth::float_min)
    }
    fn q_max_dim(tensor: Quantized, dim: usize) -> Quantized {
        picked(tensor, |x| Hearth::float_max_dim(x, dim))
    }
    fn q_min_dim(tensor: Quantized, dim: usize) -> Quantized {
        picked(tensor, |x| Hearth::float_min_dim(x, dim))
    }
    fn q_max_dim_with_indices(
        tensor: Quantized,
        dim: usize,
        out_dtype: IntDType,
    ) -> (Quantized, HearthTensor) {
        picked_with_indices(tensor, |x| {
            Hearth::float_max_dim_with_indices(x, dim, out_dtype)
        })
    }
    fn q_min_dim_with_indices(
        tensor: Quantized,
        dim: usize,
        out_dtype: IntDType,
    ) -> (Quantized, HearthTensor) {
        picked_with_indices(tensor, |x| {
            Hearth::float_min_dim_with_indices(x, dim, out_dtype)
        })
    }
    fn q_topk(tensor: Quantized, dim: usize, k: usize) -> Quantized {
        picked(tensor, |x| Hearth::float_topk(x, dim, k))
    }
    fn q_sort(tensor: Quantized, dim: usize, descending: bool) -> Quantized {
        picked(tensor, |x| Hearth::float_sort(x, dim, descending))
    }
    fn q_sort_with_indices(
        tensor: Quantized,
        dim: usize,
        descending: bool,
        out_dtype: IntDType,
    ) -> (Quantized, HearthTensor) {
        picked_with_indices(tensor, |x| {
            Hearth::float_sort_with_indices(x, dim, descending, out_dtype)
        })
    }
}
