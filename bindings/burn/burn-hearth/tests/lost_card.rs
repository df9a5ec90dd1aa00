//! A card that faults is lost until the process ends, and everybody who asks it is told.
//! `HEARTH_DEVICE=cuda cargo test --test lost_card -- --ignored`

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn_backend::ops::{FloatTensorOps, IntTensorOps};
use burn_backend::{Backend, ExecutionError, Scalar, TensorData, read_sync};
use burn_hearth::{Hearth, HearthDevice, HearthTensor};

fn floats(device: &HearthDevice) -> HearthTensor {
    Hearth::float_from_data(TensorData::ones::<f32, _>([1000]), device)
}

fn read(tensor: HearthTensor) -> Result<TensorData, ExecutionError> {
    read_sync(Hearth::float_into_data(tensor))
}

fn assert_lost<T>(result: Result<T, ExecutionError>) {
    let message = result.err().expect("an error").to_string();
    assert!(
        message.contains("is lost until the process ends"),
        "{message}"
    );
}

#[test]
#[ignore = "needs a card, and loses it"]
fn whoever_asks_a_lost_card_is_told() {
    let card = HearthDevice::default();
    assert!(matches!(card, HearthDevice::Cuda(_)), "HEARTH_DEVICE=cuda");
    let x = floats(&card);
    assert_eq!(read(x.clone()).unwrap(), TensorData::ones::<f32, _>([1000]));
    // Indices are not checked unless that is asked for. This one lies 8 GB behind all that there is.
    let beyond = TensorData::from([i32::MAX]);
    let beyond = Hearth::int_from_data(beyond, &card);
    let fault = Hearth::float_select(x.clone(), 0, beyond);
    let earlier = Hearth::float_into_data(Hearth::float_exp(x.clone()));
    assert_lost(read(fault.clone()));
    assert_lost(read(fault));
    drop(read_sync(earlier)); // before the fault or after it: but it ends
    assert_lost(read(Hearth::float_mul_scalar(
        x.clone(),
        Scalar::Float(2.0),
    )));
    assert_lost(Hearth::sync(&card));
    let made = catch_unwind(AssertUnwindSafe(|| read(floats(&card))));
    if let Ok(read) = made {
        assert_lost(read);
    }
    drop(x);
    let cpu = floats(&HearthDevice::Cpu);
    let doubled = read(Hearth::float_mul_scalar(cpu, Scalar::Float(2.0))).unwrap();
    assert_eq!(doubled.to_vec::<f32>().unwrap(), vec![2.0; 1000]);
}
