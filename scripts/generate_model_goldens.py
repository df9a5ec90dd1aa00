#!/usr/bin/env python3
"""Writes tests/golden/models/<case>.json: what transformers gives for tiny models of each family.

Families that it does not have run in NumPy (OwnCase of scripts/golden/model_cases.py).

    {"case", "transformers" or "numpy", "output": "logits" or "hidden", "config": config.json of the model,
     "old_config": the same as older files have it, or null,
     "tensors": [{"name", "shape", "base", "scale"}], "prompts": [{"tokens", "first", "values"}],
     "nmse_of_f32"}

Tensors are those of the model's safetensors files; scripts/golden/model_weights.py makes them from
name, base and scale, and tests/models/golden_weights.h does so too. The values of a prompt are f32,
row-major, little-endian, in base64: [tokens - first, vocab_size] logits of the positions from
`first` on, or as many rows of the last hidden state.

Models run with eager attention and all their arithmetic in f64, also where the code asks for f32
(norms, softmax, rope, routers), and their results are rounded once. "nmse_of_f32" says how far the
same model in f32 is from that: the mean squared error over the mean square of all values. Run it
with what requirements-goldens.txt lists after changing a case; the files are checked in.

    scripts/generate_model_goldens.py [case ...]
"""

import base64
import json
import math
import pathlib
import random
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts" / "golden"))

import numpy
import safetensors
import safetensors.numpy
import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode

from model_cases import CASES, VOCABULARY, OwnCase
from model_weights import base_and_scale, elements

FOLDER = ROOT / "tests" / "golden" / "models"
LENGTHS = [1, 5, 14, 43]
ALL_POSITIONS = 14  # prompts up to this length have them all; longer ones the last few
LAST_POSITIONS = 6
MAX_PARAMETERS = 400_000


class DoubleArithmetic(TorchDispatchMode):
    """Makes f64 of every f32 that is asked for."""

    def __torch_dispatch__(self, op, types, args=(), kwargs=None):
        def widened(value):
            return torch.float64 if value is torch.float32 else value

        return op(*map(widened, args), **{key: widened(value) for key, value in (kwargs or {}).items()})


def prompts_of(name):
    draw = random.Random(name)
    return [[draw.randrange(VOCABULARY) for _ in range(length)] for length in LENGTHS]


def saved_tensors(folder):
    tensors = {}
    for path in sorted(folder.glob("*.safetensors")):
        with safetensors.safe_open(path, "numpy") as file:
            for name in file.keys():
                tensors[name] = list(file.get_slice(name).get_shape())
    return tensors


