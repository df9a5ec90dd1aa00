#!/usr/bin/env python3
"""Writes tests/golden/sorting.txt: sorting, places in sorted rows, counts and quantiles; rows.py says
how.

Orders are made by Python's stable sorted() of keys in which NaN is beyond infinity and -0 equals 0;
counts are NumPy's, and quantiles between finite elements are. Elements are picked, so results are exact but for quantiles: a
place q (n - 1) is off by a few roundings of itself, and so is the part of the way between two
elements. Run it with NumPy; the file is checked in.
"""

import math

import numpy as np

from rows import Rows, weights

ROWS = Rows("sorting", 71)
NAN, INF = math.nan, math.inf


def key(value, descending):
    """What stands first has the least key."""
    value = float(value)
    if math.isnan(value):
        return (0, 0.0) if descending else (1, 0.0)
    return (1, -value) if descending else (0, value)


def orders(x, axis, descending):
    """For each line along `axis` the places of its elements in order, in the shape of x."""
    lines = np.moveaxis(x, axis, -1)
    out = np.zeros(lines.shape, np.int64)
    for at in np.ndindex(lines.shape[:-1]):
        line = lines[at]
        out[at] = sorted(range(len(line)), key=lambda i: key(line[i], descending))
    return np.moveaxis(out, -1, axis)


def picked(function, x, places, axis, keep=True, **options):
    """A row whose results are the elements at `places` along an axis, and the places."""
    values = np.take_along_axis(x, places, axis)
    upstream = weights(values.shape)
    grad = np.zeros(x.shape)
    for at in np.ndindex(values.shape):
        to = list(at)
        to[axis] = places[at]
        grad[tuple(to)] += upstream[at]
    grads = [(grad, 0, 0)] if x.dtype == np.float64 else []
    results = [values, places]
    if not keep:
        results = [each.squeeze(axis) for each in results]
    ROWS.row(function, [x], [(each, 0, 0) for each in results], grads, axis=axis, **options)


def few(*shape, largest=6):
    """Numbers of which many are equal."""
    return ROWS.numbers(*shape, largest=largest) * 4


def odd(shape):
    """The same with NaN, infinities and zeros of both signs among them."""
    x = few(*shape)
    for value in (NAN, -0.0, INF, NAN, -INF, 0.0, INF):
        x.ravel()[ROWS.random.integers(x.size)] = value
    return x


def sorts():
    arrays = [(few(1), 0), (few(7), 0), (few(9, 4), 0), (few(4, 9), 1), (few(2, 5, 3), 1),
              (odd((13,)), 0), (odd((3, 8)), -1), (odd((8, 3)), 0), (odd((2, 3, 4, 5)), 1),
              (few(67), 0), (np.full(5, NAN), 0),
              (ROWS.random.integers(-9, 9, (3, 7)), 1),
              (ROWS.random.integers(-128, 128, 19).astype(np.int8), 0),
              (ROWS.random.integers(0, 256, (4, 3)).astype(np.uint8), 0),
              (ROWS.random.random(9) < 0.5, 0)]
    for x, axis in arrays:
        for descending in (False, True):
            picked("sort", x, orders(x, axis, descending), axis, descending=int(descending))
        for k in sorted({1, min(3, x.shape[axis]), x.shape[axis]}):
            places = np.take(orders(x, axis, True), range(k), axis)
            picked("topk", x, places, axis, k=k)


