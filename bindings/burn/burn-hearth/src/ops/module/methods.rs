//! Methods that are there for one, two and three axes, as macros from names of methods to bodies.

/// Convolutions over one number of axes.
macro_rules! convs {
    ($options:ty: $conv:ident, $x_backward:ident, $weight_backward:ident, $bias_backward:ident) => {
        fn $conv(
            x: HearthTensor,
            weight: HearthTensor,
            bias: Option<HearthTensor>,
            options: $options,
        ) -> HearthTensor {
            conv::conv(x, weight, bias, options)
        }
        fn $x_backward(
            x: HearthTensor,
            weight: HearthTensor,
            output_grad: HearthTensor,
            options: $options,
        ) -> HearthTensor {
            conv::x_backward(x, weight, output_grad, options)
        }
        fn $weight_backward(
            x: HearthTensor,
            weight: HearthTensor,
            output_grad: HearthTensor,
            options: $options,
        ) -> HearthTensor {
            conv::weight_backward(x, weight, output_grad, options)
        }
        bias_backward! { $bias_backward }
    };
}

macro_rules! bias_backward {
    ($bias_backward:ident) => {
        fn $bias_backward(
            _x: HearthTensor,
            _bias: HearthTensor,
            output_grad: HearthTensor,
        ) -> HearthTensor {
            conv::bias_backward(output_grad)
        }
    };
}

macro_rules! transposed_convs {
    ($options:ty: $conv:ident, $x_backward:ident, $weight_backward:ident, $bias_backward:ident) => {
        fn $conv(
            x: HearthTensor,
            weight: HearthTensor,
            bias: Option<HearthTensor>,
            options: $options,
        ) -> HearthTensor {
            conv::transposed(x, weight, bias, options)
        }
        fn $x_backward(
            weight: HearthTensor,
            output_grad: HearthTensor,
            options: $options,
        ) -> HearthTensor {
            conv::transposed_x_backward(weight, output_grad, options)
        }
        fn $weight_backward(
            x: HearthTensor,
            weight: HearthTensor,
            output_grad: HearthTensor,
            options: $options,
        ) -> HearthTensor {
            conv::transposed_weight_backward(x, weight, output_grad, options)
        }
        bias_backward! { $bias_backward }
    };
}

macro_rules! windows {
    ($list:path: $kernel:expr, $stride:expr, $padding:expr, $ceil_mode:expr) => {
        pool::Windows {
            kernel: $list($kernel),
            stride: $list($stride),
            padding: $list($padding),
            ceil_mode: $ceil_mode,
        }
    };
}

/// Pools over one number of axes: `$size` is an extent along each, which `$list` makes a list.
macro_rules! avg_pools {
    ($size:ty, $list:path: $avg_pool:ident, $avg_pool_backward:ident, $adaptive:ident,
     $adaptive_backward:ident) => {
        adaptive_avg_pools! { $size, $list: $adaptive, $adaptive_backward }

        fn $avg_pool(
            x: HearthTensor,
            kernel_size: $size,
            stride: $size,
            padding: $size,
            count_include_pad: bool,
            ceil_mode: bool,
        ) -> HearthTensor {
            let windows = windows!($list: kernel_size, stride, padding, ceil_mode);
            pool::avg_pool(x, windows, count_include_pad)
        }
        fn $avg_pool_backward(
            x: HearthTensor,
            grad: HearthTensor,
            kernel_size: $size,
            stride: $size,
            padding: $size,
            count_include_pad: bool,
            ceil_mode: bool,
        ) -> HearthTensor {
            let windows = windows!($list: kernel_size, stride, padding, ceil_mode);
            pool::avg_pool_backward(x, grad, windows, count_include_pad)
        }
    };
}

macro_rules! adaptive_avg_pools {
    ($size:ty, $list:path: $adaptive:ident, $adaptive_backward:ident) => {
        fn $adaptive(x: HearthTensor, output_size: $size) -> HearthTensor {
            call!(adaptive_avg_pool(x), sizes = $list(output_size))
        }
        fn $adaptive_backward(x: HearthTensor, grad: HearthTensor) -> HearthTensor {
            pool::adaptive_avg_pool_backward(x, grad)
        }
    };
}

macro_rules! max_pools {
    ($size:ty, $list:path, $backward:ident: $max_pool:ident, $max_pool_backward:ident) => {
        fn $max_pool(
            x: HearthTensor,
            kernel_size: $size,
            stride: $size,
            padding: $size,
            dilation: $size,
            ceil_mode: bool,
        ) -> HearthTensor {
            let windows = windows!($list: kernel_size, stride, padding, ceil_mode);
            pool::max_pool(x, windows, $list(dilation))
        }
        fn $max_pool_backward(
            x: HearthTensor,
            kernel_size: $size,
            stride: $size,
            padding: $size,
            dilation: $size,
            ceil_mode: bool,
            output_grad: HearthTensor,
            indices: HearthTensor,
        ) -> $backward<Hearth> {
            let windows = windows!($list: kernel_size, stride, padding, ceil_mode);
            let dilation = $list(dilation);
            $backward::new(pool::max_pool_backward(
                x,
                windows,
                dilation,
                output_grad,
                indices,
            ))
        }
    };
}

/// `$indices` is the dtype of indices, which a last argument, `$dtype`, may say.
macro_rules! max_pools_with_indices {
    ($size:ty, $list:path, $with_indices:ident:
     $max_pool:ident($x:ident $(, $dtype:ident)?) -> $indices:expr) => {
        fn $max_pool(
            $x: HearthTensor,
            kernel_size: $size,
            stride: $size,
            padding: $size,
            dilation: $size,
            ceil_mode: bool,
            $($dtype: burn_backend::IntDType,)?
        ) -> $with_indices<Hearth> {
            let windows = windows!($list: kernel_size, stride, padding, ceil_mode);
            let (indices, dilation) = ($indices, $list(dilation));
            let (output, indices) = pool::max_pool_with_indices($x, windows, dilation, indices);
            $with_indices::new(output, indices)
        }
    };
}
