#!/usr/bin/env python3
"""Checks what clang-format leaves alone: `check_style.py`.

A comment ends at column 100; so does every line of public headers, of cmake/ and of Python in bench/. A section begins with `// ---- Title`, on a line of its own and without
dashes after it. A file that a comment names is there; x stands for any.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["include", "src", "tests", "bench", "examples"]
COLUMNS = 100
# Those whose lines are all short: folder and name.
SHORT = [("include", "*.h"), ("bench", "*.py"), ("cmake", "*.cmake")]
COMMENT = re.compile(r"^\s*//|\s//\s")
RULE = re.compile(r"//\s*-{3,}")
SECTION = re.compile(r"^\s*// ---- [^\s-].*(?<!--)$")
NAMED = re.compile(r"(?<![\w./<-])[\w./-]*\w\.(?:h|cc|metal)\b")
FOREIGN = {"foreach_target.h"}  # of libraries


def is_there(name, by_name):
    """Whether a file of this name, or with this end of its path, is in the repository."""
    base = name.rpartition("/")[2]
    if base.partition(".")[0] == "x" or base in FOREIGN:
        return True
    return any(path == name or path.endswith("/" + name) for path in by_name.get(base, ()))


def faults(line, by_name):
    if len(line) > COLUMNS and COMMENT.search(line):
        yield f"a comment of {len(line)} columns; expected {COLUMNS} at most"
    if RULE.search(line) and not SECTION.match(line):
        yield "a rule of dashes; expected `// ---- Title` alone"
    comment = COMMENT.search(line)
    for name in NAMED.findall(line[comment.start() :]) if comment else ():
        if not is_there(name, by_name):
            yield f"no such file; got {name}"


def long_lines(text):
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > COLUMNS:
            yield number, f"a line of {len(line)} columns; expected {COLUMNS} at most"


def main():
    failed = 0
    files = [
        file
        for folder in FOLDERS
        for file in sorted((ROOT / folder).rglob("*"))
        if file.suffix in (".h", ".cc", ".metal")
    ]
    by_name = {}
    for file in files:
        by_name.setdefault(file.name, []).append(file.relative_to(ROOT).as_posix())
    for file in files:
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for fault in faults(line, by_name):
                failed += 1
                print(f"{file.relative_to(ROOT)}:{number}: {fault}", file=sys.stderr)
    for folder, name in SHORT:
        for file in sorted((ROOT / folder).rglob(name)):
            for number, fault in long_lines(file.read_text()):
                failed += 1
                print(f"{file.relative_to(ROOT)}:{number}: {fault}", file=sys.stderr)
    print(f"check_style: {len(files)} files, {failed} faults")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