def extremes():
    """median, and the largest and least element: NaN wins, of equal ones the first."""
    for x, axis in ((few(7), 0), (few(6), 0), (few(5, 4), 0), (few(3, 8), 1), (odd((3, 9)), 1),
                    (odd((6, 4)), 0), (np.array([NAN, 1.0, NAN]), 0), (few(2, 3, 5), 1)):
        length = x.shape[axis]
        spoiled = np.isnan(x).any(axis, keepdims=True)
        first = np.argmax(np.isnan(x), axis, keepdims=True)
        for name, order, place in (("median", orders(x, axis, False), (length - 1) // 2),
                                   ("max", orders(x, axis, True), 0),
                                   ("min", orders(x, axis, False), 0)):
            at = np.where(spoiled, first, np.take(order, [place], axis))
            for keepdim in (True, False):
                picked(name, x, at, axis, keepdim, keepdim=int(keepdim))


def places(function, row, values, right):
    """How many elements of each row come before a value."""
    out = np.zeros(values.shape, np.int64)
    for at in np.ndindex(values.shape):
        line = row if row.ndim == 1 else row[at[:-1]]
        mine = key(values[at], False)
        out[at] = sum(key(each, False) <= mine if right else key(each, False) < mine
                      for each in line)
    inputs = [row, values] if function == "searchsorted" else [values, row]
    ROWS.row(function, inputs, [(out, 0, 0)], right=int(right))


def searches():
    def ascending(x):
        return np.take_along_axis(x, orders(x, x.ndim - 1, False), -1)

    for right in (False, True):
        for row, values in ((few(9), few(2, 7)), (odd((11,)), odd((9,))), (few(3, 6), few(3, 4)),
                            (odd((2, 2, 7)), odd((2, 2, 5))), (few(1), few(3)),
                            (np.zeros(0), few(3))):
            places("searchsorted", ascending(row), values, right)
        for row, values in ((few(5), few(3, 6)), (odd((8,)), odd((2, 3, 2)))):
            places("bucketize", ascending(row), values, right)
        integers = np.sort(ROWS.random.integers(-5, 5, 9))
        places("searchsorted", integers, ROWS.random.integers(-6, 6, (2, 5)), right)


def counts():
    for shape, least in (((17,), 0), ((3, 5), 12), ((0,), 4), ((1,), 0)):
        x = ROWS.random.integers(0, 7, shape)
        ROWS.row("bincount", [x], [(np.bincount(x.ravel(), minlength=least), 0, 0)], least=least)
        if x.size == 0:
            continue
        weigh = ROWS.numbers(*shape)
        # Sums in an order of their own, of x.size terms at most.
        sums = np.bincount(x.ravel(), weigh.ravel(), least)
        grad = weights(sums.shape)[x]
        ROWS.row("bincount", [x, weigh], [(sums, 2.0 * x.size**2, 0)], [(grad, 0, 0)], least=least)
    for x in (few(23), odd((4, 9)), np.array([-2.0, 2.0, NAN, 0.0, 2.0])):
        for bins, low, high in ((8, -2.0, 2.0), (4, -1.0, 1.0), (1, 0.0, 0.5)):
            here = x[~np.isnan(x)]
            number, edges = np.histogram(here, bins, (low, high))
            ROWS.row("histogram", [x], [(number, 0, 0), (edges, 0, 0)], bins=bins, low=low,
                     high=high)
        edges = np.array([-1.5, -0.25, 0.0, 0.0, 1.25, 2.0])
        number = np.histogram(x[~np.isnan(x)], edges)[0]
        ROWS.row("histogram_by_edges", [x, edges], [(number, 0, 0)])
    for x in (np.array([1.0, 3.0, 9.0, 5.0, 5.0]), np.full(4, 2.0)):
        number, edges = np.histogram(x, 8)
        ROWS.row("histogram", [x], [(number, 0, 0), (edges, 0, 0)], bins=8)


def between(low, high, part, method):
    """What a method makes of two elements and the part of the way from one to the other."""
    if low == high or part == 0 or method == "lower":
        return low
    if method == "higher":
        return high
    return (1 - part) * low + part * high if method == "linear" else (low + high) / 2


def quantile(line, q, method):
    """NumPy's, where equal elements have themselves in between, infinities too."""
    if np.isfinite(line).all():
        return np.quantile(line, q, method=method)
    if np.isnan(line).any():
        return np.full(len(q), NAN)
    ordered, out = sorted(line), []
    for place in np.multiply(q, len(line) - 1):
        low, part = math.floor(place), place - math.floor(place)
        high = min(low + 1, len(line) - 1)
        if method == "nearest":
            to_high = part > 0.5 or (part == 0.5 and low % 2 == 1)
            out.append(ordered[high if to_high else low])
        else:
            out.append(between(ordered[low], ordered[high], part, method))
    return np.array(out)


def quantiles():
    q = [0.0, 0.1, 0.25, 0.5, 0.61, 0.9, 1.0]
    for x, axis in ((few(7), 0), (few(5, 4), 0), (few(3, 8), 1), (odd((3, 9)), 1),
                    (np.array([[-INF, 1.0, 2.0, INF, INF], [-INF, -INF, -2.0, -1.0, 3.0]]), 1),
                    (few(3, 4), None), (few(1, 2), 1)):
        for method in ("linear", "lower", "higher", "midpoint", "nearest"):
            lines = x.reshape(1, -1) if axis is None else np.moveaxis(x, axis, -1)
            want = np.apply_along_axis(lambda line: quantile(line, q, method), -1, lines)
            want = np.moveaxis(want, -1, 0)
            want = want[:, 0] if axis is None else want
            n = x.size if axis is None else x.shape[axis]
            finite = float(np.abs(x[np.isfinite(x)]).max())
            off = 8.0 * n * finite if method == "linear" else 2.0 * finite
            ROWS.row("quantile", [x], [(np.asarray(want), off, 0)], q=q, axis=axis, method=method)


def main():
    sorts()
    extremes()
    searches()
    counts()
    quantiles()
    ROWS.write()


if __name__ == "__main__":
    main()
