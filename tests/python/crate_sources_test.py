"""The sources that the crate hearth-sys packs are all that CMake needs to build Hearth."""

import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_packed_sources_configure_by_themselves(tmp_path):
    # As `cargo package` does it: what the links lead to, and nothing around it.
    shutil.copytree(ROOT / "bindings" / "burn" / "hearth-sys" / "hearth", tmp_path / "hearth")
    command = ["cmake", "-S", tmp_path / "hearth", "-B", tmp_path / "build"]
    options = [f"-DHEARTH_BUILD_{part}=OFF" for part in ("TESTS", "TOOL", "EXAMPLES")]
    result = subprocess.run([*command, *options], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
