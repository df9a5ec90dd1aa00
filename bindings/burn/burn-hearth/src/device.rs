//! Devices: where tensors live and are computed with.

use std::ffi::{CStr, CString, c_char};
use std::str::FromStr;
use std::sync::OnceLock;

use burn_backend::{Device, DeviceId};
use hearth_sys::*;

use crate::call::{check, message};

/// A device of Hearth. The default one is what the environment variable `HEARTH_DEVICE` names
/// ("cuda", "cuda:1"), else the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HearthDevice {
    Cpu,
    /// An NVIDIA GPU by its index.
    Cuda(usize),
    /// A GPU of Apple by its index.
    Metal(usize),
}

impl HearthDevice {
    /// All that this machine has.
    pub fn all() -> Vec<Self> {
        numbered().iter().map(|(_, device)| *device).collect()
    }

    /// "NVIDIA H200, ...".
    pub fn description(&self) -> String {
        // SAFETY: the text stays as long as the process.
        unsafe { text(hearth_device_description(self.index())) }
    }

    pub(crate) fn from_index(index: hearth_device) -> Self {
        Self::numbered(index).unwrap_or_else(|error| panic!("{error}"))
    }

    /// None of a kind that Burn knows here has the number: an error.
    fn numbered(index: hearth_device) -> Result<Self, String> {
        let found = numbered().iter().find(|(number, _)| *number == index);
        found.map(|(_, device)| *device).ok_or_else(|| {
            let name = name(index);
            format!(
                "no kind of device of Burn's; got {name:?}, expected one of {:?}",
                Self::all()
            )
        })
    }

    /// Hearth's number of it; panics where the machine has none.
    pub(crate) fn index(&self) -> hearth_device {
        let found = numbered().iter().find(|(_, device)| device == self);
        found
            .unwrap_or_else(|| panic!("no device {self:?}; there are {:?}", Self::all()))
            .0
    }

    /// None for kinds that are none of these.
    fn parse(name: &str) -> Option<Self> {
        let (kind, index) = name.split_once(':').unwrap_or((name, "0"));
        let index = index.parse().ok()?;
        match kind {
            "cpu" => Some(Self::Cpu),
            "cuda" => Some(Self::Cuda(index)),
            "metal" => Some(Self::Metal(index)),
            _ => None,
        }
    }
}

/// "cuda:1"; empty where no device has the number.
pub(crate) fn name(index: hearth_device) -> String {
    // SAFETY: the text stays as long as the process.
    unsafe { text(hearth_device_name(index)) }
}

/// Empty where there is none.
///
/// # Safety
/// `chars` is null, or a text that ends in 0 and stays until the call returns.
unsafe fn text(chars: *const c_char) -> String {
    if chars.is_null() {
        return String::new();
    }
    // SAFETY: as the caller says.
    let chars = unsafe { CStr::from_ptr(chars) };
    chars.to_string_lossy().into_owned()
}

/// Devices with Hearth's numbers, which stay as long as the process.
fn numbered() -> &'static [(hearth_device, HearthDevice)] {
    static ALL: OnceLock<Vec<(hearth_device, HearthDevice)>> = OnceLock::new();
    ALL.get_or_init(|| {
        // SAFETY: asks for nothing.
        let count = unsafe { hearth_device_count() };
        (0..count)
            .filter_map(|index| Some((index, HearthDevice::parse(&name(index))?)))
            .collect()
    })
}

impl FromStr for HearthDevice {
    type Err = String;

    /// As `HEARTH_DEVICE` names it: "cpu", "cuda", "metal:1".
    fn from_str(name: &str) -> Result<Self, String> {
        let name = CString::new(name).map_err(|error| error.to_string())?;
        let mut device = HEARTH_DEFAULT_DEVICE;
        // SAFETY: the name ends in 0, and Hearth writes one number.
        match unsafe { hearth_device_named(name.as_ptr(), &mut device) } {
            HEARTH_OK => Self::numbered(device),
            _ => Err(message()),
        }
    }
}

impl Default for HearthDevice {
    fn default() -> Self {
        let mut device = HEARTH_DEFAULT_DEVICE;
        // SAFETY: Hearth writes one number.
        check(unsafe { hearth_device_default(&mut device) });
        Self::from_index(device)
    }
}

// Burn 0.22 lists the devices of kind 0 as CUDA's where the crate fills the place of burn-tch.
const CUDA: u16 = 0;
const METAL: u16 = 1;
const CPU: u16 = 2;

impl Device for HearthDevice {
    fn from_id(id: DeviceId) -> Self {
        match id.type_id {
            CPU => Self::Cpu,
            CUDA => Self::Cuda(id.index_id as usize),
            METAL => Self::Metal(id.index_id as usize),
            other => panic!("no kind of device has the number {other}"),
        }
    }

    fn to_id(&self) -> DeviceId {
        let (type_id, index) = match *self {
            Self::Cpu => (CPU, 0),
            Self::Cuda(index) => (CUDA, index),
            Self::Metal(index) => (METAL, index),
        };
        DeviceId {
            type_id,
            index_id: index as u16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::HearthDevice;

    #[test]
    fn kinds_that_are_none_of_cpu_cuda_and_metal_are_no_cards() {
        for (name, device) in [
            ("cpu:0", Some(HearthDevice::Cpu)),
            ("cuda", Some(HearthDevice::Cuda(0))),
            ("cuda:3", Some(HearthDevice::Cuda(3))),
            ("metal:1", Some(HearthDevice::Metal(1))),
            ("sim:0", None),
            ("hostile:0", None),
            ("cuda:x", None),
        ] {
            assert_eq!(HearthDevice::parse(name), device, "{name}");
        }
    }
}
