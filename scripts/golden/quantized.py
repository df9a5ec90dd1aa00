#!/usr/bin/env python3
"""Writes tests/golden/quantized.txt: codes, scales and words of quantized arrays, and the way back;
rows.py says how.

Written in NumPy's f32, of which each operation rounds once, and floats of 8 and 4 bits by listing
all of them; so nothing may differ. Scales are rounded up to what is stored, codes to the nearest
and even. Run it with NumPy; the file is checked in.
"""

import itertools

import numpy as np

from rows import Rows

ROWS = Rows("quantized", 113)
F = np.float32
INTEGERS = {"q8f": (8, -128, 127), "q8s": (8, -127, 127), "q4f": (4, -8, 7), "q4s": (4, -7, 7),
            "q2f": (2, -2, 1), "q2s": (2, -1, 1)}
FLOATS = {"e4m3": (4, 3), "e5m2": (5, 2), "e2m1": (2, 1)}  # bits of exponent and fraction
SCALES = {"f16": (5, 10), "bf16": (8, 7), "ue4m3": (4, 3)}


def listed(name, exponent_bits, fraction_bits):
    """The finite numbers of a float that are not negative, by their codes."""
    bias = 2 ** (exponent_bits - 1) - 1
    codes = range(2 ** (exponent_bits + fraction_bits))
    numbers = []
    for code in codes:
        exponent, fraction = divmod(code, 2**fraction_bits)
        if exponent == 0:
            numbers.append(fraction * 2.0 ** (1 - bias - fraction_bits))
        else:
            numbers.append((1 + fraction / 2**fraction_bits) * 2.0 ** (exponent - bias))
    # e4m3 gives up its last code for NaN, other floats of IEEE the whole last exponent.
    if name in ("e4m3", "ue4m3"):
        numbers.pop()
    elif name != "e2m1":
        numbers = numbers[: -(2**fraction_bits)]
    return np.array(numbers)


def range_of(value):
    if value in INTEGERS:
        return INTEGERS[value][1:]
    largest = listed(value, *FLOATS[value])[-1]
    return -largest, largest


def rounded_up(scales, dtype):
    if dtype == "f32":
        return np.maximum(scales, F(2.0**-126))
    if dtype == "ue8m0":
        numbers = 2.0 ** np.arange(-127.0, 128.0)
    else:
        numbers = listed(dtype, *SCALES[dtype])
        numbers = numbers[numbers >= (2.0**-126 if dtype == "bf16" else 2.0**-30)]
    at = np.minimum(np.searchsorted(numbers, scales.astype(np.float64)), len(numbers) - 1)
    return numbers[at].astype(F)


def coded(ratios, value):
    """Bits of codes, and what these stand for."""
    low, high = range_of(value)
    limited = np.clip(ratios, F(low), F(high))
    if value in INTEGERS:
        numbers = np.rint(limited)
        return numbers.astype(np.int64) % 2 ** INTEGERS[value][0], numbers.astype(F)
    numbers = listed(value, *FLOATS[value])
    codes = np.zeros(limited.shape, np.int64)
    for at in np.ndindex(limited.shape):
        away = np.abs(numbers - abs(float(limited[at])))
        codes[at] = min(range(len(numbers)), key=lambda code: (away[code], code % 2))
    sign = np.signbit(limited)
    return codes + sign * 2 ** sum(FLOATS[value]), (numbers[codes] * np.where(sign, -1, 1)).astype(F)


def packed(codes, bits, dim):
    """Words of 32 bits along an axis counted from the innermost."""
    lines = np.moveaxis(codes, -1 - dim, -1)
    lanes = 32 // bits
    lines = np.pad(lines, [(0, 0)] * (codes.ndim - 1) + [(0, -lines.shape[-1] % lanes)])
    words = lines.reshape(*lines.shape[:-1], -1, lanes)
    words = (words << (bits * np.arange(lanes))).sum(-1)
    return np.moveaxis(words, -1, -1 - dim).astype(np.uint32)


def blocks_of(x, block):
    """[blocks along each axis, elements of one], and how to undo it."""
    sizes = [1] * (x.ndim - len(block)) + list(block) if block else list(x.shape)
    split = [n for extent, size in zip(x.shape, sizes) for n in (extent // size, size)]
    order = [*range(0, 2 * x.ndim, 2), *range(1, 2 * x.ndim, 2)]
    grid = split[0::2]
    spread = x.reshape(split).transpose(order).reshape(*grid, -1)

    def back(y):
        return y.reshape(*grid, *sizes).transpose(np.argsort(order)).reshape(x.shape)

    return spread, back


def quantized(x, value, scale="f32", block=None, dim=0, mean=False, two_levels=False):
    spread, back = blocks_of(x.astype(F), block)
    magnitudes = np.abs(spread)
    # Means are of a power of 2 of elements that are multiples of 1/16, so exact in any order.
    largest = magnitudes.mean(-1, dtype=np.float64).astype(F) if mean else magnitudes.max(-1)
    low, high = range_of(value)
    scales = F(2) * largest / F(high - low)
    factor = F(1)
    if two_levels:
        top = F(2.0**127) if scale == "ue8m0" else F(listed(scale, *SCALES[scale])[-1])
        factor = np.maximum(scales.max() / top, F(2.0**-126))
        scales = scales / factor
    scales = np.maximum(rounded_up(scales, scale) * factor, F(2.0**-126)).astype(F)
    bits, numbers = coded(spread / scales[..., None], value)
    width = INTEGERS[value][0] if value in INTEGERS else 1 + sum(FLOATS[value])
    results = [scales if block else scales.reshape(1),
               back(numbers).astype(np.int8 if value in INTEGERS else F),
               back(numbers * scales[..., None]), packed(back(bits), width, dim)]
    ROWS.row("quantize", [x], [(each, 0, 0) for each in results], value=value, scale=scale,
             block=block, dim=dim, mean=int(mean), two_levels=int(two_levels))


def floats(*shape):
    """With all the digits of f32."""
    return ROWS.random.standard_normal(shape).astype(F)


def main():
    for value in (*INTEGERS, *FLOATS):
        quantized(ROWS.numbers(3, 7), value)
        quantized(floats(5, 9), value)
        for scale in ("f32", "f16", "bf16", "ue8m0", "ue4m3"):
            quantized(ROWS.numbers(1, 32), value, scale, block=[16])
        quantized(floats(4, 32), value, "f16", block=[2, 16])
        quantized(floats(1, 16, 8), value, "f32", block=[16, 4], dim=1)
        quantized(ROWS.numbers(2, 16), value, "f32", block=[16], mean=True)
        quantized(np.concatenate([np.zeros((1, 16)), ROWS.numbers(1, 16)]), value, block=[16])
    for value, scale in itertools.product(("e2m1", "q4s"), ("ue4m3", "f16")):
        quantized(floats(3, 32), value, scale, block=[16], two_levels=True)
    ROWS.write()


if __name__ == "__main__":
    main()
