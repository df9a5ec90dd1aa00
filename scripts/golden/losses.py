#!/usr/bin/env python3
"""Writes tests/golden/losses.txt: what PyTorch gives for losses, with gradients; rows.py says how.

CTC and the transducer's are summed over alignments step by step here, as PyTorch's gradients are right for normalized
inputs only. Bounds: a loss of an element is made by at most OPERATIONS operations, each off by u
times the largest number among the terms; losses of rows and sequences say their own. Sums and means
add as many roundings of the sum of all. Run it with PyTorch 2 for the CPU; the file is checked in.
"""

import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F

from rows import Rows, weights

ROWS = Rows("losses", 83)
OPERATIONS = 16
TORCH_NAMES = {"none": "none", "mean": "mean", "sum": "sum", "batch_mean": "batchmean"}


def case(function, call, inputs, error, parts=1, **options):
    """`error`: how far an element of the loss and of its gradients is off, in units of u. Of a loss
    of several parts, each of whose gradients is 1 at most, these are rounded before they are added.
    """
    leaves = [torch.from_numpy(each.copy()).requires_grad_(each.dtype == np.float64)
              for each in inputs]
    result = call(*leaves)
    result.backward(torch.from_numpy(weights(result.shape)))
    grads = [leaf.grad if leaf.grad is not None else torch.zeros_like(leaf)
             for leaf in leaves if leaf.requires_grad]
    count = 1 if options.get("reduction", "none") in ("none", "mean") else inputs[0].size
    upstream = 3.0
    stored = upstream * (parts - 1)
    if parts > 1 and options["reduction"] == "mean":
        stored /= int((inputs[1] != -100).sum())
    # A target of 0 has no part in the loss, where PyTorch has a gradient of NaN.
    ROWS.row(function, inputs, [(result.detach().numpy(), error * count, 0)],
             [(np.nan_to_num(grad.numpy(), nan=0.0), upstream * error * count, stored)
              for grad in grads], **options)


def positive(*shape, below=16):
    return ROWS.random.integers(1, below, shape) / 16.0


def signs(*shape):
    return ROWS.random.integers(0, 2, shape) * 2.0 - 1


def element_losses():
    def make(function, call, inputs, largest, reductions=("none", "mean", "sum"), **options):
        for reduction in reductions:
            case(function, lambda *arrays: call(*arrays, reduction=TORCH_NAMES[reduction]),
                 inputs, OPERATIONS * largest, reduction=reduction, **options)

    shape = (3, 5)
    x, t = ROWS.numbers(*shape), ROWS.numbers(*shape)
    t[0, 0] = x[0, 0]
    make("l1_loss", F.l1_loss, [x, t], 4)
    make("mse_loss", F.mse_loss, [x, t], 16)
    make("mse_loss", F.mse_loss, [ROWS.numbers(2, 3, 2, 3), ROWS.numbers(2, 3, 2, 3)], 16)
    for p in (1.5, 3.0):
        # The gradient of |d|^p has no finite second derivative at 0; t is not x there.
        make("lp_loss", lambda a, b, reduction: (a - b).abs().pow(p) if reduction == "none" else
             (a - b).abs().pow(p).mean(), [x, t + 0.0625], 4**p * 4, ("none", "mean"), p=p)
    for delta in (0.5, 1.75):
        make("huber_loss", lambda *a, reduction: F.huber_loss(*a, delta=delta, reduction=reduction),
             [x, t], 16, delta=delta)
        make("smooth_l1_loss", lambda *a, reduction: F.smooth_l1_loss(
            *a, beta=delta, reduction=reduction), [x, t], 32, beta=delta)
    make("smooth_l1_loss", lambda *a, reduction: F.smooth_l1_loss(*a, beta=0.0,
                                                                  reduction=reduction),
         [x, t], 4, beta=0.0)
    probabilities, weight = positive(*shape), positive(5, below=33)
    targets = ROWS.random.integers(0, 17, shape) / 16.0
    # Slopes of log p and log(1 - p) are 16 at most.
    for name, loss, given, largest in (
            ("binary_cross_entropy", F.binary_cross_entropy, probabilities, 64),
            ("binary_cross_entropy_with_logits", F.binary_cross_entropy_with_logits,
             ROWS.numbers(*shape, largest=160), 32)):
        wanted = torch.from_numpy(targets)
        make(name, lambda a, reduction: loss(a, wanted, reduction=reduction), [given], largest,
             ("none", "mean"), targets=targets.ravel())
        make(name, lambda a, w, reduction: loss(a, wanted, reduction="none") * w,
             [given, weight], 5 * largest, ("none",), targets=targets.ravel())
    logs = -positive(*shape, below=64)
    distribution = positive(*shape)
    distribution[1, 2] = 0.0
    for log_target in (False, True):
        make("kl_div", lambda a, b, reduction: F.kl_div(a, b, log_target=log_target,
                                                        reduction=reduction),
             [logs, logs[::-1].copy() if log_target else distribution], 16,
             ("none", "mean", "sum", "batch_mean"), log_target=int(log_target))
    variance = positive(*shape, below=33) + 0.1875
    for full in (False, True):
        make("gaussian_nll_loss", lambda a, b, v, reduction: F.gaussian_nll_loss(
            a, b, v, full=full, reduction=reduction), [x, t, variance], 4 * 16 / 0.0625,
            ("none", "mean"), full=int(full))
    counts = ROWS.random.integers(0, 6, shape) * 1.0
    for log_input, full in itertools.product((True, False), repeat=2):
        make("poisson_nll_loss", lambda a, reduction: F.poisson_nll_loss(
            a, torch.from_numpy(counts), log_input=log_input, full=full, reduction=reduction),
            [x if log_input else positive(*shape, below=64)], 6 * 16, ("none", "mean"),
            log_input=int(log_input), full=int(full), targets=counts.ravel())
    sides = signs(*shape)
    make("hinge_embedding_loss", lambda a, reduction: F.hinge_embedding_loss(
        a, torch.from_numpy(sides), margin=0.75, reduction=reduction), [x], 4, ("none", "sum"),
        margin=0.75, targets=sides.ravel())
    make("soft_margin_loss", lambda a, reduction: F.soft_margin_loss(
        a, torch.from_numpy(sides), reduction=reduction), [ROWS.numbers(*shape, largest=160)], 16,
        ("none", "sum"), targets=sides.ravel())


