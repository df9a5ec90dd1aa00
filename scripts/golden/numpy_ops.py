#!/usr/bin/env python3
"""Writes tests/golden/*.txt: what NumPy and SciPy give for the ops of Hearth.

A file is a list of cases:

    case <op> <dtype> <largest error in units of the last place>
    param <boolean|i64|f64|list> <values>
    input <dtype> <shape> : <elements>
    output <dtype> <shape> : <elements>

Functions that are no single op, in order_statistics.txt and vision.txt, have several outputs and
parameters by name:

    case <function>
    param <name> <values>

Shapes are extents joined by x ("-" for rank 0). Float elements are hexadecimal, so nothing is lost.
Run it with the packages of requirements-test.txt after changing it; the files are checked in.
"""

import pathlib

import numpy as np
import scipy.linalg
import scipy.ndimage
import scipy.special

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "golden"
NUMPY = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "i32": np.int32, "bool": np.bool_}


def element(value):
    if isinstance(value, (np.floating, float)):
        value = float(value)
        return "nan" if np.isnan(value) else value.hex().replace("0x1.0000000000000p", "0x1p")
    return str(int(value))


def array_text(keyword, array):
    array = np.asarray(array)
    dtype = next(name for name, kind in NUMPY.items() if array.dtype == kind)
    shape = "x".join(map(str, array.shape)) or "-"
    return f"{keyword} {dtype} {shape} : " + " ".join(element(x) for x in array.ravel())


def case(op, dtype, ulps, inputs, output, params=()):
    lines = [f"case {op} {dtype} {ulps}"]
    for kind, value in params:
        values = value if isinstance(value, (list, tuple)) else [value]
        lines.append(f"param {kind} " + " ".join(element(x) for x in values))
    lines += [array_text("input", array) for array in inputs]
    lines.append(array_text("output", output))
    return "\n".join(lines) + "\n"


def special(dtype):
    tiny = np.finfo(dtype).tiny
    huge = np.finfo(dtype).max
    values = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, tiny, -tiny, huge, -huge, np.inf, -np.inf, np.nan,
              1e-8, -1e-8, 2.5, -2.5, 3.5, 20.0, -20.0, 88.0, -88.0, 89.5, -104.0, 1e5, -1e5]
    return np.array(values, dtype)


# In f64; the result is rounded to the dtype.
UNARY = {
    "neg": (np.negative, 0, (-9, 9)), "abs": (np.abs, 0, (-9, 9)), "square": (np.square, 0, (-9, 9)),
    "sqrt": (np.sqrt, 0.5, (0, 99)), "rsqrt": (lambda x: 1 / np.sqrt(x), 2, (1e-3, 99)),
    "recip": (lambda x: 1 / x, 0.5, (-9, 9)),
    "exp": (np.exp, 4, (-80, 80)), "expm1": (np.expm1, 4, (-5, 5)), "log": (np.log, 4, (1e-6, 99)),
    "log1p": (np.log1p, 4, (-0.9, 9)), "tanh": (np.tanh, 4, (-6, 6)),
    "sigmoid": (scipy.special.expit, 4, (-30, 30)), "erf": (scipy.special.erf, 4, (-4, 4)),
    "sin": (np.sin, 4, (-30, 30)), "cos": (np.cos, 4, (-30, 30)),
    "floor": (np.floor, 0, (-9, 9)), "ceil": (np.ceil, 0, (-9, 9)), "round": (np.rint, 0, (-9, 9)),
}
BINARY = {
    "add": (np.add, 0.5), "sub": (np.subtract, 0.5), "mul": (np.multiply, 0.5), "div": (np.divide, 0.5),
    "pow": (np.power, 4), "remainder": (np.mod, 0.5), "maximum": (np.maximum, 0),
    "minimum": (np.minimum, 0),
}


