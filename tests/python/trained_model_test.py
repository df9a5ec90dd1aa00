"""A model that `hearth train` wrote: its folder, and a GGUF file of it that llama.cpp reads alike."""

import json
import os
import re
import signal
import subprocess

import gguf
import openai
import pytest

TOOL = os.environ.get("HEARTH_TOOL")
PROMPT = "the 3 quick"
TOKENS = 40

pytestmark = pytest.mark.skipif(not TOOL, reason="built without the hearth command")


def hearth(*arguments):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A llama of bytes that has learnt a text of few sentences."""
    out = tmp_path_factory.mktemp("trained")
    text = "".join(f"the {i % 7} quick foxes jump over {i % 5} dogs. " for i in range(400))
    (out / "text").write_text(text)
    hearth("train", "--text", out / "text", "--out", out / "model", "--steps", 150, "--layers", 2,
           "--dim", 64, "--heads", 2, "--context", 64, "--batch", 4, "--lr", 0.01)  # fmt: skip
    return out / "model"


@pytest.fixture(scope="module", params=["keep", "q8_0", "q4_0"])
def file(request, folder):
    path = folder.parent / f"{request.param}.gguf"
    hearth("quantize", folder, path, "--type", request.param, "--quiet")
    return path


@pytest.fixture(scope="module")
def whole(folder):
    path = folder.parent / "whole.gguf"
    hearth("quantize", folder, path, "--type", "keep", "--quiet")
    return path


def written(model, prompt=PROMPT):
    return hearth("generate", "--model", model, "--prompt", prompt, "--tokens", TOKENS,
                  "--temperature", 0).rstrip("\n")  # fmt: skip


def test_says_what_it_is(folder, file):
    reader = gguf.GGUFReader(file)
    assert reader.get_field("general.architecture").contents() == "llama"
    assert reader.get_field("general.name").contents() == "model"
    assert reader.get_field("tokenizer.ggml.model").contents() == "gpt2"
    assert len(reader.get_field("tokenizer.ggml.tokens").contents()) == 256
    shapes = {tensor.name: list(tensor.shape) for tensor in reader.tensors}
    assert shapes["token_embd.weight"] == [64, 256]
    text = "any bytes: \t\x01 \u00e9\u4e2d \r\n\n  end"
    tokens = hearth("tokenize", file, "--text", text).split()
    assert [int(token) for token in tokens] == list(text.encode())


def test_writes_what_the_folder_writes(folder, whole):
    for prompt in (PROMPT, "foxes", "over 4"):
        assert written(whole, prompt) == written(folder, prompt)


def test_guesses_change_nothing(whole, folder):
    small = folder.parent / "small.gguf"
    hearth("quantize", folder, small, "--type", "q4_0", "--quiet")
    for options in (["--drafts", "4"], ["--draft-model", small]):
        done = subprocess.run([TOOL, "generate", whole, "--prompt", PROMPT, "--tokens", str(TOKENS),
                               "--temperature", "0", *options], capture_output=True, text=True)  # fmt: skip
        assert done.stdout.rstrip("\n") == written(whole)
        held, guessed = map(int, re.search(r"(\d+) of (\d+) guesses held", done.stderr).groups())
        assert 0 < held <= guessed
    done = subprocess.run([TOOL, "generate", whole, "--prompt", PROMPT, "--tokens", str(TOKENS),
                           "--temperature", "0", "--draft-model", small, "--drafts", "0"],
                          capture_output=True, text=True)  # fmt: skip
    assert done.stdout.rstrip("\n") == written(whole)
    assert "guesses" not in done.stderr


def test_the_folder_is_a_model_for_every_command(folder):
    assert "llama" in hearth("info", folder)
    assert hearth("tokenize", folder, "--text", "ab").split() == ["97", "98"]
    rows = json.loads(hearth("bench-model", "--model", folder, "--prompt", 8, "--tokens", 8,
                             "--repeat", 1, "--json"))["rows"]  # fmt: skip
    assert [row["test"] for row in rows] == ["pp8", "tg8"]
    text = hearth("perplexity", "--model", folder, "--file", folder.parent / "text", "--context", 32)
    assert float(re.search(r"perplexity\D*([0-9.]+)", text).group(1)) < 2


def test_bench_model_tells_how_many_guesses_held(whole):
    out = hearth("bench-model", "--model", whole, "--prompt", 0, "--tokens", 32, "--repeat", 1,
                 "--drafts", 4, "--json")  # fmt: skip
    plain, drafted = json.loads(out)["rows"]
    assert plain["held"] is None and drafted["test"] == "tg32 + 4 drafts"
    assert 0 <= drafted["held"] <= 1 and drafted["mean"] > 0


def test_stop_ends_the_text(whole):
    text = written(whole)
    stop = text[len(PROMPT) + 10 : len(PROMPT) + 14]
    cut = hearth("generate", whole, "--prompt", PROMPT, "--tokens", TOKENS, "--temperature", 0,
                 "--stop", stop)  # fmt: skip
    assert cut.rstrip("\n") == text[: text.index(stop, len(PROMPT))]


@pytest.mark.parametrize("form", ["folder", "whole"])
def test_is_served(form, request):
    model = request.getfixturevalue(form)
    process = subprocess.Popen([TOOL, "serve", "--model", model, "--port", "0"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    try:
        line = process.stdout.readline()
        if not line and "cpp-httplib" in process.stderr.read():
            pytest.skip("built without HTTP")
        port = re.search(r":(\d+)$", line.strip()).group(1)
        assert "is ready" in process.stdout.readline()
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none",
                               max_retries=0, timeout=60)  # fmt: skip
        answer = client.completions.create(model="x", prompt=PROMPT, max_tokens=TOKENS,
                                           temperature=0)  # fmt: skip
        assert PROMPT + answer.choices[0].text == written(model)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()


def test_llama_cpp_writes_the_same(file):
    xllamacpp = pytest.importorskip("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_ctx = 128
    params.n_parallel = 1
    params.warmup = False
    params.verbosity = 0
    server = xllamacpp.Server(params)
    answer = server.handle_completions({"prompt": PROMPT, "max_tokens": TOKENS, "temperature": 0,
                                        "logprobs": 1})  # fmt: skip
    assert PROMPT + answer["choices"][0]["text"] == written(file)
