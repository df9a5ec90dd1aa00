//! Schemes of quantization: Burn's and Hearth's, and which are stored otherwise than Burn asks for.

use burn_backend::Shape;
use burn_backend::quantization::{BlockSize, QuantMode, QuantScheme, QuantStore, QuantValue};
use hearth_sys::*;

use crate::call::check;
use crate::version::{self, ScaleDtype};

/// The scheme of what is quantized by it: codes smaller than a byte are packed, whatever store Burn
/// asks for.
pub fn stored(scheme: &QuantScheme) -> QuantScheme {
    let native = matches!(scheme.store, QuantStore::Native);
    match scheme.value {
        QuantValue::Q4F | QuantValue::Q4S | QuantValue::Q2F | QuantValue::Q2S if native => {
            scheme.with_store(QuantStore::PackedU32(0))
        }
        _ => *scheme,
    }
}

/// Bytes of quantized data in a native store, whose codes are a byte each there however small, as
/// those of `stored()`: scales stay behind the codes. None where nothing is to be packed.
pub fn packed(bytes: &[u8], shape: &Shape, scheme: &QuantScheme) -> Option<Vec<u8>> {
    if stored(scheme) == *scheme {
        return None;
    }
    let count = shape.num_elements();
    let (codes, scales) = bytes.split_at_checked(count).unwrap_or_else(|| {
        let found = bytes.len();
        panic!("quantized data of {shape:?} has {count} codes; got {found} bytes")
    });
    let bits = scheme.value.size_bits();
    let mask = (1 << bits) - 1;
    // Words hold codes of one line, from the lowest bits on.
    let line = shape.last().copied().unwrap_or(1).max(1);
    let words = codes.chunks(line).flat_map(|line| line.chunks(32 / bits));
    let mut packed: Vec<u8> = words
        .flat_map(|codes| {
            let word = codes.iter().rev();
            let word = word.fold(0u32, |word, code| word << bits | u32::from(code & mask));
            word.to_ne_bytes()
        })
        .collect();
    packed.extend_from_slice(scales);
    Some(packed)
}

/// Whether tensors can be quantized by it and keep its store.
pub fn supports(scheme: &QuantScheme) -> bool {
    if !by_scales(scheme) {
        return false;
    }
    let mut supported = 0;
    // SAFETY: the scheme outlives the call, which writes one number.
    check(unsafe { hearth_scheme_supported(&to_hearth(scheme), &mut supported) });
    supported != 0
}

// Burn's enumerators by Hearth's numbers.
const VALUES: [QuantValue; 9] = [
    QuantValue::Q8F,
    QuantValue::Q8S,
    QuantValue::Q4F,
    QuantValue::Q4S,
    QuantValue::Q2F,
    QuantValue::Q2S,
    QuantValue::E4M3,
    QuantValue::E5M2,
    QuantValue::E2M1,
];
const SCALES: [ScaleDtype; 5] = [
    ScaleDtype::F32,
    ScaleDtype::F16,
    ScaleDtype::BF16,
    ScaleDtype::UE4M3,
    ScaleDtype::UE8M0,
];

fn number<T: PartialEq>(all: &[T], one: &T) -> i32 {
    all.iter()
        .position(|each| each == one)
        .expect("an enumerator that Hearth has") as i32
}

/// Whether codes are numbers to be scaled, not places in a table.
fn by_scales(scheme: &QuantScheme) -> bool {
    matches!(scheme.mode, QuantMode::Symmetric)
}

pub fn to_hearth(scheme: &QuantScheme) -> hearth_scheme {
    assert!(by_scales(scheme), "Hearth has no scheme {scheme:?}");
    let (store, store_axis) = match scheme.store {
        QuantStore::Native => (HEARTH_STORE_NATIVE, 0),
        QuantStore::PackedU32(axis) => (HEARTH_STORE_PACKED_U32, axis),
        QuantStore::PackedNative(axis) => (HEARTH_STORE_PACKED_NATIVE, axis),
    };
    let mut found = hearth_scheme {
        value: number(&VALUES, &scheme.value),
        store,
        store_axis: store_axis as i32,
        tensor_scale: HEARTH_SCALE_NONE,
        block_scale: HEARTH_SCALE_NONE,
        ..Default::default()
    };
    let (tensor, block) = version::scales(scheme);
    if let Some(scale) = tensor {
        found.tensor_scale = number(&SCALES, &scale);
    }
    if let Some((size, scale)) = block {
        found.block_scale = number(&SCALES, &scale);
        found.block_rank = size.as_slice().len() as i32;
        for (to, from) in found.block.iter_mut().zip(size.iter()) {
            *to = i64::from(*from);
        }
    }
    found
}

pub fn from_hearth(scheme: &hearth_scheme) -> QuantScheme {
    let axis = scheme.store_axis as usize;
    let store = match scheme.store {
        HEARTH_STORE_NATIVE => QuantStore::Native,
        HEARTH_STORE_PACKED_U32 => QuantStore::PackedU32(axis),
        _ => QuantStore::PackedNative(axis),
    };
    // Negative where there is none.
    let scale = |number| {
        usize::try_from(number)
            .ok()
            .map(|number: usize| SCALES[number])
    };
    let block = scale(scheme.block_scale).map(|scale| {
        let extents = &scheme.block[..scheme.block_rank as usize];
        let size: Vec<u8> = extents.iter().map(|extent| *extent as u8).collect();
        (BlockSize::new(size), scale)
    });
    let value = VALUES[scheme.value as usize];
    version::scheme(value, store, scale(scheme.tensor_scale), block)
}
