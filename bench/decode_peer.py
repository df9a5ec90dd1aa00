#!/usr/bin/env python3
"""Measures PyTorch on a decode step of `hearth bench-model --shape llama-8b --type bf16`.

usage: bench/decode_peer.py [--batch N] [--depth N] [--steps N] [--layers N] [--samples N]

Weights and caches are random, bf16. A step embeds a token of each sequence, runs all layers with
scaled_dot_product_attention over caches that are full up to its row, and takes the best token; it
is one CUDA graph, replayed, and the host reads its tokens. Query, key and value are one product,
gate and up another. The rows `tg` of bench-model are such steps too.
"""

import argparse
import statistics
import time

import torch
import torch.nn.functional as F

DIM, HEADS, KV_HEADS, HEAD_DIM, HIDDEN, VOCABULARY = 4096, 32, 8, 128, 14336, 128256
EPSILON = 1e-5
QKV = [HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM]


def random(*shape):
    return torch.randn(shape, dtype=torch.bfloat16, device="cuda") * 0.02


class Layer:
    def __init__(self, batch, rows):
        self.qkv, self.out = random(sum(QKV), DIM), random(DIM, HEADS * HEAD_DIM)
        self.gate_up, self.down = random(2 * HIDDEN, DIM), random(DIM, HIDDEN)
        self.norms = torch.ones(2, DIM, dtype=torch.bfloat16, device="cuda")
        self.keys = random(batch, KV_HEADS, rows, HEAD_DIM)
        self.values = random(batch, KV_HEADS, rows, HEAD_DIM)

    def forward(self, x, cos, sin, place):
        batch = x.shape[0]
        q, k, v = F.linear(norm(x, self.norms[0]), self.qkv).split(QKV, 1)
        q = rotated(q.view(batch, HEADS, 1, HEAD_DIM), cos, sin)
        k = rotated(k.view(batch, KV_HEADS, 1, HEAD_DIM), cos, sin)
        self.keys.index_copy_(2, place, k)
        self.values.index_copy_(2, place, v.reshape(batch, KV_HEADS, 1, HEAD_DIM))
        # Queries that share a key are rows beside each other: none is masked, all see all keys.
        grouped = q.reshape(batch, KV_HEADS, HEADS // KV_HEADS, HEAD_DIM)
        mixed = F.scaled_dot_product_attention(grouped, self.keys, self.values)
        x = x + F.linear(mixed.reshape(batch, HEADS * HEAD_DIM), self.out)
        gate, up = F.linear(norm(x, self.norms[1]), self.gate_up).chunk(2, 1)
        return x + F.linear(F.silu(gate) * up, self.down)


def norm(x, weight):
    return F.rms_norm(x, (DIM,), weight, EPSILON)


def rotated(x, cos, sin):
    low, high = x.chunk(2, 3)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--depth", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=16, help="tokens of a sample")
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--samples", type=int, default=7)
    options = parser.parse_args()

    layers = [Layer(options.batch, options.depth + 1) for _ in range(options.layers)]
    embedding, head = random(VOCABULARY, DIM), random(VOCABULARY, DIM)
    last = torch.ones(DIM, dtype=torch.bfloat16, device="cuda")
    tokens = torch.randint(VOCABULARY, (options.batch,), device="cuda")
    place = torch.tensor([options.depth], device="cuda")
    divisors = 500000 ** (torch.arange(0, HEAD_DIM, 2, device="cuda") / HEAD_DIM)

    def step():
        angles = place / divisors
        cos, sin = angles.cos().bfloat16(), angles.sin().bfloat16()
        x = F.embedding(tokens, embedding)
        for layer in layers:
            x = layer.forward(x, cos, sin, place)
        tokens.copy_(F.linear(norm(x, last), head).argmax(1))

    with torch.inference_mode():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()

        times = []
        for _ in range(options.samples + 1):
            begin = time.perf_counter()
            for _ in range(options.steps):
                graph.replay()
                tokens.cpu()
            times.append((time.perf_counter() - begin) / options.steps)
    median = statistics.median(times[1:])
    print(
        f"torch {torch.__version__}: {options.batch} sequences @ {options.depth}: "
        f"{median * 1e3:.2f} ms a step, {options.batch / median:.0f} tokens/s"
    )


if __name__ == "__main__":
    main()
