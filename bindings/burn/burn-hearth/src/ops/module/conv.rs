//! Convolutions.

use burn_backend::TensorMetadata;
use burn_backend::ops::{
    ConvOptions, ConvTransposeOptions, DeformConv2dBackward, DeformConvOptions,
};

use crate::backend::Hearth;
use crate::tensor::HearthTensor;
use crate::version::conv_padding;

pub fn conv<const N: usize>(
    x: HearthTensor,
    weight: HearthTensor,
    bias: Option<HearthTensor>,
    options: ConvOptions<N>,
) -> HearthTensor {
    let (padding, padding_end) = conv_padding(&options);
    call!(
        conv(x, weight, bias),
        stride = options.stride,
        padding = padding,
        padding_end = padding_end,
        dilation = options.dilation,
        groups = options.groups
    )
}

fn backward<const N: usize>(
    x: HearthTensor,
    weight: HearthTensor,
    grad: HearthTensor,
    options: ConvOptions<N>,
) -> [Option<HearthTensor>; 2] {
    let (padding, padding_end) = conv_padding(&options);
    vjp!(
        grad,
        conv(x, weight),
        stride = options.stride,
        padding = padding,
        padding_end = padding_end,
        dilation = options.dilation,
        groups = options.groups
    )
}

pub fn x_backward<const N: usize>(
    x: HearthTensor,
    weight: HearthTensor,
    grad: HearthTensor,
    options: ConvOptions<N>,
) -> HearthTensor {
    let [gradient, _] = backward(x, weight, grad, options);
    gradient.unwrap()
}

pub fn weight_backward<const N: usize>(
    x: HearthTensor,
    weight: HearthTensor,
    grad: HearthTensor,
    options: ConvOptions<N>,
) -> HearthTensor {
    let [_, gradient] = backward(x, weight, grad, options);
    gradient.unwrap()
}

/// grad [batch, channels, positions...] -> [channels].
pub fn bias_backward(grad: HearthTensor) -> HearthTensor {
    let all = [0, 2, 3, 4];
    call!(sum(grad), axes = &all[..grad.rank() - 1])
}

pub fn transposed<const N: usize>(
    x: HearthTensor,
    weight: HearthTensor,
    bias: Option<HearthTensor>,
    options: ConvTransposeOptions<N>,
) -> HearthTensor {
    call!(
        conv_transpose(x, weight, bias),
        stride = options.stride,
        padding = options.padding,
        dilation = options.dilation,
        groups = options.groups,
        output_padding = options.padding_out
    )
}

/// A convolution of `grad`; where the output was padded by a stride or more, it has positions that
/// x has not.
pub fn transposed_x_backward<const N: usize>(
    weight: HearthTensor,
    grad: HearthTensor,
    options: ConvTransposeOptions<N>,
) -> HearthTensor {
    let mut result = call!(
        conv(grad, weight),
        stride = options.stride,
        padding = options.padding,
        dilation = options.dilation,
        groups = options.groups
    );
    for i in 0..N {
        let kernel = options.dilation[i] * (weight.extents()[2 + i] - 1) + 1;
        let outermost = grad.extents()[2 + i] + 2 * options.padding[i] - kernel;
        let extent = (outermost - options.padding_out[i]) / options.stride[i] + 1;
        if extent < result.extents()[2 + i] {
            result = call!(
                narrow(result),
                axis = 2 + i,
                start = 0usize,
                length = extent
            );
        }
    }
    result
}

pub fn transposed_weight_backward<const N: usize>(
    x: HearthTensor,
    weight: HearthTensor,
    grad: HearthTensor,
    options: ConvTransposeOptions<N>,
) -> HearthTensor {
    let [_, gradient] = vjp!(
        grad,
        conv_transpose(x, weight),
        stride = options.stride,
        padding = options.padding,
        dilation = options.dilation,
        groups = options.groups,
        output_padding = options.padding_out
    );
    gradient.unwrap()
}

pub fn deformed(
    x: HearthTensor,
    offset: HearthTensor,
    weight: HearthTensor,
    mask: Option<HearthTensor>,
    bias: Option<HearthTensor>,
    options: DeformConvOptions<2>,
) -> HearthTensor {
    call!(
        deform_conv2d(x, offset, weight, mask, bias),
        stride = options.stride,
        padding = options.padding,
        dilation = options.dilation,
        weight_groups = options.weight_groups,
        offset_groups = options.offset_groups
    )
}

pub fn deformed_backward(
    x: HearthTensor,
    offset: HearthTensor,
    weight: HearthTensor,
    mask: Option<HearthTensor>,
    bias: Option<HearthTensor>,
    grad: HearthTensor,
    options: DeformConvOptions<2>,
) -> DeformConv2dBackward<Hearth> {
    let [x, offset, weight, mask, bias] = vjp!(
        grad,
        deform_conv2d(x, offset, weight, mask, bias),
        stride = options.stride,
        padding = options.padding,
        dilation = options.dilation,
        weight_groups = options.weight_groups,
        offset_groups = options.offset_groups
    );
    DeformConv2dBackward::new(x.unwrap(), offset.unwrap(), weight.unwrap(), mask, bias)
}
