#!/usr/bin/env python3
"""Writes tests/golden/attention.txt: attention by its definition, written out in f64 with PyTorch,
which gives the gradients; rows.py says how.

Inputs beyond q, k and v are named by the option `more`, in their order. Bounds: a score sums d
products, so that it is off by u times `score_error`; a weight then by twice as much of itself, and
sums of weights times values by the number of terms besides. Weights may be rounded to the dtype
before they multiply values, as matrix units ask for; in gradients so may those of scores, and the
result, which they are made of, has been.
Run it with PyTorch 2 for the CPU; the file is checked in.
"""

import math

import numpy as np
import torch

from rows import Rows, weights

ROWS = Rows("attention", 47)


def hidden(shape, options, more):
    """True where a row does not see a column: by mask, causal order and window, and by lengths."""
    batch, heads, rows, columns = shape
    ends = np.full(batch, options.get("kv_length", columns))
    if "lengths" in more:
        ends = np.minimum(ends, np.clip(more["lengths"], 0, ends))
    starts = np.clip(more.get("starts", np.zeros(batch)), 0, options.get("kv_length", columns))
    row, column = np.arange(rows)[:, None], np.arange(columns)
    out = np.zeros(shape, bool)
    for b in range(batch):
        last = row + ends[b] - rows
        out[b] |= (column >= ends[b]) | (column < starts[b])
        if options.get("causal"):
            out[b] |= column > last
        if options.get("window", 0):
            out[b] |= column <= last - options["window"]
    return out | np.broadcast_to(more["mask"], shape) if "mask" in more else out


def attend(q, k, v, bias, sinks, unseen, scale, softcap):
    """Result, logarithm of the sum of exponentials, and weights of columns."""
    groups = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ k.transpose(2, 3) * scale
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias
    scores = scores.masked_fill(unseen, -math.inf)
    if sinks is not None:
        column = sinks.reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
        scores = torch.cat([scores, column], 3)
    top = scores.detach().amax(3, keepdim=True)
    none = torch.isinf(top)
    powers = torch.exp(scores - top.masked_fill(none, 0.0))
    total = powers.sum(3, keepdim=True)
    weigh = powers / total.masked_fill(none, 1.0)
    lse = (torch.log(total.masked_fill(none, 1.0)) + top.masked_fill(none, 0.0))[..., 0]
    return weigh[..., : k.shape[2]] @ v, lse, weigh


def bounds(arrays, unseen, scale, softcap, with_lse):
    """(computed, stored) of result and lse, then of the gradients of all inputs of f64."""
    q, k, v = (torch.from_numpy(arrays[name]).abs() for name in "qkv")
    groups = q.shape[1] // k.shape[1]
    keys, values = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    tensors = {name: torch.from_numpy(each) for name, each in arrays.items()}
    bias, sinks = tensors.get("bias"), tensors.get("sinks")
    _, lse, weigh = attend(tensors["q"], tensors["k"], tensors["v"], bias, sinks, unseen, scale,
                           softcap)
    columns = k.shape[2]
    seen, length = weigh[..., :columns], columns + 8
    largest = float((q @ keys.transpose(2, 3)).max()) * scale
    extra = 0.0 if bias is None else float(bias.abs().max())
    score_error = (q.shape[3] + 6) * largest + 2 * extra
    share = 2 * score_error + length
    total = float((seen @ values).max())
    found = [(share * total, total)]
    if with_lse:
        found.append((score_error + length + float(lse.abs().max()), 0.0))
    out = torch.from_numpy(weights((*q.shape[:3], v.shape[3]))).abs()
    of_lse = torch.from_numpy(weights(q.shape[:3])).abs()[..., None] if with_lse else 0.0
    pull = out @ values.transpose(2, 3)
    whole = (seen * pull).sum(3, keepdim=True)
    of_scores = seen * (pull + whole + of_lse)
    share = 2 * (share + v.shape[3] + q.shape[2])
    sizes = {"q": of_scores @ keys * scale, "k": of_scores.transpose(2, 3) @ q * scale,
             "v": seen.transpose(2, 3) @ out, "bias": of_scores}
    if groups > 1:
        for name in "kv":
            sizes[name] = sizes[name].unflatten(1, (-1, groups)).sum(2)
    if bias is not None:
        sizes["bias"] = sizes["bias"].sum_to_size(bias.shape)
    if sinks is not None:
        sizes["sinks"] = (weigh[..., columns:] * (whole + of_lse)).sum((0, 2, 3))
    for name, each in arrays.items():
        if each.dtype == np.float64:
            size = float(sizes[name].max())
            found.append((share * size, (1 if name == "v" else 2) * size))
    return found


