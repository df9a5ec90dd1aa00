#!/usr/bin/env python3
"""Writes tests/golden/ropes.txt: rotary positions, written out in f64 with NumPy; rows.py says how.

Rows of rope are of f32 and halves, whose angles are exact to their precision, and again of f64,
whose frequencies may be sums of two f32: of 2^-48 of themselves, as angles then are. Rows of
frequencies have their logarithms, so that all are compared relative to themselves.
The rules are those of: Su et al. 2021 (rope), Llama 3.1 (llama3), Peng et al. 2023 (yarn, as in
the Transformers library). Run it with NumPy; the file is checked in.
"""

import math

import numpy as np

from rows import Rows, weights

ROWS = Rows("ropes", 59)
PAIR = 2.0**-48 / 2.0**-53  # of two f32, in units of f64


def plain(dims, base):
    return base ** (-2.0 * np.arange(dims // 2) / dims)


def linear(dims, base, factor, **_):
    return plain(dims, base) / factor


def llama3(dims, base, factor, original_length=8192, low_frequency_factor=1.0,
           high_frequency_factor=4.0):
    out = []
    for frequency in plain(dims, base):
        turns = original_length * frequency / (2 * math.pi)
        if turns > high_frequency_factor:
            out.append(frequency)
        elif turns < low_frequency_factor:
            out.append(frequency / factor)
        else:
            smooth = (turns - low_frequency_factor) / (high_frequency_factor - low_frequency_factor)
            out.append((1 - smooth) * frequency / factor + smooth * frequency)
    return np.array(out)


def yarn(dims, base, factor, original_length=8192, beta_fast=32.0, beta_slow=1.0, truncate=1):
    def pair_of(turns):
        return dims * math.log(original_length / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = pair_of(beta_fast), pair_of(beta_slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dims - 1)
    if low == high:
        high += 0.001
    slowed = np.clip((np.arange(dims // 2) - low) / (high - low), 0, 1)
    return plain(dims, base) * (slowed / factor + 1 - slowed)


def frequencies(kind, dims, base=10000.0, divisors=None, **options):
    rule = {"none": plain, "linear": linear, "llama3": llama3, "yarn": yarn}[kind]
    found = rule(dims, base, **options)
    inputs = []
    if divisors is not None:
        found, inputs = found / divisors, [divisors.astype(np.float32)]
    logs = np.log(found)
    ROWS.row("rope_frequencies", inputs, [(logs, 4 * PAIR + 4 * float(abs(logs).max()), 0.0)],
             kind=kind, dims=dims, base=base, **options)


def turned(x, angles, dims, interleaved, magnitude, back=False):
    """x [batch, heads, rows, columns] by angles [batch, rows, pairs]."""
    turn = angles[:, None] * (-1 if back else 1)
    cos, sin = magnitude * np.cos(turn), magnitude * np.sin(turn)
    half = dims // 2
    first = slice(0, dims, 2) if interleaved else slice(0, half)
    second = slice(1, dims, 2) if interleaved else slice(half, dims)
    out = x.copy()
    out[..., first] = x[..., first] * cos - x[..., second] * sin
    out[..., second] = x[..., second] * cos + x[..., first] * sin
    return out


def axis_of(pair, sections, mixed):
    """Which of the positions a pair takes."""
    if mixed:
        axis = pair % len(sections)
        return axis if pair < len(sections) * sections[axis] else 0
    return int(np.searchsorted(np.cumsum(sections), pair, side="right"))


def rope(shape, base=10000.0, interleaved=0, offset=0, dims=None, positions=None, given=None,
         magnitude=1.0, sections=None, mixed=0):
    batch, _, rows, columns = shape
    turning = dims or columns
    steps = plain(turning, base) if given is None else given.astype(np.float64)
    steps = steps.sum(0) if steps.ndim == 2 else steps
    at = np.arange(rows) if positions is None else positions
    if sections is None:
        at = np.broadcast_to(at, (batch, rows))[..., None]
    else:
        axes = [axis_of(pair, sections, mixed) for pair in range(turning // 2)]
        at = np.stack([np.broadcast_to(at[axis], (batch, rows)) for axis in axes], -1)
    angles = (at + offset) * steps
    x = ROWS.numbers(*shape)
    result = turned(x, angles, turning, interleaved, magnitude)
    grad = turned(weights(shape), angles, turning, interleaved, magnitude, back=True)
    inputs, more = [x], []
    for name, each in (("positions", positions), ("frequencies", given)):
        if each is not None:
            inputs.append(each)
            more.append(name)
    for dtypes, share in ((["f32", "f16", "bf16"], 8.0),
                          (["f64"], 8.0 + PAIR * float(abs(angles).max()))):
        largest = share * max(1.0, magnitude)
        ROWS.row("rope", inputs, [(result, 2 * largest * float(abs(x).max()), 0.0)],
                 [(grad, 2 * largest * 3.0, 0.0)], base=base, interleaved=interleaved,
                 offset=offset, dims=dims, magnitude=magnitude, sections=sections, mixed=mixed,
                 more=more or None, dtypes=dtypes)


def main():
    for interleaved in (0, 1):
        rope((2, 2, 3, 8), interleaved=interleaved)
        rope((1, 3, 5, 6), interleaved=interleaved, offset=1000, base=500000.0)
        rope((1, 2, 3, 7), interleaved=interleaved, dims=4, offset=3)
        rope((2, 1, 3, 4), interleaved=interleaved, positions=np.array([5, 0, 131071]))
        rope((2, 2, 3, 4), interleaved=interleaved, offset=2,
             positions=np.array([[7, 8, 9], [0, 4095, 1]]))
        rope((1, 2, 3, 6), interleaved=interleaved, magnitude=1.3125,
             given=np.array([1.0, 0.3, 0.004], np.float32))
    rope((1, 1, 3, 6), given=np.array([[1.0, 0.3, 0.004], [0.0, 1e-9, -3e-11]], np.float32),
         offset=77)
    places = np.array([[3, 4, 900], [1, 2, 5], [8, 70, 9]])
    rope((2, 2, 3, 12), positions=places, sections=[2, 1, 3])
    rope((2, 2, 3, 12), positions=places, sections=[2, 2, 2], mixed=1)
    rope((1, 1, 3, 16), positions=places, sections=[4, 2, 2], mixed=1)
    rope((1, 1, 1, 2), offset=2**24 + 1)
    for dims, base in ((2, 10000.0), (8, 10000.0), (64, 500000.0)):
        frequencies("none", dims, base)
        frequencies("linear", dims, base, factor=3.0)
        frequencies("llama3", dims, base, factor=8.0)
        frequencies("yarn", dims, base, factor=4.0, original_length=4096)
    frequencies("none", 8, divisors=np.array([1.0, 1.5, 2.0, 4.0]))
    frequencies("linear", 8, factor=2.0, divisors=np.array([1.0, 1.5, 2.0, 4.0]))
    frequencies("llama3", 32, 10000.0, factor=5.0, original_length=512, low_frequency_factor=2.0,
                high_frequency_factor=16.0)
    frequencies("yarn", 32, 10000.0, factor=40.0, original_length=4096, beta_fast=20.0,
                beta_slow=3.0)
    frequencies("yarn", 32, 150000.0, factor=32.0, original_length=4096, truncate=0)
    frequencies("yarn", 32, 10000.0, factor=2.0, original_length=64)
    ROWS.write()


if __name__ == "__main__":
    main()
