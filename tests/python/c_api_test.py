"""The C API neither changes nor loses what it declares, and the library exports exactly that.

What it declares is kept in tests/golden/c_api.txt: additions belong there, by a run with
HEARTH_UPDATE_GOLDEN=1, and HEARTH_C_API_VERSION goes up with them in a release.
"""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "hearth" / "c_api.h"
SNAPSHOT = ROOT / "tests" / "golden" / "c_api.txt"
BUILD = pathlib.Path(os.environ.get("HEARTH_BUILD_DIR", ROOT / "build" / "release"))


def declarations():
    """Functions, enumerators, structs and macros, each as one line."""
    text = re.sub(r"/\*.*?\*/", " ", HEADER.read_text(), flags=re.S)
    text = re.sub(r"\\\n\s*", "", text)
    text = re.sub(r"static inline [^{]*\{.*?\n\}", " ", text, flags=re.S)
    found = [
        re.sub(r"\s+", " ", line)
        for line in re.findall(r"^#define (HEARTH_\w+ \S.*?) *$", text, flags=re.M)
        if not line.startswith(("HEARTH_C_API ", "HEARTH_C_API_VERSION "))
    ]
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    for name, value in re.findall(r"(HEARTH_\w+) = (-?\d+)", text):
        found.append(f"{name} = {value}")
    for declaration in re.findall(r"HEARTH_C_API ([^;{]*);", text):
        found.append(re.sub(r"\s+", " ", declaration).strip())
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\n\} (\w+);", text, flags=re.S):
        found.append(f"struct {name} {{" + re.sub(r"\s+", " ", body) + " }")
    for declaration in re.findall(r"typedef (\w+ \w+);", text):
        found.append(f"typedef {declaration}")
    return sorted(found)


def functions():
    found = (re.match(r"[\w* ]*?\b(hearth_\w+)\(", line) for line in declarations())
    return {match[1] for match in found if match}


def test_nothing_changed_that_programs_were_compiled_against():
    text = "".join(line + "\n" for line in declarations())
    if os.environ.get("HEARTH_UPDATE_GOLDEN"):
        SNAPSHOT.write_text(text)
    assert text == SNAPSHOT.read_text()


def test_the_library_exports_what_the_header_declares():
    library = BUILD / "src" / "libhearth.a"
    if not library.exists():
        pytest.fail(f"no {library}: build it, or name the folder in HEARTH_BUILD_DIR")
    symbols = subprocess.run(
        ["nm", "--defined-only", "--extern-only", library], check=True, capture_output=True, text=True
    ).stdout
    exported = set(re.findall(r" T _?(hearth_\w+)$", symbols, flags=re.M))
    assert len(functions()) > 50
    assert exported == functions()
