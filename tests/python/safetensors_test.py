"""Files written by Hearth are read by the safetensors package, and the other way round."""

import json
import os
import pathlib
import subprocess

import numpy
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

TOOL = os.environ.get("HEARTH_TOOL")
pytestmark = pytest.mark.skipif(not TOOL, reason="built without the hearth command")


def hearth(*arguments):
    return subprocess.run(
        [TOOL, *map(str, arguments)], check=True, capture_output=True, timeout=300
    ).stdout


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    text = folder / "text"
    text.write_text("".join(f"{i} bottles of beer on the wall. " for i in range(300)))
    hearth(
        "train", "--text", text, "--out", folder, "--steps", 12, "--layers", 1, "--dim", 16,
        "--heads", 2, "--kv-heads", 1, "--context", 16, "--batch", 2,
    )
    return folder


def test_python_reads_a_checkpoint(trained):
    path = trained / "checkpoint.safetensors"
    tensors = load_file(path)
    config = json.loads((trained / "config.json").read_text())
    table = tensors["model.embed_tokens.weight"]
    assert table.shape == (config["vocab_size"], config["hidden_size"])
    assert table.dtype == numpy.float32
    assert numpy.isfinite(table).all() and table.std() > 0
    key = tensors["model.layers.0.self_attn.k_proj.weight"]
    assert key.shape == (config["head_dim"] * config["num_key_value_heads"], 16)
    assert tensors["optimizer.steps"].tolist() == [12]
    assert tensors["optimizer.model.norm.weight.exp_avg_sq"].min() >= 0
    assert tensors["curve.train"].shape[1] == 2
    with safe_open(path, "numpy") as file:
        assert file.metadata()["step"] == "12"


def rewritten(trained, folder, convert):
    folder.mkdir()
    weights = {
        name: convert(value)
        for name, value in load_file(trained / "checkpoint.safetensors").items()
        if name.startswith("model.")
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_text((trained / name).read_text())
    return folder


def generate(folder):
    return hearth("generate", "--model", folder, "--tokens", 60, "--seed", 5, "--prompt", "9 ")


def test_hearth_reads_what_python_wrote(trained, tmp_path):
    copy = rewritten(trained, tmp_path / "copy", lambda value: value)
    assert generate(copy) == generate(trained)


def test_hearth_converts_other_floats(trained, tmp_path):
    wide = rewritten(trained, tmp_path / "wide", lambda value: value.astype(numpy.float64))
    assert generate(wide) == generate(trained)
    half = rewritten(trained, tmp_path / "half", lambda value: value.astype(numpy.float16))
    rounded = rewritten(
        trained, tmp_path / "rounded",
        lambda value: value.astype(numpy.float16).astype(numpy.float32))  # fmt: skip
    assert generate(half) == generate(rounded)
    assert len(generate(half)) > len(b"9 \n")


def test_hearth_says_what_is_missing(trained, tmp_path):
    folder = rewritten(trained, tmp_path / "part", lambda value: value)
    path = folder / "model.safetensors"
    weights = load_file(path)
    del weights["model.norm.weight"]
    save_file(weights, path)
    result = subprocess.run(
        [TOOL, "generate", "--model", folder], capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 2
    assert "output_norm.weight" in result.stderr and result.stderr.count("\n") == 1
    pathlib.Path(path).write_bytes(path.read_bytes()[:100])
    result = subprocess.run(
        [TOOL, "generate", "--model", folder], capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 2 and result.stderr.count("\n") == 1