def case(q_shape, kv_heads, columns, dv=None, with_lse=False, more=None, largest=16, **options):
    batch, heads, rows, d = q_shape
    arrays = {"q": ROWS.numbers(*q_shape, largest=largest),
              "k": ROWS.numbers(batch, kv_heads, columns, d, largest=largest),
              "v": ROWS.numbers(batch, kv_heads, columns, dv or d)}
    arrays.update(more or {})
    unseen = torch.from_numpy(hidden((batch, heads, rows, columns), options, arrays))
    scale, softcap = options.get("scale", 1 / math.sqrt(d)), options.get("softcap", 0)
    leaves = {name: torch.from_numpy(each).requires_grad_() for name, each in arrays.items()
              if each.dtype == np.float64}
    results = attend(leaves["q"], leaves["k"], leaves["v"], leaves.get("bias"),
                     leaves.get("sinks"), unseen, scale, softcap)[: 2 if with_lse else 1]
    sum((each * torch.from_numpy(weights(each.shape))).sum() for each in results).backward()
    values = [each.detach().numpy() for each in (*results, *(x.grad for x in leaves.values()))]
    written = [(value, *bound) for value, bound in
               zip(values, bounds(arrays, unseen, scale, softcap, with_lse))]
    ROWS.row("attention_with_lse" if with_lse else "attention", list(arrays.values()),
             written[: len(results)], written[len(results):],
             more=list(more) if more else None, **options)


def mask(*shape):
    return ROWS.random.random(shape) < 0.3


def whole(*numbers):
    return np.array(numbers, np.int64)


def main():
    for causal in (None, 1):
        case((2, 2, 5, 4), 2, 5, causal=causal)
        case((1, 3, 3, 5), 3, 7, dv=3, causal=causal, with_lse=True)
        case((1, 2, 6, 3), 2, 4, causal=causal)  # causal: rows before the first key see none
    case((1, 1, 1, 8), 1, 9)
    case((1, 4, 3, 4), 2, 6, causal=1)
    case((1, 6, 2, 4), 2, 5, dv=6, with_lse=True)
    case((1, 4, 5, 4), 1, 5)
    case((1, 1, 3, 16), 1, 33, causal=1)
    case((1, 1, 17, 4), 1, 18, dv=3)
    case((1, 2, 3, 4), 2, 5, scale=0.75)
    case((1, 2, 3, 4), 2, 5, scale=1.5, softcap=2.5, causal=1)
    case((1, 2, 3, 4), 1, 5, softcap=0.5, with_lse=True)
    case((2, 2, 3, 4), 2, 5, more={"mask": mask(2, 2, 3, 5)})
    case((2, 4, 3, 4), 2, 5, more={"mask": mask(2, 1, 1, 5)}, causal=1)
    case((1, 2, 3, 4), 2, 5, more={"mask": np.repeat([[[[False], [True], [False]]]], 5, 3)},
         with_lse=True)  # a row that sees no key
    case((2, 2, 3, 4), 2, 5, more={"bias": ROWS.numbers(2, 2, 3, 5)})
    case((2, 2, 3, 4), 1, 5, more={"bias": ROWS.numbers(1, 2, 1, 5)}, softcap=1.25)
    case((1, 2, 4, 4), 2, 6, more={"mask": mask(4, 6), "bias": ROWS.numbers(1, 1, 4, 6)}, causal=1)
    for window in (1, 2, 4):
        case((1, 2, 6, 4), 2, 6, causal=1, window=window)
    case((1, 2, 3, 4), 2, 7, window=3)
    case((1, 2, 4, 4), 2, 9, causal=1, window=3, softcap=3.0)
    case((2, 2, 3, 4), 2, 6, kv_length=4)
    case((2, 2, 3, 4), 2, 6, kv_length=4, causal=1)
    case((3, 2, 2, 4), 2, 6, more={"lengths": whole(6, 3, 1)})
    case((3, 2, 3, 4), 1, 6, more={"lengths": whole(5, 3, 2)}, causal=1, with_lse=True)
    case((3, 2, 2, 4), 2, 6, more={"lengths": whole(6, 0, 9)}, causal=1, window=2)
    case((2, 2, 2, 4), 2, 6, more={"starts": whole(2, 5)})
    case((2, 2, 2, 4), 2, 6, more={"lengths": whole(5, 4), "starts": whole(1, 3)}, kv_length=5,
         causal=1)
    case((1, 2, 3, 4), 2, 5, more={"sinks": ROWS.numbers(2)}, causal=1)
    case((2, 4, 3, 4), 2, 5, more={"sinks": ROWS.numbers(4)}, window=3, causal=1, with_lse=True)
    case((1, 2, 3, 4), 2, 5, more={"mask": mask(3, 5), "bias": ROWS.numbers(1, 2, 3, 5),
                                   "sinks": ROWS.numbers(2)}, softcap=2.0, scale=0.5)
    case((1, 1, 3, 4), 1, 5, scale=8.0, largest=32)  # scores far apart
    ROWS.write()


if __name__ == "__main__":
    main()
