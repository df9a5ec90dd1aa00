//! A tensor: a handle of an array of Hearth's.

use std::sync::Arc;

use burn_backend::{DType, Shape, TensorMetadata};
use hearth_sys::*;

use crate::call::{check, extents};
use crate::device::HearthDevice;
use crate::dtypes;

/// Of float, int and bool elements alike. Clones share one handle: Hearth writes into memory only
/// where no handle is left that needs it.
#[derive(Clone)]
pub struct HearthTensor(Arc<Handle>);

/// Used and released in any thread, by several at once.
struct Handle {
    array: hearth_array,
    info: hearth_array_info,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Fails for none of our handles; and a panic while another unwinds would end the process.
        // SAFETY: a handle is a number, which any thread may give back.
        unsafe { hearth_array_release(self.array) };
    }
}

impl HearthTensor {
    /// Takes over `array`, which nobody else releases then.
    pub(crate) fn own(array: hearth_array) -> Self {
        let mut info = hearth_array_info::default();
        // SAFETY: Hearth writes one info, and finds out whether the handle names an array.
        check(unsafe { hearth_array_describe(array, &mut info) });
        Self::described(array, info)
    }

    /// The same of an array that is described already.
    pub(crate) fn described(array: hearth_array, info: hearth_array_info) -> Self {
        Self(Arc::new(Handle { array, info }))
    }

    pub(crate) fn handle(&self) -> hearth_array {
        self.0.array
    }

    pub(crate) fn device(&self) -> HearthDevice {
        HearthDevice::from_index(self.0.info.device)
    }

    pub(crate) fn extents(&self) -> &[usize] {
        extents(&self.0.info.shape[..self.0.info.rank as usize])
    }
}

impl TensorMetadata for HearthTensor {
    tensor_metadata! {}

    fn dtype(&self) -> DType {
        dtypes::from_hearth(self.0.info.dtype)
    }

    fn shape(&self) -> Shape {
        Shape::from(self.extents())
    }

    fn rank(&self) -> usize {
        self.0.info.rank as usize
    }
}

impl std::fmt::Debug for HearthTensor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "HearthTensor({:?}, {:?}, {:?})",
            self.dtype(),
            self.extents(),
            self.device()
        )
    }
}
