#!/usr/bin/env python3
"""Writes tests/golden/folders: small folders of weights in forms that Hearth has no dtype for.

Each has config.json and what it says: model.safetensors, or two files and their index. Beside them
expected.safetensors holds what the weights stand for, in f64 and by their names: eight-bit floats as
PyTorch reads them times their scales, mxfp4 as transformers unpacks it, and what MLX dequantizes
with scales and biases in f32. Run it with what requirements-goldens.txt lists; the files are checked
in.
"""

import json
import pathlib

import mlx.core as mx
import numpy
import safetensors.torch
import torch
from transformers.integrations.mxfp4 import convert_moe_packed_tensors

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "golden" / "folders"


def normal(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def write(name, config, tensors, expected, shards=1, format="pt"):
    folder = FOLDER / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    for old in folder.glob("model*"):
        old.unlink()
    save = lambda file, part: safetensors.torch.save_file(part, folder / file, {"format": format})
    if shards == 1:
        save("model.safetensors", tensors)
    else:
        names = sorted(tensors)
        places = {key: f"model-{i % shards + 1:05}-of-{shards:05}.safetensors" for i, key in enumerate(names)}
        for file in set(places.values()):
            save(file, {key: tensors[key] for key in names if places[key] == file})
        index = {"metadata": {"total_size": sum(each.nbytes for each in tensors.values())}, "weight_map": places}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")
    safetensors.torch.save_file({key: value.double().contiguous() for key, value in expected.items()},
                                folder / "expected.safetensors")


def spread(scale, rows, columns, shape):
    """Scales of blocks, one for each element."""
    return scale.repeat_interleave(rows, -2).repeat_interleave(columns, -1)[..., : shape[-2], : shape[-1]]


def float8():
    every = torch.arange(256, dtype=torch.uint8)
    tensors, expected = {}, {}

    def add(name, weight, scale=None, ending="", factors=None):
        tensors[name] = weight
        expected[name] = weight.double()
        if scale is not None:
            tensors[name + ending] = scale
            expected[name] = weight.double() * (scale.double() if factors is None else factors.double())

    blocks = torch.rand(3, 3) + 0.1
    weight = (normal(10, 20) * 50).to(torch.float8_e4m3fn)
    add("blocks.weight", weight, blocks, "_scale_inv", spread(blocks, 4, 8, (10, 20)))
    rows = (torch.rand(7, 1) + 0.1).to(torch.bfloat16)
    add("rows.weight", (normal(7, 9) * 50).to(torch.float8_e4m3fn), rows, "_scale")
    add("whole.weight", normal(5, 6).to(torch.float8_e5m2), torch.tensor(0.37), "_scale")
    experts = torch.rand(2, 3, 2) + 0.1
    add("experts", normal(2, 10, 12).to(torch.float8_e4m3fn), experts, "_scale_inv", spread(experts, 4, 8, (10, 12)))
    exponents = torch.tensor([[120, 127], [130, 1]], dtype=torch.uint8).view(torch.float8_e8m0fnu)
    add("powers.weight", normal(6, 16).to(torch.float8_e4m3fn), exponents, "_scale_inv", spread(exponents.float(), 4, 8, (6, 16)))
    add("every_e4m3.weight", every.view(torch.float8_e4m3fn))
    add("every_e5m2.weight", every.view(torch.float8_e5m2))
    add("norm.weight", torch.rand(9))
    config = {"model_type": "qwen3", "quantization_config": {"quant_method": "fp8", "fmt": "e4m3",
              "activation_scheme": "dynamic", "weight_block_size": [4, 8]}}
    write("float8", config, tensors, expected, shards=2)


def mxfp4():
    blocks = torch.randint(0, 256, (2, 6, 3, 16), dtype=torch.uint8)
    scales = torch.randint(110, 140, (2, 6, 3), dtype=torch.uint8)
    plain = convert_moe_packed_tensors(blocks, scales, dtype=torch.float64)
    tensors = {"experts.gate_up_proj_blocks": blocks, "experts.gate_up_proj_scales": scales,
               "experts.gate_up_proj_bias": torch.rand(2, 6).to(torch.bfloat16)}
    expected = {"experts.gate_up_proj_blocks": plain.transpose(1, 2),
                "experts.gate_up_proj_bias": tensors["experts.gate_up_proj_bias"]}
    config = {"model_type": "gpt_oss", "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": []}}
    write("mxfp4", config, tensors, expected)


def from_mlx(array):
    if array.dtype == mx.bfloat16:
        return torch.from_numpy(numpy.array(array.astype(mx.float32))).to(torch.bfloat16)
    return torch.from_numpy(numpy.array(array))


def mlx():
    mx.random.seed(5)
    tensors, expected, modules = {}, {}, {}

    def add(module, shape, dtype=mx.float16, mode="affine", size=1.0, **options):
        values = (mx.random.normal(shape) * size).astype(dtype)
        parts = mx.quantize(values, mode=mode, **options)
        for part, name in zip(parts, ("weight", "scales", "biases")):
            tensors[f"{module}.{name}"] = from_mlx(part)
        wide = [parts[0]] + [part if mode != "affine" else part.astype(mx.float32) for part in parts[1:]]
        expected[f"{module}.weight"] = from_mlx(mx.dequantize(*wide, mode=mode, dtype=mx.float32, **options))
        modules[module] = {**options, **({"mode": mode} if mode != "affine" else {})}

    for bits in (2, 3, 4, 5, 6, 8):
        add(f"bits_{bits}", (3, 128), bits=bits, group_size=32)
    add("group_128", (2, 256), mx.bfloat16, bits=4, group_size=128)
    add("experts", (2, 3, 64), mx.bfloat16, bits=5, group_size=64)
    add("large", (2, 64), mx.bfloat16, size=1e6, bits=4, group_size=64)
    add("wide", (2, 64), mx.float32, bits=4, group_size=64)
    add("floats", (3, 96), mx.bfloat16, "mxfp4", bits=4, group_size=32)
    add("default", (3, 128), bits=4, group_size=64)
    del modules["default"]
    modules["norm"] = False
    tensors["norm.weight"] = expected["norm.weight"] = torch.rand(9)
    quantization = {"group_size": 64, "bits": 4, **modules}
    config = {"model_type": "qwen3", "quantization": quantization, "quantization_config": quantization}
    write("mlx", config, tensors, expected, format="mlx")


if __name__ == "__main__":
    torch.manual_seed(3)
    float8()
    mxfp4()
    mlx()
