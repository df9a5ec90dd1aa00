//! Ops of bools.

use burn_backend::ops::BoolTensorOps;
use burn_backend::{
    BoolDType, ExecutionError, FloatDType, IntDType, Scalar, Shape, Slice, TensorData,
    TensorMetadata,
};

use super::values;
use crate::backend::Hearth;
use crate::call::{Number, Slices};
use crate::data;
use crate::device::HearthDevice;
use crate::dtypes::Dtype;
use crate::tensor::HearthTensor;

impl BoolTensorOps<Hearth> for Hearth {
    bool_methods! {}

    transfers! { bool_from_data, bool_into_data, bool_to_device }
    constants! { BoolDType: bool_empty = empty, bool_zeros = zeros, bool_ones = ones, }
    casts! { bool_into_int: IntDType, bool_into_float: FloatDType, }
    movement! {
        bool_reshape, bool_transpose, bool_swap_dims, bool_permute, bool_flip, bool_expand,
        bool_unfold, bool_repeat_dim, bool_cat, bool_slice, bool_slice_assign
    }
    indexing! { bool_gather, bool_select, bool_mask_where, bool_mask_fill }
    adding! { bool_scatter_or, bool_select_or }

    unary! { bool_not = logical_not, }
    binary! {
        bool_equal = equal, bool_not_equal = not_equal, bool_and = logical_and,
        bool_or = logical_or, bool_xor = logical_xor,
    }
    with_number! { bool_equal_elem = equal, bool_not_equal_elem = not_equal, }
    truths! { bool_any, bool_any_dim, bool_all, bool_all_dim }

    /// How many there are is known once they are computed: the call waits.
    async fn bool_argwhere(tensor: HearthTensor, out_dtype: IntDType) -> HearthTensor {
        values::cast(call!(argwhere(tensor)), out_dtype)
    }
}
