"""What the programs beside it share that write rows: files of tests/golden that
tests/ops/golden_rows.h reads.

    case <function> <option>=<words joined by commas> ...
    input <dtype> <shape> : <elements>
    output <computed> <stored> <dtype> <shape> : <elements>
    grad <computed> <stored> <dtype> <shape> : <elements>

Inputs of f64 are multiples of 1/16, below 16 in magnitude, unless a program says otherwise: every
float dtype holds them, so that a row is checked in all of them. `grad` is the gradient of an input
of f64, in their order: of the sum over the outputs of their elements times weights (i mod 7) - 3.

`computed` and `stored` bound errors to first order, absolute: a result is off by at most
    u(computing) * computed + u(inputs) * stored + u(result) * |result|
with u the unit roundoff: where it is computed of f64, or of f32 for all other dtypes, of the dtype
of the inputs for what lies between ops, and of the dtype of the result.
"""

import pathlib

import numpy as np

GOLDEN = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "golden"


def weights(shape):
    """What an output's gradient is."""
    return np.asarray(np.arange(int(np.prod(shape))) % 7 - 3.0).reshape(tuple(shape))


def number(x):
    """In decimal or hexadecimal digits, which of them are fewer; nothing is lost."""
    decimal = repr(x).removesuffix(".0")
    if "x" not in x.hex():
        return decimal
    digits, exponent = x.hex().split("p")
    return min(decimal, f"{digits.rstrip('0').removesuffix('.')}p{exponent}", key=len)


def elements(array):
    if array.dtype.kind != "f":
        return " ".join(str(int(x)) for x in array.ravel())
    return " ".join(number(float(x)) for x in array.ravel())


def line(keyword, array, bounds=()):
    names = {"float64": "f64", "float32": "f32", "float16": "f16", "int64": "i64", "int32": "i32",
             "int8": "i8", "uint8": "u8", "uint32": "u32", "bool": "bool"}
    array = np.asarray(array)
    shape = "x".join(map(str, array.shape)) or "-"
    words = [keyword, *(f"{x:.4g}" for x in bounds), names[array.dtype.name], shape, ":"]
    return " ".join(words) + " " + elements(array)


class Rows:
    """The rows of one file, and the numbers that are drawn for them."""

    def __init__(self, name, seed):
        self.path = GOLDEN / f"{name}.txt"
        self.random = np.random.default_rng(seed)
        self.lines = []

    def numbers(self, *shape, largest=32):
        return self.random.integers(-largest, largest + 1, shape) / 16.0

    def row(self, function, inputs, outputs, grads=(), **options):
        """Outputs and grads are (array, computed, stored)."""
        words = [f"{key}={','.join(map(str, np.atleast_1d(value)))}"
                 for key, value in options.items() if value is not None]
        self.lines.append(" ".join(["case", function, *words]))
        self.lines += [line("input", each) for each in inputs]
        self.lines += [line("output", array, bounds) for array, *bounds in outputs]
        self.lines += [line("grad", array, bounds) for array, *bounds in grads]

    def multilinear(self, function, call, inputs, between=0, between_grads=0, sizes=None,
                    **options):
        """A row of a torch function that is linear in each of the inputs: its results are sums of
        products, whose number and magnitudes the same function gives of ones and of magnitudes, or
        `sizes` where it has factors of its own.
        `between`: how many roundings to the dtype a term of the result sees before the last."""
        import torch

        def results(tensors, upstream, of=sizes or call):
            leaves = [tensor.clone().requires_grad_() for tensor in tensors]
            output = of(*leaves)
            grads = torch.autograd.grad(output, leaves, upstream(output), allow_unused=True)
            return [output.detach(), *grads]

        tensors = [torch.from_numpy(np.ascontiguousarray(each)) for each in inputs]
        exact = results(tensors, lambda y: torch.from_numpy(weights(y.shape)), call)
        terms = results([tensor.abs() for tensor in tensors],
                        lambda y: torch.from_numpy(weights(y.shape)).abs())
        counts = results([torch.ones_like(tensor) for tensor in tensors], torch.ones_like)
        written = []
        for i, (value, term, count) in enumerate(zip(exact, terms, counts)):
            largest = float(term.max()) if term.numel() else 0.0
            number = float(count.max()) if count.numel() else 0.0
            stored = (between_grads if i else between) * largest
            written.append((value.numpy(), (number + len(inputs)) * largest, stored))
        self.row(function, inputs, written[:1], written[1:], **options)

    def write(self):
        self.path.write_text("\n".join(self.lines) + "\n")
        cases = sum(text.startswith("case ") for text in self.lines)
        print(f"{self.path.name}: {cases} cases, {self.path.stat().st_size} bytes")
