"""What scripts/cross_macos says of programs for Macs."""

import hashlib
import importlib.machinery
import importlib.util
import pathlib
import struct

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "cross_macos"
PAGE = 4096


@pytest.fixture(scope="module")
def script():
    loader = importlib.machinery.SourceFileLoader("cross_macos", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("cross_macos", loader))
    loader.exec_module(module)
    return module


def program(flags=0x20002, signed=True, body=3 * PAGE + 100):
    """A Mach-O file of zeros, signed as the linker does it."""
    name = b"/usr/lib/libSystem.B.dylib\0".ljust(32, b"\0")
    commands = struct.pack("<6I", 0x0C, 24 + len(name), 24, 0, 0, 0) + name
    commands += struct.pack("<6I", 0x32, 24, 1, 13 << 16, 27 << 16, 0)
    if signed:
        commands += struct.pack("<4I", 0x1D, 16, body, 0)
    header = struct.pack("<8I", 0xFEEDFACF, 0x0100000C, 0, 2, 2 + signed, len(commands), 0, 0)
    data = (header + commands).ljust(body, b"\0")
    if not signed:
        return data
    pages = [data[at : at + PAGE] for at in range(0, body, PAGE)]
    directory = struct.pack(">8I", 0xFADE0C02, 0, 0x20400, flags, 88, 0, 0, len(pages))
    directory += struct.pack(">I4B", body, 32, 2, 0, 12)
    directory = directory.ljust(88, b"\0") + b"".join(hashlib.sha256(each).digest() for each in pages)
    return data + struct.pack(">5I", 0xFADE0CC0, 20 + len(directory), 1, 0, 20) + directory


def faults(script, tmp_path, data):
    path = tmp_path / "program"
    path.write_bytes(data)
    return list(script.Program(path).faults())


def test_a_signed_program(script, tmp_path):
    assert faults(script, tmp_path, program()) == []


def test_no_signature(script, tmp_path):
    found = faults(script, tmp_path, program(signed=False))
    assert len(found) == 1 and "is not signed" in found[0]


def test_bytes_that_were_changed(script, tmp_path):
    data = bytearray(program())
    data[2 * PAGE + 5] = 1
    assert faults(script, tmp_path, bytes(data)) == [
        "was changed after it was signed; got 1 wrong hashes of 4"]  # fmt: skip


def test_other_signatures(script, tmp_path):
    assert "not signed ad hoc" in faults(script, tmp_path, program(flags=0x20000))[0]
    data = program()
    at = data.index(struct.pack(">I", 0xFADE0CC0))
    assert "of another kind" in faults(script, tmp_path, data[:at] + bytes(4) + data[at + 4 :])[0]
