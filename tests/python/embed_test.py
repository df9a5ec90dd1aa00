"""`hearth embed` with lines that come from a pipe."""

import json
import math
import os
import subprocess

import pytest

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
