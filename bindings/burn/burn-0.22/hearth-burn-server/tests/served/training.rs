//! Steps of training a small network by gradients.

use burn::module::{Module, Param};
use burn::nn::loss::{MseLoss, Reduction};
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::activation::relu;

use crate::*;

#[derive(Module, Debug)]
struct Network {
    hidden: Param<Tensor<2>>,
    bias: Param<Tensor<1>>,
    output: Param<Tensor<2>>,
}

impl Network {
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let hidden = x.matmul(self.hidden.val()) + self.bias.val().unsqueeze();
        relu(hidden).matmul(self.output.val())
    }
}

/// Numbers that follow no order, the same on each device.
fn waves<const D: usize>(shape: [usize; D], pace: f32, device: &Device) -> Tensor<D> {
    let count = shape.iter().product::<usize>();
    let values: Vec<f32> = (0..count).map(|i| (i as f32 * pace).sin()).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

#[test]
fn steps_of_a_small_network_are_those_in_process() {
    compare(|device| {
        let device = device.clone().autodiff();
        let x = waves([16, 3], 0.9, &device);
        let targets = waves([16, 2], 0.4, &device);
        let mut network = Network {
            hidden: Param::from_tensor(waves([3, 8], 1.7, &device)),
            bias: Param::from_tensor(waves([8], 0.3, &device)),
            output: Param::from_tensor(waves([8, 2], 2.3, &device)),
        };
        let mut optimizer = SgdConfig::new().init();
        let mut data = Vec::new();
        for _ in 0..3 {
            let output = network.forward(x.clone());
            let loss = MseLoss::new().forward(output, targets.clone(), Reduction::Mean);
            let gradients = loss.backward();
            for gradient in [
                network.hidden.grad(&gradients),
                network.output.grad(&gradients),
            ] {
                data.push(gradient.unwrap().into_data());
            }
            data.push(network.bias.grad(&gradients).unwrap().into_data());
            data.push(loss.into_data());
            let gradients = GradientsParams::from_grads(gradients, &network);
            network = optimizer.step(0.1, network, gradients);
        }
        let losses: Vec<f32> = data
            .iter()
            .skip(3)
            .step_by(4)
            .map(|loss| loss.as_slice::<f32>().unwrap()[0])
            .collect();
        assert!(losses.is_sorted_by(|a, b| a > b), "{losses:?}");
        data.push(network.hidden.val().inner().into_data());
        data.push(network.bias.val().inner().into_data());
        data.push(network.output.val().inner().into_data());
        data
    });
}
