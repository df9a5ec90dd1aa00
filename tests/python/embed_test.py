"""`hearth embed` with lines that come from a pipe, and of models without an output."""

import base64
import json
import math
import os
import struct
import subprocess

import numpy
import pytest
import safetensors.numpy

import tiny_gguf

TOOL = os.environ.get("HEARTH_TOOL")

pytestmark = pytest.mark.skipif(not TOOL, reason="built without the hearth command")


def embed(path, *lines, options=()):
    done = subprocess.run(
        [TOOL, "embed", "--model", str(path), *options],
        input="".join(line + "\n" for line in lines), capture_output=True, text=True, check=False)  # fmt: skip
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_a_text_that_is_too_long_fails_alone(tmp_path):
    path = tmp_path / "bert.gguf"
    tiny_gguf.write_bert(path)
    status, vectors, errors = embed(path, "abc", "a " * 100, "", "d e f")
    assert status == 2
    assert vectors[1] is None
    assert "got 1 of 4" in errors and "text 2: " in errors
    for vector in (vectors[0], vectors[2], vectors[3]):
        assert math.hypot(*vector) == pytest.approx(1, abs=1e-5)
    status, alone, errors = embed(path, "d e f")
    assert status == 0, errors
    assert alone[0] == pytest.approx(vectors[3], abs=1e-5)