def old_spelling(config):
    """The configuration with the members that files had before rope_parameters and
    per_layer_config; None where there is nothing to say otherwise."""
    if config["model_type"] == "gemma4_text":
        old = {key: value for key, value in config.items() if key != "per_layer_config"}
        layer = next(iter(config["per_layer_config"].values()))
        old["global_head_dim"] = layer["head_dim"]
        old["num_global_key_value_heads"] = layer.get("num_key_value_heads")
        return old
    old = {key: value for key, value in config.items() if key not in ("rope_parameters", "dtype")}
    old["torch_dtype"] = config["dtype"]
    if "use_sliding_window" in config:
        old.pop("layer_types", None)
    rope = config.get("rope_parameters")
    if rope is None:
        return None
    if config["model_type"] == "modernbert":
        old.pop("layer_types")
        old.update(global_attn_every_n_layers=3, global_rope_theta=rope["full_attention"]["rope_theta"],
                   local_rope_theta=rope["sliding_attention"]["rope_theta"])
        return old
    if "full_attention" in rope:
        old["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        if config["model_type"] != "gemma3_text":
            old.pop("rope_local_base_freq")
        rope = rope["full_attention"]
    rope = dict(rope)
    theta, fraction = rope.pop("rope_theta"), rope.pop("partial_rotary_factor", None)
    if config["model_type"] == "gpt_neox":
        old.update(rotary_emb_base=theta, rotary_pct=fraction)
    else:
        old["rope_theta"] = theta
        if fraction is not None:
            old["partial_rotary_factor"] = fraction
    old["rope_scaling"] = rope if rope["rope_type"] != "default" else None
    if rope["rope_type"] == "longrope":
        old["rope_scaling"] = {"type": "longrope", **{key: rope[key] for key in ("short_factor", "long_factor")}}
    return old


def run(case, folder, dtype, prompts):
    """The values [tokens, width] of each prompt."""
    torch.set_default_dtype(dtype)
    model, report = getattr(transformers, case.model).from_pretrained(
        folder, dtype=dtype, attn_implementation="eager", output_loading_info=True)
    faults = {key: value for key, value in report.items() if value}
    assert not faults, f"{case.name}: not every tensor was loaded; got {faults}"
    if hasattr(model, "set_experts_implementation") and model._can_set_experts_implementation():
        model.set_experts_implementation("eager")
    model.eval()
    for parameter in model.parameters():
        assert parameter.dtype == dtype, f"{case.name}: {parameter.dtype}"
    out = []
    for tokens in prompts:
        result = model(input_ids=torch.tensor([tokens]))
        values = result.logits if case.output == "logits" else result.last_hidden_state
        assert values.dtype == dtype and values.isfinite().all(), case.name
        out.append(values[0].numpy())
    return out


def tensors_of(case, shapes):
    tensors = []
    for name, shape in sorted(shapes.items()):
        base, scale = base_and_scale(name, shape, case.norms_add_one, case.inputs_first)
        tensors.append({"name": name, "shape": shape, "base": base, "scale": scale})
    return tensors


def own_golden(case):
    tensors = tensors_of(case, case.shapes)
    weights = {each["name"]: elements(**each) for each in tensors}

    def run_as(dtype):
        own = {name: value.astype(dtype) for name, value in weights.items()}
        return [case.module.hidden_states(case.arguments, own, tokens) for tokens in prompts]

    prompts = prompts_of(case.name)
    return document(case, {"numpy": numpy.__version__}, case.arguments, None, tensors, prompts,
                    run_as(numpy.float64), run_as(numpy.float32))


def golden(case):
    if isinstance(case, OwnCase):
        return own_golden(case)
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        torch.set_default_dtype(torch.float32)
        config = getattr(transformers, case.config)(**case.arguments)
        getattr(transformers, case.model)(config).save_pretrained(folder)
        tensors = tensors_of(case, saved_tensors(folder))
        for path in folder.glob("*.safetensors*"):
            path.unlink()
        weights = {each["name"]: elements(**each) for each in tensors}
        safetensors.numpy.save_file(weights, folder / "model.safetensors", {"format": "pt"})
        prompts = prompts_of(case.name)
        with torch.no_grad():
            with DoubleArithmetic():
                exact = run(case, folder, torch.float64, prompts)
            rounded = run(case, folder, torch.float32, prompts)
        written = json.loads((folder / "config.json").read_text())
        old = old_spelling(written)
        if old is not None:
            (folder / "config.json").write_text(json.dumps(old))
            try:
                with torch.no_grad(), DoubleArithmetic():
                    again = run(case, folder, torch.float64, prompts)
                if not all((a == b).all() for a, b in zip(exact, again)):
                    old = None
            except Exception as error:  # a family that never had it
                print(f"{case.name}: no older spelling: {type(error).__name__}: {error}")
                old = None
    written = as_said(written, case)
    old = None if old is None else as_said(old, case)
    return document(case, {"transformers": transformers.__version__}, written, old, tensors, prompts,
                    exact, rounded)


def as_said(config, case):
    said = {**config, **case.said}
    return {key: value for key, value in said.items() if value is not None or key not in case.said}


def document(case, origin, config, old_config, tensors, prompts, exact, rounded):
    parameters = sum(math.prod(each["shape"]) for each in tensors)
    assert parameters <= MAX_PARAMETERS, f"{case.name}: {parameters} parameters"
    error = sum(numpy.square(a - b).sum() for a, b in zip(exact, rounded))
    nmse = error / sum(numpy.square(a).sum() for a in exact)
    entries = []
    for tokens, values in zip(prompts, exact):
        first = 0 if len(tokens) <= ALL_POSITIONS else len(tokens) - LAST_POSITIONS
        data = values[first:].astype("<f4").tobytes()
        entries.append({"tokens": tokens, "first": first, "values": base64.b64encode(data).decode()})
    spread = numpy.concatenate(exact).std()
    print(f"{case.name:24} {parameters:7} parameters  f32 {nmse:.1e}  values' deviation {spread:.2f}"
          f"{'  also in the older spelling' if old_config else ''}")
    return {"case": case.name, **origin, "output": case.output,
            "config": config, "old_config": old_config, "tensors": tensors, "prompts": entries, "nmse_of_f32": float(f"{nmse:.2g}")}


def text_of(document):
    """JSON with a line for each member and each element of its arrays."""
    lines = []
    for key, value in document.items():
        if isinstance(value, list):
            value = "[\n" + ",\n".join(json.dumps(each) for each in value) + "\n]"
        else:
            value = json.dumps(value)
        lines.append(f"{json.dumps(key)}: {value}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main():
    wanted = sys.argv[1:]
    unknown = set(wanted) - {case.name for case in CASES}
    if unknown:
        sys.exit(f"no such case; got {sorted(unknown)}")
    transformers.logging.set_verbosity_error()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        if not wanted or case.name in wanted:
            (FOLDER / f"{case.name}.json").write_text(text_of(golden(case)))


if __name__ == "__main__":
    main()
