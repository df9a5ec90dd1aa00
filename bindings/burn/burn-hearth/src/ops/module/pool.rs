//! Pools.

use burn_backend::IntDType;

use crate::ops::values;
use crate::tensor::HearthTensor;

/// Where windows lie along `N` axes.
pub struct Windows<const N: usize> {
    pub kernel: [usize; N],
    pub stride: [usize; N],
    pub padding: [usize; N],
    pub ceil_mode: bool,
}

pub fn one_axis(extent: usize) -> [usize; 1] {
    [extent]
}

pub fn avg_pool<const N: usize>(
    x: HearthTensor,
    windows: Windows<N>,
    count_include_pad: bool,
) -> HearthTensor {
    call!(
        avg_pool(x),
        kernel = windows.kernel,
        stride = windows.stride,
        padding = windows.padding,
        ceil_mode = windows.ceil_mode,
        count_include_pad = count_include_pad
    )
}

pub fn avg_pool_backward<const N: usize>(
    x: HearthTensor,
    grad: HearthTensor,
    windows: Windows<N>,
    count_include_pad: bool,
) -> HearthTensor {
    let [gradient] = vjp!(
        grad,
        avg_pool(x),
        kernel = windows.kernel,
        stride = windows.stride,
        padding = windows.padding,
        ceil_mode = windows.ceil_mode,
        count_include_pad = count_include_pad
    );
    gradient.unwrap()
}

pub fn adaptive_avg_pool_backward(x: HearthTensor, grad: HearthTensor) -> HearthTensor {
    let [gradient] = vjp!(grad, adaptive_avg_pool(x), sizes = &grad.extents()[2..]);
    gradient.unwrap()
}

pub fn max_pool<const N: usize>(
    x: HearthTensor,
    windows: Windows<N>,
    dilation: [usize; N],
) -> HearthTensor {
    call!(
        max_pool(x),
        kernel = windows.kernel,
        stride = windows.stride,
        padding = windows.padding,
        dilation = dilation,
        ceil_mode = windows.ceil_mode
    )
}

pub fn max_pool_with_indices<const N: usize>(
    x: HearthTensor,
    windows: Windows<N>,
    dilation: [usize; N],
    indices_dtype: IntDType,
) -> (HearthTensor, HearthTensor) {
    let both = call_all!(
        max_pool_with_indices(x),
        kernel = windows.kernel,
        stride = windows.stride,
        padding = windows.padding,
        dilation = dilation,
        ceil_mode = windows.ceil_mode
    );
    values::with_indices(both, indices_dtype)
}

pub fn max_pool_backward<const N: usize>(
    x: HearthTensor,
    windows: Windows<N>,
    dilation: [usize; N],
    grad: HearthTensor,
    indices: HearthTensor,
) -> HearthTensor {
    call!(
        max_pool_backward(grad, values::indices(indices)),
        extents = &x.extents()[2..],
        kernel = windows.kernel,
        stride = windows.stride,
        padding = windows.padding,
        dilation = dilation,
        ceil_mode = windows.ceil_mode
    )
}
