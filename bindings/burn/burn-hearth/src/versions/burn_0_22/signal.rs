//! Transforms of `burn-signal`, which are in no trait of backends: a server runs them by name.

use burn_ir::{CustomOpIr, HandleContainer, ScalarIr};

use super::ir::Handle;
use crate::backend::Hearth;

impl Hearth {
    /// What the ops are called.
    pub const SIGNAL_OPS: [&str; 2] = ["signal::rfft", "signal::irfft"];

    /// Runs one of them.
    pub fn run_signal_op(handles: &mut HandleContainer<Handle>, op: &CustomOpIr) {
        let [
            ScalarIr::UInt(dim),
            ScalarIr::Bool(has_length),
            ScalarIr::UInt(length),
        ] = *op.scalars
        else {
            panic!(
                "{} takes an axis, and whether there is a length and which; got {:?}",
                op.id, op.scalars
            );
        };
        let (axis, n) = (dim as usize, has_length.then_some(length as usize));
        let inputs: Vec<_> = op
            .inputs
            .iter()
            .map(|input| handles.get_float_tensor::<Self>(input))
            .collect();
        let outputs = match inputs.as_slice() {
            [signal] => {
                let both: [_; 2] = call_all!(rfft(signal), axis = axis, n = n);
                both.to_vec()
            }
            [re, im] => vec![call!(irfft(re, im), axis = axis, n = n)],
            _ => panic!("{} of {} tensors", op.id, inputs.len()),
        };
        for (output, tensor) in op.outputs.iter().zip(outputs) {
            handles.register_float_tensor::<Self>(&output.id, tensor);
        }
    }
}
