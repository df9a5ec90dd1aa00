"""The convolutions of `hearth bench --rows conv/` in PyTorch, on the processor.

A row is named conv/<dtype>_<part>_<batch>x<in>x<size>_<out>k<kernel>s<stride>[g<groups>]: square
images and kernels, padded by half a kernel. The part is forward, or the gradient for input or
weight. bench/peers.py measures it.
"""

import re

import torch

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
NAME = re.compile(
    r"conv/(?P<dtype>\w+?)_(?P<part>\w+?)_(?P<batch>\d+)x(?P<inputs>\d+)x(?P<size>\d+)_"
    r"(?P<outputs>\d+)k(?P<kernel>\d+)s(?P<stride>\d+)(?:g(?P<groups>\d+))?"
)


def problem_of(row):
    words = NAME.fullmatch(row).groupdict(default="1")
    return {key: int(word) if word.isdigit() else word for key, word in words.items()}


def positions_of(problem):
    kernel = problem["kernel"]
    return (problem["size"] + 2 * (kernel // 2) - kernel) // problem["stride"] + 1


def flops_of(row):
    p = problem_of(row)
    inner = p["inputs"] // p["groups"] * p["kernel"] ** 2
    return 2 * p["batch"] * p["outputs"] * positions_of(p) ** 2 * inner


def call_of(row):
    p = problem_of(row)
    dtype, kernel = DTYPES[p["dtype"]], p["kernel"]
    x = torch.randn(p["batch"], p["inputs"], p["size"], p["size"]).to(dtype)
    weight = torch.randn(p["outputs"], p["inputs"] // p["groups"], kernel, kernel).to(dtype)
    window = [p["stride"]] * 2, [kernel // 2] * 2, [1, 1]
    if p["part"] == "forward":
        return lambda: torch.nn.functional.conv2d(x, weight, None, *window, p["groups"])
    side = positions_of(p)
    grad = torch.randn(p["batch"], p["outputs"], side, side).to(dtype)
    wanted = [p["part"] == "input", p["part"] == "weight", False]
    return lambda: torch.ops.aten.convolution_backward(
        grad, x, weight, None, *window, False, [0, 0], p["groups"], wanted
    )
