//! What bodies of several traits share.

use std::ffi::CStr;

use burn_backend::tensor::IndexingUpdateOp;
use burn_backend::{DType, Distribution, IntDType, Shape, TensorMetadata};
use hearth_sys::{HEARTH_MAX_RANK, Value};

use crate::call::{self, Argument};
use crate::device::HearthDevice;
use crate::dtypes::Dtype;
use crate::tensor::HearthTensor;

/// Indices of a dtype that Hearth reads them in.
pub fn indices(indices: HearthTensor) -> HearthTensor {
    match indices.dtype() {
        DType::I64 | DType::I32 => indices,
        _ => cast(indices, DType::I64),
    }
}

pub fn cast(tensor: HearthTensor, dtype: impl Into<Dtype>) -> HearthTensor {
    call!(cast(tensor), dtype = dtype.into())
}

/// Of functions whose indices are i64: in the dtype that is asked for.
pub fn with_indices(
    [values, indices]: [HearthTensor; 2],
    dtype: impl Into<Dtype>,
) -> (HearthTensor, HearthTensor) {
    (values, cast(indices, dtype))
}

/// 1 for every axis but `dim`.
pub struct OneAxis {
    rank: usize,
    entries: [usize; HEARTH_MAX_RANK],
}

pub fn one_axis(rank: usize, dim: usize, entry: usize) -> OneAxis {
    let mut entries = [1; HEARTH_MAX_RANK];
    entries[dim] = entry;
    OneAxis { rank, entries }
}

impl Argument for OneAxis {
    fn value(&self) -> Value<'_> {
        self.entries[..self.rank].value()
    }
}

pub fn cat<T: Argument>(tensors: &[T], dim: usize) -> HearthTensor {
    let inputs: Vec<Value<'_>> = tensors.iter().map(Argument::value).collect();
    let [result] = call::apply(
        function!(cat),
        &inputs,
        &[call::parameter(name!(axis), &dim)],
    );
    result
}

pub fn update(update: &IndexingUpdateOp) -> &'static CStr {
    match update {
        IndexingUpdateOp::Assign => c"assign",
        IndexingUpdateOp::Add => c"add",
        IndexingUpdateOp::Mul => c"mul",
        IndexingUpdateOp::Min => c"min",
        IndexingUpdateOp::Max => c"max",
    }
}

/// Draws of a float dtype.
pub fn random(
    shape: Shape,
    distribution: Distribution,
    device: &HearthDevice,
    dtype: impl Into<Dtype>,
) -> HearthTensor {
    let dtype = dtype.into();
    match distribution {
        Distribution::Default => {
            call!(
                random_uniform(),
                shape = shape,
                dtype = dtype,
                device = device
            )
        }
        Distribution::Uniform(low, high) => call!(
            random_uniform(),
            shape = shape,
            low = low,
            high = high,
            dtype = dtype,
            device = device
        ),
        Distribution::Bernoulli(probability) => call!(
            random_bernoulli(),
            shape = shape,
            probability = probability,
            dtype = dtype,
            device = device
        ),
        Distribution::Normal(mean, deviation) => call!(
            random_normal(),
            shape = shape,
            mean = mean,
            deviation = deviation,
            dtype = dtype,
            device = device
        ),
    }
}

/// Draws of an int dtype; where no range is given, those that any dtype but i8 holds.
pub fn random_integers(
    shape: Shape,
    distribution: Distribution,
    device: &HearthDevice,
    dtype: IntDType,
) -> HearthTensor {
    let (low, high) = match distribution {
        Distribution::Bernoulli(_) => return random(shape, distribution, device, dtype),
        Distribution::Normal(..) => {
            return cast(random(shape, distribution, device, DType::F32), dtype);
        }
        Distribution::Uniform(low, high) => (low as i64, high as i64),
        Distribution::Default if dtype == IntDType::I8 => (0, 127),
        Distribution::Default => (0, 255),
    };
    call!(
        random_integers(),
        shape = shape,
        low = low,
        high = high,
        dtype = Dtype::from(dtype),
        device = device
    )
}
