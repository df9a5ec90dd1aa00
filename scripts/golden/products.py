#!/usr/bin/env python3
"""Writes tests/golden/products.txt: what PyTorch gives for matmul, linear, einsum and their like,
with gradients; rows.py says how.

Of halves, the gradient of an operand that broadcasts is a sum of matrices that were rounded, and so
is each product of an einsum of more than two operands. Run it with PyTorch 2 for the CPU; the file
is checked in.
"""

import math

import numpy as np
import torch

from rows import Rows

ROWS = Rows("products", 61)

EINSUMS = (
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,kj", (3, 4), (5, 4)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bij,bjk->kib", (2, 3, 4), (2, 4, 5)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bqhd,bkhd->bhqk", (2, 4, 3, 5), (2, 6, 3, 5)),
    ("i,i->", (7,), (7,)),
    ("i,j->ij", (4,), (3,)),
    ("i,j->ji", (4,), (3,)),
    ("ij->ji", (3, 5)),
    ("ij->", (3, 5)),
    ("ij->j", (3, 5)),
    ("ii->i", (4, 4)),
    ("ii", (4, 4)),
    ("iij->ji", (3, 3, 4)),
    ("iji->j", (3, 4, 3)),
    ("ba", (3, 4)),
    ("...ij->...ji", (2, 3, 4, 5)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (3, 4, 2)),
    ("...i,...i->...", (2, 3, 5), (3, 5)),
    ("i...,i...->...", (5, 2, 3), (5, 3)),
    ("b...d,d->b...", (2, 3, 4), (4,)),
    ("ij,ij->ij", (3, 4), (3, 4)),
    ("ij,ij->i", (3, 4), (3, 4)),
    ("ij,j->ij", (3, 4), (4,)),
    ("ij,kl->ikjl", (2, 3), (3, 2)),
    ("ij,kl->il", (2, 3), (3, 2)),
    ("ij,ji->", (3, 4), (4, 3)),
    ("iij,jk->ik", (3, 3, 4), (4, 2)),
    ("ab,cab->cb", (3, 4), (2, 3, 4)),
    ("abc,bd->adc", (2, 3, 4), (3, 5)),
    ("abcd,cdef->abef", (2, 2, 3, 2), (3, 2, 2, 3)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("i,ij,j->", (3,), (3, 4), (4,)),
    ("bi,bj,bk->bijk", (2, 2), (2, 3), (2, 2)),
    ("bn,anm,bm->ba", (2, 4), (3, 4, 5), (2, 5)),
    ("ab,bc,cd,de->ae", (2, 3), (3, 2), (2, 4), (4, 3)),
    ("aB,Bc->ac", (2, 3), (3, 4)),
)


def drawn(shapes):
    return [ROWS.numbers(*shape) for shape in shapes]


def broadcasts(*shapes):
    """Whether the leading axes of two operands of matmul differ."""
    return shapes[0][:-2] != shapes[1][:-2]


def matmuls():
    for a, b in (((1, 1), (1, 1)), ((3, 4), (4, 5)), ((1, 7), (7, 3)), ((5, 7), (7, 1)),
                 ((5, 1), (1, 3)), ((17, 3), (3, 19)), ((2, 65), (65, 3)), ((33, 5), (5, 2)),
                 ((4,), (4,)), ((4,), (4, 3)), ((3, 4), (4,)), ((4,), (2, 4, 3)),
                 ((2, 3, 4), (4,)), ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)),
                 ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (3, 4, 2)), ((1, 3, 4), (5, 4, 2)),
                 ((2, 3, 1, 4), (1, 3, 4, 2)), ((3, 2, 2, 2), (2, 2, 2)), ((2, 0), (0, 3)),
                 ((9, 16), (16, 8)), ((16, 31), (31, 17))):
        ROWS.multilinear("matmul", torch.matmul, drawn((a, b)),
                         between_grads=int(broadcasts(a, b)))
    for x, weight in (((3, 4), (5, 4)), ((4,), (2, 4)), ((2, 3, 7), (3, 7)), ((1, 33), (9, 33))):
        for bias in ((), ((weight[0],),)):
            # A bias is added to what may have been rounded.
            ROWS.multilinear("linear", torch.nn.functional.linear, drawn((x, weight, *bias)),
                             between=len(bias))
    for a, b in (((3,), (4,)), ((2, 3), (2, 4)), ((2, 1, 3), (4, 2))):
        ROWS.multilinear("outer", lambda a, b: a[..., :, None] * b[..., None, :], drawn((a, b)))
    for a, b in (((3, 4), (4,)), ((2, 3, 4), (2, 4)), ((2, 3, 4), (4,)), ((5, 3), (2, 1, 3))):
        ROWS.multilinear("matvec", lambda a, b: (a @ b[..., None])[..., 0], drawn((a, b)),
                         between_grads=int(a[:-2] != b[:-1]))
    for a, b, axis in (((3,), (3,), 0), ((2, 3), (2, 3), -1), ((3, 4), (3, 1), 0)):
        cross(a, b, axis)


def cross(a_shape, b_shape, axis):
    """The difference of two products, which may be rounded before."""
    a, b = drawn((a_shape, b_shape))
    ROWS.multilinear("cross", lambda a, b: torch.linalg.cross(*torch.broadcast_tensors(a, b),
                                                              dim=axis),
                     [a, b], between=1, between_grads=1 + int(a_shape != b_shape), axis=axis)


def spoiled():
    """NaN and infinities among the elements: what they reach, and nothing else, is not finite."""
    for shapes, call, function in (
            (((4, 5), (5, 3)), torch.matmul, "matmul"),
            (((19, 33), (33, 17)), torch.matmul, "matmul"),
            (((2, 3, 4), (4,)), torch.matmul, "matmul"),
            (((3, 4), (5, 4)), torch.nn.functional.linear, "linear")):
        a, b = drawn(shapes)
        largest = call(*(torch.from_numpy(abs(each)) for each in (a, b))).max()
        bound = (a.shape[-1] + 2) * float(largest)
        a.ravel()[1], a.ravel()[-1] = math.nan, math.inf
        b.ravel()[2], b.ravel()[-2] = -math.inf, 0.0
        result = call(torch.from_numpy(a), torch.from_numpy(b)).numpy()
        ROWS.row(function, [a, b], [(result, bound, 0)])


def integers():
    """Exact, and wrapped at the ends of the dtype."""
    # Of i64 numbers whose sums doubles hold, which is what tests read.
    for dtype, low, high in ((np.int64, -2**20, 2**20), (np.int32, -2**31, 2**31),
                             (np.int8, -128, 128), (np.uint8, 0, 256)):
        for a, b in (((3, 5), (5, 4)), ((2, 1, 3, 4), (3, 4, 2)), ((7,), (7, 2))):
            x, y = (ROWS.random.integers(low, high, shape).astype(dtype) for shape in (a, b))
            ROWS.row("matmul", [x, y], [(np.matmul(x, y), 0, 0)])
            if len(a) == 2:
                ROWS.row("einsum", [x, y], [(np.einsum("ij,jk->ki", x, y), 0, 0)],
                         subscripts="ij;jk->ki")


def main():
    spoiled()
    integers()
    matmuls()
    for subscripts, *shapes in EINSUMS:
        more = len(shapes) - 2 if len(shapes) > 2 else 0
        wide = int("..." in subscripts)
        ROWS.multilinear("einsum", lambda *arrays: torch.einsum(subscripts, *arrays),
                         drawn(shapes), between=more, between_grads=more + wide,
                         subscripts=subscripts.replace(",", ";"))
    ROWS.write()


if __name__ == "__main__":
    main()
