//! What may go wrong around a step: panics, threads that end, no memory, fork().

mod forks;
mod memory;
mod models;
mod panics;

use std::ffi::CStr;
use std::sync::{Mutex, MutexGuard};
use std::thread::JoinHandle;

use burn_backend::ops::FloatTensorOps;
use burn_backend::{Backend, ExecutionError, TensorData, read_sync};
use burn_hearth::{Hearth, HearthDevice, HearthTensor};
use hearth_sys::{HEARTH_OK, hearth_device, hearth_device_named, hearth_statistic};

const CPU: HearthDevice = HearthDevice::Cpu;

/// Limits and statistics are the process's: one test at a time, also after one that failed.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn floats(values: Vec<f32>) -> HearthTensor {
    let count = values.len();
    Hearth::float_from_data(TensorData::new(values, [count]), &CPU)
}

fn read(tensor: HearthTensor) -> Result<Vec<f32>, ExecutionError> {
    let data = read_sync(Hearth::float_into_data(tensor))?;
    Ok(data.into_vec().unwrap())
}

fn cpu() -> hearth_device {
    let mut device = -1;
    // SAFETY: the name ends in 0, and Hearth writes one number.
    let status = unsafe { hearth_device_named(c"cpu".as_ptr(), &mut device) };
    assert_eq!(status, HEARTH_OK);
    device
}

/// Waits for threads to their very end, which a scope does not: what they recorded has run then.
fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    let threads: Vec<_> = threads.into_iter().collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// A number of Hearth's, when all that was recorded has run.
fn statistic(name: &CStr) -> i64 {
    Hearth::sync(&CPU).unwrap();
    let mut value = -1;
    // SAFETY: the name ends in 0, and Hearth writes one number.
    let status = unsafe { hearth_statistic(cpu(), name.as_ptr(), &mut value) };
    assert_eq!(status, HEARTH_OK);
    value
}

/// What nobody holds any more when a test has ended.
#[derive(Debug, PartialEq)]
struct Held {
    arrays: i64,
    reads: i64,
    bytes: i64,
}

fn held() -> Held {
    Held {
        arrays: statistic(c"handles.arrays"),
        reads: statistic(c"handles.reads"),
        bytes: statistic(c"memory.in_use"),
    }
}
