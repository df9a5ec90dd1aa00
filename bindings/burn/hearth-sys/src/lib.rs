//! The C functions of Hearth, a lazy tensor engine. What they mean stands in `hearth/c_api.h`;
//! where the library comes from, in `build.rs`.
#![no_std]

mod bindings;
mod values;
pub use bindings::*;
pub use values::*;