def cross_entropies():
    for shape, largest in (((4, 3), 32), ((1, 1), 32), ((2, 3, 5), 32), ((5, 33), 32),
                           ((3, 4), 255)):
        logits = ROWS.numbers(*shape, largest=largest)
        targets = ROWS.random.integers(0, shape[-1], shape[:-1])
        if shape[0] > 2:
            targets[1] = -100
        # A difference of logits, and a sum of as many exponentials as there are classes.
        error = 4 * (2 * largest / 16.0 + shape[-1] + 8) * 1.0
        for reduction, smoothing in (("none", 0.0), ("mean", 0.0), ("sum", 0.25), ("mean", 0.125)):
            def call(x, t):
                flat = F.cross_entropy(x.reshape(-1, shape[-1]), t.reshape(-1),
                                       label_smoothing=smoothing, reduction=reduction)
                return flat.reshape(shape[:-1]) if reduction == "none" else flat
            case("cross_entropy", call, [logits, targets], error, 1 if smoothing == 0 else 2,
                 reduction=reduction, smoothing=smoothing)
    targets = np.array([2, 0, 2, 1])
    case("cross_entropy", lambda x, t: F.cross_entropy(x, t, ignore_index=2),
         [ROWS.numbers(4, 3), targets], 60.0, reduction="mean", smoothing=0.0, ignore=2)


def row_losses():
    """Of rows of n elements: sums of n terms of at most 5^p, each of a few operations."""
    n = 6
    a, b, c = (ROWS.numbers(5, n) for _ in range(3))
    sides, targets = signs(5), ROWS.random.integers(0, n, 5)
    for reduction in ("none", "mean"):
        for margin in (0.0, -0.5, 0.25):
            def call(x, y):
                # PyTorch's own adds 1e-12 to squares, which is more than roundings of f64.
                cosine = (x * y).sum(1) / (x.norm(dim=1) * y.norm(dim=1))
                each = torch.where(torch.from_numpy(sides) > 0, 1 - cosine,
                                   torch.clamp(cosine - margin, min=0))
                return each if reduction == "none" else each.mean()

            case("cosine_embedding_loss", call, [a, b], 4.0 * (n + OPERATIONS),
                 margin=margin, reduction=reduction, targets=sides)
        for p in (1, 2):
            case("multi_margin_loss", lambda x, t: F.multi_margin_loss(
                x, t, p=p, margin=0.75, reduction=reduction), [a, targets],
                5.0**p * (n + OPERATIONS), p=p, margin=0.75, reduction=reduction)
            for swap in (False, True):
                # A distance is at least 1 here, so that slopes of its root are 1 at most.
                case("triplet_margin_loss", lambda x, y, z: F.triplet_margin_loss(
                    x, y, z, margin=1.25, p=p, swap=swap, reduction=reduction), [a, b, c],
                    4.0 * n * (n + OPERATIONS), p=p, margin=1.25, swap=int(swap),
                    reduction=reduction)
        pairs = np.where(a > c, 1.0, -1.0)
        case("margin_ranking_loss", lambda x, y: F.margin_ranking_loss(
            x, y, torch.from_numpy(pairs), margin=0.5, reduction=reduction), [a, b],
            4.0 * OPERATIONS, margin=0.5, reduction=reduction,
            targets=pairs.ravel())


