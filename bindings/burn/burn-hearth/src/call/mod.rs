//! Calls of Hearth's functions by name: `call!(sum(x), axes = [dim], keepdim = true)`.

mod arguments;

use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, Ordering};

use hearth_sys::*;

use crate::tensor::HearthTensor;

pub use arguments::{Argument, Number, Slices, extents, parameter};

/// The message of the calling thread's last call that failed.
pub fn message() -> String {
    // SAFETY: never null; a text that stays until the thread's next call that fails, and is copied
    // before.
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
        // SAFETY: the name ends in 0 and is the program's.
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
    inputs: &[Value<'_>],
    parameters: &[Parameter<'_>],
) -> [HearthTensor; N] {
    match hearth_sys::apply(function.number(), inputs, parameters) {
        Ok(results) => results.map(|(array, info)| HearthTensor::described(array, info)),
        Err(_) => panic!("{}", message()),
    }
}

/// The gradients of the inputs where that of the first result is `gradient`; None where there is
/// none.
#[track_caller]
pub fn apply_vjp<const N: usize>(
    function: &Function,
    inputs: &[Value<'_>; N],
    parameters: &[Parameter<'_>],
    gradient: &HearthTensor,
) -> [Option<HearthTensor>; N] {
    match hearth_sys::apply_vjp(function.number(), inputs, parameters, gradient.handle()) {
        Ok(results) => results.map(|array| (array.id != 0).then(|| HearthTensor::own(array))),
        Err(_) => panic!("{}", message()),
    }
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
