//! What Burn's own tests (scripts/burn_tests) do not ask for.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use burn_backend::ops::{FloatTensorOps, IntTensorOps, QTensorOps, TransactionOps};
use burn_backend::ops::{TransactionPrimitive, TransactionPrimitiveData};
use burn_backend::quantization::{QuantLevel, QuantScheme, QuantStore, QuantValue};
use burn_backend::{
    Backend, DType, DTypeUsage, Device, FloatDType, IntDType, QTensorPrimitive, Scalar, Shape,
    TensorData, TensorMetadata, read_sync,
};
use burn_hearth::{Hearth, HearthDevice, HearthQuantizedTensor, HearthTensor};

const CPU: HearthDevice = HearthDevice::Cpu;

fn floats(data: TensorData) -> HearthTensor {
    Hearth::float_from_data(data, &CPU)
}

fn data_of(tensor: HearthTensor) -> TensorData {
    read_sync(Hearth::float_into_data(tensor)).unwrap()
}

fn message_of(f: impl FnOnce() + Send + 'static) -> String {
    let panic = thread::spawn(f).join().unwrap_err();
    panic.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn devices_are_known_by_their_ids() {
    for device in HearthDevice::all() {
        assert_eq!(HearthDevice::from_id(device.to_id()), device);
        assert!(!device.description().is_empty());
        assert!(Hearth::device_count(device.to_id().type_id) > 0);
    }
    assert_ne!(
        HearthDevice::Cuda(0).to_id(),
        HearthDevice::Metal(0).to_id()
    );
    assert_eq!(Hearth::name(&CPU), "hearth<cpu:0>");
    assert!(message_of(|| drop(Hearth::name(&HearthDevice::Cuda(99)))).contains("Cuda(99)"));
}

#[test]
fn dtypes_and_schemes_are_supported_or_not() {
    for dtype in [DType::F64, DType::F16, DType::BF16, DType::I8, DType::U64] {
        assert!(Hearth::supports_dtype(&CPU, dtype), "{dtype:?}");
    }
    assert!(!Hearth::supports_dtype(&CPU, DType::Flex32));
    assert!(!Hearth::dtype_usage(&CPU, DType::F16).contains(DTypeUsage::Accelerated));
    let blocks = HearthQuantizedTensor::default_scheme().with_level(QuantLevel::block([2, 16]));
    assert!(Hearth::supports_dtype(&CPU, DType::QFloat(blocks)));
    let packed = QuantScheme::default().with_value(QuantValue::Q4S);
    let packed = packed.with_store(QuantStore::PackedU32(1));
    assert!(Hearth::supports_dtype(&CPU, DType::QFloat(packed)));
    let natively = packed.with_store(QuantStore::Native);
    assert!(!Hearth::supports_dtype(&CPU, DType::QFloat(natively)));
}

#[test]
fn large_data_is_taken_over_and_returned() {
    let values: Vec<f32> = (0..100_000).map(|i| i as f32).collect();
    let tensor = floats(TensorData::new(values.clone(), [100, 1000]));
    let doubled = Hearth::float_mul_scalar(tensor.clone(), Scalar::Float(2.0));
    drop(tensor);
    let doubled = data_of(doubled).into_vec::<f32>().unwrap();
    assert!(
        doubled
            .iter()
            .zip(&values)
            .all(|(doubled, value)| *doubled == 2.0 * value)
    );
}

#[test]
fn numbers_that_no_i64_holds() {
    let ones = Hearth::int_ones(Shape::new([2]), &CPU, IntDType::U64);
    let sum = Hearth::int_sub(
        Hearth::int_add_scalar(ones.clone(), Scalar::UInt(u64::MAX - 1)),
        ones,
    );
    let sum = read_sync(Hearth::int_into_data(sum)).unwrap();
    assert_eq!(sum.to_vec::<u64>().unwrap(), [u64::MAX - 1; 2]);
    let full = Hearth::int_full(Shape::new([1]), Scalar::UInt(u64::MAX), &CPU, IntDType::U64);
    let full = read_sync(Hearth::int_into_data(full)).unwrap();
    assert_eq!(full.to_vec::<u64>().unwrap(), [u64::MAX]);
}

#[test]
fn errors_are_panics_with_their_message() {
    let message = message_of(|| {
        let (a, b) = (
            floats([1.0f32, 2.0].into()),
            floats([1.0f32, 2.0, 3.0].into()),
        );
        Hearth::float_add(a, b);
    });
    assert!(message.starts_with("add: "), "{message}");
}

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn reads_wake_who_awaits_them() {
    let tensor = floats(TensorData::ones::<f32, _>([300, 300]));
    let product = Hearth::float_matmul(tensor.clone(), tensor);
    let count = Arc::new(Count::default());
    let waker = Waker::from(count.clone());
    let mut read = pin!(Hearth::float_into_data(product));
    let mut polls = 0;
    let data = loop {
        let woken = count.0.load(Ordering::SeqCst);
        polls += 1;
        match read.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(data) => break data.unwrap(),
            Poll::Pending => {
                while count.0.load(Ordering::SeqCst) == woken {
                    thread::yield_now();
                }
            }
        }
    };
    assert!(polls <= 2, "polled {polls} times");
    assert!(data.iter::<f32>().all(|element| element == 300.0));
}

