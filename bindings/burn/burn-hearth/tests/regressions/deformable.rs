//! Convolutions that look where offsets say.

use burn_backend::ops::{DeformConvOptions, ModuleOps};
use burn_hearth::{Hearth, HearthTensor};

use crate::reference::*;

struct Operands {
    x: Grid,
    offset: Grid,
    weight: Grid,
    mask: Option<Grid>,
    bias: Option<Grid>,
    options: DeformConvOptions<2>,
}

fn out(size: usize, kernel: usize, options: &DeformConvOptions<2>, axis: usize) -> usize {
    let reach = options.dilation[axis] * (kernel - 1) + 1;
    (size + 2 * options.padding[axis] - reach) / options.stride[axis] + 1
}

fn cases() -> Vec<Operands> {
    let case = |[batch, inputs, outputs]: [usize; 3],
                [height, width]: [usize; 2],
                [kh, kw]: [usize; 2],
                with_mask_and_bias: bool,
                options: DeformConvOptions<2>| {
        let (rows, columns) = (out(height, kh, &options, 0), out(width, kw, &options, 1));
        let points = options.offset_groups * kh * kw;
        // Between elements, where the interpolation has a derivative.
        let mut offset = scattered(&[batch, 2 * points, rows, columns], 3);
        for value in &mut offset.values {
            *value = (2.0 * *value).floor() + 0.5 + 0.3 * *value;
        }
        let mask = scattered(&[batch, points, rows, columns], 4);
        Operands {
            x: scattered(&[batch, inputs, height, width], 1),
            offset,
            weight: scattered(&[outputs, inputs / options.weight_groups, kh, kw], 2),
            mask: with_mask_and_bias.then_some(mask),
            bias: with_mask_and_bias.then(|| scattered(&[outputs], 5)),
            options,
        }
    };
    let options = DeformConvOptions::new;
    vec![
        case(
            [1, 1, 2],
            [4, 3],
            [2, 2],
            false,
            options([1, 1], [0, 0], [1, 1], 1, 1),
        ),
        case(
            [2, 2, 3],
            [4, 5],
            [2, 3],
            true,
            options([1, 2], [1, 0], [1, 2], 1, 2),
        ),
        case(
            [1, 4, 2],
            [3, 4],
            [3, 2],
            true,
            options([2, 1], [1, 1], [1, 1], 2, 2),
        ),
    ]
}

/// Bilinear; zero outside.
fn sample(x: &Grid, batch: usize, channel: usize, y: f64, x_at: f64) -> f64 {
    let mut sum = 0.0;
    for (row, weight_y) in [
        (y.floor(), 1.0 - y.fract_up()),
        (y.floor() + 1.0, y.fract_up()),
    ] {
        for (column, weight_x) in [
            (x_at.floor(), 1.0 - x_at.fract_up()),
            (x_at.floor() + 1.0, x_at.fract_up()),
        ] {
            let is_inside = |at: f64, extent: usize| at >= 0.0 && at < extent as f64;
            if is_inside(row, x.shape[2]) && is_inside(column, x.shape[3]) {
                sum += weight_y * weight_x * x.at(&[batch, channel, row as usize, column as usize]);
            }
        }
    }
    sum
}

trait FractUp {
    fn fract_up(self) -> f64;
}
impl FractUp for f64 {
    fn fract_up(self) -> f64 {
        self - self.floor()
    }
}

fn deform_conv2d(of: &Operands) -> Grid {
    let Operands {
        x,
        offset,
        weight,
        mask,
        bias,
        options,
    } = of;
    let [outputs, inputs, kh, kw] = weight.shape[..] else {
        unreachable!()
    };
    let shape = [x.shape[0], outputs, offset.shape[2], offset.shape[3]];
    Grid::new(&shape, |o| {
        let [batch, output, row, column] = o[..] else {
            unreachable!()
        };
        let group = output / (outputs / options.weight_groups);
        let mut sum = bias.as_ref().map_or(0.0, |bias| bias.at(&[output]));
        for k in indices(&[inputs, kh, kw]) {
            let channel = group * inputs + k[0];
            let offset_group = channel / (x.shape[1] / options.offset_groups);
            let point = (offset_group * kh + k[1]) * kw + k[2];
            let at = |axis: usize, o: usize, k: usize| {
                let at = (o * options.stride[axis] + k * options.dilation[axis]) as f64;
                at - options.padding[axis] as f64
                    + offset.at(&[batch, 2 * point + axis, row, column])
            };
            let value = sample(x, batch, channel, at(0, row, k[1]), at(1, column, k[2]));
            let mask = mask
                .as_ref()
                .map_or(1.0, |mask| mask.at(&[batch, point, row, column]));
            sum += value * mask * weight.at(&[output, k[0], k[1], k[2]]);
        }
        sum
    })
}

/// Hearth's, with another tensor in place of an operand.
fn run(of: &Operands, replaced: &str, by: HearthTensor) -> HearthTensor {
    let one = |name: &str, grid: &Grid| {
        if name == replaced {
            by.clone()
        } else {
            floats(grid)
        }
    };
    Hearth::deform_conv2d(
        one("x", &of.x),
        one("offset", &of.offset),
        one("weight", &of.weight),
        of.mask.as_ref().map(|mask| one("mask", mask)),
        of.bias.as_ref().map(|bias| one("bias", bias)),
        of.options.clone(),
    )
}

#[test]
fn deform_conv2d_follows_its_definition() {
    for case in cases() {
        let expected = deform_conv2d(&case);
        for x in layouts(&case.x) {
            assert_close(run(&case, "x", x), &expected, 1e-12);
        }
        for offset in layouts(&case.offset) {
            assert_close(run(&case, "offset", offset), &expected, 1e-12);
        }
    }
}

/// All gradients but the bias's were zero.
#[test]
fn deform_conv2d_has_gradients_of_all_operands() {
    for case in cases() {
        let grad = scattered(&deform_conv2d(&case).shape, 6);
        let got = Hearth::deform_conv2d_backward(
            floats(&case.x),
            floats(&case.offset),
            floats(&case.weight),
            case.mask.as_ref().map(floats),
            case.bias.as_ref().map(floats),
            floats(&grad),
            case.options.clone(),
        );
        let check = |name: &str, gradient: HearthTensor, operand: &Grid| {
            assert_gradient(gradient, operand, &grad, |by| run(&case, name, by));
        };
        check("x", got.x_grad, &case.x);
        check("offset", got.offset_grad, &case.offset);
        check("weight", got.weight_grad, &case.weight);
        assert_eq!(got.mask_grad.is_some(), case.mask.is_some());
        assert_eq!(got.bias_grad.is_some(), case.bias.is_some());
        if let (Some(mask), Some(bias)) = (&case.mask, &case.bias) {
            check("mask", got.mask_grad.unwrap(), mask);
            check("bias", got.bias_grad.unwrap(), bias);
        }
    }
}
