"""`hearth embed` with lines that come from a pipe, and of models without an output."""

import json
import math
import os
import subprocess

import numpy
import pytest
import safetensors.numpy

import tiny_gguf

TOOL = os.environ.get("HEARTH_TOOL")

pytestmark = pytest.mark.skipif(not TOOL, reason="built without the hearth command")


def embed(path, *lines):
    done = subprocess.run(
        [TOOL, "embed", "--model", str(path)],
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


def test_vectors_of_experts_are_those_of_llama_cpp(tmp_path):
    xllamacpp = pytest.importorskip("xllamacpp")
    path = tmp_path / "moe.gguf"
    tiny_gguf.write_nomic_bert_moe(path)
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = params.n_batch = params.n_ubatch = 64
    params.n_parallel = 1
    params.embedding = True
    params.warmup = False
    params.verbosity = 0
    server = xllamacpp.Server(params)
    texts = ["abc", "d e f", "a text of a few words"]
    status, vectors, errors = embed(path, *texts)
    assert status == 0, errors
    answer = server.handle_embeddings({"input": texts})
    for vector, other in zip(vectors, answer["data"], strict=True):
        # Its GELU is a table of halves.
        assert vector == pytest.approx(other["embedding"], abs=2e-3)
