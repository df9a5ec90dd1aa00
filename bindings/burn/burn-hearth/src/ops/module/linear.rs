//! Linear layers and embeddings. Burn's weights are [in, out], Hearth's [out, in].

use burn_backend::TensorMetadata;

use crate::ops::values;
use crate::tensor::HearthTensor;

pub fn linear(x: HearthTensor, weight: HearthTensor, bias: Option<HearthTensor>) -> HearthTensor {
    call!(linear(x, call!(transpose(weight)), bias))
}

/// grad [..., out] times the transposed weight [in, out], which a linear layer of Hearth's is.
pub fn x_backward(weight: HearthTensor, grad: HearthTensor) -> HearthTensor {
    call!(linear(grad, weight))
}

/// x [..., in], grad [..., out] -> [in, out]: the sum over all leading axes.
pub fn weight_backward(x: HearthTensor, grad: HearthTensor) -> HearthTensor {
    let (x, grad) = (rows(x), rows(grad));
    call!(matmul(call!(transpose(x)), grad))
}

/// grad [..., out] -> [out].
pub fn bias_backward(grad: HearthTensor) -> HearthTensor {
    call!(sum(rows(grad)), axes = [0usize])
}

fn rows(x: HearthTensor) -> HearthTensor {
    if x.rank() == 2 {
        return x;
    }
    let (last, leading) = x
        .extents()
        .split_last()
        .expect("a tensor of rank 1 at least");
    call!(reshape(x), shape = [leading.iter().product(), *last])
}

pub fn embedding(weights: HearthTensor, indices: HearthTensor) -> HearthTensor {
    call!(embedding(weights, values::indices(indices)))
}

pub fn embedding_backward(
    weights: HearthTensor,
    grad: HearthTensor,
    indices: HearthTensor,
) -> HearthTensor {
    let [gradient, _] = vjp!(grad, embedding(weights, values::indices(indices)));
    gradient.unwrap()
}
