//! Ops of integers. Indices have the dtype of the tensor that they are of.

use std::ops::Range;

use burn_backend::ops::IntTensorOps;
use burn_backend::tensor::IndexingUpdateOp;
use burn_backend::{
    BoolDType, Distribution, ExecutionError, FloatDType, IntDType, Scalar, Shape, Slice,
    TensorData, TensorMetadata,
};

use super::values;
use crate::backend::Hearth;
use crate::call::{Number, Slices};
use crate::data;
use crate::device::HearthDevice;
use crate::dtypes::Dtype;
use crate::tensor::HearthTensor;

impl IntTensorOps<Hearth> for Hearth {
    int_methods! {}

    transfers! { int_from_data, int_into_data, int_to_device }
    constants! { IntDType: int_empty = empty, int_zeros = zeros, int_ones = ones, }
    full! { IntDType: int_full }
    casts! { int_into_float: FloatDType, int_cast: IntDType, }
    movement! {
        int_reshape, int_transpose, int_swap_dims, int_permute, int_flip, int_expand, int_unfold,
        int_repeat_dim, int_cat, int_slice, int_slice_assign
    }
    indexing! { int_gather, int_select, int_mask_where, int_mask_fill }
    indexing_nd! { int_gather_nd, int_scatter_nd }

    fn int_random(
        shape: Shape,
        distribution: Distribution,
        device: &HearthDevice,
        dtype: IntDType,
    ) -> HearthTensor {
        values::random_integers(shape, distribution, device, dtype)
    }
    fn int_arange_step(
        range: Range<i64>,
        step: usize,
        device: &HearthDevice,
        dtype: IntDType,
    ) -> HearthTensor {
        call!(
            arange(),
            start = range.start,
            end = range.end,
            step = step,
            dtype = Dtype::from(dtype),
            device = device
        )
    }
    fn int_arange(range: Range<i64>, device: &HearthDevice, dtype: IntDType) -> HearthTensor {
        Self::int_arange_step(range, 1, device, dtype)
    }

    unary! { int_neg = neg, int_abs = abs, int_sign = sign, bitwise_not = bitwise_not, }
    binary! {
        int_add = add, int_sub = sub, int_mul = mul, int_div = div, int_remainder = remainder,
        int_powi = pow, int_matmul = matmul,
        bitwise_and = bitwise_and, bitwise_or = bitwise_or, bitwise_xor = bitwise_xor,
        bitwise_left_shift = bitwise_left_shift, bitwise_right_shift = bitwise_right_shift,
    }
    with_number! {
        int_add_scalar = add, int_sub_scalar = sub, int_mul_scalar = mul, int_div_scalar = div,
        int_remainder_scalar = remainder, int_powi_scalar = pow, int_powi_scalar_impl = pow,
        bitwise_and_scalar = bitwise_and, bitwise_or_scalar = bitwise_or,
        bitwise_xor_scalar = bitwise_xor, bitwise_left_shift_scalar = bitwise_left_shift,
        bitwise_right_shift_scalar = bitwise_right_shift,
    }
    clamps! { int_clamp_min, int_clamp_max, int_clamp }
    comparison! {
        int_equal = equal, int_not_equal = not_equal,
        int_greater = greater, int_greater_equal = greater_equal,
        int_lower = less, int_lower_equal = less_equal,
    }
    comparison_with_number! {
        int_equal_elem = equal, int_not_equal_elem = not_equal,
        int_greater_elem = greater, int_greater_equal_elem = greater_equal,
        int_lower_elem = less, int_lower_equal_elem = less_equal,
    }

    over_everything! {
        int_sum = sum, int_prod = prod, int_mean = mean, int_max = max, int_min = min,
        int_max_abs = max_abs,
    }
    over_axis! {
        int_sum_dim = sum, int_prod_dim = prod, int_mean_dim = mean, int_max_dim = max,
        int_min_dim = min, int_max_abs_dim = max_abs,
    }
    along_axis! {
        int_cumsum = cumsum, int_cumprod = cumprod, int_cummin = cummin, int_cummax = cummax,
    }
    truths! { int_any, int_any_dim, int_all, int_all_dim, BoolDType }

    fn int_argmax(tensor: HearthTensor, dim: usize) -> HearthTensor {
        let dtype = Dtype::from(tensor.dtype());
        call!(argmax(tensor), axis = dim, keepdim = true, dtype = dtype)
    }
    fn int_argmin(tensor: HearthTensor, dim: usize) -> HearthTensor {
        let dtype = Dtype::from(tensor.dtype());
        call!(argmin(tensor), axis = dim, keepdim = true, dtype = dtype)
    }
    fn int_max_dim_with_indices(tensor: HearthTensor, dim: usize) -> (HearthTensor, HearthTensor) {
        let both = call_all!(max_with_indices(tensor), axis = dim, keepdim = true);
        values::with_indices(both, tensor.dtype())
    }
    fn int_min_dim_with_indices(tensor: HearthTensor, dim: usize) -> (HearthTensor, HearthTensor) {
        let both = call_all!(min_with_indices(tensor), axis = dim, keepdim = true);
        values::with_indices(both, tensor.dtype())
    }

    fn int_topk(tensor: HearthTensor, dim: usize, k: usize) -> HearthTensor {
        call!(topk(tensor), k = k, axis = dim)
    }
    fn int_argtopk(tensor: HearthTensor, dim: usize, k: usize) -> HearthTensor {
        call!(
            argtopk(tensor),
            k = k,
            axis = dim,
            dtype = Dtype::from(tensor.dtype())
        )
    }
    fn int_sort(tensor: HearthTensor, dim: usize, descending: bool) -> HearthTensor {
        call!(sort(tensor), axis = dim, descending = descending)
    }
    fn int_sort_with_indices(
        tensor: HearthTensor,
        dim: usize,
        descending: bool,
    ) -> (HearthTensor, HearthTensor) {
        let both = call_all!(
            sort_with_indices(tensor),
            axis = dim,
            descending = descending
        );
        values::with_indices(both, tensor.dtype())
    }
    fn int_argsort(tensor: HearthTensor, dim: usize, descending: bool) -> HearthTensor {
        let dtype = Dtype::from(tensor.dtype());
        call!(
            argsort(tensor),
            axis = dim,
            descending = descending,
            dtype = dtype
        )
    }
}
