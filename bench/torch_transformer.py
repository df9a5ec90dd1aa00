"""The training step of `hearth train` in PyTorch: the peer of `hearth bench --rows training/`.

The same model (RMSNorm, rotary positions, SwiGLU, tied embedding), loss, clipping and fused AdamW,
in f32 on the processor, eager and compiled. bench/peers.py measures it.
"""

import torch
from torch import nn
from torch.nn import functional


def turn(x, cosine, sine):
    """Rotary positions of x [batch, heads, rows, dim]: pairs are half a head apart."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)


class Layer(nn.Module):
    def __init__(self, model):
        super().__init__()
        dim, hidden = model["dim"], model["hidden"]
        self.heads, self.kv_heads = model["heads"], model["kv_heads"]
        self.head_dim = dim // self.heads
        kv_dim = self.kv_heads * self.head_dim
        self.input_layernorm = nn.RMSNorm(dim, eps=1e-5)
        self.q_proj = nn.Linear(dim, dim, bias=False)
        self.k_proj = nn.Linear(dim, kv_dim, bias=False)
        self.v_proj = nn.Linear(dim, kv_dim, bias=False)
        self.o_proj = nn.Linear(dim, dim, bias=False)
        self.post_attention_layernorm = nn.RMSNorm(dim, eps=1e-5)
        self.gate_proj = nn.Linear(dim, hidden, bias=False)
        self.up_proj = nn.Linear(dim, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, dim, bias=False)

    def attend(self, x, cosine, sine):
        def split(y, count):
            return y.unflatten(2, (count, self.head_dim)).transpose(1, 2)

        q = turn(split(self.q_proj(x), self.heads), cosine, sine)
        k = turn(split(self.k_proj(x), self.kv_heads), cosine, sine)
        v = split(self.v_proj(x), self.kv_heads)
        y = functional.scaled_dot_product_attention(
            q, k, v, is_causal=True, enable_gqa=self.heads != self.kv_heads
        )
        return self.o_proj(y.transpose(1, 2).flatten(2))

    def forward(self, x, cosine, sine):
        x = x + self.attend(self.input_layernorm(x), cosine, sine)
        h = self.post_attention_layernorm(x)
        return x + self.down_proj(functional.silu(self.gate_proj(h)) * self.up_proj(h))


class Transformer(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.embed_tokens = nn.Embedding(model["vocabulary"], model["dim"])
        self.layers = nn.ModuleList(Layer(model) for _ in range(model["layers"]))
        self.norm = nn.RMSNorm(model["dim"], eps=1e-5)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
        half = model["dim"] // model["heads"] // 2
        rates = 10000.0 ** (-torch.arange(half) / half)
        angles = torch.outer(torch.arange(model["context"]), rates)
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, tokens, targets):
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x, self.cosine, self.sine)
        scores = functional.linear(self.norm(x), self.embed_tokens.weight)
        return functional.cross_entropy(scores.flatten(0, 1), targets.flatten())


def training_steps(model, compiled):
    """A function that makes as many steps as it is told, on one batch, and reads the last loss.

    `model` is what `hearth bench --json` says of its own.
    """
    torch.manual_seed(1)
    transformer = Transformer(model)
    forward = torch.compile(transformer) if compiled else transformer
    matrices = [p for p in transformer.parameters() if p.dim() > 1]
    vectors = [p for p in transformer.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}],
        lr=1e-3, betas=(0.9, 0.98), eps=1e-8, fused=True,
    )  # fmt: skip
    shape = (model["batch"], model["context"])
    tokens, targets = (torch.randint(0, model["vocabulary"], shape) for _ in range(2))

    def steps(count):
        for _ in range(count):
            loss = forward(tokens, targets)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(transformer.parameters(), 1.0)
            optimizer.step()
        return loss.item()

    return steps
