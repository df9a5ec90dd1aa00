#!/usr/bin/env python3
"""Writes tests/golden/signals.txt: windows, stft and istft as sums, with gradients; rows.py says how.

Transforms are sums of n_fft products with cosines and sines here. Fast ones add in another order, of
odd lengths by way of convolutions of twice the length: `FACTOR` times the roundings of a plain sum.
Of halves, pieces of the signal are rounded after the window, and in istft the pieces, their sum and
that of the squares. Run it with PyTorch 2 for the CPU; the file is checked in.
"""

import math

import numpy as np
import torch

from rows import Rows, weights

ROWS = Rows("signals", 97)
FACTOR = 8


def turns(n, onesided):
    """cos and -sin of 2 pi f t / n, [t, f, 2]."""
    angles = 2 * math.pi * np.outer(np.arange(n), np.arange(n // 2 + 1 if onesided else n)) / n
    return torch.from_numpy(np.stack([np.cos(angles), -np.sin(angles)], -1))


def placed(window, n):
    """The window in the middle of n samples."""
    before = (n - window.shape[0]) // 2
    return torch.nn.functional.pad(window, (before, n - window.shape[0] - before))


def stft(x, window, matrix, n, hop, center):
    if center:
        x = torch.nn.functional.pad(x[None], (n // 2, n // 2), mode="reflect")[0]
    frames = x.unfold(-1, n, hop) * placed(window, n)
    return torch.einsum("...it,tfc->...ifc", frames, matrix)


def spectra(batch, samples, n, hop, length, center, onesided=True, windowed=True):
    shape = (batch, samples) if batch else (samples,)
    inputs = [ROWS.numbers(*shape)]
    ones = torch.ones(length or n, dtype=torch.float64)
    if windowed:
        inputs.append(ROWS.numbers(length or n))
    matrix = turns(n, onesided)

    def of(matrix):
        return lambda x, w=ones: stft(x, w, matrix, n, hop or n // 4, center)

    ROWS.multilinear("stft", of(matrix), inputs, between=1, between_grads=2,
                     sizes=of(torch.full_like(matrix, FACTOR)), n_fft=n, hop=hop,
                     win=length, center=int(center), onesided=int(onesided))


def inverse(batch, frames, n, hop, length, center, onesided=True, cut=None):
    """istft of any numbers, not only of what a signal has."""
    bins = n // 2 + 1 if onesided else n
    spectrum = ROWS.numbers(*([batch] if batch else []), frames, bins, 2)
    window = ROWS.random.integers(4, 17, length or n) / 16.0

    def call(y, matrix, window):
        re, im = y[..., 0], y[..., 1]
        if onesided:
            # Frequencies between the first and the middle stand for their conjugates, too.
            twice = torch.full((bins,), 2.0, dtype=torch.float64)
            twice[0] = 1
            if n % 2 == 0:
                twice[-1] = 1
            re, im = re * twice, im * twice
        pieces = torch.einsum("...if,tf->...it", re, matrix[..., 0]) / n
        pieces = pieces + torch.einsum("...if,tf->...it", im, matrix[..., 1]) / n
        w = placed(window, n)
        total = torch.zeros((*y.shape[:-3], (frames - 1) * hop + n), dtype=torch.float64)
        squares = torch.zeros((frames - 1) * hop + n, dtype=torch.float64)
        for i in range(frames):
            total = total + torch.nn.functional.pad(pieces[..., i, :] * w,
                                                    (i * hop, (frames - 1 - i) * hop))
            squares[i * hop: i * hop + n] += w * w
        out = torch.where(squares > 0, total / torch.where(squares > 0, squares, 1.0), 0.0)
        begin = n // 2 if center else 0
        return out[..., begin: begin + cut if cut is not None else out.shape[-1] - begin]

    matrix, w = turns(n, onesided), torch.from_numpy(window)
    leaf = torch.from_numpy(spectrum).requires_grad_()
    result = call(leaf, matrix, w)
    result.backward(torch.from_numpy(weights(result.shape)))
    plain = torch.from_numpy(spectrum).abs().requires_grad_()
    terms = call(plain, torch.ones_like(matrix), w)
    terms.backward(torch.from_numpy(weights(result.shape)).abs())
    sizes = [float(terms.detach().max()), float(plain.grad.max())]
    found = [(value.numpy(), FACTOR * (n + frames + 8) * size, 5 * size)
             for value, size in zip((result.detach(), leaf.grad), sizes)]
    ROWS.row("istft", [spectrum], found[:1], found[1:], n_fft=n, hop=hop, win=length,
             center=int(center), onesided=int(onesided), cut=cut, window=window)


def windows():
    for size in (1, 2, 5, 8, 31):
        for periodic in (True, False):
            n = size if periodic else size - 1
            t = np.arange(size) / max(n, 1)
            cos, twice = np.cos(2 * math.pi * t), np.cos(4 * math.pi * t)
            for name, values, options in (
                    ("hann", 0.5 - 0.5 * cos, {}), ("hamming", 0.54 - 0.46 * cos, {}),
                    ("hamming", 0.75 - 0.25 * cos, {"alpha": 0.75}),
                    ("blackman", 0.42 - 0.5 * cos + 0.08 * twice, {})):
                if size == 1:
                    values = np.ones(1)
                # Angles of up to 4 pi, rounded, and three terms of at most 1.
                ROWS.row(f"{name}_window", [], [(values, 4 * math.pi + 8, 0)], size=size,
                         periodic=int(periodic), **options)


def main():
    windows()
    for center in (True, False):
        spectra(2, 23, 8, 2, None, center)
        spectra(0, 17, 5, 3, None, center)
        spectra(1, 19, 6, None if center else 4, 5, center, onesided=False)
        spectra(2, 16, 8, None, 4, center, windowed=False)
        spectra(0, 13, 12, 1, 7, center)
        spectra(0, 9, 9, 9, 4, center)
        inverse(2, 5, 8, 2, None, center)
        inverse(0, 4, 5, 3, None, center)
        inverse(1, 4, 6, 2, 5, center, onesided=False)
        inverse(0, 3, 7, 2, None, center, cut=6)
        inverse(2, 3, 4, 1, 3, center, cut=3)
    ROWS.write()


if __name__ == "__main__":
    main()
