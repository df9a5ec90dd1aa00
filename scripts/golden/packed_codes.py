#!/usr/bin/env python3
"""Writes tests/golden/packed_codes.txt: rows of floats, and what ggml makes of them.

usage: scripts/golden/packed_codes.py LIBRARY

    row <name> <bits of the values, 8 hexadecimal digits each>
    importance <bits of a weight for each element of a row>
    codes <dtype> <row> <0 or 1: with importance> <bytes of the blocks in hexadecimal digits>
    error <dtype> <row> <0 or 1> <sum of weight * squared difference>

`codes` are of formats that Hearth encodes to the same bytes, those that ggml has not by their
definition, `error` of those for which it has a search of its own; without importance the weights are 1, also for ggml, which refuses some formats
without. LIBRARY is a libggml-base.so of 2026, which was compiled for x86-64 without contraction
(-O2, no -march). Run it with NumPy; the file is checked in.
"""

import ctypes
import pathlib
import sys

import numpy as np

PATH = pathlib.Path(__file__).resolve().parent.parent.parent / "tests/golden/packed_codes.txt"
ELEMENTS = 256

# Number in ggml, elements and bytes of a block.
SAME = {
    "q1_0": (41, 128, 18), "q2_0": (42, 64, 18), "q4_0": (2, 32, 18), "q4_1": (3, 32, 20),
    "q5_0": (6, 32, 22), "q5_1": (7, 32, 24), "q8_0": (8, 32, 34), "q8_1": (9, 32, 36),
    "q2_k": (10, 256, 84), "q3_k": (11, 256, 110), "q4_k": (12, 256, 144), "q5_k": (13, 256, 176),
    "q6_k": (14, 256, 210), "q8_k": (15, 256, 292), "iq4_nl": (20, 32, 18),
    "iq4_xs": (23, 256, 136), "mxfp4": (39, 32, 17), "nvfp4": (40, 64, 36),
    "tq1_0": (34, 256, 54), "tq2_0": (35, 256, 66),
}
SOUGHT = {
    "iq1_s": (19, 256, 50), "iq1_m": (29, 256, 56), "iq2_xxs": (16, 256, 66),
    "iq2_xs": (17, 256, 74), "iq2_s": (22, 256, 82), "iq3_xxs": (18, 256, 98),
    "iq3_s": (21, 256, 110),
}
WEIGHTED = ["q4_0", "q4_1", "q5_0", "q5_1", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl",
            "iq4_xs"]
# ggml has no function of its table for these.
BY_NAME = {"q8_1": "quantize_row_q8_1_ref", "q8_k": "quantize_row_q8_K_ref"}


def affine_codes(dtype, row):
    """Blocks of 32: codes count from the least value, which with the scale is in f32."""
    values = row.reshape(-1, 32)
    least, most = values.min(1, keepdims=True), values.max(1, keepdims=True)
    top = np.float32(63 if dtype == "affine6" else 255)
    scale = (most - least) / top
    factor = np.where(scale == 0, np.float32(0), np.float32(1) / np.where(scale == 0, np.float32(1), scale))
    codes = np.clip(np.rint((values - least) * factor), 0, top).astype(np.uint8)
    if dtype == "affine8":
        offset = (scale.astype(np.float64) * 128 + least).astype(np.float32)
        return np.hstack([scale.view(np.uint8), offset.view(np.uint8), codes])
    pairs = ((codes >> 4).reshape(-1, 8, 4) << np.array([0, 2, 4, 6], np.uint8)).sum(2).astype(np.uint8)
    nibbles = (codes[:, :16] & 15) | (codes[:, 16:] & 15) << 4
    return np.hstack([scale.view(np.uint8), least.view(np.uint8), pairs, nibbles])


class Reference:
    def __init__(self, path):
        self.library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        self.library.ggml_quantize_chunk.restype = ctypes.c_size_t

    def encoded(self, dtype, row, importance):
        number, elements, size = {**SAME, **SOUGHT}[dtype]
        blocks = np.zeros(ELEMENTS // elements * size, np.uint8)
        values = row.ctypes.data_as(ctypes.c_void_p)
        out = blocks.ctypes.data_as(ctypes.c_void_p)
        count = ctypes.c_int64(ELEMENTS)
        if dtype in BY_NAME:
            getattr(self.library, BY_NAME[dtype])(values, out, count)
        else:
            weights = None if importance is None else importance.ctypes.data_as(ctypes.c_void_p)
            self.library.ggml_quantize_chunk(number, values, out, ctypes.c_int64(0),
                                             ctypes.c_int64(1), count, weights)
        return blocks

    def decoded(self, dtype, blocks):
        out = np.zeros(ELEMENTS, np.float32)
        decode = getattr(self.library, f"dequantize_row_{dtype}")
        decode(blocks.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p),
               ctypes.c_int64(ELEMENTS))
        return out


def rows(random):
    gaussian = random.standard_normal(ELEMENTS) * 0.02
    heavy = random.standard_t(2, ELEMENTS)
    positive = np.abs(random.standard_normal(ELEMENTS)) + 0.3
    # Groups of zeros, of one number, and of halves that are nearly even.
    mixed = random.uniform(-4, 4, ELEMENTS).round(1)
    mixed[:64] = 0
    mixed[64:96] = -0.7
    mixed[96:128:3] = 0
    named = {"gaussian": gaussian, "heavy": heavy, "positive": positive, "mixed": mixed}
    return {name: row.astype(np.float32) for name, row in named.items()}


def digits(array):
    return "".join(f"{word:08x}" for word in array.view(np.uint32))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    reference = Reference(sys.argv[1])
    random = np.random.default_rng(171)
    values = rows(random)
    importance = np.exp(random.standard_normal(ELEMENTS)).astype(np.float32)
    ones = np.ones(ELEMENTS, np.float32)
    lines = [f"row {name} {digits(row)}" for name, row in values.items()]
    lines.append(f"importance {digits(importance)}")
    for name, row in values.items():
        for dtype in SAME:
            for weighted in (0, 1) if dtype in WEIGHTED else (0,):
                blocks = reference.encoded(dtype, row, importance if weighted else None)
                lines.append(f"codes {dtype} {name} {weighted} {blocks.tobytes().hex()}")
        for dtype in ("affine6", "affine8"):
            lines.append(f"codes {dtype} {name} 0 {affine_codes(dtype, row).tobytes().hex()}")
        for dtype in SOUGHT:
            for weighted, weights in enumerate((ones, importance)):
                decoded = reference.decoded(dtype, reference.encoded(dtype, row, weights))
                difference = row.astype(np.float64) - decoded
                error = float((weights * difference**2).sum())
                lines.append(f"error {dtype} {name} {weighted} {error:.6g}")
    PATH.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
