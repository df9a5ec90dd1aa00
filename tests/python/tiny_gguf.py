"""Tiny language models with random weights as GGUF files: a llama over bytes that chats in ChatML, a
BERT over letters, and Nomic's with experts over letters, too."""

import gguf
import numpy

CHATML = (
    "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_llama(path, *, context=512, seed=0):
    random = numpy.random.default_rng(seed)
    dim, heads, kv_heads, hidden, layers = 32, 4, 2, 64, 2
    controls = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"]
    tokens = controls + [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = [2] + [3] * (len(controls) - 1) + [6] * 256
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(context)
    writer.add_embedding_length(dim)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(dim // heads)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(4)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(CHATML)

    def add(name, *shape, scale=None):
        values = random.standard_normal(shape) * (scale or shape[-1] ** -0.5)
        writer.add_tensor(name, values.astype(numpy.float32))

    def add_ones(name):
        writer.add_tensor(name, numpy.ones(dim, numpy.float32))

    add("token_embd.weight", len(tokens), dim, scale=1.0)
    # Of control tokens zero: the likeliest token never ends a text.
    output = random.standard_normal((len(tokens), dim)) * dim**-0.5
    output[: len(controls)] = 0
    writer.add_tensor("output.weight", output.astype(numpy.float32))
    add_ones("output_norm.weight")
    for layer in range(layers):
        block = f"blk.{layer}."
        add_ones(block + "attn_norm.weight")
        add_ones(block + "ffn_norm.weight")
        add(block + "attn_q.weight", dim, dim)
        add(block + "attn_k.weight", kv_heads * (dim // heads), dim)
        add(block + "attn_v.weight", kv_heads * (dim // heads), dim)
        add(block + "attn_output.weight", dim, dim)
        add(block + "ffn_gate.weight", hidden, dim)
        add(block + "ffn_up.weight", hidden, dim)
        add(block + "ffn_down.weight", dim, hidden)
    finish(writer)


def write_bert(path, *, seed=0):
    random = numpy.random.default_rng(seed)
    dim, heads, hidden, layers, context = 32, 4, 64, 1, 64
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_context_length(context)
    writer.add_embedding_length(dim)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(heads)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    vocabulary = add_letters(writer)
    writer.add_token_type_count(2)

    def add(name, *shape, scale=None):
        values = random.standard_normal(shape) * (scale or shape[-1] ** -0.5)
        writer.add_tensor(name, values.astype(numpy.float32))

    def add_norm(name):
        writer.add_tensor(name + ".weight", numpy.ones(dim, numpy.float32))
        writer.add_tensor(name + ".bias", numpy.zeros(dim, numpy.float32))

    add("token_embd.weight", vocabulary, dim, scale=1.0)
    add("position_embd.weight", context, dim, scale=0.1)
    add("token_types.weight", 2, dim, scale=0.1)
    add_norm("token_embd_norm")
    for layer in range(layers):
        block = f"blk.{layer}."
        for name, rows, columns in [
            ("attn_q", dim, dim), ("attn_k", dim, dim), ("attn_v", dim, dim),
            ("attn_output", dim, dim), ("ffn_up", hidden, dim), ("ffn_down", dim, hidden),
        ]:  # fmt: skip
            add(f"{block}{name}.weight", rows, columns)
            add(f"{block}{name}.bias", rows, scale=0.1)
        add_norm(block + "attn_output_norm")
        add_norm(block + "layer_output_norm")
    finish(writer)


def write_nomic_bert_moe(path, *, seed=0):
    random = numpy.random.default_rng(seed)
    dim, heads, hidden, layers, context, experts = 32, 4, 64, 5, 64, 4
    writer = gguf.GGUFWriter(path, "nomic-bert-moe")
    writer.add_context_length(context)
    writer.add_embedding_length(dim)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(heads)
    writer.add_layer_norm_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_expert_count(experts)
    writer.add_expert_used_count(2)
    writer.add_moe_every_n_layers(3)
    vocabulary = add_letters(writer)
    writer.add_token_type_count(1)

    def add(name, *shape, scale=None):
        values = random.standard_normal(shape) * (scale or shape[-1] ** -0.5)
        writer.add_tensor(name, values.astype(numpy.float32))

    def add_linear(name, rows, columns):
        add(name + ".weight", rows, columns)
        add(name + ".bias", rows, scale=0.1)

    def add_norm(name):
        writer.add_tensor(name + ".weight", random.uniform(0.7, 1.3, dim).astype(numpy.float32))
        add(name + ".bias", dim, scale=0.1)

    add("token_embd.weight", vocabulary, dim, scale=1.0)
    add("token_types.weight", 1, dim, scale=0.1)
    add_norm("token_embd_norm")
    for layer in range(layers):
        block = f"blk.{layer}."
        add_linear(block + "attn_qkv", 3 * dim, dim)
        add_linear(block + "attn_output", dim, dim)
        add_norm(block + "attn_output_norm")
        add_norm(block + "layer_output_norm")
        if layer % 3 == 1:
            add(block + "ffn_gate_inp.weight", experts, dim, scale=0.5)
            add(block + "ffn_up_exps.weight", experts, hidden, dim)
            add(block + "ffn_down_exps.weight", experts, dim, hidden)
        else:
            add_linear(block + "ffn_up", hidden, dim)
            add_linear(block + "ffn_down", dim, hidden)
    finish(writer)


def add_letters(writer):
    """BERT's word pieces, of letters; returns how many tokens there are."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens += ["\u2581" + letter for letter in letters] + list(letters)
    writer.add_tokenizer_model("bert")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * 5 + [1] * (len(tokens) - 5))
    writer.add_unk_token_id(1)
    writer.add_sep_token_id(3)
    writer.add_pad_token_id(0)
    writer.add_bos_token_id(2)
    writer.add_mask_token_id(4)
    return len(tokens)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
