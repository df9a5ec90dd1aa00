"""The hearth command on files that are cut off or changed, and killed while it writes one."""

import os
import random
import signal
import subprocess
import time

import gguf
import numpy
import pytest

import tiny_gguf

TOOL = os.environ.get("HEARTH_TOOL")
SECONDS = 120

pytestmark = pytest.mark.skipif(not TOOL, reason="built without the hearth command")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "tiny.gguf"
    tiny_gguf.write_llama(path, context=64)
    return path


def generate(path):
    return subprocess.run(
        [TOOL, "generate", "--model", str(path), "--prompt", "a", "--tokens", "1"],
        capture_output=True, text=True, errors="replace", timeout=SECONDS)  # fmt: skip


def test_what_the_others_are_made_of(model):
    assert generate(model).returncode == 0


def test_files_that_are_cut_off(model, tmp_path):
    whole = model.read_bytes()
    chosen = random.Random(1)
    sizes = [0, 3, 4, 8, 23, 24, len(whole) - 1] + [chosen.randrange(len(whole)) for _ in range(20)]
    for size in sizes:
        part = tmp_path / "part.gguf"
        part.write_bytes(whole[:size])
        done = generate(part)
        assert done.returncode == 2, (size, done)
        assert "at byte" in done.stderr, (size, done.stderr)


def test_files_with_a_changed_byte(model, tmp_path):
    whole = model.read_bytes()
    chosen = random.Random(2)
    for _ in range(60):
        at = chosen.randrange(6000)  # metadata, names and shapes
        changed = bytearray(whole)
        changed[at] ^= chosen.choice([0x01, 0x80, 0xFF])
        path = tmp_path / "changed.gguf"
        path.write_bytes(changed)
        done = generate(path)
        assert done.returncode in (0, 2), (at, done)
        assert done.returncode == 0 or done.stderr.startswith("hearth"), (at, done.stderr)


def test_a_killed_quantize_leaves_no_half_file(tmp_path):
    source, out = tmp_path / "in.gguf", tmp_path / "out.gguf"
    writer = gguf.GGUFWriter(source, "llama")
    weight = numpy.random.default_rng(3).standard_normal((4096, 1024), numpy.float32)
    for layer in range(4):
        writer.add_tensor(f"blk.{layer}.ffn_up.weight", weight)
    tiny_gguf.finish(writer)
    command = [TOOL, "quantize", str(source), str(out), "--type", "iq2_xs"]
    killed = 0
    for wait in (0.02, 0.1, 0.3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        if process.wait(SECONDS) == -signal.SIGKILL:
            killed += 1
            assert not out.exists()
    assert killed > 0
    subprocess.run([*command[:-1], "q8_0"], check=True, capture_output=True, timeout=SECONDS)
    assert len(gguf.GGUFReader(out).tensors) == 4
