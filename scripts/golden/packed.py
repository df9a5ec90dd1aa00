#!/usr/bin/env python3
"""Writes tests/golden/packed.txt: blocks of the packed dtypes, and their elements.

    block <dtype> <bytes in hexadecimal digits> <bits of the elements, 8 digits each>
    blocks <dtype> <bytes> <hash>

The hash is FNV-1a of 64 bits over the little-endian bits of the elements. Elements are what the
Python package gguf gives, in the version of requirements-test.txt, and for formats that it cannot
decode what their definition gives in NumPy's f32. Blocks are random bytes with finite scales, of
which some are extreme, and for formats with a codebook as many as name all of its entries. Run it
with NumPy and gguf; the file is checked in.
"""

import pathlib

import numpy as np
from gguf import GGMLQuantizationType, quants

PATH = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "golden" / "packed.txt"
F = np.float32

# Elements and bytes of a block, and where halves of scale and least value are.
FORMATS = {
    "q1_0": (128, 18, [0]), "q2_0": (64, 18, [0]), "q4_0": (32, 18, [0]), "q4_1": (32, 20, [0, 2]),
    "q5_0": (32, 22, [0]), "q5_1": (32, 24, [0, 2]), "q8_0": (32, 34, [0]), "q8_1": (32, 36, [0, 2]),
    "q2_k": (256, 84, [80, 82]), "q3_k": (256, 110, [108]), "q4_k": (256, 144, [0, 2]),
    "q5_k": (256, 176, [0, 2]), "q6_k": (256, 210, [208]), "q8_k": (256, 292, []),
    "iq4_nl": (32, 18, [0]), "iq4_xs": (256, 136, [0]), "iq1_s": (256, 50, [0]),
    "iq1_m": (256, 56, []), "iq2_xxs": (256, 66, [0]), "iq2_xs": (256, 74, [0]),
    "iq2_s": (256, 82, [0]), "iq3_xxs": (256, 98, [0]), "iq3_s": (256, 110, [0]),
    "mxfp4": (32, 17, []), "nvfp4": (64, 36, []), "tq1_0": (256, 54, [52]), "tq2_0": (256, 66, [64]),
    "affine6": (32, 32, []), "affine8": (32, 40, []),
}
# Half 0, -0, 1, -1, the smallest, the largest subnormal, the smallest normal, the largest and least.
EXTREMES = [0x0000, 0x8000, 0x3c00, 0xbc00, 0x0001, 0x03ff, 0x0400, 0x7bff, 0xfbff]


def halves(words):
    return np.ascontiguousarray(words).view(np.float16).astype(F)


