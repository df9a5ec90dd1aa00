"""Which sources scripts/check_clang.py finds in a build."""

import importlib.util
import pathlib

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check_clang.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("check_clang", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_sources_compiled_together_are_checked_one_by_one(script, tmp_path):
    unity = tmp_path / "Unity" / "unity_0_cxx.cxx"
    unity.parent.mkdir()
    sources = ["/some/where/first.cc", "/some/where/second.cc"]
    unity.write_text("".join(f'#include "{source}"\n\n' for source in sources))
    entry = {"directory": "/build", "command": f"c++ -DX -c {unity}", "file": str(unity)}
    found = script.single_sources(entry)
    assert [single["file"] for single in found] == sources
    for single in found:
        command = script.clang_command(single, tmp_path / "stamp")
        assert command[-1] == single["file"]
        assert "-DX" in command
        assert str(unity) not in command


def test_a_source_compiled_alone_stays_as_it_is(script):
    entry = {"directory": "/build", "command": "c++ -c /a/unity_0_cxx.cxx", "file": "/a/unity_0_cxx.cxx"}
    assert script.single_sources(entry) == [entry]
