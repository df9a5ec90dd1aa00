#!/usr/bin/env python3
"""Writes tests/golden/matrices.txt: factorizations, systems of equations and determinants, with
gradients from PyTorch; rows.py says how.

Factors whose signs or order of columns no rule fixes are compared by what they are made for: each
row says in its function's name what of them it has. Matrices are well conditioned unless a row says
otherwise. Bounds are those of backward stable methods: COST n^2 roundings of the norm of the matrix,
times the condition number in what is solved for, once more for each further inverse in a gradient,
and divided by the least gap in vectors of eigenvalues. Halves are computed in f32 and rounded.
Run it with PyTorch 2 for the CPU; the file is checked in.
"""

import math

import numpy as np
import torch

from rows import Rows, weights

ROWS = Rows("matrices", 101)
COST = 8
L = torch.linalg


def general(*shape):
    """Any numbers, and more on the diagonal."""
    x = ROWS.numbers(*shape)
    for i in range(min(shape[-2:])):
        x[..., i, i] += 2.0 * max(shape[-2:])
    return np.minimum(x, 15.9375)


def symmetric(*shape):
    """Symmetric, positive definite, its eigenvalues apart."""
    x = ROWS.numbers(*shape, largest=16)
    x = np.tril(x) + np.swapaxes(np.tril(x, -1), -1, -2)
    for i in range(shape[-1]):
        x[..., i, i] = 2.0 * shape[-1] * 0.5 + 2.0 * i
    return np.minimum(x, 15.9375)


def norm_of(x):
    return max(1.0, float(np.linalg.norm(x, 2, (-2, -1)).max())) if x.size else 1.0


def condition(x):
    return max(1.0, float(np.linalg.cond(x).max())) if x.size else 1.0


def error_of(x, power):
    """Roundings of something of size 1 that conditions enter to this power."""
    return COST * max(x.shape[-2:]) ** 2 * condition(x) ** power


def case(function, call, inputs, error, grad_error=None, between=0, **options):
    """`error`: relative to the largest element of a result. Without `grad_error` no gradients."""
    leaves = [torch.from_numpy(each.copy()).requires_grad_(grad_error is not None)
              for each in inputs]
    results = call(*leaves)
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    found = [each.detach().numpy() for each in results]

    def largest(array):
        finite = np.abs(array[np.isfinite(array)])
        return max(1.0, float(finite.max())) if finite.size else 1.0

    grads = []
    if grad_error is not None:
        total = sum((each * torch.from_numpy(weights(each.shape))).sum() for each in results)
        grads = [each.numpy() for each in torch.autograd.grad(total, leaves)]
    ROWS.row(function, inputs, [(each, error * largest(each), between * largest(each))
                                for each in found],
             [(each, 3 * grad_error * largest(each) * each.shape[-1],
               (between + 1) * 3 * largest(each) * each.shape[-1]) for each in grads], **options)


def lower_grad(x):
    """A symmetric matrix of its lower triangle, which is what has the gradient."""
    return torch.tril(x) + torch.tril(x, -1).mT


def solutions():
    for a, b in (((1, 1), (1, 2)), ((3, 3), (3, 4)), ((5, 5), (5,)), ((2, 4, 4), (2, 4, 3)),
                 ((4, 4), (2, 4, 1)), ((3, 1, 2, 2), (2, 2, 3)), ((17, 17), (17, 2))):
        x = general(*a)
        case("solve", lambda a, b: L.solve(a, b) if b.ndim > 1 else
             L.solve(a, b[:, None])[:, 0], [x, ROWS.numbers(*b)], error_of(x, 1), error_of(x, 2))
        for upper in (0, 1):
            for unit in (0, 1):
                y = general(*a)
                y = y / 16 if unit else y  # the triangle alone is read: off the diagonal below 1
                y = np.round(y * 16) / 16
                t = np.triu(y) if upper else np.tril(y)
                if unit:
                    t[..., range(a[-1]), range(a[-1])] = 1.0
                case("triangular_solve", lambda a, b: L.solve_triangular(
                    a, b if b.ndim > 1 else b[:, None], upper=bool(upper),
                    unitriangular=bool(unit)).reshape(
                        torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + b.shape[-2:]
                        if b.ndim > 1 else b.shape),
                     [y, ROWS.numbers(*b)], error_of(t, 1), error_of(t, 2), upper=upper, unit=unit)
    for shape in ((1, 1), (2, 2), (5, 5), (2, 3, 3), (9, 9)):
        x = general(*shape)
        case("inverse", L.inv, [x], error_of(x, 1), error_of(x, 2))
        size = float(np.abs(np.linalg.det(x)).max())
        case("slogdet", L.slogdet, [x], error_of(x, 1) + math.log(size) * 4, error_of(x, 2))
        if size < 6e4:
            case("det", L.det, [x], error_of(x, 1), error_of(x, 2))
        power = ROWS.numbers(*shape, largest=8)
        for exponent in (0, 1, 3):
            case("matrix_power", lambda a: L.matrix_power(a, exponent), [power],
                 error_of(np.eye(shape[-1]), 0) * shape[-1] ** 3, exponent=exponent,
                 between=0 if exponent < 2 else shape[-1])
    for x in (np.zeros((2, 2)), np.array([[1.0, 2.0], [2.0, 4.0]]), np.zeros((0, 0))):
        case("det", L.det, [x], 1.0)


