#!/usr/bin/env python3
"""Writes tests/golden/images.txt: what PyTorch gives for pools and operations on images.

A file is a list of cases:

    case <function> <option>=<numbers, joined by commas> ...
    input <dtype> <shape> : <elements>
    output <dtype> <shape> : <elements>
    grad <dtype> <shape> : <elements>

with a line for each input and output, and a gradient of each input that has one: that of the first
output times weights (i mod 7) - 3. Floats are hexadecimal f64. Needs PyTorch (CPU).
"""

import pathlib

import torch
import torch.nn.functional as F

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "golden" / "images.txt"


def line(keyword, tensor):
    shape = "x".join(map(str, tensor.shape))
    if tensor.dtype == torch.float64:
        texts = [value.hex().replace("0000000000000p", "p") for value in tensor.flatten().tolist()]
        return f"{keyword} f64 {shape} : " + " ".join(texts)
    return f"{keyword} i64 {shape} : " + " ".join(str(value) for value in tensor.flatten().tolist())


def case(function, call, inputs, options):
    def text(value):
        values = value if isinstance(value, (list, tuple)) else [value]
        return ",".join(str(int(x)) if float(x).is_integer() else str(x) for x in values)

    words = " ".join(f"{name}={text(value)}" for name, value in options.items())
    inputs = [x.clone().requires_grad_(True) for x in inputs]
    outputs = call(*inputs)
    outputs = list(outputs) if isinstance(outputs, tuple) else [outputs]
    weights = (torch.arange(outputs[0].numel()) % 7 - 3).double().reshape(outputs[0].shape)
    grads = torch.autograd.grad((outputs[0] * weights).sum(), inputs, allow_unused=True)
    lines = [f"case {function} {words}".rstrip()]
    lines += [line("input", x.detach()) for x in inputs]
    lines += [line("output", x.detach()) for x in outputs]
    lines += [line("grad", torch.zeros_like(x) if g is None else g) for x, g in zip(inputs, grads)]
    return "\n".join(lines) + "\n"


def random(*shape, low=-2.0, high=2.0):
    values = torch.rand(shape, dtype=torch.float64) * (high - low) + low
    return (values * 1024).round() / 1024


def pools():
    max_pools = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
    avg_pools = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
    windows = [
        ((2, 2, 9), [3], [2], [1], [1], 0), ((1, 2, 10), [3], [3], [0], [2], 1),
        ((2, 2, 7, 8), [3, 3], [2, 2], [1, 1], [1, 1], 0),
        ((1, 2, 8, 7), [2, 3], [2, 1], [0, 1], [2, 1], 1),
        ((1, 1, 6, 7), [2, 2], [2, 2], [0, 0], [1, 1], 1),
        ((1, 2, 4, 4, 6), [2, 2, 3], [2, 1, 2], [1, 0, 1], [1, 1, 2], 1),
    ]
    for shape, kernel, stride, padding, dilation, ceil in windows:
        options = dict(kernel=kernel, stride=stride, padding=padding, dilation=dilation, ceil=ceil)
        axes = len(kernel)
        yield case("max_pool", lambda x: max_pools[axes](
            x, kernel, stride, padding, dilation, bool(ceil), True), [random(*shape)], options)
        for pad in (0, 1):
            options = dict(kernel=kernel, stride=stride, padding=padding, ceil=ceil, pad=pad)
            yield case("avg_pool", lambda x: avg_pools[axes](
                x, kernel, stride, padding, bool(ceil), bool(pad)), [random(*shape)], options)
    for p in (1, 2, 3.5):
        yield case("lp_pool", lambda x: F.lp_pool2d(x, p, [3, 2], 2), [
            random(1, 2, 5, 6, low=0.1)], dict(p=p, kernel=[3, 2], stride=[2, 2]))
    averages = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}
    maxima = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}
    for shape, sizes in [((2, 2, 7), [3]), ((2, 2, 5, 7), [3, 4]), ((1, 2, 3, 4), [5, 1]),
                         ((1, 2, 4, 3, 5), [3, 2, 4])]:
        axes = len(sizes)
        yield case("adaptive_avg_pool", lambda x: averages[axes](x, sizes), [random(*shape)],
                   dict(sizes=sizes))
        yield case("adaptive_max_pool", lambda x: maxima[axes](x, sizes, True), [random(*shape)],
                   dict(sizes=sizes))


def resized():
    shapes = [((1, 2, 5), [12]), ((1, 1, 9), [4]), ((2, 1, 4, 5), [7, 3]), ((1, 2, 3, 6), [6, 12]),
              ((1, 1, 7, 5), [3, 5]), ((1, 1, 3, 4), [1, 1]), ((1, 1, 3, 4, 2), [5, 3, 4])]
    linear = {1: "linear", 2: "bilinear", 3: "trilinear"}
    for shape, sizes in shapes:
        for mode, torch_mode in (("nearest", "nearest"), ("nearest_exact", "nearest-exact")):
            yield case("interpolate_" + mode, lambda x: F.interpolate(x, sizes, mode=torch_mode),
                       [random(*shape)], dict(sizes=sizes, align=0))
        for align in (0, 1):
            modes = [("linear", linear[len(sizes)])] + [("cubic", "bicubic")] * (len(sizes) == 2)
            for mode, torch_mode in modes:
                yield case("interpolate_" + mode, lambda x: F.interpolate(
                    x, sizes, mode=torch_mode, align_corners=bool(align)), [random(*shape)],
                    dict(sizes=sizes, align=align))


def sampled():
    for mode in ("nearest", "bilinear"):
        for number, padding in enumerate(("zeros", "border", "reflection")):
            for align in (0, 1):
                yield case("grid_sample_" + mode, lambda x, grid: F.grid_sample(
                    x, grid, mode, padding, bool(align)),
                    [random(2, 2, 4, 5), random(2, 3, 7, 2, low=-2.3, high=2.3)],
                    dict(padding=number, align=align))
    for align in (0, 1):
        for height, width in ((3, 4), (1, 5)):
            yield case("affine_grid", lambda theta: F.affine_grid(
                theta, [2, 1, height, width], bool(align)), [random(2, 2, 3)],
                dict(sizes=[height, width], align=align))


def patches():
    for kernel, stride, padding, dilation in [([2, 3], [1, 1], [0, 0], [1, 1]),
                                              ([3, 2], [2, 1], [1, 2], [1, 2])]:
        options = dict(kernel=kernel, stride=stride, padding=padding, dilation=dilation)
        seen = F.unfold(torch.zeros(2, 2, 6, 5), kernel, dilation, padding, stride)
        yield case("unfold", lambda x: F.unfold(x, kernel, dilation, padding, stride),
                   [random(2, 2, 6, 5)], options)
        yield case("fold", lambda x: F.fold(x, [6, 5], kernel, dilation, padding, stride),
                   [random(*seen.shape)], dict(sizes=[6, 5], **options))
    yield case("pixel_shuffle", lambda x: F.pixel_shuffle(x, 3), [random(2, 18, 2, 3)], dict(factor=3))
    yield case("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), [random(1, 2, 4, 6)],
               dict(factor=2))


def main():
    torch.manual_seed(20261123)
    with FILE.open("w", encoding="utf-8") as file:
        for cases in (pools, resized, sampled, patches):
            file.writelines(cases())
    print(FILE)


if __name__ == "__main__":
    main()
