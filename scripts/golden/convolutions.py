#!/usr/bin/env python3
"""Writes tests/golden/convolutions.txt: what PyTorch gives for conv and conv_transpose, with the
gradients of input, weight and bias; rows.py says how.

Padding is put around the input, or cut off the result, by hand: uneven padding and output_padding
beyond the stride, which PyTorch lacks, are then those of the even kind. Run it with PyTorch 2 for
the CPU; the file is checked in.
"""

import torch
import torch.nn.functional as F

from rows import Rows

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSE = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
ROWS = Rows("convolutions", 31)


def each(value, rank, default):
    """A number for each spatial axis."""
    value = default if value is None else value
    return [value] * rank if isinstance(value, int) else list(value)


def pads(before, after):
    """As F.pad has them, the last axis first."""
    return [n for pair in reversed(list(zip(before, after))) for n in pair]


def conv(shape, weight, bias=True, stride=None, padding=None, padding_end=None, dilation=None,
         groups=1, same=0):
    rank = len(shape) - 2
    steps, gaps = each(stride, rank, 1), each(dilation, rank, 1)
    before = each(padding, rank, 0)
    after = each(padding_end, rank, 0) if padding_end is not None else before
    if same:
        totals = [max(0, (-(-extent // step) - 1) * step + gap * (kernel - 1) + 1 - extent)
                  for extent, kernel, step, gap in zip(shape[2:], weight[2:], steps, gaps)]
        before = [total // 2 for total in totals]
        after = [total - total // 2 for total in totals]

    def call(x, w, b=None):
        return CONV[rank](F.pad(x, pads(before, after)), w, b, steps, 0, gaps, groups)

    inputs = [ROWS.numbers(*shape), ROWS.numbers(*weight)]
    if bias:
        inputs.append(ROWS.numbers(weight[0]))
    # A library adds a bias to what it has rounded.
    ROWS.multilinear("conv", call, inputs, between=int(bias), stride=stride, padding=padding,
                     padding_end=padding_end, dilation=dilation, groups=groups, same=same)


def transpose(shape, weight, bias=True, stride=None, padding=None, padding_end=None, dilation=None,
              groups=1, output_padding=None):
    rank = len(shape) - 2
    steps, gaps = each(stride, rank, 1), each(dilation, rank, 1)
    before, more = each(padding, rank, 0), each(output_padding, rank, 0)
    after = each(padding_end, rank, 0) if padding_end is not None else before

    def call(x, w, b=None):
        full = TRANSPOSE[rank](x, w, None, steps, 0, 0, groups, gaps)
        full = F.pad(full, pads([-n for n in before], [m - n for n, m in zip(after, more)]))
        return full if b is None else full + b.reshape([-1] + [1] * rank)

    inputs = [ROWS.numbers(*shape), ROWS.numbers(*weight)]
    if bias:
        inputs.append(ROWS.numbers(weight[1] * groups))
    # A bias is added to what has been rounded.
    ROWS.multilinear("conv_transpose", call, inputs, between=int(bias), stride=stride, padding=padding,
                     padding_end=padding_end, dilation=dilation, groups=groups,
                     output_padding=output_padding)


def convolutions():
    for bias in (False, True):
        conv((2, 3, 11), (4, 3, 3), bias)
        conv((1, 3, 5, 7), (2, 3, 3, 2), bias)
        conv((1, 2, 3, 4, 5), (3, 2, 2, 3, 2), bias)
    conv((3, 1, 1), (1, 1, 1))
    conv((2, 4, 13), (6, 4, 4), stride=3, padding=2)
    conv((2, 4, 13), (6, 2, 4), stride=2, padding=1, padding_end=4, groups=2)
    conv((1, 3, 17), (3, 1, 5), dilation=3, padding=6, groups=3)
    conv((1, 3, 9), (6, 1, 3), dilation=2, padding=0, padding_end=3, groups=3)
    conv((1, 2, 8), (2, 2, 8), padding=7)
    conv((1, 2, 4), (3, 2, 2), stride=5)
    conv((2, 5, 6, 6), (7, 5, 1, 1))
    conv((2, 5, 6, 7), (3, 5, 1, 1), stride=[2, 3])
    conv((2, 3, 8, 9), (5, 3, 3, 3), padding=1)
    conv((1, 4, 9, 6), (4, 4, 3, 3), padding=1, stride=2)
    conv((1, 4, 7, 8), (6, 2, 3, 2), stride=[2, 1], padding=[1, 0], padding_end=[0, 2],
         dilation=[1, 2], groups=2)
    conv((2, 4, 7, 5), (4, 1, 3, 3), padding=1, groups=4)
    conv((1, 3, 8, 7), (6, 1, 5, 5), padding=2, stride=2, groups=3)
    conv((1, 2, 9, 9), (2, 2, 3, 3), dilation=[3, 2], padding=[3, 1], padding_end=[2, 4])
    conv((1, 2, 6, 5), (2, 2, 6, 5))
    conv((1, 2, 6, 5), (2, 2, 7, 1), padding=[1, 0])
    conv((1, 17, 4, 3), (5, 17, 3, 3), padding=1)
    conv((1, 2, 5, 4, 6), (4, 2, 3, 3, 3), padding=1)
    conv((1, 4, 5, 4, 3), (2, 2, 2, 3, 1), stride=[2, 1, 2], padding=[0, 1, 1],
         padding_end=[1, 2, 0], dilation=[2, 1, 1], groups=2)
    conv((2, 3, 3, 4, 3), (3, 1, 2, 2, 2), groups=3, padding=1, stride=2)
    for extent, kernel, step, gap in ((9, 4, 1, 1), (8, 3, 2, 1), (7, 2, 3, 1), (9, 4, 1, 3),
                                      (10, 1, 4, 1), (5, 6, 1, 1)):
        conv((1, 2, extent), (3, 2, kernel), stride=step, dilation=gap, same=1)
    conv((1, 2, 7, 6), (2, 1, 4, 3), stride=[1, 2], dilation=[2, 1], groups=2, same=1)


def transposes():
    for bias in (False, True):
        transpose((2, 3, 5), (3, 2, 3), bias)
        transpose((1, 3, 4, 5), (3, 2, 2, 3), bias)
        transpose((1, 2, 3, 2, 3), (2, 3, 2, 3, 2), bias)
    transpose((3, 1, 1), (1, 1, 1))
    transpose((2, 4, 5), (4, 3, 4), stride=3, padding=1, output_padding=2)
    transpose((1, 4, 5), (4, 2, 3), stride=2, padding=1, groups=2, output_padding=1)
    transpose((1, 4, 6), (4, 1, 3), stride=2, dilation=3, padding=2, padding_end=5, groups=4)
    transpose((1, 2, 4), (2, 2, 2), stride=3, output_padding=5)
    transpose((1, 2, 4), (2, 3, 3), stride=1, padding=2, padding_end=0, output_padding=1)
    transpose((1, 3, 3), (3, 2, 2), stride=4)
    transpose((2, 3, 4, 4), (3, 5, 1, 1), stride=2, output_padding=1)
    transpose((2, 3, 4, 3), (3, 4, 3, 3), stride=2, padding=1, output_padding=1)
    transpose((1, 4, 4, 3), (4, 3, 4, 4), stride=2, padding=1, groups=2)
    transpose((1, 4, 3, 5), (4, 1, 3, 2), stride=[1, 2], padding=[2, 0], padding_end=[0, 1],
              dilation=[2, 1], groups=4, output_padding=[1, 0])
    transpose((1, 2, 5, 4), (2, 2, 3, 3), dilation=[2, 3], padding=[2, 3])
    transpose((1, 9, 3, 2), (9, 7, 3, 3), padding=1)
    transpose((1, 4, 2, 3, 2), (4, 1, 2, 2, 3), stride=[2, 1, 2], padding=[0, 1, 1],
              padding_end=[1, 0, 1], groups=2, output_padding=[1, 0, 1])
    transpose((1, 2, 2, 3, 3), (2, 2, 3, 2, 2), dilation=[1, 2, 1], stride=[1, 1, 3],
              padding=[1, 0, 1])


if __name__ == "__main__":
    convolutions()
    transposes()
    ROWS.write()