def write_base_model(folder):
    """A llama over letters as transformers' LlamaModel is saved: names without "model.", no lm_head."""
    random = numpy.random.default_rng(4)
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocabulary = ["[UNK]", *letters, *("##" + letter for letter in letters)]
    dim, hidden = 16, 24
    config = dict(
        model_type="llama", vocab_size=len(vocabulary), hidden_size=dim, intermediate_size=hidden,
        num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, rms_norm_eps=1e-6,
        max_position_embeddings=64, tie_word_embeddings=False)  # fmt: skip
    shapes = {"embed_tokens": (len(vocabulary), dim), "norm": (dim,)}
    for name, shape in [
        ("input_layernorm", (dim,)), ("post_attention_layernorm", (dim,)),
        ("self_attn.q_proj", (dim, dim)), ("self_attn.k_proj", (dim // 2, dim)),
        ("self_attn.v_proj", (dim // 2, dim)), ("self_attn.o_proj", (dim, dim)),
        ("mlp.gate_proj", (hidden, dim)), ("mlp.up_proj", (hidden, dim)),
        ("mlp.down_proj", (dim, hidden)),
    ]:  # fmt: skip
        shapes["layers.0." + name] = shape
    weights = {
        name + ".weight": random.standard_normal(shape).astype(numpy.float32)
        for name, shape in shapes.items()
    }
    tokenizer = {
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "max_input_chars_per_word": 100,
            "continuing_subword_prefix": "##",
            "vocab": {token: i for i, token in enumerate(vocabulary)}},
        "added_tokens": [{"id": 0, "content": "[UNK]", "special": True}],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                       "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"}}  # fmt: skip
    modules = [
        {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    ]
    (folder / "1_Pooling").mkdir(parents=True)
    for file, document in [("config", config), ("tokenizer", tokenizer), ("modules", modules),
                           ("1_Pooling/config", {"pooling_mode_lasttoken": True})]:  # fmt: skip
        (folder / f"{file}.json").write_text(json.dumps(document))
    safetensors.numpy.save_file(weights, folder / "model.safetensors")


def test_models_without_an_output_make_vectors_only(tmp_path):
    folder = tmp_path / "model"
    write_base_model(folder)
    status, of_folder, errors = embed(folder, "abc", "d e f")
    assert status == 0, errors
    assert len(of_folder) == 2 and of_folder[0] != of_folder[1]
    file = tmp_path / "model.gguf"
    subprocess.run([TOOL, "quantize", folder, file, "--type", "f32", "--quiet"], check=True,
                   capture_output=True)  # fmt: skip
    status, of_file, errors = embed(file, "abc", "d e f")
    assert status == 0, errors
    for one, other in zip(of_file, of_folder):
        assert one == pytest.approx(other, abs=1e-6)
    text = tmp_path / "text"
    text.write_text("abc def")
    for model in (folder, file):
        for arguments in (["generate", model, "-p", "abc"], ["perplexity", model, "-f", text]):
            done = subprocess.run([TOOL, *arguments], capture_output=True, text=True, check=False)
            assert done.returncode != 0
            assert "a model without its output; got no weight of the output" in done.stderr


def of_llama_cpp(path, texts, pooling=None):
    xllamacpp = pytest.importorskip("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = params.n_batch = params.n_ubatch = 64
    params.n_parallel = 1
    params.embedding = True
    if pooling is not None:
        params.pooling_type = pooling
    params.warmup = False
    params.verbosity = 0
    server = xllamacpp.Server(params)
    return [each["embedding"] for each in server.handle_embeddings({"input": texts})["data"]]


def test_vectors_of_experts_are_those_of_llama_cpp(tmp_path):
    path = tmp_path / "moe.gguf"
    tiny_gguf.write_nomic_bert_moe(path)
    texts = ["abc", "d e f", "a text of a few words"]
    status, vectors, errors = embed(path, *texts)
    assert status == 0, errors
    for vector, other in zip(vectors, of_llama_cpp(path, texts), strict=True):
        # Its GELU is a table of halves.
        assert vector == pytest.approx(other, abs=2e-3)


@pytest.mark.parametrize("pooling", ["mean", "last", "cls"])
def test_vectors_of_a_model_that_writes_are_those_of_llama_cpp(tmp_path, pooling):
    path = tmp_path / "llama.gguf"
    tiny_gguf.write_llama(path)
    texts = ["abc", "d e f", "a text of a few words"]
    status, vectors, errors = embed(path, *texts, options=["--pooling", pooling])
    assert status == 0, errors
    xllamacpp = pytest.importorskip("xllamacpp")
    kind = getattr(xllamacpp.llama_pooling_type, "LLAMA_POOLING_TYPE_" + pooling.upper())
    for vector, other in zip(vectors, of_llama_cpp(path, texts, kind), strict=True):
        assert math.hypot(*vector) == pytest.approx(1, abs=1e-5)
        assert vector == pytest.approx(other, abs=2e-3)


def blanks_as_spaces():
    """SentencePiece's table that makes tabs, line feeds and carriage returns spaces, in base64."""
    nodes = [0] * 256  # one for each byte: llama.cpp refuses to look behind the last
    children, leaves = 16, 32
    nodes[0] = children << 10
    for byte in b"\t\n\r":
        nodes[children ^ byte] = leaves << 10 | 1 << 8 | byte
    table = struct.pack("<257I", 4 * len(nodes), *nodes) + b" \0"
    return base64.b64encode(table).decode()


def write_xlm_roberta(folder):
    """XLM-RoBERTa over letters, as sentence-transformers saves it, whose first row is the vector."""
    random = numpy.random.default_rng(6)
    pieces = ["\u2581", *"abcdefghijklmnopqrstuvwxyz", "\u2581a", "\u2581the", "ing"]
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    vocabulary = [[token, 0.0] for token in special]
    vocabulary += [[piece, -3.0 - at / 8] for at, piece in enumerate(pieces)]
    dim, hidden, rows = 32, 64, 66
    config = dict(
        model_type="xlm-roberta", vocab_size=len(vocabulary), hidden_size=dim, intermediate_size=hidden,
        num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=rows, type_vocab_size=1,
        layer_norm_eps=1e-5, pad_token_id=1)  # fmt: skip
    embeddings = {"word_embeddings": len(vocabulary), "position_embeddings": rows, "token_type_embeddings": 1}
    weights = {
        f"embeddings.{name}.weight": random.standard_normal((count, dim))
        for name, count in embeddings.items()
    }

    def add(name, *shape):
        scale = dim**-0.5 if len(shape) == 2 else 0.2
        is_norm = "LayerNorm" in name
        weights[name + ".weight"] = random.standard_normal(shape) * scale + is_norm
        weights[name + ".bias"] = random.standard_normal(shape[:1]) * 0.2

    add("embeddings.LayerNorm", dim)
    for layer in range(2):
        block = f"encoder.layer.{layer}."
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            add(f"{block}attention.{name}", dim, dim)
        add(block + "intermediate.dense", hidden, dim)
        add(block + "output.dense", dim, hidden)
        add(block + "attention.output.LayerNorm", dim)
        add(block + "output.LayerNorm", dim)
    tokenizer = {
        "model": {"type": "Unigram", "unk_id": 3, "vocab": vocabulary, "byte_fallback": False},
        "added_tokens": [{"id": i, "content": token, "special": True} for i, token in enumerate(special)],
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": blanks_as_spaces()},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "WhitespaceSplit"},
            {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"}]},
        "decoder": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"},
        "post_processor": {
            "type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0],
            "trim_offsets": True, "add_prefix_space": True}}  # fmt: skip
    roles = dict(bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>", unk_token="<unk>",
                 pad_token="<pad>")  # fmt: skip
    modules = [
        {"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
    ]
    (folder / "1_Pooling").mkdir(parents=True)
    for file, document in [("config", config), ("tokenizer", tokenizer), ("tokenizer_config", roles),
                           ("modules", modules), ("1_Pooling/config", {"pooling_mode_cls_token": True}),
                           ("sentence_bert_config", {"max_seq_length": 64})]:  # fmt: skip
        (folder / f"{file}.json").write_text(json.dumps(document))
    safetensors.numpy.save_file(
        {name: values.astype(numpy.float32) for name, values in weights.items()},
        folder / "model.safetensors",
    )


def test_vectors_of_xlm_roberta_are_those_of_llama_cpp(tmp_path):
    folder = tmp_path / "model"
    write_xlm_roberta(folder)
    # The last is as long as positions are many.
    texts = ["abc", "the d e f", "a text of a few words, reading", "the " * 62]
    status, of_folder, errors = embed(folder, *texts, "the " * 80)
    assert status == 0, errors
    assert of_folder[4] == pytest.approx(of_folder[3], abs=1e-6)  # it is cut
    file = tmp_path / "model.gguf"
    subprocess.run([TOOL, "quantize", folder, file, "--type", "f32", "--quiet"], check=True,
                   capture_output=True)  # fmt: skip
    status, of_file, errors = embed(file, *texts)
    assert status == 0, errors
    for one, same, other in zip(of_file, of_folder[:4], of_llama_cpp(file, texts), strict=True):
        assert one == pytest.approx(same, abs=1e-6)
        assert one == pytest.approx(other, abs=2e-3)
