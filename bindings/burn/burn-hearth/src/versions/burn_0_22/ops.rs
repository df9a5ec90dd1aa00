//! Bodies of the methods that are new in this version.

use burn_backend::ops::{
    BatchNormTrain, BatchNormTrainBackward, PadMode, UnfoldOptions, validate_padding,
};
use burn_backend::{Scalar, TensorMetadata};

use crate::backend::Hearth;
use crate::call::Number;
use crate::ops::module::conv::bias_backward;
use crate::ops::values;
use crate::tensor::HearthTensor;

/// As many elements more in front of each axis and behind it.
pub fn pad(x: HearthTensor, padding: &[(usize, usize)], mode: PadMode) -> HearthTensor {
    // Hearth pads by more than Burn allows.
    validate_padding(&x.shape(), padding, mode);
    let before: Vec<usize> = padding.iter().map(|(before, _)| *before).collect();
    let after: Vec<usize> = padding.iter().map(|(_, after)| *after).collect();
    let (mode, value) = match mode {
        PadMode::Constant(value) => (c"constant", value),
        PadMode::Reflect => (c"reflect", 0.0),
        PadMode::Edge => (c"edge", 0.0),
    };
    let value = Number::beside(&x, Scalar::Float(value.into()));
    call!(
        pad(x, value),
        before = before.as_slice(),
        after = after.as_slice(),
        mode = mode
    )
}

pub fn batch_norm_train(
    x: HearthTensor,
    gamma: HearthTensor,
    beta: HearthTensor,
    epsilon: f64,
) -> BatchNormTrain<Hearth> {
    let [output, mean, variance] = call_all!(batch_norm_train(x, gamma, beta), epsilon = epsilon);
    // Statistics of halves are f32 in Hearth.
    let [mean, variance] = [mean, variance].map(|each| values::cast(each, x.dtype()));
    BatchNormTrain::new(output, mean, variance)
}

/// Mean and variance are worked out again from `x`.
pub fn batch_norm_train_backward(
    x: HearthTensor,
    gamma: HearthTensor,
    epsilon: f64,
    grad: HearthTensor,
) -> BatchNormTrainBackward<Hearth> {
    let [x, gamma] = vjp!(grad, batch_norm_train(x, gamma), epsilon = epsilon);
    BatchNormTrainBackward::new(x.unwrap(), gamma.unwrap(), bias_backward(grad))
}

pub fn fold4d(
    x: HearthTensor,
    sizes: [usize; 2],
    kernel: [usize; 2],
    options: UnfoldOptions,
) -> HearthTensor {
    call!(
        fold4d(x),
        sizes = sizes,
        kernel = kernel,
        stride = options.stride,
        padding = options.padding,
        dilation = options.dilation
    )
}
