"""Nomic's BERT with experts, which transformers does not have, in NumPy.

llama.cpp's graph of nomic-bert-moe, but that what the chosen experts give has a bias beside it
(`mlp.experts.bias`), which its files leave out. Layers with i % moe_every_n_layers = 1 have experts.
"""

import math

import numpy

erf = numpy.vectorize(math.erf, otypes=[numpy.float64])


def config(layers, period, dim=48, heads=4, hidden=64, experts=5, used=2, vocabulary=96):
    """config.json, as nomic-embed-text-v2-moe has it."""
    return dict(
        architectures=["NomicBertModel"], model_type="nomic_bert", activation_function="gelu",
        causal=False, expert_choice_router=False, layer_norm_epsilon=1e-5, max_trained_positions=64,
        mlp_fc1_bias=True, mlp_fc2_bias=True, moe_every_n_layers=period,
        moe_normalize_expert_weights=False, moe_top_k=used, n_embd=dim, n_head=heads,
        n_inner=hidden, n_layer=layers, n_positions=64, num_experts=experts, num_shared_experts=0,
        pad_token_id=1, parallel_block=False, prenorm=False, qkv_proj_bias=True,
        rotary_emb_base=10000, rotary_emb_fraction=1.0, rotary_emb_interleaved=False,
        rotary_emb_scale_base=None, rotary_scaling_factor=None,
        scale_attn_by_inverse_layer_idx=False, scale_attn_weights=True, dtype="float32",
        type_vocab_size=1, use_rms_norm=False, vocab_size=vocabulary)


def has_experts(config, layer):
    return layer % config["moe_every_n_layers"] == 1


def shapes(config, has_bias):
    """Of all tensors, by name; `has_bias`: of what experts give."""
    dim, hidden, experts = config["n_embd"], config["n_inner"], config["num_experts"]
    all = {"embeddings.word_embeddings.weight": [config["vocab_size"], dim],
           "embeddings.token_type_embeddings.weight": [config["type_vocab_size"], dim]}

    def add_linear(name, rows, columns):
        all[name + ".weight"], all[name + ".bias"] = [rows, columns], [rows]

    def add_norm(name):
        all[name + ".weight"], all[name + ".bias"] = [dim], [dim]

    add_norm("emb_ln")
    for layer in range(config["n_layer"]):
        block = f"encoder.layers.{layer}."
        add_linear(block + "attn.Wqkv", 3 * dim, dim)
        add_linear(block + "attn.out_proj", dim, dim)
        add_norm(block + "norm1")
        add_norm(block + "norm2")
        if not has_experts(config, layer):
            add_linear(block + "mlp.fc1", hidden, dim)
            add_linear(block + "mlp.fc2", dim, hidden)
            continue
        all[block + "mlp.router.layer.weight"] = [experts, dim]
        all[block + "mlp.experts.mlp.w1"] = all[block + "mlp.experts.mlp.w2"] = [experts * hidden, dim]
        if has_bias:
            all[block + "mlp.experts.bias"] = [dim]
    return all


def softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gelu(x):
    return (x * 0.5 * (1 + erf(x / math.sqrt(2)))).astype(x.dtype)


def turned(x, base):
    """x [heads, tokens, dim] by its positions; pairs are halves."""
    half = x.shape[-1] // 2
    angles = numpy.arange(x.shape[1])[:, None] * base ** (-numpy.arange(half) / half)
    cos, sin = numpy.cos(angles).astype(x.dtype), numpy.sin(angles).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return numpy.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def hidden_states(config, weights, tokens):
    """[tokens, n_embd] of one text, in the weights' dtype."""
    heads, used = config["n_head"], config["moe_top_k"]

    def linear(x, name):
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        scale = numpy.sqrt((centred * centred).mean(-1, keepdims=True) + x.dtype.type(config["layer_norm_epsilon"]))
        return centred / scale * weights[name + ".weight"] + weights[name + ".bias"]

    def attention(x, block):
        rows = linear(x, block + "attn.Wqkv").reshape(len(tokens), 3, heads, -1)
        queries, keys, values = rows.transpose(1, 2, 0, 3)
        queries = turned(queries, float(config["rotary_emb_base"]))
        keys = turned(keys, float(config["rotary_emb_base"]))
        scores = queries @ keys.transpose(0, 2, 1) * x.dtype.type(1 / math.sqrt(keys.shape[-1]))
        mixed = (softmax(scores) @ values).transpose(1, 0, 2).reshape(x.shape)
        return linear(mixed, block + "attn.out_proj")

    def experts(x, block):
        size = (config["num_experts"], config["n_inner"], config["n_embd"])
        first = weights[block + "mlp.experts.mlp.w1"].reshape(size)
        second = weights[block + "mlp.experts.mlp.w2"].reshape(size)
        parts = softmax(x @ weights[block + "mlp.router.layer.weight"].T)
        out = numpy.zeros_like(x)
        for row, part in enumerate(parts):
            for each in numpy.argsort(-part)[:used]:
                out[row] += part[each] * (gelu(x[row] @ first[each].T) @ second[each])
        return out + weights.get(block + "mlp.experts.bias", x.dtype.type(0))

    x = weights["embeddings.word_embeddings.weight"][tokens]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "emb_ln")
    for layer in range(config["n_layer"]):
        block = f"encoder.layers.{layer}."
        x = norm(x + attention(x, block), block + "norm1")
        if has_experts(config, layer):
            y = experts(x, block)
        else:
            y = linear(gelu(linear(x, block + "mlp.fc1")), block + "mlp.fc2")
        x = norm(x + y, block + "norm2")
    return x
