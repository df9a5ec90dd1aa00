//! Elements in and out.

use std::ffi::c_void;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use burn_backend::{
    BoolStore, Bytes, DType, ExecutionError, TensorData, TensorMetadata, bf16, f16,
};
use hearth_sys::*;

use crate::call::{check, message};
use crate::device::HearthDevice;
use crate::dtypes;
use crate::tensor::HearthTensor;

/// Fewer bytes are copied sooner than an owner is kept for them.
const KEPT: usize = 16 << 10;

pub fn from_data(data: TensorData, device: &HearthDevice) -> HearthTensor {
    let data = {
        let dtype = dtypes::stored(data.dtype);
        data.convert_dtype(dtype)
    };
    let shape: Vec<i64> = data.shape.iter().map(|extent| *extent as i64).collect();
    let (dtype, device) = (dtypes::to_hearth(data.dtype), device.index());
    let mut array = hearth_array::default();
    let (start, length) = (data.bytes.as_ptr().cast(), data.bytes.len());
    if length < KEPT {
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
        let owner = Box::into_raw(Box::new(data.bytes));
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
            unsafe { release(owner.cast()) };
        }
        check(status);
    }
    HearthTensor::own(array)
}

unsafe extern "C" fn release(owner: *mut c_void) {
    drop(unsafe { Box::from_raw(owner.cast::<Bytes>()) });
}

/// A read that has begun: the data once it is awaited. No thread waits meanwhile.
pub struct Read {
    started: Result<hearth_read, String>,
    signal: Arc<Mutex<Signal>>,
    tensor: HearthTensor,
}

#[derive(Default)]
struct Signal {
    done: bool,
    waker: Option<Waker>,
}

/// Submits what the thread has recorded, and starts to read.
pub fn read(tensor: HearthTensor) -> Read {
    let signal = Arc::new(Mutex::new(Signal::default()));
    let context = Arc::into_raw(signal.clone());
    let mut read = hearth_read::default();
    let status = unsafe {
        hearth_read_start_notify(
            tensor.handle(),
            Some(done),
            context as *mut c_void,
            &mut read,
        )
    };
    let started = if status == HEARTH_OK {
        Ok(read)
    } else {
        drop(unsafe { Arc::from_raw(context) }); // nobody will call done() with it
        Err(message())
    };
    Read {
        started,
        signal,
        tensor,
    }
}

unsafe extern "C" fn done(context: *mut c_void) {
    let signal = unsafe { Arc::from_raw(context as *const Mutex<Signal>) };
    let waker = {
        let mut signal = signal.lock().unwrap();
        signal.done = true;
        signal.waker.take()
    };
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl Future for Read {
    type Output = Result<TensorData, ExecutionError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        {
            let mut signal = self.signal.lock().unwrap();
            if self.started.is_ok() && !signal.done {
                signal.waker = Some(context.waker().clone());
                return Poll::Pending;
            }
        }
        let ended = Err("the data was taken already".into());
        let data =
            std::mem::replace(&mut self.started, ended).and_then(|read| finish(read, &self.tensor));
        Poll::Ready(data.map_err(|reason| ExecutionError::WithContext { reason }))
    }
}

impl Drop for Read {
    fn drop(&mut self) {
        if let Ok(read) = self.started {
            unsafe { hearth_read_release(read) };
        }
    }
}

fn finish(read: hearth_read, tensor: &HearthTensor) -> Result<TensorData, String> {
    let shape = tensor.shape();
    let count = shape.num_elements();
    let mut bytes = zeros(tensor.dtype(), count);
    let status = unsafe { hearth_read_finish(read, bytes.as_mut_ptr().cast(), bytes.len()) };
    match status {
        HEARTH_OK => Ok(TensorData::from_bytes(bytes, shape, tensor.dtype())),
        _ => Err(message()),
    }
}

/// Bytes that a vector of the elements can take over.
fn zeros(dtype: DType, count: usize) -> Bytes {
    match dtype {
        DType::F64 => Bytes::from_elems(vec![0f64; count]),
        DType::F32 => Bytes::from_elems(vec![0f32; count]),
        DType::F16 => Bytes::from_elems(vec![f16::ZERO; count]),
        DType::BF16 => Bytes::from_elems(vec![bf16::ZERO; count]),
        DType::I64 => Bytes::from_elems(vec![0i64; count]),
        DType::I32 => Bytes::from_elems(vec![0i32; count]),
        DType::I16 => Bytes::from_elems(vec![0i16; count]),
        DType::I8 => Bytes::from_elems(vec![0i8; count]),
        DType::U64 => Bytes::from_elems(vec![0u64; count]),
        DType::U32 => Bytes::from_elems(vec![0u32; count]),
        DType::U16 => Bytes::from_elems(vec![0u16; count]),
        DType::U8 | DType::Bool(BoolStore::Native) => Bytes::from_elems(vec![0u8; count]),
        other => panic!("Hearth has no arrays of {other:?}"),
    }
}