def elementwise(random):
    out = []
    for dtype in ("f32", "f64"):
        kind = NUMPY[dtype]
        for op, (function, ulps, (low, high)) in UNARY.items():
            x = np.concatenate([special(kind), random.uniform(low, high, 110).astype(kind)])
            y = function(x.astype(np.float64)).astype(kind)
            out.append(case(op, dtype, ulps, [x], y))
        for op, (function, ulps) in BINARY.items():
            a = random.uniform(-9, 9, 150).astype(kind)
            b = random.uniform(-9, 9, 150).astype(kind)
            if op == "pow":
                a = np.abs(a)
            pairs = special(kind)[[0, 1, 2, 3, 10, 11, 12, 15]]
            if op not in ("pow", "remainder"):
                a = np.concatenate([a, np.repeat(pairs, len(pairs))])
                b = np.concatenate([b, np.tile(pairs, len(pairs))])
            if op == "remainder":  # fmod is exact; the sum with the divisor rounds once
                y = np.mod(a, b)
            else:
                y = function(a.astype(np.float64), b.astype(np.float64)).astype(kind)
                if dtype == "f64":
                    y = function(a, b)
            out.append(case(op, dtype, ulps, [a, b], y))
    for op, function in (("add", np.add), ("mul", np.multiply), ("sub", np.subtract),
                         ("remainder", np.mod)):
        a = random.integers(-2**31, 2**31, 40, dtype=np.int32)
        b = random.integers(1, 2**20, 40, dtype=np.int32)
        out.append(case(op, "i32", 0, [a, b], function(a, b)))
    a = random.integers(-2**31, 2**31, 40, dtype=np.int32)
    b = np.where(random.integers(0, 2, 40) > 0, 7, -13).astype(np.int32)
    out.append(case("div", "i32", 0, [a, b], np.trunc(a / b).astype(np.int32)))
    return "".join(out)


# Likewise, in a file of their own.
INVERSES = {
    "log2": (np.log2, 4, (1e-6, 99)), "log10": (np.log10, 4, (1e-6, 99)),
    "exp2": (np.exp2, 4, (-99, 99)), "sinh": (np.sinh, 4, (-9, 9)), "cosh": (np.cosh, 4, (-9, 9)),
    "asin": (np.arcsin, 4, (-1, 1)), "acos": (np.arccos, 4, (-1, 1)),
    "atan": (np.arctan, 4, (-9, 9)), "asinh": (np.arcsinh, 4, (-99, 99)),
    "acosh": (np.arccosh, 4, (1, 99)), "atanh": (np.arctanh, 4, (-1, 1)),
    "trunc": (np.trunc, 0, (-9, 9)),
}


def inverses(random):
    out = []
    for dtype in ("f32", "f64"):
        kind = NUMPY[dtype]
        for op, (function, ulps, (low, high)) in INVERSES.items():
            x = np.concatenate([special(kind), random.uniform(low, high, 110).astype(kind)])
            y = function(x.astype(np.float64)).astype(kind)
            out.append(case(op, dtype, ulps, [x], y))
        pairs = special(kind)
        for op, function, ulps in (("atan2", np.arctan2, 4), ("hypot", np.hypot, 4),
                                   ("fmod", np.fmod, 0), ("floor_divide", np.floor_divide, 0)):
            a = np.concatenate([random.uniform(-99, 99, 150).astype(kind),
                                np.repeat(pairs[:13], 13)])
            b = np.concatenate([random.uniform(-9, 9, 150).astype(kind), np.tile(pairs[:13], 13)])
            if ulps == 0:
                y = function(a, b)
            else:
                y = function(a.astype(np.float64), b.astype(np.float64)).astype(kind)
            out.append(case(op, dtype, ulps, [a, b], y))
    ends = np.iinfo(np.int32)
    a, b = random.integers(ends.min, ends.max, (2, 60), dtype=np.int32, endpoint=True)
    small = np.where(random.integers(0, 2, 60) > 0, 7, -13).astype(np.int32)
    shifts = random.integers(-2, 35, 60).astype(np.int32)
    for op, function, other in (("bitwise_and", np.bitwise_and, b), ("bitwise_or", np.bitwise_or, b),
                                ("bitwise_xor", np.bitwise_xor, b), ("fmod", np.fmod, small),
                                ("floor_divide", np.floor_divide, small),
                                ("bitwise_left_shift", np.left_shift, shifts),
                                ("bitwise_right_shift", np.right_shift, shifts)):
        out.append(case(op, "i32", 0, [a, other], function(a, other)))
    out.append(case("bitwise_not", "i32", 0, [a], np.invert(a)))
    return "".join(out)


