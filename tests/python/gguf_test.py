"""Files that the gguf package wrote are read by Hearth, and the other way round."""

import json
import os
import pathlib
import subprocess

import gguf
import numpy
import pytest
from gguf import GGMLQuantizationType as Type
from gguf import GGUFValueType as Value

TOOL = os.environ.get("HEARTH_TOOL")
GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "written.gguf"
needs_tool = pytest.mark.skipif(not TOOL, reason="built without the hearth command")

SCALARS = {
    "s.u8": (Value.UINT8, 200), "s.i8": (Value.INT8, -100), "s.u16": (Value.UINT16, 60000),
    "s.i16": (Value.INT16, -30000), "s.u32": (Value.UINT32, 4000000000),
    "s.i32": (Value.INT32, -2000000000), "s.u64": (Value.UINT64, 18 * 10**18),
    "s.i64": (Value.INT64, -9 * 10**18), "s.f32": (Value.FLOAT32, 0.15625),
    "s.f64": (Value.FLOAT64, 0.1), "s.bool": (Value.BOOL, True),
    "s.string": (Value.STRING, "line\nand \u20ac"),
}  # fmt: skip
ARRAYS = {
    "all.f64": (Value.FLOAT64, [0.1, -1e300]), "all.u64": (Value.UINT64, [0, 2**64 - 1]),
    "all.i16": (Value.INT16, list(range(-50, 50))), "all.bool": (Value.BOOL, [True, False, True]),
    "all.string": (Value.STRING, [f"token {i}" for i in range(1000)]),
}  # fmt: skip
TYPES = {
    "u8": Value.UINT8, "i8": Value.INT8, "u16": Value.UINT16, "i16": Value.INT16,
    "u32": Value.UINT32, "i32": Value.INT32, "f32": Value.FLOAT32, "bool": Value.BOOL,
    "string": Value.STRING, "u64": Value.UINT64, "i64": Value.INT64, "f64": Value.FLOAT64,
}  # fmt: skip
PLAIN = {
    numpy.float32: "f32", numpy.float16: "f16", numpy.float64: "f64", numpy.int8: "i8",
    numpy.int16: "i16", numpy.int32: "i32", numpy.int64: "i64",
}  # fmt: skip


def info(path, *flags):
    result = subprocess.run(
        [TOOL, "info", path, "--json", *flags], check=True, capture_output=True, timeout=300
    )
    return json.loads(result.stdout)


def write(path, tensors, **options):
    """`tensors`: name to an array, or to an array of bytes and its type."""
    writer = gguf.GGUFWriter(path, "llama", **options)
    for key, (kind, value) in SCALARS.items():
        writer.add_key_value(key, value, kind)
    for key, (kind, values) in ARRAYS.items():
        writer.add_key_value(key, values, Value.ARRAY, kind)
    for name, tensor in tensors.items():
        if isinstance(tensor, tuple):
            writer.add_tensor(name, tensor[0], raw_dtype=tensor[1])
        else:
            writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def expect_metadata(document):
    metadata = {entry["key"]: entry for entry in document["metadata"]}
    assert metadata.pop("general.architecture")["value"] == "llama"
    assert metadata.keys() == SCALARS.keys() | ARRAYS.keys()
    for key, (kind, value) in (SCALARS | ARRAYS).items():
        assert TYPES[metadata[key]["type"]] == kind and metadata[key]["value"] == value
        assert metadata[key].get("count") == (len(value) if key in ARRAYS else None)


@needs_tool
def test_hearth_reads_what_python_wrote(tmp_path):
    random = numpy.random.default_rng(1)
    tensors = {f"plain.{name}": random.normal(size=(3, 5)).astype(dtype)
               for dtype, name in PLAIN.items()}  # fmt: skip
    tensors["experts"] = numpy.zeros((2, 3, 4), numpy.float32)
    shapes = {name: list(tensor.shape) for name, tensor in tensors.items()}
    dtypes = {f"plain.{name}": name for name in PLAIN.values()} | {"experts": "f32"}
    for kind in Type:
        block, size = gguf.GGML_QUANT_SIZES[kind]
        if block == 1 and kind != Type.BF16:
            continue
        if kind == Type.Q8_1:  # of 40 bytes for the package, of 36 for ggml, which has halves in it
            continue
        name = f"packed.{kind.name}"
        tensors[name] = (numpy.zeros((3, 2 * size), numpy.uint8), kind)
        shapes[name] = [3, 2 * block]
        dtypes[name] = kind.name.lower()
    path = write(tmp_path / "model.gguf", tensors)
    document = info(path, "--all", "--tensors")
    assert (document["format"], document["version"], document["files"]) == ("gguf", 3, 1)
    assert document["architecture"] == "llama" and document["name"] is None
    expect_metadata(document)
    assert {each["name"]: each["shape"] for each in document["tensors"]} == shapes
    assert {each["name"]: each["dtype"] for each in document["tensors"]} == dtypes
    read = {each.name: each for each in gguf.GGUFReader(path).tensors}
    assert {each["name"]: each["bytes"] for each in document["tensors"]} == {
        name: tensor.n_bytes for name, tensor in read.items()
    }
    totals = {each["dtype"]: each for each in document["dtypes"]}
    assert totals["q8_0"]["bits_per_weight"] == 8.5 and totals["f32"]["tensors"] == 2
    assert document["parameters"] == sum(each["parameters"] for each in totals.values())


