//! Methods that the traits of floats, ints and bools share, as macros from names of methods to
//! functions.

/// Of one tensor.
macro_rules! unary {
    ($($method:ident = $function:ident,)*) => {
        $(fn $method(tensor: HearthTensor) -> HearthTensor {
            call!($function(tensor))
        })*
    };
}

/// Of two tensors.
macro_rules! binary {
    ($($method:ident = $function:ident,)*) => {
        $(fn $method(lhs: HearthTensor, rhs: HearthTensor) -> HearthTensor {
            call!($function(lhs, rhs))
        })*
    };
}

/// Of a tensor and a number.
macro_rules! with_number {
    ($($method:ident = $function:ident,)*) => {
        $(fn $method(lhs: HearthTensor, rhs: Scalar) -> HearthTensor {
            call!($function(lhs, Number::beside(&lhs, rhs)))
        })*
    };
}

/// To bools, which are stored in one way here: Burn's dtype of them says nothing.
macro_rules! comparison {
    ($($method:ident = $function:ident,)*) => {
        $(fn $method(lhs: HearthTensor, rhs: HearthTensor, _out_dtype: BoolDType) -> HearthTensor {
            call!($function(lhs, rhs))
        })*
    };
}

macro_rules! comparison_with_number {
    ($($method:ident = $function:ident,)*) => {
        $(fn $method(lhs: HearthTensor, rhs: Scalar, _out_dtype: BoolDType) -> HearthTensor {
            call!($function(lhs, Number::beside(&lhs, rhs)))
        })*
    };
}

/// Within bounds, of which each may be a number.
macro_rules! clamps {
    ($clamp_min:ident, $clamp_max:ident, $clamp:ident) => {
        with_number! { $clamp_min = clamp_min, $clamp_max = clamp_max, }

        fn $clamp(tensor: HearthTensor, min: Scalar, max: Scalar) -> HearthTensor {
            let (min, max) = (Number::beside(&tensor, min), Number::beside(&tensor, max));
            call!(clamp(tensor, min, max))
        }
    };
}

/// Over everything, to one element: [1].
macro_rules! over_everything {
    ($($method:ident = $function:ident,)*) => {
        $(fn $method(tensor: HearthTensor) -> HearthTensor {
            call!(reshape(call!($function(tensor))), shape = [1usize])
        })*
    };
}

/// Over an axis, which stays with extent 1.
macro_rules! over_axis {
    ($($method:ident = $function:ident,)*) => {
        $(fn $method(tensor: HearthTensor, dim: usize) -> HearthTensor {
            call!($function(tensor), axes = [dim], keepdim = true)
        })*
    };
}

/// Along an axis, which keeps its extent.
macro_rules! along_axis {
    ($($method:ident = $function:ident,)*) => {
        $(fn $method(tensor: HearthTensor, dim: usize) -> HearthTensor {
            call!($function(tensor), axis = dim)
        })*
    };
}

/// Whether any or all elements are not 0.
macro_rules! truths {
    ($any:ident, $any_dim:ident, $all:ident, $all_dim:ident $(, $out_dtype:ident)?) => {
        fn $any(tensor: HearthTensor $(, _: $out_dtype)?) -> HearthTensor {
            call!(reshape(call!(any(tensor))), shape = [1usize])
        }
        fn $any_dim(tensor: HearthTensor, dim: usize $(, _: $out_dtype)?) -> HearthTensor {
            call!(any(tensor), axes = [dim], keepdim = true)
        }
        fn $all(tensor: HearthTensor $(, _: $out_dtype)?) -> HearthTensor {
            call!(reshape(call!(all(tensor))), shape = [1usize])
        }
        fn $all_dim(tensor: HearthTensor, dim: usize $(, _: $out_dtype)?) -> HearthTensor {
            call!(all(tensor), axes = [dim], keepdim = true)
        }
    };
}

/// Data in and out, and between devices.
macro_rules! transfers {
    ($from_data:ident, $into_data:ident, $to_device:ident) => {
        fn $from_data(data: TensorData, device: &HearthDevice) -> HearthTensor {
            data::from_data(data, device)
        }
        fn $into_data(
            tensor: HearthTensor,
        ) -> impl Future<Output = Result<TensorData, ExecutionError>> + Send {
            data::read(tensor)
        }
        fn $to_device(tensor: HearthTensor, device: &HearthDevice) -> HearthTensor {
            call!(to_device(tensor), device = device)
        }
    };
}

/// Tensors of one value, or none.
macro_rules! constants {
    ($dtype:ident: $($method:ident = $function:ident,)*) => {
        $(fn $method(shape: Shape, device: &HearthDevice, dtype: $dtype) -> HearthTensor {
            call!($function(), shape = shape, dtype = Dtype::from(dtype), device = device)
        })*
    };
}