def reductions(random):
    out = []
    for dtype in ("f32", "f64"):
        kind = NUMPY[dtype]
        for shape, axes in (((5, 19), [1]), ((5, 19), [0]), ((3, 5, 7), [0, 2]), ((3, 5, 7), [1]),
                            ((130,), [0]), ((2, 300), [1]), ((2, 3), [])):
            x = random.normal(0, 1, shape).astype(kind)
            wide = x.astype(np.float64)
            keepdim = len(shape) % 2
            options = {"axis": tuple(axes), "keepdims": bool(keepdim)}
            params = [("list", axes), ("boolean", keepdim)]
            out.append(case("sum", dtype, 64, [x], np.sum(wide, **options).astype(kind), params))
            out.append(case("max", dtype, 0, [x], np.max(x, **options), params))
            out.append(case("min", dtype, 0, [x], np.min(x, **options), params))
            small = random.uniform(0.7, 1.3, shape).astype(kind)
            out.append(case("prod", dtype, 400, [small],
                            np.prod(small.astype(np.float64), axis=tuple(axes)).astype(kind),
                            [("list", axes), ("boolean", 0)]))
            flags = random.integers(0, 8, shape) == 0
            for op, function in (("any", np.any), ("all", np.all)):
                out.append(case(op, "bool", 0, [flags], function(flags, axis=tuple(axes)),
                                [("list", axes), ("boolean", 0)]))
        x = np.array([[1, np.nan, 3], [3, 2, 3], [-np.inf, -np.inf, -np.inf]], kind)
        out.append(case("max", dtype, 0, [x], np.max(x, axis=1), [("list", [1]), ("boolean", 0)]))
        out.append(case("min", dtype, 0, [x], np.min(x, axis=1), [("list", [1]), ("boolean", 0)]))
        for axis in (0, 1):
            values = random.integers(0, 9, (6, 11)).astype(kind)
            values[2, 3] = np.nan
            for op, function in (("argmax", np.argmax), ("argmin", np.argmin)):
                out.append(case(op, dtype, 0, [values], function(values, axis=axis),
                                [("i64", axis), ("boolean", 0), ("dtype", 4)]))
    return "".join(out)


def norms(random):
    out = []
    for dtype in ("f32", "f64"):
        kind = NUMPY[dtype]
        for shape in ((4, 7), (3, 2, 19), (2, 90)):
            x = random.normal(0.3, 2, shape).astype(kind)
            wide = x.astype(np.float64)
            weight = random.uniform(0.5, 1.5, shape[-1]).astype(kind)
            bias = random.uniform(-1, 1, shape[-1]).astype(kind)
            centred = wide - wide.mean(-1, keepdims=True)
            variance = (centred**2).mean(-1, keepdims=True)
            normal = centred / np.sqrt(variance + 1e-5) * weight.astype(np.float64) + bias
            root = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-6) * weight.astype(np.float64)
            out.append(case("layer_norm", dtype, 64, [x, weight, bias], normal.astype(kind), [("f64", 1e-5)]))
            out.append(case("rms_norm", dtype, 16, [x, weight], root.astype(kind), [("f64", 1e-6)]))
            for axis in (0, len(shape) - 1):
                scaled = (x * 10).astype(kind)
                wide10 = scaled.astype(np.float64)
                out.append(case("softmax", dtype, 64, [scaled],
                                scipy.special.softmax(wide10, axis).astype(kind), [("i64", axis)]))
                out.append(case("log_softmax", dtype, 64, [scaled],
                                scipy.special.log_softmax(wide10, axis).astype(kind), [("i64", axis)]))
                out.append(case("logsumexp", dtype, 16, [scaled],
                                scipy.special.logsumexp(wide10, axis).astype(kind),
                                [("i64", axis), ("boolean", 0)]))
        extreme = np.array([[1000, 1000, 0], [-1000, -1000, -1000], [np.inf, 0, 1], [-np.inf, 0, 0]], kind)
        with np.errstate(invalid="ignore"):
            out.append(case("softmax", dtype, 8, [extreme],
                            scipy.special.softmax(extreme.astype(np.float64), 1).astype(kind), [("i64", 1)]))
    return "".join(out)


def scans(random):
    out = []
    functions = {"cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum,
                 "cummin": np.minimum, "logcumsumexp": np.logaddexp}
    for dtype in ("f32", "f64", "i32", "i64"):
        kind = NUMPY[dtype]
        is_float = kind in (np.float32, np.float64)
        for shape, axis in (((19,), 0), ((5, 19), 1), ((5, 19), 0), ((3, 9, 4), 1), ((2, 140), 1)):
            for op, function in functions.items():
                if op == "logcumsumexp" and not is_float:
                    continue
                for reverse in (0, 1) if op not in ("cummax", "cummin") else (0,):
                    x = random.normal(0, 1.2, shape) if is_float else random.integers(-9, 9, shape)
                    x = x.astype(kind)
                    wide = x.astype(np.float64) if is_float else x
                    turned = np.flip(wide, axis) if reverse else wide
                    y = function.accumulate(turned, axis=axis)
                    y = (np.flip(y, axis) if reverse else y).astype(kind)
                    params = [("i64", axis)]
                    if op not in ("cummax", "cummin"):
                        params.append(("boolean", reverse))
                    ulps = 0 if op in ("cummax", "cummin") or not is_float else 8
                    out.append(case(op, dtype, ulps, [x], y, params))
        if is_float:
            x = np.array([[1, np.nan, 3, -4], [2, -np.inf, np.inf, 1], [0.0, -1, 0.0, -1]], kind)
            for op, function in functions.items():
                y = function.accumulate(x.astype(np.float64), axis=1).astype(kind)
                params = [("i64", 1)] + ([("boolean", 0)] if op not in ("cummax", "cummin") else [])
                out.append(case(op, dtype, 4, [x], y, params))
    return "".join(out)


