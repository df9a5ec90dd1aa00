//! Elements in and out.

use std::ffi::c_void;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use burn_backend::{Bytes, DType, ExecutionError, Shape, TensorData, TensorMetadata};
use hearth_sys::*;

use crate::call::{check, message};
use crate::device::HearthDevice;
use crate::dtypes;
use crate::tensor::HearthTensor;
use crate::version;

/// Fewer bytes are copied sooner than an owner is kept for them.
const KEPT: usize = 16 << 10;

pub fn from_data(data: TensorData, device: &HearthDevice) -> HearthTensor {
    let (mut bytes, shape, given) = version::parts(data);
    let dtype = dtypes::stored(given);
    if dtype != given {
        let data = TensorData::from_bytes(bytes, shape.clone(), given);
        bytes = data.convert_dtype(dtype).into_bytes();
    }
    let shape: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
    let (dtype, device) = (dtypes::to_hearth(dtype), device.index());
    let mut array = hearth_array::default();
    let (start, length) = (bytes.as_ptr().cast(), bytes.len());
    if length < KEPT {
        // SAFETY: `length` bytes at `start` and the extents outlive the call, which copies them.
        check(unsafe {
            hearth_array_from_bytes(
                start,
                length,
                dtype,
                shape.as_ptr(),
                shape.len(),
                device,
                &mut array,
            )
        });
    } else {
        // The bytes do not move with the box, and live until Hearth needs them no more.
        let owner = Box::into_raw(Box::new(bytes));
        // SAFETY: nobody writes to what `owner` holds before `release`, which takes it back once;
        // the extents outlive the call, which copies them.
        let status = unsafe {
            hearth_array_from_memory(
                start,
                length,
                dtype,
                shape.as_ptr(),
                shape.len(),
                device,
                Some(release),
                owner.cast(),
                &mut array,
            )
        };
        if status != HEARTH_OK {
            // SAFETY: a call that failed never releases.
            unsafe { release(owner.cast()) };
        }
        check(status);
    }
    HearthTensor::own(array)
}

/// # Safety
/// `owner` is of `Box::into_raw()`, of bytes, and is used no more.
unsafe extern "C" fn release(owner: *mut c_void) {
    // SAFETY: as the caller says.
    drop(unsafe { Box::from_raw(owner.cast::<Bytes>()) });
}

/// A read that has begun: the data once it is awaited. No thread of the caller's waits meanwhile.
pub struct Read {
    started: Result<hearth_read, String>,
    signal: Arc<Mutex<Signal>>,
    shape: Shape,
    dtype: DType,
    bytes: usize,
}

#[derive(Default)]
struct Signal {
    done: bool,
    waker: Option<Waker>,
}

/// Submits what the thread has recorded, and starts to read.
pub fn read(tensor: HearthTensor) -> Read {
    let dtype = tensor.dtype();
    let bytes = tensor.extents().iter().product::<usize>() * dtype.size();
    Read::start(tensor, dtype, bytes)
}

impl Read {
    /// Of so many bytes, which are data of `dtype`.
    pub fn start(tensor: HearthTensor, dtype: DType, bytes: usize) -> Self {
        let signal = Arc::new(Mutex::new(Signal::default()));
        let context = Arc::into_raw(signal.clone()).cast_mut().cast();
        let mut read = hearth_read::default();
        // SAFETY: `done` is called once, in any thread, and has an owner of the signal in `context`.
        let status =
            unsafe { hearth_read_start_notify(tensor.handle(), Some(done), context, &mut read) };
        let started = if status == HEARTH_OK {
            Ok(read)
        } else {
            // SAFETY: a call that failed never calls it.
            unsafe { done(context) };
            Err(message())
        };
        Self {
            started,
            signal,
            shape: tensor.shape(),
            dtype,
            bytes,
        }
    }

    fn finish(&self, read: hearth_read) -> Result<TensorData, String> {
        let mut bytes = match zeros(self.dtype, self.bytes) {
            Ok(bytes) => bytes,
            Err(error) => {
                // SAFETY: a handle, which is not used again. What the read failed of says more.
                let status = unsafe { hearth_read_finish(read, std::ptr::null_mut(), 0) };
                return Err(if status == HEARTH_ERROR_SHAPE {
                    error
                } else {
                    message()
                });
            }
        };
        let target = bytes.as_mut_ptr().cast();
        // SAFETY: `target` has room for as many bytes, and is written before the call returns.
        match unsafe { hearth_read_finish(read, target, self.bytes) } {
            HEARTH_OK => Ok(TensorData::from_bytes(
                bytes,
                self.shape.clone(),
                self.dtype,
            )),
            _ => Err(message()),
        }
    }
}

/// # Safety
/// `context` is of `Arc::into_raw()`, of a signal, and is used no more.
unsafe extern "C" fn done(context: *mut c_void) {
    // SAFETY: as the caller says.
    let signal = unsafe { Arc::from_raw(context.cast_const().cast::<Mutex<Signal>>()) };
    let waker = {
        let mut signal = signal.lock().unwrap();
        signal.done = true;
        signal.waker.take()
    };
    if let Some(waker) = waker {
        // What a waker throws would end the process here.
        let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
    }
}

impl Future for Read {
    type Output = Result<TensorData, ExecutionError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waker = context.waker().clone();
        {
            let mut signal = self.signal.lock().unwrap();
            if !signal.done {
                signal.waker = Some(waker);
                return Poll::Pending;
            }
        }
        let taken = Err("the data was taken already".into());
        let data = std::mem::replace(&mut self.started, taken).and_then(|read| self.finish(read));
        Poll::Ready(data.map_err(|reason| ExecutionError::WithContext { reason }))
    }
}

impl Drop for Read {
    fn drop(&mut self) {
        if let Ok(read) = self.started {
            // SAFETY: a handle is a number, which any thread may give back.
            unsafe { hearth_read_release(read) };
        }
    }
}

/// Bytes that a vector of the elements can take over. An error where the host has no memory for
/// them, which a vector would abort for.
fn zeros(dtype: DType, bytes: usize) -> Result<Bytes, String> {
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| {
        format!("read: out of memory of the host; got a result of {bytes} bytes, expected fewer")
    })?;
    // Elements of quantized data are those that it is packed into, and its scales.
    Ok(match dtype.size() {
        8 => Bytes::from_elems(vec![0u64; bytes / 8]),
        4 if bytes.is_multiple_of(4) => Bytes::from_elems(vec![0u32; bytes / 4]),
        2 if bytes.is_multiple_of(2) => Bytes::from_elems(vec![0u16; bytes / 2]),
        _ => Bytes::from_elems(vec![0u8; bytes]),
    })
}
