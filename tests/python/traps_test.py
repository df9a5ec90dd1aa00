"""The tests that docs/traps.md names exist."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "traps.md"


def rows():
    """The trap, the file, and the tests in it."""
    for line in PAGE.read_text().splitlines():
        if match := re.fullmatch(r"\| (.+) \| `(tests/[\w/.]+)`: (.+) \|", line):
            yield match[1], match[2], re.findall(r"`(\w+)\.(\w+)`", match[3])


def test_every_row_names_a_test():
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    tables = PAGE.read_text().count("| --- |")
    assert len(list(rows())) == len(lines) - 2 * tables
    assert all(tests for _, _, tests in rows())


@pytest.mark.parametrize("path", sorted({path for _, path, _ in rows()}))
def test_the_tests_of_a_file_exist(path):
    text = (ROOT / path).read_text()
    there = set(re.findall(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", text, re.MULTILINE))
    for trap, file, tests in rows():
        if file == path:
            assert set(tests) <= there, f"{trap}: {sorted(set(tests) - there)}"
