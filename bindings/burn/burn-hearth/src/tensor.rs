//! A tensor: a handle of an array of Hearth's.

use burn_backend::{DType, Shape, TensorMetadata};
use hearth_sys::*;

use crate::call::check;
use crate::device::HearthDevice;
use crate::dtypes;

/// Of float, int and bool elements alike. A clone is another handle of the same value; Hearth
/// writes into memory only where no handle is left that needs it.
pub struct HearthTensor {
    array: hearth_array,
    info: hearth_array_info,
}

// Handles may be used and released in any thread, by several at once.
unsafe impl Send for HearthTensor {}
unsafe impl Sync for HearthTensor {}

impl HearthTensor {
    /// Takes over `array`, which nobody else releases then.
    pub(crate) fn own(array: hearth_array) -> Self {
        let mut info = hearth_array_info::default();
        check(unsafe { hearth_array_describe(array, &mut info) });
        Self { array, info }
    }

    pub(crate) fn handle(&self) -> hearth_array {
        self.array
    }

    pub(crate) fn device(&self) -> HearthDevice {
        HearthDevice::from_index(self.info.device)
    }

    pub(crate) fn extents(&self) -> &[usize] {
        let extents = &self.info.shape[..self.info.rank as usize];
        // An extent is no negative number, and has the size of a usize (see call.rs).
        unsafe { std::slice::from_raw_parts(extents.as_ptr().cast(), extents.len()) }
    }
}

impl Clone for HearthTensor {
    fn clone(&self) -> Self {
        let mut array = hearth_array::default();
        check(unsafe { hearth_array_copy(self.array, &mut array) });
        Self {
            array,
            info: self.info,
        }
    }
}

impl Drop for HearthTensor {
    fn drop(&mut self) {
        // Fails for none of our handles; and a panic while another unwinds would end the process.
        unsafe { hearth_array_release(self.array) };
    }
}

impl TensorMetadata for HearthTensor {
    fn dtype(&self) -> DType {
        dtypes::from_hearth(self.info.dtype)
    }

    fn shape(&self) -> Shape {
        Shape::from(self.extents())
    }

    fn rank(&self) -> usize {
        self.info.rank as usize
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
