//! Burn's ops: which function of Hearth answers each. `bindings/burn/methods.tsv` lists them.
//!
//! Float, int and bool tensors are one type here, so a body is written once, by the macros of
//! `methods`, and given to each trait under its name.

#[macro_use]
mod methods;
mod activation;
mod bool;
mod float;
mod int;
pub mod module;
mod quantized;
mod reading;
pub mod values;
#[cfg(feature = "vision")]
mod vision;
