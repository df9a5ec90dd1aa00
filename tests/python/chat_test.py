"""`hearth chat` with lines that come from a pipe."""

import os
import subprocess

import pytest

import tiny_gguf

TOOL = os.environ.get("HEARTH_TOOL")

pytestmark = pytest.mark.skipif(not TOOL, reason="built without the hearth command")


def test_lines_behind_one_that_does_not_fit(tmp_path):
    path = tmp_path / "tiny.gguf"
    tiny_gguf.write_llama(path, context=64)
    lines = "hi\n" + "x" * 200 + "\n/reset\nhi\n/exit\n"
    done = subprocess.run(
        [TOOL, "chat", str(path), "--tokens", "4"], input=lines, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 2
    notes = [line for line in done.stderr.splitlines() if line.startswith("chat: line ")]
    assert len(notes) == 1 and notes[0].startswith("chat: line 2: "), done.stderr
    assert "/reset" in notes[0]
    assert "chat: lines without an answer; got 1" in done.stderr
    # Each line has its place, the one behind /reset an answer again.
    assert len(done.stdout.splitlines()) >= 3
