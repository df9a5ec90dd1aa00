//! Methods that only the traits of this version have, or have so.

macro_rules! backend_methods {
    () => {
        fn flush(_device: &HearthDevice) -> Result<(), ExecutionError> {
            // SAFETY: takes nothing, and is called by any thread.
            done(unsafe { hearth_submit() })
        }
    };
}

macro_rules! tensor_metadata {
    () => {
        type Device = HearthDevice;

        fn device(&self) -> HearthDevice {
            self.device()
        }

        /// Whether memory is used again is known once the value is computed.
        fn can_mut(&self) -> bool {
            false
        }
    };
}

macro_rules! float_methods {
    () => {
        updating! { float_scatter, float_select_assign }
        mask_select! { float_mask_select }
        pad! { float_pad }
        binary! { float_hypot = hypot, }

        fn float_sum_dims(tensor: HearthTensor, dims: &[usize]) -> HearthTensor {
            call!(sum(tensor), axes = dims, keepdim = true)
        }
        fn float_topk_with_indices(
            tensor: HearthTensor,
            dim: usize,
            k: usize,
            out_dtype: IntDType,
        ) -> (HearthTensor, HearthTensor) {
            let both = call_all!(topk_with_indices(tensor), k = k, axis = dim);
            values::with_indices(both, out_dtype)
        }
    };
}

macro_rules! int_methods {
    () => {
        updating! { int_scatter, int_select_assign }
        mask_select! { int_mask_select }
        pad! { int_pad }
        unary! { int_square = square, }

        fn int_topk_with_indices(
            tensor: HearthTensor,
            dim: usize,
            k: usize,
        ) -> (HearthTensor, HearthTensor) {
            let both = call_all!(topk_with_indices(tensor), k = k, axis = dim);
            values::with_indices(both, tensor.dtype())
        }
    };
}

macro_rules! bool_methods {
    () => {
        mask_select! { bool_mask_select }
    };
}

/// By indices, with any update.
macro_rules! updating {
    ($scatter:ident, $select_assign:ident) => {
        fn $scatter(
            dim: usize,
            tensor: HearthTensor,
            indices: HearthTensor,
            value: HearthTensor,
            update: IndexingUpdateOp,
        ) -> HearthTensor {
            call!(
                scatter(tensor, values::indices(indices), value),
                axis = dim,
                update = values::update(&update)
            )
        }
        fn $select_assign(
            tensor: HearthTensor,
            dim: usize,
            indices: HearthTensor,
            value: HearthTensor,
            update: IndexingUpdateOp,
        ) -> HearthTensor {
            call!(
                select_assign(tensor, values::indices(indices), value),
                axis = dim,
                update = values::update(&update)
            )
        }
    };
}

/// How many elements there are is known once the mask is computed: the call waits.
macro_rules! mask_select {
    ($method:ident) => {
        async fn $method(tensor: HearthTensor, mask: HearthTensor) -> HearthTensor {
            call!(mask_select(tensor, mask))
        }
    };
}

macro_rules! pad {
    ($method:ident) => {
        fn $method(
            tensor: HearthTensor,
            padding: &[(usize, usize)],
            mode: burn_backend::ops::PadMode,
        ) -> HearthTensor {
            crate::version::pad(tensor, padding, mode)
        }
    };
}

macro_rules! quantized_methods {
    () => {
        fn q_topk_with_indices(
            tensor: Quantized,
            dim: usize,
            k: usize,
            out_dtype: IntDType,
        ) -> (Quantized, HearthTensor) {
            picked_with_indices(tensor, |x| {
                Hearth::float_topk_with_indices(x, dim, k, out_dtype)
            })
        }
    };
}

macro_rules! module_methods {
    () => {
        max_pools_with_indices! {
            usize, pool::one_axis, MaxPool1dWithIndices:
            max_pool1d_with_indices(x, indices_dtype) -> indices_dtype
        }
        max_pools_with_indices! {
            [usize; 2], std::convert::identity, MaxPool2dWithIndices:
            max_pool2d_with_indices(x, indices_dtype) -> indices_dtype
        }
        adaptive_avg_pools! {
            [usize; 3], std::convert::identity:
            adaptive_avg_pool3d, adaptive_avg_pool3d_backward
        }

        fn batch_norm(
            x: HearthTensor,
            gamma: HearthTensor,
            beta: HearthTensor,
            mean: HearthTensor,
            variance: HearthTensor,
            epsilon: f64,
        ) -> HearthTensor {
            call!(
                batch_norm(x, mean, variance, gamma, beta),
                epsilon = epsilon
            )
        }
        fn batch_norm_train(
            x: HearthTensor,
            gamma: HearthTensor,
            beta: HearthTensor,
            epsilon: f64,
        ) -> burn_backend::ops::BatchNormTrain<Hearth> {
            crate::version::batch_norm_train(x, gamma, beta, epsilon)
        }
        fn batch_norm_train_backward(
            x: HearthTensor,
            gamma: HearthTensor,
            _mean: HearthTensor,
            _variance: HearthTensor,
            epsilon: f64,
            output_grad: HearthTensor,
        ) -> burn_backend::ops::BatchNormTrainBackward<Hearth> {
            crate::version::batch_norm_train_backward(x, gamma, epsilon, output_grad)
        }
        fn fold4d(
            x: HearthTensor,
            output_size: [usize; 2],
            kernel_size: [usize; 2],
            options: UnfoldOptions,
        ) -> HearthTensor {
            crate::version::fold4d(x, output_size, kernel_size, options)
        }
    };
}