def triangles():
    for shape in ((1, 1), (3, 3), (2, 4, 4), (8, 8), (17, 17)):
        x = symmetric(*shape)
        case("cholesky", lambda a: L.cholesky(lower_grad(a)), [x], error_of(x, 1), error_of(x, 2))
    bad = symmetric(3, 3)
    bad[1, 1] = -1.0
    ROWS.row("cholesky", [bad], [(np.full((3, 3), math.nan), 0, 0)])
    for shape in ((1, 1), (3, 3), (5, 3), (3, 5), (2, 4, 2), (9, 9)):
        x = general(*shape)
        # q r, q^T q, and the magnitudes of r, whose rows may have any sign.
        k = min(shape[-2:])
        case("qr_products", lambda a: (a, torch.eye(k, dtype=a.dtype).expand(*a.shape[:-2], k, k),
                                       L.qr(a)[1].abs()), [x], error_of(x, 1), between=3)


def signs(columns):
    """Those of the element of largest magnitude of each column, [..., 1, columns]."""
    at = columns.detach().abs().argmax(-2, keepdim=True)
    return torch.gather(columns.detach(), -2, at).sign()


def spectra():
    for shape in ((1, 1), (3, 3), (2, 4, 4), (7, 7)):
        x = symmetric(*shape)
        gap = float(np.diff(np.linalg.eigvalsh(x)).min()) if shape[-1] > 1 else 1.0
        largest = norm_of(x) / gap
        case("eigvalsh", lambda a: L.eigvalsh(lower_grad(a)), [x], error_of(x, 0),
             error_of(x, 0) * largest)

        def values_and_vectors(a):
            w, v = L.eigh(lower_grad(a))
            return w, v * signs(v)

        case("eigh", values_and_vectors, [x], error_of(x, 0) * largest,
             error_of(x, 0) * largest**2)
    for shape in ((1, 1), (4, 4), (5, 3), (3, 6), (2, 4, 3)):
        x = ROWS.numbers(*shape)
        for i in range(min(shape[-2:])):
            x[..., i, i] += 3.0 * i
        s = np.linalg.svd(x, compute_uv=False)
        gap = float(-np.diff(s).max()) if min(shape[-2:]) > 1 else 1.0
        largest = norm_of(x) / min(gap, float(s.min()))
        case("svdvals", L.svdvals, [x], error_of(x, 0), error_of(x, 0) * largest)

        def call(a):
            u, s, vh = L.svd(a, full_matrices=False)
            sign = signs(u) if a.shape[-2] < a.shape[-1] else signs(vh.mT)
            return u * sign, s, vh * sign.mT

        case("svd", call, [x], error_of(x, 0) * largest)


def least_squares():
    deficient = ROWS.numbers(5, 3, largest=16)
    deficient[:, 2] = deficient[:, 0] + deficient[:, 1]
    for a, relative in ((general(4, 4), None), (general(6, 3), None), (general(3, 5), None),
                        (general(2, 5, 2), None), (deficient, 0.01), (deficient.T.copy(), 0.01),
                        (np.zeros((3, 2)), None)):
        rank = int(np.linalg.matrix_rank(a).min())
        values = np.linalg.svd(a, compute_uv=False)
        kept = values[..., max(rank, 1) - 1].min() if rank else 1.0
        share = COST * max(a.shape[-2:]) ** 2 * (norm_of(a) / float(kept)) ** 2
        rtol = relative or 1e-10
        case("pinv", lambda x: L.pinv(x, rtol=rtol), [a], share, relative=relative)
        b = ROWS.numbers(*a.shape[:-1], 2)
        case("lstsq", lambda x, y: L.pinv(x, rtol=rtol) @ y, [a, b], share, relative=relative)
        if a.ndim == 2:
            case("lstsq", lambda x, y: L.pinv(x, rtol=rtol) @ y, [a, b[:, 0]], share,
                 relative=relative)


def spoiled():
    """The second of three matrices has an element that is not finite: all of its results are NaN,
    those of the others as ever. Of triangles alone, one that is not read says nothing."""
    functions = {"inverse": L.inv, "det": L.det, "cholesky": lambda a: L.cholesky(lower_grad(a)),
                 "eigvalsh": lambda a: L.eigvalsh(lower_grad(a)), "svdvals": L.svdvals,
                 "pinv": L.pinv}
    for name, call in functions.items():
        for value in (math.nan, math.inf):
            x = symmetric(3, 4, 4)
            result = call(torch.from_numpy(x)).numpy()
            error = error_of(x, 1) * max(1.0, float(np.abs(result).max()))
            if name != "det" or np.abs(result).max() < 6e4:
                wrong = x.copy()
                wrong[1, 2, 1] = value
                out = result.copy()
                out[1] = math.nan
                ROWS.row(name, [wrong], [(out, error, 0)])
            if name in ("cholesky", "eigvalsh"):
                unread = x.copy()
                unread[1, 1, 2] = value
                ROWS.row(name, [unread], [(result, error, 0)])
    x, b = general(3, 3), ROWS.numbers(3, 2)
    result = L.solve(torch.from_numpy(x), torch.from_numpy(b)).numpy()
    b[1, 1] = math.nan
    result[:, 1] = math.nan
    ROWS.row("solve", [x, b], [(result, error_of(x, 1) * 4, 0)])
    x[0, 1] = math.nan
    ROWS.row("solve", [x, ROWS.numbers(3, 2)], [(np.full((3, 2), math.nan), 0, 0)])


def main():
    spoiled()
    solutions()
    triangles()
    spectra()
    least_squares()
    ROWS.write()


if __name__ == "__main__":
    main()
