//! Transforms that a server runs by name.

#![cfg(feature = "ir")]

use burn_backend::ops::FloatTensorOps;
use burn_backend::{DType, Shape, TensorData, Tolerance, read_sync};
use burn_hearth::{Hearth, HearthDevice};
use burn_ir::{CustomOpIr, HandleContainer, ScalarIr, TensorId, TensorIr, TensorStatus};

fn tensor(id: u64, extent: usize, status: TensorStatus) -> TensorIr {
    let mut tensor = TensorIr::uninit(TensorId::new(id), Shape::new([extent]), DType::F32);
    tensor.status = status;
    tensor
}

#[test]
fn a_transform_and_its_inverse_give_back_the_signal() {
    let signal = [1.0f32, -2.0, 0.5, 4.0];
    let mut handles = HandleContainer::new();
    let data = Hearth::float_from_data(TensorData::from(signal), &HearthDevice::Cpu);
    handles.register_float_tensor::<Hearth>(&TensorId::new(0), data);

    let [forward, inverse] = Hearth::SIGNAL_OPS;
    let scalars = |has_length| {
        let length = ScalarIr::UInt(4);
        vec![ScalarIr::UInt(0), ScalarIr::Bool(has_length), length]
    };
    let spectrum = [1, 2].map(|id| tensor(id, 3, TensorStatus::ReadOnly));
    let input = [tensor(0, 4, TensorStatus::ReadOnly)];
    let op = CustomOpIr::with_scalars(forward, &input, &spectrum, scalars(false));
    Hearth::run_signal_op(&mut handles, &op);
    let output = [tensor(3, 4, TensorStatus::ReadOnly)];
    let op = CustomOpIr::with_scalars(inverse, &spectrum, &output, scalars(true));
    Hearth::run_signal_op(&mut handles, &op);

    let result = handles.get_float_tensor::<Hearth>(&output[0]);
    read_sync(Hearth::float_into_data(result))
        .unwrap()
        .assert_approx_eq::<f32>(&TensorData::from(signal), Tolerance::absolute(1e-5));
}
