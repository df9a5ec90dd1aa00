#!/usr/bin/env python3
"""Compares llama.cpp with transformers on the GGUF files that `hearth quantize FOLDER` writes.

For each case of tests/golden/models the folder is written, made a GGUF file in f32, and run by
llama.cpp with an f32 cache; a line says the normalized squared error of its logits to those of
transformers, by prompt length, and whether the tokens with the highest logits are the same. Prompts
are those of the case. It needs PyPI's llama-cpp-python and numpy.

    scripts/compare_llama_cpp.py [--hearth build/release/bin/hearth] [case ...]
"""

import argparse
import base64
import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "golden"))

import llama_cpp
import numpy

from model_weights import elements

FOLDER = ROOT / "tests" / "golden" / "models"


@llama_cpp.llama_log_callback
def only_errors(level, text, _):
    if level == 4:  # of an error
        sys.stderr.write(text.decode(errors="replace"))


def write_folder(golden, folder):
    """config.json and model.safetensors."""
    (folder / "config.json").write_text(json.dumps(golden["config"]))
    header, parts, at = {}, [], 0
    for tensor in golden["tensors"]:
        data = elements(**tensor).tobytes()
        header[tensor["name"]] = dict(
            dtype="F32", shape=tensor["shape"], data_offsets=[at, at + len(data)])
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(
        len(text).to_bytes(8, "little") + text + b"".join(parts))


class Model:
    """A file in llama.cpp."""

    def __init__(self, path, is_encoder):
        options = llama_cpp.llama_model_default_params()
        options.n_gpu_layers = 0
        options.use_mmap = False
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), options)
        if not self.model:
            raise RuntimeError("llama.cpp does not read the file")
        self.is_encoder = is_encoder
        self.width = (llama_cpp.llama_model_n_embd(self.model) if is_encoder else
                      llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model)))

    def close(self):
        llama_cpp.llama_model_free(self.model)

    def values(self, tokens):
        """The logits, or the hidden states of an encoder, of all rows."""
        options = llama_cpp.llama_context_default_params()
        options.n_ctx, options.n_batch, options.n_ubatch = 64, 64, 64
        options.n_threads = options.n_threads_batch = 2
        options.type_k = options.type_v = 0  # f32
        options.flash_attn_type = 0
        options.embeddings = self.is_encoder
        options.pooling_type = 0
        context = llama_cpp.llama_init_from_model(self.model, options)
        if not context:
            raise RuntimeError("llama.cpp makes no context")
        batch = llama_cpp.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.logits[i] = token, i, 1
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, 0
        run = llama_cpp.llama_encode if self.is_encoder else llama_cpp.llama_decode
        row = (llama_cpp.llama_get_embeddings_ith if self.is_encoder else
               llama_cpp.llama_get_logits_ith)
        status = run(context, batch)
        if status != 0:
            raise RuntimeError(f"llama.cpp gives {status}")
        rows = [numpy.ctypeslib.as_array(row(context, i), (self.width,)).copy()
                for i in range(len(tokens))]
        llama_cpp.llama_batch_free(batch)
        llama_cpp.llama_free(context)
        return numpy.stack(rows).astype(numpy.float64)


def compare(golden, hearth, folder):
    write_folder(golden, folder)
    path = folder / "model.gguf"
    subprocess.run([hearth, "quantize", folder, path, "--type", "f32", "--quiet"], check=True,
                   stdout=subprocess.DEVNULL)
    model = Model(path, golden["output"] == "hidden")
    errors, same = [], True
    for prompt in golden["prompts"]:
        tokens, first = prompt["tokens"], prompt["first"]
        expected = numpy.frombuffer(base64.b64decode(prompt["values"]), "<f4").astype(numpy.float64)
        expected = expected.reshape(len(tokens) - first, -1)
        got = model.values(tokens)[first:]
        errors.append(numpy.square(got - expected).sum() / numpy.square(expected).sum())
        same = same and bool((got.argmax(1) == expected.argmax(1)).all())
    model.close()
    return errors, same


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hearth", default=str(ROOT / "build" / "release" / "bin" / "hearth"))
    parser.add_argument("case", nargs="*")
    arguments = parser.parse_args()
    llama_cpp.llama_log_set(only_errors, ctypes.c_void_p(0))
    for file in sorted(FOLDER.glob("*.json")):
        if arguments.case and file.stem not in arguments.case:
            continue
        golden = json.loads(file.read_text())
        if "same_as" in golden:  # another type of a model that has its turn
            continue
        with tempfile.TemporaryDirectory() as text:
            try:
                errors, same = compare(golden, arguments.hearth, pathlib.Path(text))
                numbers = "  ".join(f"{error:.1e}" for error in errors)
                print(f"{file.stem:26} {numbers}  {'same' if same else 'other'} tokens", flush=True)
            except (RuntimeError, subprocess.CalledProcessError) as error:
                print(f"{file.stem:26} {error}", flush=True)


if __name__ == "__main__":
    main()
