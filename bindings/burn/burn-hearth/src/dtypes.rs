//! Element types: Burn's and Hearth's.

use burn_backend::{BoolDType, BoolStore, DType, FloatDType, IntDType};
use hearth_sys::*;

/// What an element type is in Hearth, if there is one.
pub fn find(dtype: DType) -> Option<hearth_dtype> {
    Some(match dtype {
        DType::F64 => HEARTH_F64,
        DType::F32 => HEARTH_F32,
        DType::F16 => HEARTH_F16,
        DType::BF16 => HEARTH_BF16,
        DType::I64 => HEARTH_I64,
        DType::I32 => HEARTH_I32,
        DType::I16 => HEARTH_I16,
        DType::I8 => HEARTH_I8,
        DType::U64 => HEARTH_U64,
        DType::U32 => HEARTH_U32,
        DType::U16 => HEARTH_U16,
        DType::U8 => HEARTH_U8,
        DType::Bool(BoolStore::Native) => HEARTH_BOOL,
        _ => return None,
    })
}

/// The element type that tensors of `dtype` have here: bools are a byte, and flex32 is f32.
pub fn stored(dtype: DType) -> DType {
    match dtype {
        DType::Flex32 => DType::F32,
        DType::Bool(_) => DType::Bool(BoolStore::Native),
        other => other,
    }
}

pub fn to_hearth(dtype: impl Into<DType>) -> hearth_dtype {
    let dtype = dtype.into();
    find(stored(dtype)).unwrap_or_else(|| panic!("Hearth has no arrays of {dtype:?}"))
}

pub fn from_hearth(dtype: hearth_dtype) -> DType {
    match dtype {
        HEARTH_F64 => DType::F64,
        HEARTH_F32 => DType::F32,
        HEARTH_F16 => DType::F16,
        HEARTH_BF16 => DType::BF16,
        HEARTH_I64 => DType::I64,
        HEARTH_I32 => DType::I32,
        HEARTH_I16 => DType::I16,
        HEARTH_I8 => DType::I8,
        HEARTH_U64 => DType::U64,
        HEARTH_U32 => DType::U32,
        HEARTH_U16 => DType::U16,
        HEARTH_U8 => DType::U8,
        HEARTH_BOOL => DType::Bool(BoolStore::Native),
        other => panic!("Hearth has no dtype {other}"),
    }
}

/// An element type that a function takes as a parameter.
#[derive(Clone, Copy)]
pub struct Dtype(pub hearth_dtype);

macro_rules! from_burn {
    ($($kind:ty)*) => {
        $(impl From<$kind> for Dtype {
            fn from(dtype: $kind) -> Self {
                Self(to_hearth(dtype))
            }
        })*
    };
}
from_burn!(DType FloatDType IntDType BoolDType);
