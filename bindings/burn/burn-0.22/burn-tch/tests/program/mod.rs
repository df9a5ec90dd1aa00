//! A program of Burn 0.22 as it is: nothing in it knows Hearth.

use burn::nn::LinearConfig;
use burn::nn::loss::{MseLoss, Reduction};
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Tensor, TensorData, Tolerance};

pub fn assert_near<const D: usize>(tensor: Tensor<D>, expected: impl Into<TensorData>) {
    let expected = expected.into();
    tensor
        .into_data()
        .assert_approx_eq::<f32>(&expected, Tolerance::absolute(1e-4));
}

pub fn multiplies(device: &Device) {
    let a = Tensor::<2>::from_data([[1.0, 2.0], [3.0, 4.0]], device);
    let b = Tensor::<2>::from_data([[0.5, -1.0], [2.0, 0.0]], device);
    assert_near(a.matmul(b) + 1.0, [[5.5, 0.0], [10.5, -2.0]]);
}

pub fn differentiates(device: &Device) {
    let device = device.clone().autodiff();
    let x = Tensor::<1>::from_data([1.0, 2.0, 3.0], &device).require_grad();
    let gradients = (x.clone() * x.clone()).sum().backward();
    assert_near(x.grad(&gradients).unwrap(), [2.0, 4.0, 6.0]);
}

/// Fits y = 2 a - b + 0.5 to 64 points.
pub fn learns(device: &Device) {
    let device = device.clone().autodiff();
    device.seed(1);
    let points = Tensor::<2>::random(
        [64, 2],
        burn::tensor::Distribution::Uniform(-1.0, 1.0),
        &device,
    );
    let weights = Tensor::<2>::from_data([[2.0], [-1.0]], &device);
    let targets = points.clone().matmul(weights) + 0.5;
    let mut model = LinearConfig::new(2, 1).init(&device);
    let mut optimizer = SgdConfig::new().init();
    for _ in 0..300 {
        let output = model.forward(points.clone());
        let loss = MseLoss::new().forward(output, targets.clone(), Reduction::Mean);
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(0.3, model, gradients);
    }
    assert_near(model.weight.val().inner(), [[2.0], [-1.0]]);
    assert_near(model.bias.unwrap().val().inner(), [0.5]);
}