def decompositions(random):
    out = []
    for dtype in ("f32", "f64"):
        kind = NUMPY[dtype]
        for shape in ((1, 1), (3, 3), (2, 5, 5), (11, 11), (7, 4), (4, 7)):
            m, n = shape[-2:]
            x = random.normal(0, 1, shape)
            if m == n:
                x += 3 * np.sqrt(n) * np.eye(n)
            x = x.astype(kind)
            wide = x.astype(np.float64)
            packed, pivots = zip(*[scipy.linalg.lu_factor(one) if m == n else (None, None)
                                   for one in wide.reshape(-1, m, n)])
            # Householder's signs are those of LAPACK.
            out.append(case("qr", dtype, 200, [x], np.linalg.qr(wide)[0].astype(kind), [("boolean", 1)]))
            out.append(case("pinv", dtype, 400, [x], np.linalg.pinv(wide).astype(kind), [("f64", 1e-6)]))
            if m != n:
                continue
            b = random.normal(0, 1, (*shape[:-1], 3)).astype(kind)
            symmetric = (wide + np.swapaxes(wide, -1, -2)).astype(kind)
            positive = symmetric.astype(np.float64)
            out.append(case("lu_factor", dtype, 100, [x], np.stack(packed).reshape(shape).astype(kind)))
            out.append(case("det", dtype, 400, [x], np.linalg.det(wide).astype(kind)))
            out.append(case("solve", dtype, 100, [x, b], np.linalg.solve(wide, b.astype(np.float64)).astype(kind)))
            out.append(case("cholesky", dtype, 60, [symmetric], np.linalg.cholesky(positive).astype(kind)))
            out.append(case("eigh", dtype, 100, [symmetric], np.linalg.eigvalsh(positive).astype(kind)))
            triangle = np.tril(wide)
            for upper in (0, 1):
                solution = np.linalg.solve(triangle if not upper else np.triu(wide), b.astype(np.float64))
                out.append(case("triangular_solve", dtype, 100, [x, b], solution.astype(kind),
                                [("boolean", upper), ("boolean", 0)]))
    return "".join(out)


def fourier(random):
    out = []
    for dtype in ("f32", "f64"):
        kind = NUMPY[dtype]
        for n in (1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 16, 17, 30, 37, 64, 120, 143):
            re, im = random.normal(0, 1, (2, 1, n)).astype(kind)
            wide = re.astype(np.float64) + 1j * im.astype(np.float64)
            out.append(case("fft", dtype, 24, [re, im], np.fft.fft(wide).real.astype(kind),
                            [("i64", 1), ("boolean", 0)]))
            out.append(case("fft", dtype, 24, [re, im], (n * np.fft.ifft(wide)).real.astype(kind),
                            [("i64", 1), ("boolean", 1)]))
            out.append(case("rfft", dtype, 24, [re], np.fft.rfft(wide.real).real.astype(kind), [("i64", 1)]))
            bins = n // 2 + 1
            half = wide[:, :bins]
            out.append(case("irfft", dtype, 24, [re[:, :bins], im[:, :bins]],
                            (n * np.fft.irfft(half, n)).astype(kind), [("i64", 1), ("i64", n)]))
    return "".join(out)


def call(name, inputs, outputs, **params):
    """One call of a function that is no single op: several results, parameters by name."""
    lines = [f"case {name}"]
    for key, value in params.items():
        values = value if isinstance(value, (list, tuple)) else [value]
        words = (x if isinstance(x, str) else element(x) for x in values)
        lines.append(f"param {key} " + " ".join(words))
    lines += [array_text("input", array) for array in inputs]
    lines += [array_text("output", array) for array in outputs]
    return "\n".join(lines) + "\n"