macro_rules! full {
    ($dtype:ident: $method:ident) => {
        fn $method(
            shape: Shape,
            fill_value: Scalar,
            device: &HearthDevice,
            dtype: $dtype,
        ) -> HearthTensor {
            let number = Number::new(fill_value, dtype.into(), device);
            call!(
                full(number),
                shape = shape,
                dtype = Dtype::from(dtype),
                device = device
            )
        }
    };
}

/// The same elements in another order, number or shape.
macro_rules! movement {
    ($reshape:ident, $transpose:ident, $swap_dims:ident, $permute:ident, $flip:ident, $expand:ident,
     $unfold:ident, $repeat_dim:ident, $cat:ident, $slice:ident, $slice_assign:ident) => {
        fn $reshape(tensor: HearthTensor, shape: Shape) -> HearthTensor {
            call!(reshape(tensor), shape = shape)
        }
        fn $transpose(tensor: HearthTensor) -> HearthTensor {
            call!(transpose(tensor))
        }
        fn $swap_dims(tensor: HearthTensor, dim1: usize, dim2: usize) -> HearthTensor {
            call!(swap_axes(tensor), a = dim1, b = dim2)
        }
        fn $permute(tensor: HearthTensor, axes: &[usize]) -> HearthTensor {
            call!(permute(tensor), axes = axes)
        }
        fn $flip(tensor: HearthTensor, axes: &[usize]) -> HearthTensor {
            call!(flip(tensor), axes = axes)
        }
        fn $expand(tensor: HearthTensor, shape: Shape) -> HearthTensor {
            call!(expand(tensor), shape = shape)
        }
        fn $unfold(tensor: HearthTensor, dim: usize, size: usize, step: usize) -> HearthTensor {
            call!(unfold(tensor), axis = dim, size = size, step = step)
        }
        fn $repeat_dim(tensor: HearthTensor, dim: usize, times: usize) -> HearthTensor {
            call!(
                repeat(tensor),
                times = values::one_axis(tensor.rank(), dim, times)
            )
        }
        fn $cat(tensors: Vec<HearthTensor>, dim: usize) -> HearthTensor {
            values::cat(&tensors, dim)
        }
        fn $slice(tensor: HearthTensor, slices: &[Slice]) -> HearthTensor {
            call!(
                slice(tensor),
                slices = Slices::new(tensor.extents(), slices)
            )
        }
        fn $slice_assign(
            tensor: HearthTensor,
            slices: &[Slice],
            value: HearthTensor,
        ) -> HearthTensor {
            call!(
                slice_assign(tensor, value),
                slices = Slices::new(tensor.extents(), slices)
            )
        }
    };
}

/// By indices or by masks.
macro_rules! indexing {
    ($gather:ident, $select:ident, $mask_where:ident, $mask_fill:ident) => {
        fn $gather(dim: usize, tensor: HearthTensor, indices: HearthTensor) -> HearthTensor {
            call!(gather(tensor, values::indices(indices)), axis = dim)
        }
        fn $select(tensor: HearthTensor, dim: usize, indices: HearthTensor) -> HearthTensor {
            call!(select(tensor, values::indices(indices)), axis = dim)
        }
        fn $mask_where(
            tensor: HearthTensor,
            mask: HearthTensor,
            value: HearthTensor,
        ) -> HearthTensor {
            call!(where(mask, value, tensor))
        }
        fn $mask_fill(tensor: HearthTensor, mask: HearthTensor, value: Scalar) -> HearthTensor {
            call!(where(mask, Number::beside(&tensor, value), tensor))
        }
    };
}

/// Adding by indices; of bools, adding is or.
macro_rules! adding {
    ($scatter_add:ident, $select_add:ident) => {
        fn $scatter_add(
            dim: usize,
            tensor: HearthTensor,
            indices: HearthTensor,
            value: HearthTensor,
        ) -> HearthTensor {
            call!(
                scatter_add(tensor, values::indices(indices), value),
                axis = dim
            )
        }
        fn $select_add(
            tensor: HearthTensor,
            dim: usize,
            indices: HearthTensor,
            value: HearthTensor,
        ) -> HearthTensor {
            call!(
                select_add(tensor, values::indices(indices), value),
                axis = dim
            )
        }
    };
}

/// By lists of indices.
macro_rules! indexing_nd {
    ($gather_nd:ident, $scatter_nd:ident) => {
        fn $gather_nd(data: HearthTensor, indices: HearthTensor) -> HearthTensor {
            call!(gather_nd(data, values::indices(indices)))
        }
        fn $scatter_nd(
            data: HearthTensor,
            indices: HearthTensor,
            values: HearthTensor,
            reduction: IndexingUpdateOp,
        ) -> HearthTensor {
            let update = values::update(&reduction);
            call!(
                scatter_nd(data, values::indices(indices), values),
                update = update
            )
        }
    };
}

/// Between dtypes of which the second is the method's.
macro_rules! casts {
    ($($method:ident: $dtype:ident,)*) => {
        $(fn $method(tensor: HearthTensor, dtype: $dtype) -> HearthTensor {
            call!(cast(tensor), dtype = Dtype::from(dtype))
        })*
    };
}
