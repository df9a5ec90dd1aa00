//! Images: resizing, and what windows see.

use burn_backend::ops::{InterpolateOptions, UnfoldOptions};

use crate::tensor::HearthTensor;
use crate::version::interpolate_mode;

pub fn interpolate(
    x: HearthTensor,
    sizes: [usize; 2],
    options: InterpolateOptions,
) -> HearthTensor {
    call!(
        interpolate(x),
        sizes = sizes,
        mode = interpolate_mode(&options.mode),
        align_corners = options.align_corners
    )
}

pub fn interpolate_backward(
    x: HearthTensor,
    grad: HearthTensor,
    sizes: [usize; 2],
    options: InterpolateOptions,
) -> HearthTensor {
    let [gradient] = vjp!(
        grad,
        interpolate(x),
        sizes = sizes,
        mode = interpolate_mode(&options.mode),
        align_corners = options.align_corners
    );
    gradient.unwrap()
}

pub fn unfold4d(x: HearthTensor, kernel: [usize; 2], options: UnfoldOptions) -> HearthTensor {
    call!(
        unfold4d(x),
        kernel = kernel,
        stride = options.stride,
        padding = options.padding,
        dilation = options.dilation
    )
}
