//! Tensors as what Burn's servers hold.

use burn_ir::{BackendIr, HandleKind, TensorHandle};

use crate::backend::Hearth;
use crate::quantized::HearthQuantizedTensor;
use crate::tensor::HearthTensor;

pub type Handle = HandleKind<Hearth>;

macro_rules! handles {
    ($($tensor:ident, $handle:ident: $kind:ident of $primitive:ty;)*) => {
        $(
            fn $tensor(held: TensorHandle<Handle>) -> $primitive {
                match held.handle {
                    HandleKind::$kind(tensor) => tensor,
                    other => panic!("{} is no {}", other.name(), stringify!($tensor)),
                }
            }
            fn $handle(tensor: $primitive) -> Handle {
                HandleKind::$kind(tensor)
            }
        )*
    };
}

impl BackendIr for Hearth {
    type Handle = Handle;

    handles! {
        float_tensor, float_tensor_handle: Float of HearthTensor;
        int_tensor, int_tensor_handle: Int of HearthTensor;
        bool_tensor, bool_tensor_handle: Bool of HearthTensor;
        quantized_tensor, quantized_tensor_handle: Quantized of HearthQuantizedTensor;
    }
}
