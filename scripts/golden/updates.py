#!/usr/bin/env python3
"""Writes tests/golden/updates.txt: what PyTorch gives for updates by index.

A file is a list of cases:

    case <function> <update> <axis>
    input <dtype> <shape> : <elements>
    output <dtype> <shape> : <elements>
    grad <dtype> <shape> : <elements>

with x, indices and values, the result, and gradients of x and of values: those of the result times
weights (i mod 7) - 3. PyTorch does not say which of several values an assigned element gets, so
assignments have indices of which no two are alike. Needs PyTorch (CPU).
"""

import pathlib

import torch

FILE = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "golden" / "updates.txt"

SCATTER = {
    "assign": lambda x, axis, at, v: x.scatter(axis, at, v),
    "add": lambda x, axis, at, v: x.scatter_add(axis, at, v),
    "mul": lambda x, axis, at, v: x.scatter_reduce(axis, at, v, "prod"),
    "min": lambda x, axis, at, v: x.scatter_reduce(axis, at, v, "amin"),
    "max": lambda x, axis, at, v: x.scatter_reduce(axis, at, v, "amax"),
}
SELECT = {
    "assign": lambda x, axis, at, v: x.index_copy(axis, at, v),
    "add": lambda x, axis, at, v: x.index_add(axis, at, v),
    "mul": lambda x, axis, at, v: x.index_reduce(axis, at, v, "prod"),
    "min": lambda x, axis, at, v: x.index_reduce(axis, at, v, "amin"),
    "max": lambda x, axis, at, v: x.index_reduce(axis, at, v, "amax"),
}


def line(keyword, tensor):
    shape = "x".join(map(str, tensor.shape))
    if tensor.dtype == torch.float64:
        return f"{keyword} f64 {shape} : " + " ".join(map(repr, tensor.flatten().tolist()))
    return f"{keyword} i64 {shape} : " + " ".join(map(str, tensor.flatten().tolist()))


def case(function, update, axis, call, x, at, values):
    x, values = x.clone().requires_grad_(True), values.clone().requires_grad_(True)
    out = call(x, axis, at, values)
    weights = (torch.arange(out.numel()) % 7 - 3).double().reshape(out.shape)
    grads = torch.autograd.grad((out * weights).sum(), [x, values])
    lines = [f"case {function} {update} {axis}"]
    lines += [line("input", each.detach()) for each in (x, at, values)]
    lines += [line("output", out.detach())]
    lines += [line("grad", each) for each in grads]
    return "\n".join(lines) + "\n"


# Few different numbers: results are reached several times, and zeros are among the factors.
def numbers(*shape):
    return torch.randint(-3, 4, shape).double() / 2


def cases():
    for update, call in SCATTER.items():
        for shape, axis, count in (((3, 6), 1, 9), ((6, 3), 0, 11), ((2, 5, 3), 1, 8)):
            selection = list(shape)
            selection[axis] = count if update != "assign" else shape[axis] - 1
            at = torch.randint(0, shape[axis], selection)
            if update == "assign":
                at = torch.rand(shape).argsort(axis).narrow(axis, 0, selection[axis])
            yield case("scatter", update, axis, call, numbers(*shape), at, numbers(*selection))
    for update, call in SELECT.items():
        for shape, axis, count in (((5, 3), 0, 9), ((3, 4), 1, 7), ((2, 4, 3), 1, 6)):
            selection = list(shape)
            selection[axis] = count if update != "assign" else shape[axis] - 1
            at = torch.randint(0, shape[axis], (selection[axis],))
            if update == "assign":
                at = torch.randperm(shape[axis])[:selection[axis]]
            yield case("select_assign", update, axis, call, numbers(*shape), at, numbers(*selection))


def main():
    torch.manual_seed(3)
    FILE.write_text("".join(cases()))


if __name__ == "__main__":
    main()