def order_statistics(random):
    out = []
    for shape in ((7,), (4, 9), (1,), (3, 10)):
        x = random.normal(size=shape)
        for method in ("linear", "lower", "higher", "midpoint", "nearest"):
            q = [0.0, 0.1, 0.25, 0.5, 0.61, 0.9, 1.0]
            out.append(call("quantile", [x], [np.quantile(x, q, axis=-1, method=method)],
                            q=q, method=method))
    for shape in ((20,), (4, 5, 3), (1,)):
        x = random.integers(-4, 5, size=shape)
        values, first, inverse, counts = np.unique(
            x, return_index=True, return_inverse=True, return_counts=True)
        out.append(call("unique", [x], [values, first, inverse.reshape(shape), counts]))
        out.append(call("argwhere", [x], [np.argwhere(x)]))
    row = np.sort(random.integers(-9, 9, size=12)).astype(np.float64)
    values = random.integers(-11, 11, size=(3, 8)).astype(np.float64)
    for side in ("left", "right"):
        out.append(call("searchsorted", [row, values], [np.searchsorted(row, values, side)],
                        right=side == "right"))
    numbers = random.integers(0, 9, size=30)
    weights = random.normal(size=30)
    out.append(call("bincount", [numbers], [np.bincount(numbers, minlength=12)], least=12))
    out.append(call("bincount", [numbers, weights], [np.bincount(numbers, weights)], least=0))
    x = random.normal(size=200)
    for bins in (1, 5, 17):
        out.append(call("histogram", [x], np.histogram(x, bins), bins=bins))
        out.append(call("histogram", [x], np.histogram(x, bins, (-1, 2)), bins=bins,
                        low=-1.0, high=2.0))
    edges = np.array([-2, -0.5, 0, 0.25, 3])
    out.append(call("histogram_by_edges", [x, edges], [np.histogram(x, edges)[0]]))
    return "".join(out)


def vision(random):
    out = []
    modes = {"constant": "constant", "nearest": "replicate", "reflect": "reflect",
             "mirror": "reflect101", "wrap": "wrap"}
    kernels = (np.ones((3, 3), bool), np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], bool),
               np.array([[1, 1], [0, 1]], bool), np.array([[1, 0, 1, 1, 1]], bool))
    for kernel in kernels:
        for mode, border in modes.items():
            x = random.normal(size=(6, 7))
            for name, function in (("erode", scipy.ndimage.minimum_filter),
                                   ("dilate", scipy.ndimage.maximum_filter)):
                y = function(x, footprint=kernel, mode=mode, cval=0.25)
                out.append(call(name, [x, kernel], [y], border=border, value=0.25))
    for density in (0.3, 0.5, 0.7):
        image = random.random((9, 11)) < density
        for neighbours, structure in (
                (4, scipy.ndimage.generate_binary_structure(2, 1)), (8, np.ones((3, 3), int))):
            labels, count = scipy.ndimage.label(image, structure, output=np.int64)
            boxes = scipy.ndimage.find_objects(labels)
            area = np.bincount(labels.ravel())[1:]
            stats = np.array([[size, b[0].start, b[1].start, b[0].stop - 1, b[1].stop - 1]
                              for size, b in zip(area, boxes)])
            out.append(call("components", [image], [labels, stats, np.array(count)],
                            neighbours=neighbours))
    for threshold in (0.2, 0.5, 0.8):
        corner = random.uniform(0, 10, size=(40, 2))
        boxes = np.concatenate([corner, corner + random.uniform(1, 6, size=(40, 2))], 1)
        scores = random.random(40)
        for inclusive in (False, True):
            out.append(call("nms", [boxes, scores],
                            [suppressed(boxes, scores, threshold, 0.1, inclusive)],
                            iou=threshold, score=0.1, inclusive=inclusive))
    return "".join(out)


def suppressed(boxes, scores, iou_threshold, score_threshold, inclusive):
    """Greedy suppression by the matrix of all overlaps."""
    border = 1.0 if inclusive else 0.0
    low = np.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    both = np.prod(np.maximum(high - low + border, 0), axis=2)
    area = np.prod(boxes[:, 2:] - boxes[:, :2] + border, axis=1)
    overlaps = both / (area[:, None] + area[None, :] - both) > iou_threshold
    alive = scores >= score_threshold
    kept = []
    for i in np.argsort(-scores, kind="stable"):
        if alive[i]:
            kept.append(i)
            alive &= ~overlaps[i]
    return np.array(kept, np.int64)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    with np.errstate(all="ignore"):
        for name, make in (("elementwise", elementwise), ("inverses", inverses),
                           ("reductions", reductions), ("norms", norms), ("scans", scans),
                           ("decompositions", decompositions), ("fourier", fourier),
                           ("order_statistics", order_statistics), ("vision", vision)):
            text = make(np.random.default_rng(7))
            (FOLDER / f"{name}.txt").write_text(text)
            print(f"{name}: {len(text)} bytes")


if __name__ == "__main__":
    main()
