#!/usr/bin/env python3
"""Checks README.md, CONTRIBUTING.md and docs/ against the tree: `check_docs.py`.

A file or folder named in backticks, and the target of a relative link, exists; one called x stands
for any. docs/environment.md names every HEARTH_* variable that the library, its tests and its
scripts read, and no other; docs/inference.md has a row for each family of models. Rows of the ledger are left out: they name what was there when they were
written.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOP = ("src", "include", "tests", "docs", "scripts", "bench", "cmake", "examples", ".ci", ".github")
# Where a path in backticks may begin: the root, or the folder of an #include.
BASES = [ROOT, ROOT / "src", ROOT / "include", ROOT / "tests"]
SOURCE = re.compile(r"[\w./-]+\.(?:h|cc|metal|def|py|cmake|md|txt)")
PLACEHOLDER = re.compile(r"(?:^|/)(?:x|x_\w+|snake_case)(?:\.|/|$)")
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
READS = re.compile(
    r"(?:getenv|words_of|asked_for|environ\.get|\.text|\.flag|\.number)\(\s*\"(HEARTH_\w+)\""
    r"|environ\[\"(HEARTH_\w+)\"\](?!\s*=)|\$\{(HEARTH_\w+):-|\$ENV\{(HEARTH_\w+)\}"
)
ENVIRONMENT = "docs/environment.md"
MODELS = "docs/inference.md"
FAMILIES = "src/models/families"
FAMILY = re.compile(r"\.architecture = \"([^\"]+)\"")
FAMILY_TABLE = re.compile(r"^\| family \| models \|\n(?:\|.*\n)+", re.MULTILINE)
FAMILY_ROW = re.compile(r"^\| `([^`]+)` \| \S.* \|$", re.MULTILINE)


def pages():
    yield ROOT / "README.md"
    yield ROOT / "CONTRIBUTING.md"
    ledger = ROOT / "docs" / "adr" / "ledger"
    yield from (page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent != ledger)


def expanded(text):
    """`a.{h,cc}` as `a.h` and `a.cc`."""
    match = re.search(r"\{([^{}]*)\}", text)
    if not match:
        return [text]
    return [
        one
        for word in match[1].split(",")
        for one in expanded(text[: match.start()] + word + text[match.end() :])
    ]


def exists(path, names):
    if "/" not in path:
        return path in names
    return any((base / path).exists() for base in BASES)


def path_faults(page, names):
    text = FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), page.read_text())
    found = []
    for match in CODE.finditer(text):
        for path in expanded(match[1]):
            is_path = SOURCE.fullmatch(path) or (
                path.split("/")[0] in TOP and re.fullmatch(r"[\w./-]+", path) and "/" in path
            )
            if is_path and not PLACEHOLDER.search(path) and not exists(path, names):
                found.append((match.start(), path))
    for match in LINK.finditer(text):
        if not (page.parent / match[1]).exists():
            found.append((match.start(), match[1]))
    for at, path in found:
        line = text.count("\n", 0, at) + 1
        yield f"{page.relative_to(ROOT)}:{line}: no such file; got {path}"


def variables_read():
    """Each variable, and a file that reads it."""
    read = {}
    files = [ROOT / "Makefile"] + [
        file for folder in ("src", "tests", "scripts", "bench", ".ci")
        for file in sorted((ROOT / folder).rglob("*"))
    ]
    for file in files:
        if not file.is_file() or file.suffix not in ("", ".h", ".cc", ".py", ".txt"):
            continue
        for match in READS.finditer(file.read_text(errors="replace")):
            read.setdefault(next(filter(None, match.groups())), file.relative_to(ROOT))
    return read


def environment_faults():
    read = variables_read()
    named = set(re.findall(r"^\| `(HEARTH_\w+)`", (ROOT / ENVIRONMENT).read_text(), re.MULTILINE))
    for name in sorted(read.keys() - named):
        yield f"{ENVIRONMENT}: no row for {name}, which {read[name]} reads"
    for name in sorted(named - read.keys()):
        yield f"{ENVIRONMENT}: a row for {name}, which nothing reads"


def family_faults(root):
    families = {}
    for file in sorted((root / FAMILIES).glob("*.cc")):
        for name in FAMILY.findall(file.read_text()):
            families[name] = file.relative_to(root)
    table = FAMILY_TABLE.search((root / MODELS).read_text())
    rows = FAMILY_ROW.findall(table[0]) if table else []
    for name in sorted(families.keys() - set(rows)):
        yield f"{MODELS}: no row for the family {name} of {families[name]}"
    for name in sorted(set(rows) - families.keys()):
        yield f"{MODELS}: a row for the family {name}, which is not in {FAMILIES}"
    if rows != sorted(set(rows)):
        yield f"{MODELS}: rows of families that are not in their order, or there twice"


def main():
    names = {
        file.name
        for folder in TOP
        for file in (ROOT / folder).rglob("*")
    } | {file.name for file in ROOT.iterdir()}
    checked = list(pages())
    faults = [fault for page in checked for fault in path_faults(page, names)]
    faults += environment_faults()
    faults += family_faults(ROOT)
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"check_docs: {len(checked)} pages, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
