//! Calls of Hearth's functions by name: `call!(sum(x), axes = [dim], keepdim = true)`.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};

use burn_backend::{DType, Scalar, Shape, Slice, TensorData, TensorMetadata};
use hearth_sys::*;

use crate::data;
use crate::device::HearthDevice;
use crate::dtypes::Dtype;
use crate::tensor::HearthTensor;

/// The message of the calling thread's last call that failed.
pub fn message() -> String {
    let text = unsafe { CStr::from_ptr(hearth_error_message()) };
    text.to_string_lossy().into_owned()
}

/// Panics with Hearth's message where a call failed.
#[track_caller]
pub fn check(status: hearth_status) {
    if status != HEARTH_OK {
        panic!("{}", message());
    }
}

/// A function by its name, which is looked up once.
pub struct Function {
    name: &'static CStr,
    number: AtomicU32,
}

impl Function {
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            number: AtomicU32::new(0),
        }
    }

    pub fn number(&self) -> hearth_function {
        match self.number.load(Ordering::Relaxed) {
            0 => self.look_up(),
            number => number,
        }
    }

    #[cold]
    fn look_up(&self) -> hearth_function {
        let number = unsafe { hearth_function_named(self.name.as_ptr()) };
        assert!(number != 0, "Hearth has no function {:?}", self.name);
        self.number.store(number, Ordering::Relaxed);
        number
    }
}

/// Records a function that has `N` results.
#[track_caller]
pub fn apply<const N: usize>(
    function: &Function,
    inputs: &[hearth_value],
    parameters: &[hearth_parameter],
) -> [HearthTensor; N] {
    let mut results = [hearth_array::default(); N];
    let mut infos = [hearth_array_info::default(); N];
    check(unsafe {
        hearth_apply(
            function.number(),
            inputs.as_ptr(),
            inputs.len(),
            parameters.as_ptr(),
            parameters.len(),
            results.as_mut_ptr(),
            infos.as_mut_ptr(),
            N,
            std::ptr::null_mut(),
        )
    });
    std::array::from_fn(|i| HearthTensor::described(results[i], infos[i]))
}

/// The gradients of the inputs where that of the first result is `gradient`; None where there is
/// none.
#[track_caller]
pub fn apply_vjp<const N: usize>(
    function: &Function,
    inputs: &[hearth_value; N],
    parameters: &[hearth_parameter],
    gradient: &HearthTensor,
) -> [Option<HearthTensor>; N] {
    let mut results = [hearth_array::default(); N];
    check(unsafe {
        hearth_apply_vjp(
            function.number(),
            inputs.as_ptr(),
            N,
            parameters.as_ptr(),
            parameters.len(),
            0,
            gradient.handle(),
            results.as_mut_ptr(),
            N,
        )
    });
    results.map(|array| (array.id != 0).then(|| HearthTensor::own(array)))
}

macro_rules! name {
    ($name:ident) => {
        const {
            match ::std::ffi::CStr::from_bytes_with_nul(
                ::core::concat!(::core::stringify!($name), "\0").as_bytes(),
            ) {
                Ok(name) => name,
                Err(_) => panic!(),
            }
        }
    };
}

macro_rules! function {
    ($name:ident) => {{
        static FUNCTION: $crate::call::Function = $crate::call::Function::new(name!($name));
        &FUNCTION
    }};
}

/// Its single result. Nothing is allocated but what Hearth records.
macro_rules! call {
    ($name:ident($($input:expr),* $(,)?) $(, $parameter:ident = $value:expr)* $(,)?) => {{
        let [result] = call_all!($name($($input),*) $(, $parameter = $value)*);
        result
    }};
}

/// An array of as many results as are taken.
macro_rules! call_all {
    ($name:ident($($input:expr),* $(,)?) $(, $parameter:ident = $value:expr)* $(,)?) => {
        $crate::call::apply(
            function!($name),
            &[$($crate::call::Argument::value(&$input)),*],
            &[$($crate::call::parameter(name!($parameter), &$value)),*],
        )
    };
}

/// The gradients of the inputs, if any, of `gradient`, that of the first result.
macro_rules! vjp {
    ($gradient:expr, $name:ident($($input:expr),* $(,)?)
     $(, $parameter:ident = $value:expr)* $(,)?) => {
        $crate::call::apply_vjp(
            function!($name),
            &[$($crate::call::Argument::value(&$input)),*],
            &[$($crate::call::parameter(name!($parameter), &$value)),*],
            &$gradient,
        )
    };
}

pub fn parameter<A: Argument + ?Sized>(name: &'static CStr, value: &A) -> hearth_parameter {
    hearth_parameter {
        name: name.as_ptr(),
        value: value.value(),
    }
}

/// What an input or a parameter can be. A value points into what it was made of.
pub trait Argument {
    fn value(&self) -> hearth_value;
}

fn value(kind: i32, r#as: hearth_value_as) -> hearth_value {
    hearth_value {
        r#type: kind,
        count: 0,
        r#as,
    }
}

macro_rules! argument {
    ($($of:ty, $kind:ident, $field:ident, |$it:ident| $value:expr;)*) => {
        $(impl Argument for $of {
            fn value(&self) -> hearth_value {
                let $it = self;
                value($kind, hearth_value_as { $field: $value })
            }
        })*
    };
}
argument! {
    HearthTensor, HEARTH_ARRAY, array, |it| it.handle();
    bool, HEARTH_FLAG, integer, |it| i64::from(*it);
    i64, HEARTH_INT, integer, |it| *it;
    usize, HEARTH_INT, integer, |it| *it as i64;
    f64, HEARTH_FLOAT, number, |it| *it;
    Dtype, HEARTH_INT, integer, |it| i64::from(it.0);
    HearthDevice, HEARTH_INT, integer, |it| i64::from(it.index());
    CStr, HEARTH_STRING, string, |it| it.as_ptr();
}

// Extents and axes are passed as they lie in memory.
const _: () = assert!(size_of::<usize>() == size_of::<i64>());

impl Argument for [usize] {
    fn value(&self) -> hearth_value {
        let integers = self.as_ptr().cast();
        hearth_value {
            count: self.len() as u32,
            ..value(HEARTH_INTS, hearth_value_as { integers })
        }
    }
}

impl<const N: usize> Argument for [usize; N] {
    fn value(&self) -> hearth_value {
        self.as_slice().value()
    }
}

impl Argument for Shape {
    fn value(&self) -> hearth_value {
        self.as_slice().value()
    }
}

impl<A: Argument + ?Sized> Argument for &A {
    fn value(&self) -> hearth_value {
        (**self).value()
    }
}

impl<A: Argument> Argument for Option<A> {
    fn value(&self) -> hearth_value {
        match self {
            Some(argument) => argument.value(),
            None => value(HEARTH_NONE, hearth_value_as { integer: 0 }),
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
    fn value(&self) -> hearth_value {
        let integers = self.bounds.as_ptr().cast();
        let count = 3 * self.count as u32;
        hearth_value {
            count,
            ..value(HEARTH_INTS, hearth_value_as { integers })
        }
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
    fn value(&self) -> hearth_value {
        match self {
            Self::Float(number) => number.value(),
            Self::Int(number) => number.value(),
            Self::Array(number) => number.value(),
        }
    }
}
