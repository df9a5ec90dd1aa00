//! Ops of floats.

use burn_backend::ops::{
    FloatTensorOps, GridSampleOptions, GridSamplePaddingMode, InterpolateMode,
};
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

impl FloatTensorOps<Hearth> for Hearth {
    float_methods! {}

    transfers! { float_from_data, float_into_data, float_to_device }
    constants! { FloatDType: float_empty = empty, float_zeros = zeros, float_ones = ones, }
    full! { FloatDType: float_full }
    casts! { float_into_int: IntDType, float_cast: FloatDType, }
    movement! {
        float_reshape, float_transpose, float_swap_dims, float_permute, float_flip, float_expand,
        float_unfold, float_repeat_dim, float_cat, float_slice, float_slice_assign
    }
    indexing! { float_gather, float_select, float_mask_where, float_mask_fill }
    indexing_nd! { float_gather_nd, float_scatter_nd }

    fn float_random(
        shape: Shape,
        distribution: Distribution,
        device: &HearthDevice,
        dtype: FloatDType,
    ) -> HearthTensor {
        values::random(shape, distribution, device, dtype)
    }

    unary! {
        float_neg = neg, float_recip = recip, float_exp = exp, float_log = log,
        float_log1p = log1p, float_sqrt = sqrt, float_abs = abs, float_sign = sign, float_erf = erf,
        float_cos = cos, float_sin = sin, float_tan = tan,
        float_cosh = cosh, float_sinh = sinh, float_tanh = tanh,
        float_acos = acos, float_asin = asin, float_atan = atan,
        float_acosh = acosh, float_asinh = asinh, float_atanh = atanh,
        float_round = round, float_floor = floor, float_ceil = ceil, float_trunc = trunc,
    }
    binary! {
        float_add = add, float_sub = sub, float_mul = mul, float_div = div,
        float_remainder = remainder, float_powf = pow, float_atan2 = atan2, float_matmul = matmul,
    }
    with_number! {
        float_add_scalar = add, float_sub_scalar = sub, float_mul_scalar = mul,
        float_div_scalar = div, float_remainder_scalar = remainder,
        float_powf_scalar = pow, float_powf_scalar_impl = pow,
        float_powi_scalar = pow, float_powi_scalar_impl = pow,
    }
    clamps! { float_clamp_min, float_clamp_max, float_clamp }
    comparison! {
        float_equal = equal, float_not_equal = not_equal,
        float_greater = greater, float_greater_equal = greater_equal,
        float_lower = less, float_lower_equal = less_equal,
    }
    comparison_with_number! {
        float_equal_elem = equal, float_not_equal_elem = not_equal,
        float_greater_elem = greater, float_greater_equal_elem = greater_equal,
        float_lower_elem = less, float_lower_equal_elem = less_equal,
    }

    fn float_powi(lhs: HearthTensor, rhs: HearthTensor) -> HearthTensor {
        call!(pow(lhs, values::cast(rhs, lhs.dtype())))
    }
    fn float_cross(lhs: HearthTensor, rhs: HearthTensor, dim: usize) -> HearthTensor {
        call!(cross(lhs, rhs), axis = dim)
    }
    fn float_is_nan(tensor: HearthTensor, _out_dtype: BoolDType) -> HearthTensor {
        call!(is_nan(tensor))
    }
    fn float_is_inf(tensor: HearthTensor, _out_dtype: BoolDType) -> HearthTensor {
        call!(is_inf(tensor))
    }

    over_everything! {
        float_sum = sum, float_prod = prod, float_mean = mean, float_max = max, float_min = min,
        float_max_abs = max_abs,
    }
    over_axis! {
        float_sum_dim = sum, float_prod_dim = prod, float_mean_dim = mean, float_max_dim = max,
        float_min_dim = min, float_max_abs_dim = max_abs,
    }
    along_axis! {
        float_cumsum = cumsum, float_cumprod = cumprod, float_cummin = cummin,
        float_cummax = cummax,
    }
    truths! { float_any, float_any_dim, float_all, float_all_dim, BoolDType }

    fn float_argmax(tensor: HearthTensor, dim: usize, out_dtype: IntDType) -> HearthTensor {
        call!(
            argmax(tensor),
            axis = dim,
            keepdim = true,
            dtype = Dtype::from(out_dtype)
        )
    }
    fn float_argmin(tensor: HearthTensor, dim: usize, out_dtype: IntDType) -> HearthTensor {
        call!(
            argmin(tensor),
            axis = dim,
            keepdim = true,
            dtype = Dtype::from(out_dtype)
        )
    }
    fn float_max_dim_with_indices(
        tensor: HearthTensor,
        dim: usize,
        indices_dtype: IntDType,
    ) -> (HearthTensor, HearthTensor) {
        let both = call_all!(max_with_indices(tensor), axis = dim, keepdim = true);
        values::with_indices(both, indices_dtype)
    }
    fn float_min_dim_with_indices(
        tensor: HearthTensor,
        dim: usize,
        indices_dtype: IntDType,
    ) -> (HearthTensor, HearthTensor) {
        let both = call_all!(min_with_indices(tensor), axis = dim, keepdim = true);
        values::with_indices(both, indices_dtype)
    }

    fn float_topk(tensor: HearthTensor, dim: usize, k: usize) -> HearthTensor {
        call!(topk(tensor), k = k, axis = dim)
    }
    fn float_argtopk(
        tensor: HearthTensor,
        dim: usize,
        k: usize,
        out_dtype: IntDType,
    ) -> HearthTensor {
        call!(
            argtopk(tensor),
            k = k,
            axis = dim,
            dtype = Dtype::from(out_dtype)
        )
    }
    fn float_sort(tensor: HearthTensor, dim: usize, descending: bool) -> HearthTensor {
        call!(sort(tensor), axis = dim, descending = descending)
    }
    fn float_sort_with_indices(
        tensor: HearthTensor,
        dim: usize,
        descending: bool,
        indices_dtype: IntDType,
    ) -> (HearthTensor, HearthTensor) {
        let both = call_all!(
            sort_with_indices(tensor),
            axis = dim,
            descending = descending
        );
        values::with_indices(both, indices_dtype)
    }
    fn float_argsort(
        tensor: HearthTensor,
        dim: usize,
        descending: bool,
        out_dtype: IntDType,
    ) -> HearthTensor {
        let dtype = Dtype::from(out_dtype);
        call!(
            argsort(tensor),
            axis = dim,
            descending = descending,
            dtype = dtype
        )
    }

    fn float_grid_sample_2d(
        tensor: HearthTensor,
        grid: HearthTensor,
        options: GridSampleOptions,
    ) -> HearthTensor {
        let mode = match options.mode {
            InterpolateMode::Nearest => c"nearest",
            InterpolateMode::Bilinear => c"bilinear",
            other => panic!("grid_sample_2d: {other:?} is not a mode of it"),
        };
        let padding = match options.padding_mode {
            GridSamplePaddingMode::Zeros => c"zeros",
            GridSamplePaddingMode::Border => c"border",
            GridSamplePaddingMode::Reflection => c"reflection",
        };
        call!(
            grid_sample_2d(tensor, grid),
            mode = mode,
            padding = padding,
            align_corners = options.align_corners
        )
    }
}
