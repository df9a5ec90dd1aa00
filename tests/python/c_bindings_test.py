"""The Rust declarations of the C API are those of its header."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FORMATTER = os.environ.get("RUSTFMT", "rustfmt")


@pytest.mark.skipif(not shutil.which(FORMATTER), reason="rustfmt is missing")
def test_bindings_are_those_of_the_header():
    command = [sys.executable, ROOT / "scripts" / "generate_c_bindings", "--check"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
