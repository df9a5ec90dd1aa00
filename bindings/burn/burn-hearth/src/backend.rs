//! The backend: its types, and what concerns a device as a whole.

use std::ffi::CStr;

use burn_backend::{
    Backend, BackendTypes, DType, DTypeUsage, DTypeUsageSet, Device, ExecutionError,
};
use hearth_sys::*;

use crate::call::{check, message};
use crate::device::HearthDevice;
use crate::dtypes;
use crate::quantized::{self, HearthQuantizedTensor};
use crate::tensor::HearthTensor;

/// Burn's programs on Hearth: `Tensor<Hearth, 2>`, `Autodiff<Hearth>`.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Hearth;

impl BackendTypes for Hearth {
    type Device = HearthDevice;
    type FloatTensorPrimitive = HearthTensor;
    type FloatElem = f32;
    type IntTensorPrimitive = HearthTensor;
    type IntElem = i32;
    type BoolTensorPrimitive = HearthTensor;
    type BoolElem = bool;
    type QuantizedTensorPrimitive = HearthQuantizedTensor;
}

impl Backend for Hearth {
    fn name(device: &HearthDevice) -> String {
        let name = unsafe { CStr::from_ptr(hearth_device_name(device.index())) };
        format!("hearth<{}>", name.to_string_lossy())
    }

    /// Of the process: of all devices and threads.
    fn seed(_device: &HearthDevice, seed: u64) {
        check(unsafe { hearth_seed(seed) });
    }

    fn sync(device: &HearthDevice) -> Result<(), ExecutionError> {
        let status = match unsafe { hearth_submit() } {
            HEARTH_OK => unsafe { hearth_device_synchronize(device.index()) },
            failed => failed,
        };
        match status {
            HEARTH_OK => Ok(()),
            _ => Err(ExecutionError::WithContext { reason: message() }),
        }
    }

    fn memory_cleanup(device: &HearthDevice) {
        check(unsafe { hearth_device_trim(device.index()) });
    }

    fn dtype_usage(device: &HearthDevice, dtype: DType) -> DTypeUsageSet {
        if let DType::QFloat(scheme) = dtype {
            return if quantized::supports(&scheme) {
                DTypeUsage::general()
            } else {
                DTypeUsageSet::empty()
            };
        }
        let Some(dtype) = dtypes::find(dtype) else {
            return DTypeUsageSet::empty();
        };
        let mut supports = 0;
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
