#!/usr/bin/env python3
"""Checks that every source compiles without warnings under clang: `check_clang.py [-j N] BUILD`.

Reads BUILD/compile_commands.json, which another compiler's build has written, and runs clang's front
end with the same includes and definitions, without precompiled headers, so that a source that leans
on them is found. A source whose preprocessed inputs have not changed since it last passed is not
compiled again.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

CLANG = os.environ.get("CLANG", "clang++-19")
FLAGS = [
    "-std=c++20", "-fsyntax-only", "-ffp-contract=off", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow",
    "-Werror",
]


def is_precompiled(path):
    return pathlib.Path(path).name.startswith("cmake_pch.")


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
    return [CLANG, *FLAGS, *kept, "-MD", "-MF", str(stamp), entry["file"]]


def unchanged(stamp):
    if not stamp.exists():
        return False
    made = stamp.stat().st_mtime
    text = stamp.read_text().replace("\\\n", " ").split(":", 1)[-1]
    files = [pathlib.Path(word) for word in shlex.split(text)]
    return all(file.exists() and file.stat().st_mtime < made for file in files)


def check(entry, folder):
    source = pathlib.Path(entry["file"])
    stamp = folder / (str(source).strip("/").replace("/", "_") + ".d")
    if unchanged(stamp):
        return ""
    command = clang_command(entry, stamp)
    result = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True)
    if result.returncode != 0:
        stamp.unlink(missing_ok=True)
        return result.stderr or f"{' '.join(command)}: exit status {result.returncode}"
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", type=int, default=os.cpu_count())
    parser.add_argument("build", type=pathlib.Path)
    arguments = parser.parse_args()
    folder = arguments.build.resolve() / "clang-check"
    folder.mkdir(exist_ok=True)
    entries = json.loads((arguments.build / "compile_commands.json").read_text())
    entries = [entry for entry in entries if not is_precompiled(entry["file"])]
    with concurrent.futures.ThreadPoolExecutor(arguments.j) as pool:
        errors = [error for error in pool.map(lambda entry: check(entry, folder), entries) if error]
    for error in errors:
        print(error, file=sys.stderr)
    print(f"check_clang: {len(entries)} sources, {len(errors)} with warnings")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