@needs_tool
def test_hearth_reads_split_models(tmp_path):
    tensors = {f"t{i}": numpy.full((i + 1, 8), i, numpy.float32) for i in range(3)}
    write(tmp_path / "model.gguf", tensors, split_max_tensors=1)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 3
    for path in files:
        document = info(path, "--all", "--tensors")
        assert document["files"] == 3
        assert [each["shape"] for each in document["tensors"]] == [[1, 8], [2, 8], [3, 8]]
        expect_metadata(document)
    files[1].unlink()
    result = subprocess.run([TOOL, "info", files[0]], capture_output=True, text=True, timeout=300)
    assert result.returncode == 2 and str(files[1]) in result.stderr


@needs_tool
def test_hearth_refuses_parts_of_files(tmp_path):
    whole = write(tmp_path / "whole.gguf", {"t": numpy.zeros(64, numpy.float32)}).read_bytes()
    path = tmp_path / "part.gguf"
    for size in (0, 3, 20, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        result = subprocess.run([TOOL, "info", path], capture_output=True, text=True, timeout=300)
        assert result.returncode == 2 and result.stderr.count("\n") == 1
        assert "at byte" in result.stderr


def test_python_reads_what_hearth_wrote():
    # tests/io/gguf_test.cc compares what Hearth writes with this file.
    reader = gguf.GGUFReader(GOLDEN)
    fields = {name: field for name, field in reader.fields.items() if not name.startswith("GGUF.")}
    contents = {name: field.contents() for name, field in fields.items()}
    assert contents["general.architecture"] == "llama"
    for name, value in {
        "a.u8": 200, "a.i8": -100, "a.u16": 60000, "a.i16": -30000, "a.u32": 4000000000,
        "a.i32": -2000000000, "a.f32": numpy.float32(0.1), "a.bool": True,
        "a.text": "zero\0 line\n \u20ac", "a.u64": 18 * 10**18, "a.i64": -9 * 10**18, "a.f64": 0.1,
        "all.u8": [0, 255], "all.i8": [-128, 127], "all.u16": [0, 65535],
        "all.i16": [-32768, 32767], "all.u32": [0, 2**32 - 1], "all.i32": [-(2**31), 2**31 - 1],
        "all.f32": [-1.5, numpy.float32(3e38)], "all.bool": [True, False, True],
        "all.text": ["", "one", "\u20ac"], "all.u64": [0, 2**64 - 1], "all.i64": [-1, 2**62],
        "all.f64": [-1e300, 0],
    }.items():  # fmt: skip
        assert contents.pop(name) == value, name
        assert fields[name].types[-1] == TYPES[name.split(".")[1].replace("text", "string")]
    assert contents.keys() == {"general.architecture"}

    tensors = {each.name: each for each in reader.tensors}
    assert list(tensors)[:3] == ["scalar", "w", "deep"]
    assert tensors["w"].shape.tolist() == [3, 2] and tensors["w"].data.shape == (2, 3)
    assert tensors["deep"].data.shape == (2, 1, 3, 2) and tensors["scalar"].data.size == 1
    for name, each in tensors.items():
        if name.startswith("blk."):
            assert each.tensor_type.name.lower() == name.removeprefix("blk.")
            assert each.shape.tolist() == [2 * gguf.GGML_QUANT_SIZES[each.tensor_type][0], 2]
        expected = (numpy.arange(each.n_bytes) * 7 + len(name)) % 256
        assert (each.data.reshape(-1).view(numpy.uint8) == expected).all(), name
        assert each.data_offset % 32 == 0
