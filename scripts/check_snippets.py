#!/usr/bin/env python3
"""Compiles and runs the C++ of README.md and docs/: `check_snippets.py --work DIR COMMAND...`. Of
Python it checks excerpts.

COMMAND compiles one source: {source} and {program} in it are replaced. What the words behind ```cpp say:

    (nothing)      with an `int main`, a program; else definitions, put behind #include
                   "hearth/hearth.h" and `using namespace hearth;`
    in=FILE        stands for the line `// SNIPPET` of FILE
    excerpt=FILE   is not compiled: FILE has the same text, but for spaces; a line `// ...` leaves
                   something out
    sketch         is not compiled: it leaves something to the reader, and says so with `...`

A program runs in DIR, and passes by exiting with 0.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^( *)```(?:cpp|python(?= excerpt=)) *([^\n]*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
PUBLIC = '#include "hearth/hearth.h"\nusing namespace hearth;\n'


class Snippet:
    def __init__(self, page, match):
        text = page.read_text()
        self.page = page.relative_to(ROOT)
        self.line = text.count("\n", 0, match.start()) + 2
        self.rule, _, self.file = match[2].strip().partition("=")
        self.code = "".join(
            line.removeprefix(match[1]) for line in match[3].splitlines(keepends=True)
        )

    def __str__(self):
        return f"{self.page}:{self.line}"

    def source(self):
        code = f'#line {self.line} "{self.page}"\n{self.code}'
        if self.rule == "in":
            before, mark, after = (ROOT / self.file).read_text().partition("// SNIPPET\n")
            if not mark:
                raise ValueError(f"{self.file} has no line // SNIPPET")
            return before + code + after
        if self.rule:
            raise ValueError(f"unknown rule; got {self.rule}, expected in=, excerpt= or sketch")
        if re.search(r"\bint main\(", code):
            return code
        return PUBLIC + code + "int main() {}\n"

    def check_excerpt(self):
        text = "".join((ROOT / self.file).read_text().split())
        at = 0
        for piece in self.code.split("// ...\n"):
            wanted = "".join(piece.split())
            found = text.find(wanted, at)
            if found < 0:
                raise ValueError(f"{self.file} has no such text:\n{piece}")
            at = found + len(wanted)

    def compile_and_run(self, command, work):
        name = f"{self.page.stem}_{self.line}"
        source, program = work / f"{name}.cc", work / name
        source.write_text(self.source())
        words = [word.format(source=source, program=program) for word in command]
        for step, folder in ((words, None), ([program.resolve()], work)):
            result = subprocess.run(
                step, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, errors="replace")  # fmt: skip
            if result.returncode != 0:
                raise ValueError(f"exit status {result.returncode}:\n{result.stdout}")

    def check(self, command, work):
        if self.rule == "excerpt":
            self.check_excerpt()
        elif self.rule == "sketch":
            if "..." not in self.code:
                raise ValueError("a sketch says with ... what it leaves out")
        else:
            self.compile_and_run(command, work)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("`")[1])
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    snippets = [
        Snippet(page, match) for page in pages for match in BLOCK.finditer(page.read_text())
    ]
    failed = 0
    for snippet in snippets:
        try:
            snippet.check(options.command, options.work)
        except (ValueError, OSError) as error:
            failed += 1
            print(f"{snippet}: {error}", file=sys.stderr)
    print(f"check_snippets: {len(snippets)} snippets, {failed} failed")
    return 1 if failed or not snippets else 0


if __name__ == "__main__":
    sys.exit(main())
