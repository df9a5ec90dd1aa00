//! Convolutions of three spatial axes.

use burn_backend::ops::{ConvOptions, ConvTransposeOptions, ModuleOps};
use burn_hearth::Hearth;

use crate::reference::*;

type Triple = [usize; 3];

struct Case {
    batch: usize,
    channels: usize,
    outputs: usize,
    size: Triple,
    kernel: Triple,
    options: ConvOptions<3>,
}

fn cases() -> Vec<Case> {
    let case = |batch, [channels, outputs]: [usize; 2], size, kernel, options| Case {
        batch,
        channels,
        outputs,
        size,
        kernel,
        options,
    };
    let plain = ConvOptions::new([1; 3], [0; 3], [1; 3], 1);
    let uneven = ConvOptions::new([2, 1, 3], [1, 0, 2], [1, 2, 1], 1);
    let grouped = ConvOptions::new([1, 2, 1], [0, 1, 1], [2, 1, 1], 2);
    let depthwise = ConvOptions::new([1; 3], [1; 3], [1; 3], 4);
    vec![
        case(2, [1, 2], [3, 3, 4], [2, 3, 2], plain),
        case(1, [2, 3], [4, 5, 6], [2, 2, 3], uneven),
        case(2, [4, 2], [5, 3, 3], [2, 2, 1], grouped),
        case(1, [4, 8], [2, 3, 2], [3, 2, 2], depthwise),
    ]
}

/// Along an axis: where element `o` of the result reads with element `k` of the kernel.
fn source(options: &ConvOptions<3>, axis: usize, o: usize, k: usize, size: usize) -> Option<usize> {
    let at = o * options.stride[axis] + k * options.dilation[axis];
    at.checked_sub(options.padding[axis])
        .filter(|at| *at < size)
}

/// With bias. What the loops of the definition give.
fn conv3d(x: &Grid, weight: &Grid, bias: &Grid, options: &ConvOptions<3>) -> Grid {
    let (size, kernel) = (&x.shape[2..], &weight.shape[2..]);
    let extent = |axis: usize| {
        let reach = options.dilation[axis] * (kernel[axis] - 1) + 1;
        (size[axis] + 2 * options.padding[axis] - reach) / options.stride[axis] + 1
    };
    let (inputs, outputs) = (weight.shape[1], weight.shape[0]);
    let shape = [x.shape[0], outputs, extent(0), extent(1), extent(2)];
    Grid::new(&shape, |o| {
        let group = o[1] / (outputs / options.groups);
        let mut sum = bias.at(&[o[1]]);
        for k in indices(&weight.shape[1..]) {
            let at = |axis| source(options, axis, o[2 + axis], k[1 + axis], size[axis]);
            if let (Some(d), Some(h), Some(w)) = (at(0), at(1), at(2)) {
                let weight = weight.at(&[o[1], k[0], k[1], k[2], k[3]]);
                sum += weight * x.at(&[o[0], group * inputs + k[0], d, h, w]);
            }
        }
        sum
    })
}

fn operands(case: &Case) -> (Grid, Grid, Grid) {
    let Case {
        batch,
        channels,
        outputs,
        size,
        kernel,
        options,
    } = case;
    let [d, h, w] = *size;
    let x = scattered(&[*batch, *channels, d, h, w], 1);
    let [d, h, w] = *kernel;
    let weight = scattered(&[*outputs, channels / options.groups, d, h, w], 2);
    (x, weight, scattered(&[*outputs], 3))
}

/// Loops of two-dimensional convolutions stood in, and some options had no effect.
#[test]
fn conv3d_follows_its_definition() {
    for case in cases() {
        let (x, weight, bias) = operands(&case);
        let expected = conv3d(&x, &weight, &bias, &case.options);
        for (x, weight) in layouts(&x).into_iter().zip(layouts(&weight)) {
            let bias = Some(floats(&bias));
            let got = Hearth::conv3d(x, weight, bias, case.options.clone());
            assert_close(got, &expected, 1e-12);
        }
    }
}

#[test]
fn conv3d_has_gradients() {
    for case in cases() {
        let (x, weight, bias) = operands(&case);
        let options = &case.options;
        let grad = scattered(&conv3d(&x, &weight, &bias, options).shape, 4);
        let gradient =
            Hearth::conv3d_x_backward(floats(&x), floats(&weight), floats(&grad), options.clone());
        assert_gradient(gradient, &x, &grad, |x| {
            Hearth::conv3d(x, floats(&weight), None, options.clone())
        });
        let gradient = Hearth::conv3d_weight_backward(
            floats(&x),
            floats(&weight),
            floats(&grad),
            options.clone(),
        );
        assert_gradient(gradient, &weight, &grad, |weight| {
            Hearth::conv3d(floats(&x), weight, None, options.clone())
        });
        let gradient = Hearth::conv3d_bias_backward(floats(&x), floats(&bias), floats(&grad));
        assert_gradient(gradient, &bias, &grad, |bias| {
            Hearth::conv3d(floats(&x), floats(&weight), Some(bias), options.clone())
        });
    }
}

/// The input came back. A transposed convolution is what a convolution's gradient does.
#[test]
fn conv_transpose3d_spreads_its_input() {
    for case in cases() {
        let (spread, weight, _) = operands(&case);
        let options = &case.options;
        let zeros = Grid::new(&weight.shape[..1], |_| 0.0);
        let x = scattered(&conv3d(&spread, &weight, &zeros, options).shape, 5);
        let mut expected = Grid::new(&spread.shape, |_| 0.0);
        let (inputs, outputs) = (weight.shape[1], weight.shape[0]);
        for o in indices(&x.shape) {
            let group = o[1] / (outputs / options.groups);
            for k in indices(&weight.shape[1..]) {
                let at = |axis| {
                    source(
                        options,
                        axis,
                        o[2 + axis],
                        k[1 + axis],
                        spread.shape[2 + axis],
                    )
                };
                if let (Some(d), Some(h), Some(w)) = (at(0), at(1), at(2)) {
                    let weight = weight.at(&[o[1], k[0], k[1], k[2], k[3]]);
                    *expected.at_mut(&[o[0], group * inputs + k[0], d, h, w]) += weight * x.at(&o);
                }
            }
        }
        let padding_out = [0, 1, 2].map(|axis| {
            let reach = options.dilation[axis] * (weight.shape[2 + axis] - 1) + 1;
            (spread.shape[2 + axis] + 2 * options.padding[axis] - reach) % options.stride[axis]
        });
        let transposed = ConvTransposeOptions::new(
            options.stride,
            options.padding,
            padding_out,
            options.dilation,
            options.groups,
        );
        for x in layouts(&x) {
            let got = Hearth::conv_transpose3d(x, floats(&weight), None, transposed.clone());
            assert_close(got, &expected, 1e-12);
        }
    }
}
