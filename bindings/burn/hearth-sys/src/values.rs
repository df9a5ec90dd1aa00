//! Values and parameters of `hearth_apply()` that cannot outlive what they point into.

use core::ffi::CStr;
use core::marker::PhantomData;
use core::ptr;

use crate::bindings::*;

/// A `hearth_value`, which may point into memory that stays borrowed as long as it lives.
///
/// ```
/// let axes = vec![0, 1];
/// let value = hearth_sys::Value::integers(&axes);
/// drop(value);
/// ```
///
/// ```compile_fail
/// let value = {
///     let axes = vec![0, 1];
///     hearth_sys::Value::integers(&axes) // `axes` does not live long enough
/// };
/// drop(value);
/// ```
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Value<'a> {
    raw: hearth_value,
    borrowed: PhantomData<&'a ()>,
}

impl<'a> Value<'a> {
    const fn new(kind: i32, count: u32, r#as: hearth_value_as) -> Self {
        let raw = hearth_value {
            r#type: kind,
            count,
            r#as,
        };
        Self {
            raw,
            borrowed: PhantomData,
        }
    }

    /// No array, or a parameter that is left out.
    pub const fn none() -> Self {
        Self::new(HEARTH_NONE, 0, hearth_value_as { integer: 0 })
    }

    /// Hearth finds out whether the handle names an array: it borrows nothing.
    pub const fn array(array: hearth_array) -> Self {
        Self::new(HEARTH_ARRAY, 0, hearth_value_as { array })
    }

    pub const fn flag(flag: bool) -> Self {
        let integer = flag as i64;
        Self::new(HEARTH_FLAG, 0, hearth_value_as { integer })
    }

    pub const fn integer(integer: i64) -> Self {
        Self::new(HEARTH_INT, 0, hearth_value_as { integer })
    }

    pub const fn number(number: f64) -> Self {
        Self::new(HEARTH_FLOAT, 0, hearth_value_as { number })
    }

    pub const fn integers(integers: &'a [i64]) -> Self {
        let count = count(integers.len());
        let integers = integers.as_ptr();
        Self::new(HEARTH_INTS, count, hearth_value_as { integers })
    }

    pub const fn numbers(numbers: &'a [f64]) -> Self {
        let count = count(numbers.len());
        let numbers = numbers.as_ptr();
        Self::new(HEARTH_FLOATS, count, hearth_value_as { numbers })
    }

    pub const fn string(string: &'a CStr) -> Self {
        let string = string.as_ptr();
        Self::new(HEARTH_STRING, 0, hearth_value_as { string })
    }
}

const fn count(length: usize) -> u32 {
    assert!(length <= u32::MAX as usize, "a list longer than 32 bits");
    length as u32
}

/// A `hearth_parameter`: a value by the name that the function has for it.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Parameter<'a> {
    raw: hearth_parameter,
    borrowed: PhantomData<&'a ()>,
}

impl<'a> Parameter<'a> {
    pub const fn new(name: &'a CStr, value: Value<'a>) -> Self {
        let raw = hearth_parameter {
            name: name.as_ptr(),
            value: value.raw,
        };
        Self {
            raw,
            borrowed: PhantomData,
        }
    }
}

/// `hearth_apply()` of so many results. Where it is not `HEARTH_OK`, they are no arrays.
pub fn apply<const N: usize>(
    function: hearth_function,
    inputs: &[Value<'_>],
    parameters: &[Parameter<'_>],
) -> Result<[(hearth_array, hearth_array_info); N], hearth_status> {
    let mut results = [hearth_array::default(); N];
    let mut infos = [hearth_array_info::default(); N];
    // SAFETY: `Value` and `Parameter` have the layout of what they wrap, and what they point into is
    // borrowed until the call returns; Hearth writes N results and N infos at most.
    let status = unsafe {
        hearth_apply(
            function,
            inputs.as_ptr().cast(),
            inputs.len(),
            parameters.as_ptr().cast(),
            parameters.len(),
            results.as_mut_ptr(),
            infos.as_mut_ptr(),
            N,
            ptr::null_mut(),
        )
    };
    match status {
        HEARTH_OK => Ok(core::array::from_fn(|i| (results[i], infos[i]))),
        _ => Err(status),
    }
}

/// `hearth_apply_vjp()` of the first result's gradient: one for each input, whose id is 0 where it
/// has none.
pub fn apply_vjp<const N: usize>(
    function: hearth_function,
    inputs: &[Value<'_>; N],
    parameters: &[Parameter<'_>],
    gradient: hearth_array,
) -> Result<[hearth_array; N], hearth_status> {
    let mut results = [hearth_array::default(); N];
    // SAFETY: as for `hearth_apply()`; Hearth writes N results at most.
    let status = unsafe {
        hearth_apply_vjp(
            function,
            inputs.as_ptr().cast(),
            N,
            parameters.as_ptr().cast(),
            parameters.len(),
            0,
            gradient,
            results.as_mut_ptr(),
            N,
        )
    };
    match status {
        HEARTH_OK => Ok(results),
        _ => Err(status),
    }
}
