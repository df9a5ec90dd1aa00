//! Methods that only the traits of this version have, or have so.

macro_rules! backend_methods {
    () => {};
}

macro_rules! tensor_metadata {
    () => {};
}

macro_rules! float_methods {
    () => {
        device! { float_device }
        adding! { float_scatter_add, float_select_add }
    };
}

macro_rules! int_methods {
    () => {
        device! { int_device }
        adding! { int_scatter_add, int_select_add }
    };
}

macro_rules! bool_methods {
    () => {
        device! { bool_device }
    };
}

macro_rules! device {
    ($device:ident) => {
        fn $device(tensor: &HearthTensor) -> HearthDevice {
            tensor.device()
        }
    };
}

macro_rules! quantized_methods {
    () => {
        fn q_device(tensor: &Quantized) -> HearthDevice {
            tensor.device()
        }
    };
}

macro_rules! module_methods {
    () => {
        max_pools_with_indices! {
            usize, pool::one_axis, MaxPool1dWithIndices:
            max_pool1d_with_indices(x) -> crate::version::default_int(&x)
        }
        max_pools_with_indices! {
            [usize; 2], std::convert::identity, MaxPool2dWithIndices:
            max_pool2d_with_indices(x) -> crate::version::default_int(&x)
        }

        fn rfft(
            signal: HearthTensor,
            dim: usize,
            n: Option<usize>,
        ) -> (HearthTensor, HearthTensor) {
            call_all!(rfft(signal), axis = dim, n = n).into()
        }
        fn irfft(
            spectrum_re: HearthTensor,
            spectrum_im: HearthTensor,
            dim: usize,
            n: Option<usize>,
        ) -> HearthTensor {
            call!(irfft(spectrum_re, spectrum_im), axis = dim, n = n)
        }
    };
}