def transducer(log_probs, targets, steps, lengths, blank):
    """-log of the sum over the orders of blanks and labels, by the forward recursion."""
    losses = []
    for n in range(log_probs.shape[0]):
        time, labels = int(steps[n]), int(lengths[n])
        reached = {}
        for t, u in itertools.product(range(time), range(labels + 1)):
            ways = [torch.tensor(0.0, dtype=torch.float64)] if t == u == 0 else []
            if t > 0:
                ways.append(reached[t - 1, u] + log_probs[n, t - 1, u, blank])
            if u > 0:
                ways.append(reached[t, u - 1] + log_probs[n, t, u - 1, int(targets[n, u - 1])])
            reached[t, u] = torch.logsumexp(torch.stack(ways), 0)
        losses.append(-(reached[time - 1, labels] + log_probs[n, time - 1, labels, blank]))
    return torch.stack(losses)


def transducers():
    targets = np.array([[1, 2, 1], [3, 1, 0], [1, 0, 0], [0, 0, 0]])
    lengths, steps = np.array([3, 2, 1, 0]), np.array([5, 4, 1, 3])
    for blank in (0, 3):
        wanted = np.where(targets == blank, 2, targets)
        # Sums of logarithms below 4 over at most 8 places.
        case("rnnt_loss", lambda x, t, n, m: transducer(x, t, n, m, blank),
             [-positive(4, 5, 4, 4, below=64), wanted, steps, lengths], 8.0 * 8 * (8 * 4),
             blank=blank, reduction="none")


def ctc(log_probs, targets, steps, lengths, blank):
    """-log of the sum over alignments, by the forward recursion."""
    losses = []
    for n in range(log_probs.shape[1]):
        labels = [blank]
        for label in targets[n, : int(lengths[n])]:
            labels += [int(label), blank]
        state = [torch.tensor(0.0, dtype=torch.float64)] + [None] * (len(labels) - 1)
        for t in range(int(steps[n])):
            # Before the first step a path may be at the first blank or at the first label.
            after = []
            for s, label in enumerate(labels):
                reached = [state[s]]
                if t == 0:
                    reached = [state[0]] if s < 2 else []
                else:
                    if s > 0:
                        reached.append(state[s - 1])
                    if s > 1 and label != blank and label != labels[s - 2]:
                        reached.append(state[s - 2])
                reached = [each for each in reached if each is not None]
                sums = torch.logsumexp(torch.stack(reached), 0) if reached else None
                after.append(None if sums is None else sums + log_probs[t, n, label])
            state = after
        ends = [each for each in state[-2:] if each is not None]
        losses.append(-torch.logsumexp(torch.stack(ends), 0) if ends else
                      torch.tensor(math.inf, dtype=torch.float64) + 0 * log_probs.sum())
    return torch.stack(losses)


def ctcs():
    targets = np.array([[1, 2, 2, 3], [3, 3, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    lengths, steps = np.array([4, 2, 1, 0]), np.array([7, 6, 3, 2])
    for blank, reduction in ((0, "none"), (0, "mean"), (0, "sum"), (4, "none")):
        wanted = np.where(targets == 0, 2, targets) if blank else targets
        log_probs = -positive(7, 4, 5, below=64)

        def call(x, t, n, m):
            each = ctc(x, t, n, m, blank)
            if reduction == "mean":
                each = each / torch.clamp(m, min=1)
            return each if reduction == "none" else each.sum() / (4 if reduction == "mean" else 1)

        # Sums of logarithms over steps of numbers below 4; gradients are their exponentials.
        case("ctc_loss", call, [log_probs, wanted, steps, lengths], 8.0 * 7 * (7 * 4),
             blank=blank, reduction=reduction)


def main():
    cross_entropies()
    element_losses()
    row_losses()
    ctcs()
    transducers()
    ROWS.write()


if __name__ == "__main__":
    main()