#[test]
fn a_read_may_be_given_up() {
    let tensor = floats(TensorData::ones::<f32, _>([100, 100]));
    drop(Hearth::float_into_data(Hearth::float_exp(tensor.clone())));
    assert_eq!(
        data_of(Hearth::float_sum(tensor)).to_vec::<f32>().unwrap(),
        [10000.0]
    );
}

#[test]
fn transactions_read_every_kind() {
    let float = floats([1.0f32, -2.0].into());
    let scheme = HearthQuantizedTensor::default_scheme();
    let quantized = Hearth::quantize_dynamic(float.clone(), &scheme);
    let int = Hearth::float_into_int(float.clone(), IntDType::I32);
    let bool = Hearth::float_is_nan(float.clone(), burn_backend::BoolDType::Native);
    let transaction = TransactionPrimitive::new(
        vec![float.clone(), float],
        vec![quantized],
        vec![int],
        vec![bool],
    );
    let data: TransactionPrimitiveData = read_sync(Hearth::tr_execute(transaction)).unwrap();
    assert_eq!(data.read_floats[1].to_vec::<f32>().unwrap(), [1.0, -2.0]);
    assert_eq!(data.read_qfloats[0].dtype, DType::QFloat(scheme));
    assert_eq!(data.read_ints[0].to_vec::<i32>().unwrap(), [1, -2]);
    assert_eq!(data.read_bools[0].to_vec::<bool>().unwrap(), [false, false]);
}

#[test]
fn quantized_data_comes_back() {
    for (value, store) in [
        (QuantValue::Q8F, QuantStore::Native),
        (QuantValue::Q8S, QuantStore::PackedU32(0)),
        (QuantValue::Q4F, QuantStore::PackedU32(0)),
        (QuantValue::Q2S, QuantStore::PackedU32(1)),
        (QuantValue::E4M3, QuantStore::Native),
        (QuantValue::E2M1, QuantStore::PackedNative(0)),
    ] {
        let scheme = QuantScheme::default().with_value(value).with_store(store);
        let x = floats(TensorData::new(
            (0..64).map(|i| i as f32 - 32.0).collect(),
            [4, 16],
        ));
        let quantized = Hearth::quantize_dynamic(x, &scheme);
        let data = read_sync(Hearth::q_into_data(quantized.clone())).unwrap();
        assert_eq!(
            (data.dtype, &data.shape),
            (DType::QFloat(scheme), &Shape::new([4, 16]))
        );
        let again = Hearth::q_from_data(data, &CPU);
        assert_eq!(again.scheme(), quantized.scheme());
        let dequantized =
            [quantized, again].map(|tensor| data_of(Hearth::dequantize(tensor, FloatDType::F32)));
        dequantized[0].assert_eq(&dequantized[1], true);
    }
}

#[test]
fn quantized_tensors_move_with_their_scheme() {
    let scheme = HearthQuantizedTensor::default_scheme().with_level(QuantLevel::block([1, 4]));
    let x = floats(TensorData::new((0..32).map(|i| i as f32).collect(), [4, 8]));
    let moved = Hearth::q_transpose(Hearth::quantize_dynamic(x, &scheme));
    assert_eq!(moved.shape(), Shape::new([8, 4]));
    assert_eq!(moved.scheme().level, QuantLevel::block([4, 1]));
}

#[test]
fn a_seed_repeats_draws() {
    let draw = || {
        Hearth::seed(&CPU, 7);
        let shape = Shape::new([100]);
        let uniform = burn_backend::Distribution::Uniform(-1.0, 1.0);
        data_of(Hearth::float_random(shape, uniform, &CPU, FloatDType::F32))
    };
    draw().assert_eq(&draw(), true);
}

#[test]
fn handles_are_used_in_any_thread() {
    let sum = thread::scope(|scope| {
        let tensor = floats([1.0f32, 2.0, 3.0].into());
        let squares: Vec<_> = (0..8)
            .map(|_| {
                let tensor = tensor.clone();
                scope.spawn(move || Hearth::float_mul(tensor.clone(), tensor))
            })
            .collect();
        let zeros = Hearth::float_zeros(Shape::new([3]), &CPU, FloatDType::F32);
        squares.into_iter().fold(zeros, |sum, square| {
            Hearth::float_add(sum, square.join().unwrap())
        })
    });
    assert_eq!(data_of(sum).to_vec::<f32>().unwrap(), [8.0, 32.0, 72.0]);
}
