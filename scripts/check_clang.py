#!/usr/bin/env python3
"""Checks that every source compiles without warnings under clang:
`check_clang.py [-j N] [--compiled OTHER]... BUILD`.

Reads BUILD/compile_commands.json, which another compiler's build has written, and runs clang's front
end with the same includes and definitions, each source alone and without precompiled headers, so that
one that leans on them or on others is found. A source whose preprocessed inputs have not changed since
it last passed is not compiled again, nor is one that OTHER, a build by clang with the same warnings
as errors and without precompiled headers, has compiled since. Where ccache is installed, it answers
for what passed in other folders.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

CLANG = os.environ.get("CLANG", "clang++-19")
FLAGS = ["-ffp-contract=off", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
CCACHE = shutil.which("ccache")
ENVIRONMENT = {
    **os.environ, "CCACHE_BASEDIR": str(pathlib.Path(__file__).resolve().parent.parent),
    "CCACHE_NOHASHDIR": "1", "CCACHE_SLOPPINESS": "time_macros",
}  # fmt: skip
LANGUAGES = {".c": ["-x", "c", "-std=c11"]}
CPP = ["-std=c++20"]


def is_precompiled(path):
    return pathlib.Path(path).name.startswith("cmake_pch.")


def single_sources(entry):
    """The entry, or one for each source that its file includes: CMake writes such files."""
    source = pathlib.Path(entry["file"])
    if not source.name.startswith("unity_") or source.parent.name != "Unity":
        return [entry]
    members = re.findall(r'^#include "(.*)"$', source.read_text(), re.MULTILINE)
    return [{**entry, "file": member} for member in members]


def clang_command(entry, stamp):
    words = shlex.split(entry["command"])
    kept = []
    takes_value = False
    for word in words:
        if takes_value:
            if is_precompiled(word):
                kept.pop()
            else:
                kept.append(word)
            takes_value = False
        elif word in ("-isystem", "-I", "-D", "-include"):
            kept.append(word)
            takes_value = True
        elif word.startswith(("-I", "-D", "-isystem")):
            kept.append(word)
    language = LANGUAGES.get(pathlib.Path(entry["file"]).suffix, CPP)
    # ccache keeps what a compiler writes, so that here it writes an object, which nobody wants.
    way = [CCACHE, CLANG, "-O0", "-c", "-o", str(stamp.with_suffix(".o"))]
    if not CCACHE:
        way = [CLANG, "-fsyntax-only"]
    return [*way, *language, *FLAGS, *kept, "-MD", "-MF", str(stamp), entry["file"]]


def unchanged(stamp):
    if not stamp.exists():
        return False
    made = stamp.stat().st_mtime
    text = stamp.read_text().replace("\\\n", " ").split(":", 1)[-1]
    files = [pathlib.Path(word) for word in shlex.split(text)]
    return all(file.exists() and file.stat().st_mtime < made for file in files)


def is_strict_clang(build):
    """Whether what `build` compiles has passed all that this program asks."""
    cache = build / "CMakeCache.txt"
    if not cache.exists():
        return False
    text = cache.read_text()
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=.*clang\+\+", text, re.MULTILINE)
    strict = re.search(r"^HEARTH_WERROR:BOOL=ON$", text, re.MULTILINE)
    plain = re.search(r"^HEARTH_PRECOMPILE:BOOL=OFF$", text, re.MULTILINE)
    return bool(compiler and strict and plain)


def object_of(entry):
    words = shlex.split(entry["command"])
    return words[words.index("-o") + 1]


def compiled_sources(build):
    """The sources whose objects in `build` are newer than all they were compiled from."""
    if not is_strict_clang(build):
        return set()
    entries = json.loads((build / "compile_commands.json").read_text())
    source_of = {object_of(entry): entry["file"] for entry in entries}
    log = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True)
    found = set()
    for block in log.stdout.split("\n\n"):
        head, *inputs = block.strip().splitlines() or [""]
        name = head.split(": #deps")[0]
        target = build / name
        if name not in source_of or not head.endswith("(VALID)") or not target.exists():
            continue
        made = target.stat().st_mtime
        files = [build / file.strip() for file in inputs]
        if all(file.exists() and file.stat().st_mtime < made for file in files):
            found.add(source_of[name])
    return found


def check(entry, folder):
    source = pathlib.Path(entry["file"])
    stamp = folder / (str(source).strip("/").replace("/", "_") + ".d")
    if unchanged(stamp):
        return ""
    command = clang_command(entry, stamp)
    result = subprocess.run(
        command, cwd=entry["directory"], env=ENVIRONMENT, capture_output=True, text=True
    )
    stamp.with_suffix(".o").unlink(missing_ok=True)
    if result.returncode != 0:
        stamp.unlink(missing_ok=True)
        return result.stderr or f"{' '.join(command)}: exit status {result.returncode}"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiled", action="append", default=[], type=pathlib.Path)
    parser.add_argument("-j", type=int, default=os.cpu_count())
    parser.add_argument("build", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = arguments.build.resolve() / "clang-check"
    folder.mkdir(exist_ok=True)
    entries = json.loads((arguments.build / "compile_commands.json").read_text())
    entries = [single for entry in entries if not is_precompiled(entry["file"])
               for single in single_sources(entry)]  # fmt: skip
    total = len(entries)
    for other in arguments.compiled:
        passed = compiled_sources(other.resolve())
        entries = [entry for entry in entries if entry["file"] not in passed]
    with concurrent.futures.ThreadPoolExecutor(arguments.j) as pool:
        errors = [error for error in pool.map(lambda entry: check(entry, folder), entries) if error]
    for error in errors:
        print(error, file=sys.stderr)
    print(f"check_clang: {total} sources, {total - len(entries)} of them passed in other builds, "
          f"{len(errors)} with warnings")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
