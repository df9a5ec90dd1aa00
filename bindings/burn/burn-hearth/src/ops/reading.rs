//! Reads of several tensors at once.

use burn_backend::ExecutionError;
use burn_backend::ops::{TransactionOps, TransactionPrimitive, TransactionPrimitiveData};

use crate::backend::Hearth;
use crate::data;
use crate::quantized::HearthQuantizedTensor;

impl TransactionOps<Hearth> for Hearth {
    /// All reads begin before the first is awaited, and what they need is computed together.
    fn tr_execute(
        transaction: TransactionPrimitive<Hearth>,
    ) -> impl Future<Output = Result<TransactionPrimitiveData, ExecutionError>> + Send {
        let start = |tensors: Vec<_>| tensors.into_iter().map(data::read).collect::<Vec<_>>();
        let floats = start(transaction.read_floats);
        let quantized: Vec<_> = transaction
            .read_qfloats
            .into_iter()
            .map(HearthQuantizedTensor::read)
            .collect();
        let ints = start(transaction.read_ints);
        let bools = start(transaction.read_bools);
        async move {
            let mut data = TransactionPrimitiveData::default();
            for read in floats {
                data.read_floats.push(read.await?);
            }
            for read in quantized {
                data.read_qfloats.push(read.await?);
            }
            for read in ints {
                data.read_ints.push(read.await?);
            }
            for read in bools {
                data.read_bools.push(read.await?);
            }
            Ok(data)
        }
    }
}