def by_definition(dtype, blocks):
    """Elements of a format that the package has not."""
    if dtype == "q1_0":
        bits = np.unpackbits(blocks[:, 2:], axis=1, bitorder="little")
        return np.where(bits == 1, F(1), F(-1)) * halves(blocks[:, :2])
    if dtype == "q2_0":
        pairs = (blocks[:, 2:, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
        return (pairs.reshape(len(blocks), -1).astype(F) - F(1)) * halves(blocks[:, :2])
    if dtype == "q8_1":
        return blocks[:, 4:].view(np.int8).astype(F) * halves(blocks[:, :2])
    if dtype.startswith("affine"):
        step, offset = np.ascontiguousarray(blocks[:, :8]).view("<f4").T[:, :, None]
        if dtype == "affine8":
            return (blocks[:, 8:].astype(F) - F(128)) * step + offset
        pairs = (blocks[:, 8:16, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
        nibbles = np.concatenate([blocks[:, 16:] & 15, blocks[:, 16:] >> 4], axis=1)
        return (pairs.reshape(len(blocks), -1) * 16 + nibbles).astype(F) * step + offset
    return blocks[:, 4:260].view(np.int8).astype(F) * np.ascontiguousarray(blocks[:, :4]).view(F)


def decoded(dtype, blocks):
    """Elements in f32, a row a block."""
    with np.errstate(all="ignore"):
        if dtype in ("q1_0", "q2_0", "q8_1", "q8_k", "affine6", "affine8"):
            elements = by_definition(dtype, blocks)
        else:
            elements = quants.dequantize(blocks, GGMLQuantizationType[dtype.upper()])
    elements = elements.astype(F).reshape(len(blocks), FORMATS[dtype][0])
    assert not np.isnan(elements).any()
    return elements


def set_quarters(blocks, words):
    """The half of iq1_m, 4 bits in each of the last four pairs."""
    for i in range(4):
        blocks[:, 49 + 2 * i] = (blocks[:, 49 + 2 * i] & 15) | (((words >> (4 * i)) & 15) << 4)


def set_scales(dtype, blocks, words):
    """Halves, a row a block: the same for the least value, turned by one."""
    for i, at in enumerate(FORMATS[dtype][2]):
        blocks[:, at:at + 2] = np.roll(words, i).astype("<u2").reshape(-1, 1).view(np.uint8)
    if dtype == "iq1_m":
        set_quarters(blocks, words)
    if dtype.startswith("affine"):
        blocks[:, 4:8] = halves(np.roll(words, 1).astype(np.uint16)).reshape(-1, 1).view(np.uint8)
    if dtype == "q8_k" or dtype.startswith("affine"):
        blocks[:, :4] = halves(words.astype(np.uint16)).reshape(-1, 1).view(np.uint8)


def random_blocks(random, dtype, count):
    """Random bytes, the scales around 1."""
    blocks = random.integers(0, 256, (count, FORMATS[dtype][1]), np.uint8)
    words = random.integers(0x2000, 0x4400, count) | (random.integers(0, 2, count) << 15)
    set_scales(dtype, blocks, words)
    return blocks


def extreme_blocks(random, dtype):
    """Random codes with extreme scales, then all bits of codes 0, and 1."""
    blocks = random_blocks(random, dtype, len(EXTREMES))
    set_scales(dtype, blocks, np.array(EXTREMES))
    if dtype == "mxfp4":
        blocks[:, 0] = [0, 1, 2, 3, 126, 127, 128, 254, 255]
    if dtype == "nvfp4":
        scales = [0, 1, 7, 8, 9, 0x38, 0x7e, 0x7f, 0x80, 0x81, 0xfe, 0xff]
        blocks[:, :4] = np.array(scales * 3).reshape(9, 4)
    plain = np.zeros((2, FORMATS[dtype][1]), np.uint8)
    plain[1] = 255
    set_scales(dtype, plain, np.array([0x3c00, 0x3c01]))
    return np.concatenate([blocks, plain])


def codebook_blocks(random, dtype):
    """Blocks that name every entry once."""
    entries = {"iq1_s": 2048, "iq1_m": 2048, "iq2_xxs": 256, "iq2_xs": 512, "iq2_s": 1024,
               "iq3_xxs": 256, "iq3_s": 512}.get(dtype)
    if entries is None:
        return None
    each = 64 if dtype.startswith("iq3") else 32  # entries that a block names
    blocks = random_blocks(random, dtype, entries // each)
    named = np.arange(entries).reshape(-1, each)
    low, high = (named & 255).astype(np.uint8), (named >> 8).astype(np.uint8)
    if dtype == "iq1_s":
        blocks[:, 2:34] = low
        pairs = np.ascontiguousarray(blocks[:, 34:50]).view("<u2") & 0xf000
        for i in range(4):
            pairs |= high[:, i::4].astype(np.uint16) << (3 * i)
        blocks[:, 34:50] = pairs.view(np.uint8)
    elif dtype == "iq1_m":
        blocks[:, :32] = low
        blocks[:, 32:48] = (blocks[:, 32:48] & 0x88) | high[:, ::2] | (high[:, 1::2] << 4)
    elif dtype == "iq2_xxs":
        blocks[:, (2 + 8 * np.arange(8)[:, None] + np.arange(4)).ravel()] = low
    elif dtype == "iq2_xs":
        blocks[:, 2:66:2] = low
        blocks[:, 3:67:2] = (blocks[:, 3:67:2] & 0xfe) | high
    elif dtype == "iq2_s":
        blocks[:, 2:34] = low
        blocks[:, 66:74] = sum(high[:, i::4] << (2 * i) for i in range(4))
    else:
        blocks[:, 2:66] = low
        if dtype == "iq3_s":
            blocks[:, 66:74] = np.packbits(high, axis=1, bitorder="little")
    return blocks


def fnv1a(values):
    result = 0xcbf29ce484222325
    for byte in values.astype("<f4").tobytes():
        result = ((result ^ byte) * 0x100000001b3) % 2**64
    return result


def main():
    random = np.random.default_rng(127)
    lines = []

    def hashed(dtype, blocks):
        lines.append(f"blocks {dtype} {blocks.tobytes().hex()} {fnv1a(decoded(dtype, blocks)):016x}")

    for dtype, (elements, _, _) in FORMATS.items():
        for block in random_blocks(random, dtype, max(1, 64 // elements)):
            bits = decoded(dtype, block[None]).view(np.uint32).ravel()
            lines.append(f"block {dtype} {block.tobytes().hex()} {''.join(f'{x:08x}' for x in bits)}")
        hashed(dtype, random_blocks(random, dtype, 4))
        hashed(dtype, extreme_blocks(random, dtype))
        blocks = codebook_blocks(random, dtype)
        if blocks is not None:
            hashed(dtype, blocks)
    PATH.write_text("\n".join(lines) + "\n")
    print(f"{PATH.name}: {len(lines)} lines, {PATH.stat().st_size} bytes")


if __name__ == "__main__":
    main()
