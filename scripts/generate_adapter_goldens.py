#!/usr/bin/env python3
"""Writes tests/golden/adapters/<case>/: a low-rank adapter as PEFT saves it, and what transformers
gives for a tiny model with it.

adapter_config.json and adapter_model.safetensors are PEFT's own files. golden.json is that of
scripts/generate_model_goldens.py for the same model, but that its values are those with the adapter.
The adapter's matrices come from the formula of the model's weights. llama_cpp.gguf is what llama.cpp
makes of the folder: convert_lora_to_gguf.py --outtype f32 --base FOLDER_OF_THE_CONFIGURATION. Run it with what
requirements-goldens.txt lists; the files are checked in.

    scripts/generate_adapter_goldens.py [case ...]
"""

import json
import pathlib
import sys
import tempfile

import generate_model_goldens as models
from generate_model_goldens import ROOT

import base64
import peft
import safetensors.numpy
import torch
import transformers

from model_weights import elements, short

FOLDER = ROOT / "tests" / "golden" / "adapters"
PROMPTS = 2  # of the model's, the first that are longer than one token

# Of which model, and the adapter's settings.
CASES = {
    "llama": dict(r=4, lora_alpha=6, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"]),
    "qwen3": dict(r=3, lora_alpha=5, use_rslora=True, target_modules=["q_proj", "gate_proj", "down_proj"],
                  alpha_pattern={"layers.1.self_attn.q_proj": 9}),
    "gemma3": dict(r=2, lora_alpha=4, target_modules="all-linear"),
    "gpt2": dict(r=4, lora_alpha=8, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True),
    "gpt_neox": dict(r=2, lora_alpha=4, target_modules=["query_key_value", "dense"]),
    "phi3": dict(r=2, lora_alpha=3, target_modules=["qkv_proj", "gate_up_proj"]),
}


def adapted(case, settings, folder, dtype):
    torch.set_default_dtype(dtype)
    model = getattr(transformers, case.model).from_pretrained(folder, dtype=dtype, attn_implementation="eager")
    model = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", **settings))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if ".lora_" not in name:
                continue
            scale = short((3 / parameter.shape[1]) ** 0.5)
            values = elements(name.replace(".default", ""), list(parameter.shape), 0.0, scale)
            parameter.copy_(torch.from_numpy(values).to(dtype))
    model.eval()
    return model


def write(name, settings):
    case = next(each for each in models.CASES if each.name == name)
    golden = json.loads((models.FOLDER / f"{name}.json").read_text())
    out = FOLDER / name
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as text, torch.no_grad():
        folder = pathlib.Path(text)
        (folder / "config.json").write_text(json.dumps(golden["config"]))
        weights = {each["name"]: elements(**each) for each in golden["tensors"]}
        safetensors.numpy.save_file(weights, folder / "model.safetensors", {"format": "pt"})
        with models.DoubleArithmetic():
            model = adapted(case, settings, folder, torch.float64)
            prompts = []
            for prompt in golden["prompts"][1:1 + PROMPTS]:
                logits = model(input_ids=torch.tensor([prompt["tokens"]])).logits[0].numpy()
                data = logits[prompt["first"]:].astype("<f4").tobytes()
                prompts.append({**prompt, "values": base64.b64encode(data).decode()})
        saved = adapted(case, settings, folder, torch.float32)
        saved.peft_config["default"].base_model_name_or_path = name
        saved.save_pretrained(out)
        (out / "README.md").unlink(missing_ok=True)
    golden.update(peft=peft.__version__, transformers=transformers.__version__, old_config=None, prompts=prompts)
    (out / "golden.json").write_text(models.text_of(golden))


def main():
    transformers.logging.set_verbosity_error()
    for name, settings in CASES.items():
        if len(sys.argv) == 1 or name in sys.argv[1:]:
            write(name, settings)
            print(name)


if __name__ == "__main__":
    main()
