//! Activations and their gradients.

use burn_backend::Scalar;
use burn_backend::ops::ActivationOps;

use crate::backend::Hearth;
use crate::tensor::HearthTensor;

impl ActivationOps<Hearth> for Hearth {
    unary! { relu = relu, gelu = gelu, sigmoid = sigmoid, log_sigmoid = log_sigmoid, }
    binary! { prelu = prelu, }
    along_axis! { softmax = softmax, log_softmax = log_softmax, softmin = softmin, }

    fn leaky_relu(tensor: HearthTensor, negative_slope: Scalar) -> HearthTensor {
        call!(
            leaky_relu(tensor),
            negative_slope = negative_slope.elem::<f64>()
        )
    }
    fn hard_sigmoid(tensor: HearthTensor, alpha: Scalar, beta: Scalar) -> HearthTensor {
        call!(
            hard_sigmoid(tensor),
            alpha = alpha.elem::<f64>(),
            beta = beta.elem::<f64>()
        )
    }

    fn relu_backward(output: HearthTensor, grad: HearthTensor) -> HearthTensor {
        call!(where(call!(greater(output, 0.0)), grad, 0.0))
    }
    fn sigmoid_backward(output: HearthTensor, grad: HearthTensor) -> HearthTensor {
        call!(mul(call!(mul(output, call!(sub(1.0, output)))), grad))
    }
    fn gelu_backward(x: HearthTensor, grad: HearthTensor) -> HearthTensor {
        let [gradient] = vjp!(grad, gelu(x));
        gradient.unwrap()
    }
    fn log_sigmoid_backward(x: HearthTensor, grad: HearthTensor) -> HearthTensor {
        let [gradient] = vjp!(grad, log_sigmoid(x));
        gradient.unwrap()
    }
}
