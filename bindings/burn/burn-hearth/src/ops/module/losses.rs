//! Connectionist temporal classification.

use burn_backend::{DType, TensorMetadata};

use crate::ops::values;
use crate::tensor::HearthTensor;

/// log_probs [time, batch, classes], targets [batch, length] -> [batch], of the dtype of log_probs.
pub fn ctc_loss(
    log_probs: HearthTensor,
    targets: HearthTensor,
    input_lengths: HearthTensor,
    target_lengths: HearthTensor,
    blank: usize,
) -> HearthTensor {
    let (targets, input_lengths, target_lengths) = (
        values::indices(targets),
        values::indices(input_lengths),
        values::indices(target_lengths),
    );
    let loss = call!(
        ctc_loss(log_probs, targets, input_lengths, target_lengths),
        blank = blank
    );
    values::cast(loss, log_probs.dtype())
}

pub fn ctc_loss_backward(
    log_probs: HearthTensor,
    targets: HearthTensor,
    lengths: [HearthTensor; 2],
    grad: HearthTensor,
    blank: usize,
) -> HearthTensor {
    let [of_inputs, of_targets] = lengths.map(values::indices);
    // Losses of halves are f32 in Hearth.
    let grad = match grad.dtype() {
        DType::F16 | DType::BF16 => values::cast(grad, DType::F32),
        _ => grad,
    };
    let targets = values::indices(targets);
    let [gradient, ..] = vjp!(
        grad,
        ctc_loss(log_probs, targets, of_inputs, of_targets),
        blank = blank
    );
    gradient.unwrap()
}
