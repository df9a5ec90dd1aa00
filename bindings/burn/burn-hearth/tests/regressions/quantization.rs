//! Codes and their scales.

use burn_backend::ops::{FloatTensorOps, QTensorOps};
use burn_backend::quantization::{QuantLevel, QuantParam, QuantScheme, QuantStore, QuantValue};
use burn_backend::{DType, FloatDType, TensorData, read_sync};
use burn_hearth::{Hearth, HearthDevice};

use crate::reference::*;

const CPU: HearthDevice = HearthDevice::Cpu;

fn schemes() -> [(QuantScheme, [usize; 2]); 3] {
    let scheme = QuantScheme::default().with_store(QuantStore::Native);
    [
        (scheme, [4, 6]),
        (scheme.with_level(QuantLevel::block([4])), [3, 8]),
        (scheme.with_level(QuantLevel::block([2, 3])), [4, 6]),
    ]
}

/// Which of the scales an element has.
fn block(scheme: &QuantScheme, shape: [usize; 2], index: &[usize]) -> usize {
    let QuantLevel::Block(size) = scheme.level else {
        return 0;
    };
    let size = size.to_dim_vec(2);
    let [rows, columns] = [0, 1].map(|axis| size[axis] as usize);
    index[0] / rows * (shape[1] / columns) + index[1] / columns
}

fn count(scheme: &QuantScheme, shape: [usize; 2]) -> usize {
    block(scheme, shape, &[shape[0] - 1, shape[1] - 1]) + 1
}

/// The scale was dropped: codes came back.
#[test]
fn dequantized_codes_have_their_scales() {
    for (scheme, shape) in schemes() {
        let codes = picks(&shape, 255, 3);
        let codes = Grid::new(&shape, |index| (codes.at(index) - 127) as i8);
        let scales: Vec<f32> = (0..count(&scheme, shape))
            .map(|i| 0.25 + 0.3 * i as f32)
            .collect();
        let data = TensorData::quantized(codes.values.clone(), shape, scheme, &scales);
        let expected = Grid::new(&shape, |index| {
            f64::from(codes.at(index)) * f64::from(scales[block(&scheme, shape, index)])
        });
        let tensor = Hearth::q_from_data(data.clone(), &CPU);
        let back = read_sync(Hearth::q_into_data(tensor.clone())).unwrap();
        assert_eq!(back, data);
        assert_close(Hearth::dequantize(tensor, FloatDType::F32), &expected, 1e-5);
    }
}

/// A byte holds each code of data in a native store, however small the codes are.
#[test]
fn small_codes_of_data_are_a_byte_each_in_a_native_store() {
    use QuantValue::*;
    let native = QuantScheme::default().with_store(QuantStore::Native);
    let blocks = QuantLevel::block([16]);
    for (value, low) in [(Q4F, -8), (Q4S, -7), (Q2F, -2), (Q2S, -1)] {
        let high = value.range().1 as i64;
        for (scheme, shape) in [
            (native.with_value(value), [3, 21]),
            (native.with_value(value).with_level(blocks), [2, 32]),
            (native.with_value(value).with_param(QuantParam::F16), [3, 5]),
        ] {
            let codes = picks(&shape, (high - low + 1) as usize, 3);
            let codes = Grid::new(&shape, |index| (codes.at(index) + low) as i8);
            let scales: Vec<f32> = (0..count(&scheme, shape))
                .map(|i| 0.5 + 0.25 * i as f32)
                .collect();
            let expected = Grid::new(&shape, |index| {
                f64::from(codes.at(index)) * f64::from(scales[block(&scheme, shape, index)])
            });
            let data = TensorData::quantized(codes.values.clone(), shape, scheme, &scales);
            let tensor = Hearth::q_from_data(data, &CPU);
            let x = Hearth::dequantize(tensor.clone(), FloatDType::F32);
            assert_close(x, &expected, 0.0);
            // What is read is packed, and says so.
            let packed = read_sync(Hearth::q_into_data(tensor)).unwrap();
            let store = QuantStore::PackedU32(0);
            assert_eq!(packed.dtype, DType::QFloat(scheme.with_store(store)));
            let again = Hearth::q_from_data(packed, &CPU);
            assert_close(Hearth::dequantize(again, FloatDType::F32), &expected, 0.0);
        }
    }
}

