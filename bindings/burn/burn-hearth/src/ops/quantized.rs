//! Quantized tensors.

use burn_backend::ops::QTensorOps;
use burn_backend::quantization::{QuantScheme, QuantizationParametersPrimitive};
use burn_backend::{
    DType, ExecutionError, FloatDType, QTensorPrimitive, Shape, Slice, TensorData, TensorMetadata,
};

use crate::backend::Hearth;
use crate::device::HearthDevice;
use crate::tensor::HearthTensor;

#[derive(Clone, Debug)]
pub struct HearthQuantizedTensor {
    codes: HearthTensor,
    scheme: QuantScheme,
}

pub fn supports(_scheme: &QuantScheme) -> bool {
    false
}

pub fn read(
    _tensor: HearthQuantizedTensor,
) -> impl Future<Output = Result<TensorData, ExecutionError>> + Send {
    async move { todo!() }
}

impl TensorMetadata for HearthQuantizedTensor {
    fn dtype(&self) -> DType {
        DType::QFloat(self.scheme)
    }
    fn shape(&self) -> Shape {
        self.codes.shape()
    }
}

impl QTensorPrimitive for HearthQuantizedTensor {
    fn scheme(&self) -> &QuantScheme {
        &self.scheme
    }
}

type Q = HearthQuantizedTensor;
impl QTensorOps<Hearth> for Hearth {
    fn q_from_data(_data: TensorData, _device: &HearthDevice) -> Q {
        todo!()
    }
    fn quantize(
        _tensor: HearthTensor,
        _scheme: &QuantScheme,
        _qparams: QuantizationParametersPrimitive<Hearth>,
    ) -> Q {
        todo!()
    }
    fn dequantize(_tensor: Q, _dtype: FloatDType) -> HearthTensor {
        todo!()
    }
    fn q_device(_tensor: &Q) -> HearthDevice {
        todo!()
    }
    fn q_to_device(_tensor: Q, _device: &HearthDevice) -> Q {
        todo!()
    }
    fn q_reshape(_tensor: Q, _shape: Shape) -> Q {
        todo!()
    }
    fn q_into_data(tensor: Q) -> impl Future<Output = Result<TensorData, ExecutionError>> + Send {
        read(tensor)
    }
    fn q_expand(_tensor: Q, _shape: Shape) -> Q {
        todo!()
    }
    fn q_swap_dims(_tensor: Q, _dim1: usize, _dim2: usize) -> Q {
        todo!()
    }
    fn q_permute(_tensor: Q, _axes: &[usize]) -> Q {
        todo!()
    }
    fn q_flip(_tensor: Q, _axes: &[usize]) -> Q {
        todo!()
    }
    fn q_select(_tensor: Q, _dim: usize, _indices: HearthTensor) -> Q {
        todo!()
    }
    fn q_slice(_tensor: Q, _slices: &[Slice]) -> Q {
        todo!()
    }
}
