"""The weights of tiny models, made by a formula instead of being stored.

tests/models/golden_weights.h is the same formula in C++. Element i of a tensor is

    h = splitmix64(fnv1a(name) + i)          # the name as the files have it, in UTF-8
    u = ((h >> 40) - 2^23) / 2^23            # -1 <= u < 1
    value = f32(base + scale * u)            # in f64, rounded once

Bases and scales have few bits (`short`), so the sum is exact before it is rounded.
"""

import math

import numpy

MASK = (1 << 64) - 1


def fnv1a(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & MASK
    return value


def elements(name, shape, base, scale):
    """The tensor, as a numpy array of f32."""
    count = math.prod(shape)
    z = numpy.arange(count, dtype=numpy.uint64) + numpy.uint64(fnv1a(name))
    z += numpy.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    z ^= z >> numpy.uint64(31)
    u = ((z >> numpy.uint64(40)).astype(numpy.float64) - 2.0**23) / 2.0**23
    return (base + scale * u).astype(numpy.float32).reshape(shape)


def short(value):
    """The nearest number of 8 significant bits."""
    if value == 0:
        return 0.0
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(mantissa * 256), exponent - 8)


def base_and_scale(name, shape, norms_add_one=False, inputs_first=None):
    """What makes every part of a model matter: no norm is 1, no bias is 0, no router has ties, and
    states decay slowly. The rest is of a Case (model_cases.py)."""
    last = name.rpartition(".")[2]
    part = name.removesuffix("." + last).rpartition(".")[2]
    if last == "A_log":
        return -2.0, 1.0
    if last == "dt_bias":
        return -1.0, short(0.3)
    if last in ("D", "layer_scalar", "per_expert_scale") or (len(shape) == 1 and last in ("weight", "scale")):
        if norms_add_one and last == "weight" and "linear_attn" not in name:
            return 0.0, short(0.3)
        return 1.0, short(0.3)
    if last in ("alpha_p", "alpha_n"):  # what an activation has for itself, as the next two
        return 0.0, 1.0
    if last in ("beta", "eps"):
        return 0.5 if last == "beta" else -0.5, short(0.3)
    if last == "sinks":
        return 0.0, 1.0
    if last.endswith("bias"):
        return 0.0, short(0.2)
    if "embed" in name or part in ("wte", "wpe"):
        return 0.0, short(math.sqrt(3 / shape[-1]))
    is_inputs_first = inputs_first is not None and inputs_first in name
    fan_in = shape[-2] if is_inputs_first else math.prod(shape[1:]) if "conv1d" in name else shape[-1]
    is_router = part in ("gate", "router") or ".router." in name
    return 0.0, short(math.sqrt(3 / fan_in) * (3 if is_router else 1))
