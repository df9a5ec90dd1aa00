#!/usr/bin/env python3
"""Checks what clang-format leaves alone in C++ files: `check_style.py`.

A comment ends at column 100. A section begins with `// ---- Title`, on a line of its own and without
dashes behind it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["include", "src", "tests", "bench", "examples"]
COLUMNS = 100
COMMENT = re.compile(r"^\s*//|\s//\s")
RULE = re.compile(r"//\s*-{3,}")
SECTION = re.compile(r"^\s*// ---- [^\s-].*(?<!--)$")


def faults(line):
    if len(line) > COLUMNS and COMMENT.search(line):
        yield f"a comment of {len(line)} columns; expected {COLUMNS} at most"
    if RULE.search(line) and not SECTION.match(line):
        yield "a rule of dashes; expected `// ---- Title` alone"


def main():
    failed = 0
    files = [
        file
        for folder in FOLDERS
        for file in sorted((ROOT / folder).rglob("*"))
        if file.suffix in (".h", ".cc")
    ]
    for file in files:
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for fault in faults(line):
                failed += 1
                print(f"{file.relative_to(ROOT)}:{number}: {fault}", file=sys.stderr)
    print(f"check_style: {len(files)} files, {failed} faults")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
