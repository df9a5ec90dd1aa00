//! Ops of each kind, beside what they are in process and, where it is short, what they are.

use burn::tensor::module::conv2d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{DType, Distribution, IndexingUpdateOp};

use crate::*;

fn floats(device: &Device) -> Tensor<2> {
    Tensor::from_data([[1.0, -2.0, 0.5], [3.0, 0.0, -1.5]], device)
}

fn ints(device: &Device) -> Tensor<2, Int> {
    Tensor::from_data([[7, -3, 2], [0, 5, -8]], device)
}

#[test]
fn tensors_are_created() {
    compare(|device| {
        vec![
            Tensor::<2>::zeros([2, 3], device).into_data(),
            Tensor::<1>::full([4], 2.5, device).into_data(),
            Tensor::<1, Int>::arange(2..7, device).into_data(),
            Tensor::<2>::eye(3, device).into_data(),
            Tensor::<1, Bool>::from_data([true, false], device).into_data(),
            Tensor::<2>::zeros([0, 3], device).into_data(),
            floats(device).into_data(),
        ]
    });
}

#[test]
fn floats_are_computed_with() {
    compare(|device| {
        let x = floats(device);
        let y = x.clone().transpose();
        let sum = x.clone().sum();
        sum.clone()
            .into_data()
            .assert_eq(&TensorData::from([1.0f32]), true);
        vec![
            ((x.clone() + 1.5) * x.clone() - x.clone() / 3.0).into_data(),
            x.clone().exp().log1p().tanh().into_data(),
            x.clone().matmul(y).into_data(),
            sum.into_data(),
            x.clone().mean_dim(1).into_data(),
            x.clone().max_dim(0).into_data(),
            x.clone().cumsum(1).into_data(),
            x.clone().argmax(1).into_data(),
            x.clone().sort_descending(1).into_data(),
            x.cast(DType::F64).into_data(),
        ]
    });
}

#[test]
fn elements_are_picked_and_put() {
    compare(|device| {
        let x = floats(device);
        let columns = Tensor::<2, Int>::from_data([[2, 0], [1, 1]], device);
        let rows = Tensor::<1, Int>::from_data([1, 0, 1], device);
        let put = Tensor::<2>::ones([2, 2], device);
        let gathered = x.clone().gather(1, columns.clone());
        gathered
            .clone()
            .into_data()
            .assert_eq(&TensorData::from([[0.5f32, 1.0], [0.0, 0.0]]), true);
        vec![
            x.clone().slice([0..2, 1..3]).into_data(),
            x.clone()
                .slice_assign([0..2, 0..2], put.clone())
                .into_data(),
            gathered.into_data(),
            x.clone().select(0, rows).into_data(),
            x.clone()
                .scatter(1, columns, put, IndexingUpdateOp::Add)
                .into_data(),
            Tensor::cat(vec![x.clone(), x.clone()], 0).into_data(),
            x.clone().flip([1]).into_data(),
            x.reshape([3, 2]).into_data(),
        ]
    });
}

#[test]
fn ints_are_computed_with() {
    compare(|device| {
        let x = ints(device);
        vec![
            (x.clone() * 3 + x.clone()).into_data(),
            (x.clone() / 2).into_data(),
            x.clone().remainder_scalar(4).into_data(),
            x.clone().bitwise_and_scalar(6).into_data(),
            x.clone().sum().into_data(),
            x.clone().max_dim(1).into_data(),
            x.float().into_data(),
        ]
    });
}

#[test]
fn bools_are_computed_with() {
    compare(|device| {
        let (x, mask) = (floats(device), ints(device).greater_elem(1));
        let positive = x.clone().greater_elem(0.0);
        vec![
            mask.clone().into_data(),
            mask.clone().bool_and(positive.clone()).into_data(),
            mask.clone().bool_or(positive).bool_not().into_data(),
            mask.clone().any().into_data(),
            mask.clone().all_dim(1).into_data(),
            mask.clone().int().into_data(),
            mask.clone().argwhere().into_data(),
            x.mask_fill(mask, -1.0).into_data(),
        ]
    });
}

#[test]
fn images_are_convolved() {
    compare(|device| {
        let ramp = |count: i64| (Tensor::arange(0..count, device).float() * 0.37).sin();
        let x: Tensor<4> = ramp(2 * 3 * 6 * 5).reshape([2, 3, 6, 5]);
        let weight: Tensor<4> = ramp(4 * 3 * 3 * 2).reshape([4, 3, 3, 2]);
        let options = ConvOptions::new([2, 1], [1, 0], [1, 2], 1);
        let bias = Some(Tensor::ones([4], device));
        vec![conv2d(x, weight, bias, options).into_data()]
    });
}

/// Each thread of Hearth's has a generator of its own, so that draws are not those in process.
#[test]
fn draws_follow_the_seed() {
    let server = Server::start();
    let device = server.device();
    let draw = |seed| {
        device.seed(seed);
        let uniform = Tensor::<1>::random([4096], Distribution::Uniform(2.0, 6.0), &device);
        let normal = Tensor::<1>::random([4096], Distribution::Normal(1.0, 0.5), &device);
        [uniform.into_data(), normal.into_data()]
    };
    let once = draw(7);
    for (data, mean) in once.iter().zip([4.0, 1.0]) {
        let values = data.as_slice::<f32>().unwrap();
        let found = values.iter().sum::<f32>() / values.len() as f32;
        assert!((found - mean).abs() < 0.1, "{found} is not near {mean}");
    }
    let uniform = once[0].as_slice::<f32>().unwrap();
    assert!(uniform.iter().all(|value| (2.0..6.0).contains(value)));
    assert_eq!(once, draw(7));
    assert_ne!(once, draw(8));
}
