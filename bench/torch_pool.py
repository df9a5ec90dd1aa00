"""The pools of `hearth bench --rows pool/` in PyTorch, on the processor.

A row is named pool/f32_<forward|gradient>_<pool>; src/tools/bench/pool.cc says what each is. A
gradient includes the forward pass. bench/peers.py measures it.
"""

import torch
import torch.nn.functional as F

BATCH, CHANNELS, SIZE = 16, 64, 112
POOLS = {
    "max_3x3s2": (SIZE, lambda x: F.max_pool2d(x, 3, 2, 1)),
    "max_2x2s2": (SIZE, lambda x: F.max_pool2d(x, 2)),
    "avg_3x3s2": (SIZE, lambda x: F.avg_pool2d(x, 3, 2, 1)),
    "avg_2x2s2": (SIZE, lambda x: F.avg_pool2d(x, 2)),
    "adaptive_7x7": (SIZE, lambda x: F.adaptive_avg_pool2d(x, 7)),
    "linear_x2": (SIZE // 2, lambda x: F.interpolate(x, (SIZE, SIZE), mode="bilinear")),
    "nearest_x2": (SIZE // 2, lambda x: F.interpolate(x, (SIZE, SIZE))),
}


def pool_of(row):
    _, part, name = row.split("/")[1].split("_", 2)
    return part, *POOLS[name]


def bytes_of(row):
    _, size, pool = pool_of(row)
    shape = pool(torch.empty(BATCH, CHANNELS, size, size, device="meta")).shape
    return 4 * (BATCH * CHANNELS * size * size + shape.numel())


def call_of(row):
    part, size, pool = pool_of(row)
    x = torch.randn(BATCH, CHANNELS, size, size)
    if part == "forward":
        return lambda: pool(x)
    grad = torch.randn_like(pool(x))
    x.requires_grad_()
    return lambda: torch.autograd.grad(pool(x), x, grad)
