//! The backend: its types, and what concerns a device as a whole.

use burn_backend::{Backend, DType, DTypeUsage, DTypeUsageSet, Device, ExecutionError};
use hearth_sys::*;

use crate::call::{check, message};
use crate::device::{self, HearthDevice};
use crate::dtypes;
use crate::schemes;

/// Burn's programs on Hearth: `Tensor<Hearth, 2>`, `Autodiff<Hearth>`.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Hearth;

fn done(status: hearth_status) -> Result<(), ExecutionError> {
    match status {
        HEARTH_OK => Ok(()),
        _ => Err(ExecutionError::WithContext { reason: message() }),
    }
}

impl Backend for Hearth {
    backend_methods! {}

    fn name(device: &HearthDevice) -> String {
        format!("hearth<{}>", device::name(device.index()))
    }

    /// Of the process: of all devices and threads.
    fn seed(_device: &HearthDevice, seed: u64) {
        // SAFETY: takes numbers, and is called by any thread.
        check(unsafe { hearth_seed(seed) });
    }

    fn sync(device: &HearthDevice) -> Result<(), ExecutionError> {
        // SAFETY: takes numbers, and is called by any thread.
        done(unsafe { hearth_device_synchronize(device.index()) })
    }

    fn memory_cleanup(device: &HearthDevice) {
        // SAFETY: takes numbers, and is called by any thread.
        check(unsafe { hearth_device_trim(device.index()) });
    }

    fn dtype_usage(device: &HearthDevice, dtype: DType) -> DTypeUsageSet {
        if let DType::QFloat(scheme) = dtype {
            return if schemes::supports(&scheme) {
                DTypeUsage::general()
            } else {
                DTypeUsageSet::empty()
            };
        }
        let Some(dtype) = dtypes::find(dtype) else {
            return DTypeUsageSet::empty();
        };
        let mut supports = 0;
        // SAFETY: Hearth writes one number.
        check(unsafe { hearth_device_supports(device.index(), dtype, &mut supports) });
        match (supports, device) {
            (0, _) => DTypeUsageSet::empty(),
            // Units for products of tiles are those of GPUs.
            (_, HearthDevice::Cuda(_)) if matches!(dtype, HEARTH_F16 | HEARTH_BF16) => {
                DTypeUsage::general() | DTypeUsage::Accelerated
            }
            _ => DTypeUsage::general(),
        }
    }

    fn device_count(type_id: u16) -> usize {
        HearthDevice::all()
            .iter()
            .filter(|device| device.to_id().type_id == type_id)
            .count()
    }
}
