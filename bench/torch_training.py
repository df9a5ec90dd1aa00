#!/usr/bin/env python3
"""Training steps in PyTorch, on the shapes of `hearth bench --rows gpu/training`.

usage: bench/torch_training.py [--eager-only] [--steps N]

Prints one JSON object a row: GPT-2 of 124 million parameters (Hugging Face's, or the same written
here where transformers is not installed) on 8 x 1024 tokens with weights in f32 and autocast to
bf16, eager and compiled; and fused AdamW alone on the same 148 parameters. The loss is read after
every step, as in Hearth's row. Medians. Needs CUDA.
"""

import argparse
import json
import statistics
import time

import torch
from torch import nn
from torch.nn import functional

VOCABULARY, DIM, LAYERS, HEADS, CONTEXT, BATCH = 50257, 768, 12, 12, 1024, 8


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.c_attn, self.proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.c_fc, self.c_proj = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        parts = self.c_attn(self.ln_1(x)).split(DIM, dim=2)
        q, k, v = (p.unflatten(2, (HEADS, DIM // HEADS)).transpose(1, 2) for p in parts)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(mixed.transpose(1, 2).flatten(2))
        return x + self.c_proj(functional.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, DIM), nn.Embedding(CONTEXT, DIM)
        self.blocks, self.ln_f = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(DIM)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        scores = functional.linear(self.ln_f(x), self.wte.weight)
        return functional.cross_entropy(scores.flatten(0, 1).float(), targets.flatten())


def hugging_face():
    """GPT2LMHeadModel without dropout, or None."""
    try:
        from transformers import GPT2Config, GPT2LMHeadModel
    except ImportError:
        return None
    model = GPT2LMHeadModel(GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0))

    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, tokens, targets):
            return self.model(tokens, labels=targets).loss

    return Loss()


def median_step(step, count):
    for _ in range(4):
        step()
    torch.cuda.synchronize()
    samples = []
    for _ in range(count):
        start = time.perf_counter()
        step()
        torch.cuda.synchronize()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples)


def training_step(model, forward):
    """A step that returns its loss as a number. `forward` is `model`, or a compiled form of it."""
    optimizer = torch.optim.AdamW(model.parameters(), 3e-4, weight_decay=0.01, fused=True)
    tokens, targets = (torch.randint(0, VOCABULARY, (BATCH, CONTEXT), device="cuda") for _ in "tt")

    def step():
        with torch.enable_grad(), torch.autocast("cuda", torch.bfloat16):
            loss = forward(tokens, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def steps(compiled=True):
    """The step of GPT-2 by the name of how it runs."""
    model = (hugging_face() or Gpt2()).cuda().train()
    made = {"eager": training_step(model, model)}
    if compiled:
        made["compiled"] = training_step(model, torch.compile(model))
    return made


def update():
    """A step of the optimizer alone, on gradients that stay."""
    parameters = list(Gpt2().cuda().parameters())
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter) * 1e-3
    return torch.optim.AdamW(parameters, 3e-4, weight_decay=0.01, fused=True).step


def report(row, seconds, **more):
    print(json.dumps({"row": row, "ms": 1e3 * seconds, **more}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--eager-only", action="store_true")
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    print(json.dumps({"torch": torch.__version__, "device": torch.cuda.get_device_name()}))
    report("adamw fused", median_step(update(), 5 * arguments.steps))
    for name, step in steps(not arguments.eager_only).items():
        seconds = median_step(step, arguments.steps)
        report(f"gpt2_124m {name}", seconds, tokens_per_s=BATCH * CONTEXT / seconds)


if __name__ == "__main__":
    main()
