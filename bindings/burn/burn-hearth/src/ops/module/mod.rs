//! Ops of modules: one method each, whose body lies beside.

#[macro_use]
mod methods;
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