#[test]
#[should_panic(expected = "has 6 codes; got 5 bytes")]
fn small_codes_that_are_missing_are_said() {
    let scheme = QuantScheme::default().with_store(QuantStore::Native);
    let dtype = DType::QFloat(scheme.with_value(QuantValue::Q4S));
    let data = TensorData::from_bytes_vec(vec![0; 5], [2, 3], dtype);
    Hearth::q_from_data(data, &CPU);
}

/// The floats were kept as they are: each is a whole number of scales from zero now.
#[test]
fn quantized_floats_are_multiples_of_their_scale() {
    for (scheme, shape) in schemes() {
        let x = scattered(&shape, 2);
        let mut largest = vec![0.0; count(&scheme, shape)];
        for index in indices(&shape) {
            let largest: &mut f64 = &mut largest[block(&scheme, shape, &index)];
            *largest = largest.max(x.at(&index).abs());
        }
        let (low, high) = scheme.value.range();
        let (low, high) = (f64::from(low), f64::from(high));
        let expected = Grid::new(&shape, |index| {
            let scale = 2.0 * largest[block(&scheme, shape, index)] / (high - low);
            (x.at(index) / scale).round().clamp(low, high) * scale
        });
        let quantized =
            Hearth::quantize_dynamic(Hearth::float_cast(floats(&x), FloatDType::F32), &scheme);
        assert_close(
            Hearth::dequantize(quantized, FloatDType::F32),
            &expected,
            1e-5,
        );
    }
}

/// Burn writes scales as f32 whatever the scheme stores them as; other backends as they are stored.
#[test]
fn scales_of_data_are_f32_or_as_they_are_stored() {
    for (scheme, shape) in schemes() {
        for param in [QuantParam::F16, QuantParam::BF16] {
            let scheme = scheme.with_param(param);
            let codes = picks(&shape, 255, 5);
            let codes = Grid::new(&shape, |index| (codes.at(index) - 127) as i8);
            // Numbers that 8 bits hold.
            let scales: Vec<f32> = (0..count(&scheme, shape))
                .map(|i| 0.5 + 0.25 * i as f32)
                .collect();
            let expected = Grid::new(&shape, |index| {
                f64::from(codes.at(index)) * f64::from(scales[block(&scheme, shape, index)])
            });
            let data = TensorData::quantized(codes.values.clone(), shape, scheme, &scales);
            let tensor = Hearth::q_from_data(data.clone(), &CPU);
            assert_close(
                Hearth::dequantize(tensor.clone(), FloatDType::F32),
                &expected,
                0.0,
            );
            let stored = read_sync(Hearth::q_into_data(tensor)).unwrap();
            assert_eq!(stored.dtype, DType::QFloat(scheme));
            assert_eq!(stored.bytes.len(), data.bytes.len() - 2 * scales.len());
            let again = Hearth::q_from_data(stored, &CPU);
            assert_close(Hearth::dequantize(again, FloatDType::F32), &expected, 0.0);
        }
    }
    let scheme = schemes()[0].0.with_param(QuantParam::UE8M0);
    let data = TensorData::quantized(vec![3i8, -5], [2], scheme, &[0.25]);
    let tensor = Hearth::q_from_data(data, &CPU);
    let expected = Grid {
        shape: vec![2],
        values: vec![0.75, -1.25],
    };
    assert_close(Hearth::dequantize(tensor, FloatDType::F32), &expected, 0.0);
    assert_eq!(scheme.value, QuantValue::Q8F);
}
