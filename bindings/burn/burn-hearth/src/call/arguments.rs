//! What functions take: inputs, and parameters by name.

use std::ffi::CStr;

use burn_backend::{DType, Scalar, Shape, Slice, TensorData, TensorMetadata};
use hearth_sys::{HEARTH_MAX_RANK, Parameter, Value};

use crate::data;
use crate::device::HearthDevice;
use crate::dtypes::Dtype;
use crate::tensor::HearthTensor;

/// What an input or a parameter can be.
pub trait Argument {
    fn value(&self) -> Value<'_>;
}

pub fn parameter<'a, A: Argument + ?Sized>(name: &'static CStr, argument: &'a A) -> Parameter<'a> {
    Parameter::new(name, argument.value())
}

macro_rules! argument {
    ($($of:ty, |$it:ident| $value:expr;)*) => {
        $(impl Argument for $of {
            fn value(&self) -> Value<'_> {
                let $it = self;
                $value
            }
        })*
    };
}
argument! {
    HearthTensor, |it| Value::array(it.handle());
    bool, |it| Value::flag(*it);
    i64, |it| Value::integer(*it);
    usize, |it| Value::integer(*it as i64);
    f64, |it| Value::number(*it);
    Dtype, |it| Value::integer(i64::from(it.0));
    HearthDevice, |it| Value::integer(i64::from(it.index()));
    CStr, |it| Value::string(it);
    [usize], |it| Value::integers(integers(it));
}

// Extents and axes are passed as they lie in memory.
const _: () = assert!(size_of::<usize>() == size_of::<i64>());
const _: () = assert!(align_of::<usize>() == align_of::<i64>());

fn integers(extents: &[usize]) -> &[i64] {
    // SAFETY: the elements have one size and alignment, and any bits are an i64.
    unsafe { std::slice::from_raw_parts(extents.as_ptr().cast(), extents.len()) }
}

/// The other way around: what Hearth says of shapes.
pub fn extents(integers: &[i64]) -> &[usize] {
    // SAFETY: the elements have one size and alignment, and any bits are a usize.
    unsafe { std::slice::from_raw_parts(integers.as_ptr().cast(), integers.len()) }
}

impl<const N: usize> Argument for [usize; N] {
    fn value(&self) -> Value<'_> {
        self.as_slice().value()
    }
}

impl Argument for Shape {
    fn value(&self) -> Value<'_> {
        self.as_slice().value()
    }
}

impl<A: Argument + ?Sized> Argument for &A {
    fn value(&self) -> Value<'_> {
        (**self).value()
    }
}

impl<A: Argument> Argument for Option<A> {
    fn value(&self) -> Value<'_> {
        match self {
            Some(argument) => argument.value(),
            None => Value::none(),
        }
    }
}

/// Slices of the leading axes of a tensor.
pub struct Slices {
    count: usize,
    bounds: [[i64; 3]; HEARTH_MAX_RANK],
}

impl Slices {
    #[track_caller]
    pub fn new(extents: &[usize], slices: &[Slice]) -> Self {
        assert!(
            slices.len() <= extents.len(),
            "slice: too many slices; got {}, expected {} at most",
            slices.len(),
            extents.len()
        );
        let mut bounds = [[0; 3]; HEARTH_MAX_RANK];
        for ((bound, slice), extent) in bounds.iter_mut().zip(slices).zip(extents) {
            let range = slice.to_range(*extent);
            *bound = [
                range.start as i64,
                range.end.max(range.start) as i64,
                slice.step as i64,
            ];
        }
        Self {
            count: slices.len(),
            bounds,
        }
    }
}

impl Argument for Slices {
    fn value(&self) -> Value<'_> {
        Value::integers(self.bounds[..self.count].as_flattened())
    }
}

/// A number beside arrays of one element type.
pub enum Number {
    Float(f64),
    Int(i64),
    /// What neither of the others holds.
    Array(HearthTensor),
}

impl Number {
    pub fn new(scalar: Scalar, dtype: DType, device: &HearthDevice) -> Self {
        match scalar {
            _ if dtype.is_float() => Self::Float(scalar.elem()),
            _ if dtype.is_bool() => Self::Int(i64::from(scalar.elem::<bool>())),
            Scalar::UInt(number) if i64::try_from(number).is_err() => {
                let data = TensorData::from([number]).convert_dtype(dtype);
                Self::Array(data::from_data(data, device))
            }
            _ => Self::Int(scalar.elem()),
        }
    }

    pub fn beside(tensor: &HearthTensor, scalar: Scalar) -> Self {
        Self::new(scalar, tensor.dtype(), &tensor.device())
    }
}

impl Argument for Number {
    fn value(&self) -> Value<'_> {
        match self {
            Self::Float(number) => number.value(),
            Self::Int(number) => number.value(),
            Self::Array(number) => number.value(),
        }
    }
}
