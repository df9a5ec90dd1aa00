//! Ops of modules: one method each, whose body lies beside.

mod attention;
pub mod conv;
mod image;
mod linear;
mod losses;
mod pool;

use burn_backend::ops::{
    AttentionModuleOptions, ConvOptions, ConvTransposeOptions, DeformConv2dBackward,
    DeformConvOptions, InterpolateOptions, MaxPool1dBackward, MaxPool1dWithIndices,
    MaxPool2dBackward, MaxPool2dWithIndices, ModuleOps, UnfoldOptions,
};

use crate::backend::Hearth;
use crate::tensor::HearthTensor;

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

impl ModuleOps<Hearth> for Hearth {
    module_methods! {}

    convs! {
        ConvOptions<1>:
        conv1d, conv1d_x_backward, conv1d_weight_backward, conv1d_bias_backward
    }
    convs! {
        ConvOptions<2>:
        conv2d, conv2d_x_backward, conv2d_weight_backward, conv2d_bias_backward
    }
    convs! {
        ConvOptions<3>:
        conv3d, conv3d_x_backward, conv3d_weight_backward, conv3d_bias_backward
    }
    transposed_convs! {
        ConvTransposeOptions<1>:
        conv_transpose1d, conv_transpose1d_x_backward, conv_transpose1d_weight_backward,
        conv_transpose1d_bias_backward
    }
    transposed_convs! {
        ConvTransposeOptions<2>:
        conv_transpose2d, conv_transpose2d_x_backward, conv_transpose2d_weight_backward,
        conv_transpose2d_bias_backward
    }
    transposed_convs! {
        ConvTransposeOptions<3>:
        conv_transpose3d, conv_transpose3d_x_backward, conv_transpose3d_weight_backward,
        conv_transpose3d_bias_backward
    }

    fn deform_conv2d(
        x: HearthTensor,
        offset: HearthTensor,
        weight: HearthTensor,
        mask: Option<HearthTensor>,
        bias: Option<HearthTensor>,
        options: DeformConvOptions<2>,
    ) -> HearthTensor {
        conv::deformed(x, offset, weight, mask, bias, options)
    }
    fn deform_conv2d_backward(
        x: HearthTensor,
        offset: HearthTensor,
        weight: HearthTensor,
        mask: Option<HearthTensor>,
        bias: Option<HearthTensor>,
        output_grad: HearthTensor,
        options: DeformConvOptions<2>,
    ) -> DeformConv2dBackward<Hearth> {
        conv::deformed_backward(x, offset, weight, mask, bias, output_grad, options)
    }

    avg_pools! {
        usize, pool::one_axis:
        avg_pool1d, avg_pool1d_backward, adaptive_avg_pool1d, adaptive_avg_pool1d_backward
    }
    avg_pools! {
        [usize; 2], std::convert::identity:
        avg_pool2d, avg_pool2d_backward, adaptive_avg_pool2d, adaptive_avg_pool2d_backward
    }
    max_pools! {
        usize, pool::one_axis, MaxPool1dBackward: max_pool1d, max_pool1d_with_indices_backward
    }
    max_pools! {
        [usize; 2], std::convert::identity, MaxPool2dBackward:
        max_pool2d, max_pool2d_with_indices_backward
    }

    fn unfold4d(x: HearthTensor, kernel_size: [usize; 2], options: UnfoldOptions) -> HearthTensor {
        image::unfold4d(x, kernel_size, options)
    }
    fn interpolate(
        x: HearthTensor,
        output_size: [usize; 2],
        options: InterpolateOptions,
    ) -> HearthTensor {
        image::interpolate(x, output_size, options)
    }
    fn interpolate_backward(
        x: HearthTensor,
        grad: HearthTensor,
        output_size: [usize; 2],
        options: InterpolateOptions,
    ) -> HearthTensor {
        image::interpolate_backward(x, grad, output_size, options)
    }

    fn embedding(weights: HearthTensor, indices: HearthTensor) -> HearthTensor {
        linear::embedding(weights, indices)
    }
    fn embedding_backward(
        weights: HearthTensor,
        output_grad: HearthTensor,
        indices: HearthTensor,
    ) -> HearthTensor {
        linear::embedding_backward(weights, output_grad, indices)
    }
    fn linear(x: HearthTensor, weight: HearthTensor, bias: Option<HearthTensor>) -> HearthTensor {
        linear::linear(x, weight, bias)
    }
    fn linear_x_backward(weight: HearthTensor, output_grad: HearthTensor) -> HearthTensor {
        linear::x_backward(weight, output_grad)
    }
    fn linear_weight_backward(x: HearthTensor, output_grad: HearthTensor) -> HearthTensor {
        linear::weight_backward(x, output_grad)
    }
    fn linear_bias_backward(output_grad: HearthTensor) -> HearthTensor {
        linear::bias_backward(output_grad)
    }

    fn attention(
        query: HearthTensor,
        key: HearthTensor,
        value: HearthTensor,
        mask: Option<HearthTensor>,
        attn_bias: Option<HearthTensor>,
        options: AttentionModuleOptions,
    ) -> HearthTensor {
        attention::attention(query, key, value, mask, attn_bias, options)
    }
    fn layer_norm(
        tensor: HearthTensor,
        gamma: HearthTensor,
        beta: Option<HearthTensor>,
        epsilon: f64,
    ) -> HearthTensor {
        call!(layer_norm(tensor, gamma, beta), epsilon = epsilon)
    }

    fn ctc_loss(
        log_probs: HearthTensor,
        targets: HearthTensor,
        input_lengths: HearthTensor,
        target_lengths: HearthTensor,
        blank: usize,
    ) -> HearthTensor {
        losses::ctc_loss(log_probs, targets, input_lengths, target_lengths, blank)
    }
    fn has_ctc_loss_backward() -> bool {
        true
    }
    fn ctc_loss_backward(
        log_probs: HearthTensor,
        targets: HearthTensor,
        input_lengths: HearthTensor,
        target_lengths: HearthTensor,
        grad_loss: HearthTensor,
        blank: usize,
    ) -> HearthTensor {
        let lengths = [input_lengths, target_lengths];
        losses::ctc_loss_backward(log_probs, targets, lengths, grad_loss, blank)
    }
}
