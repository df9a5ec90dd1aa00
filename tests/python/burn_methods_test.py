"""Every method of Burn's backend traits has an answer in bindings/burn/methods.tsv that exists, or a
reason why it has none."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "bindings" / "burn" / "methods.tsv"
TRAITS = {"r", "o", "-"}


def rows():
    for line in TABLE.read_text().splitlines():
        if not line.startswith("#"):
            cells = line.split("\t")
            yield cells + [""] * (5 - len(cells))


def declared_words():
    """The names that the public headers declare: functions, and members as Class::name."""
    words, text = set(), {}
    for path in (ROOT / "include" / "hearth").rglob("*.h"):
        text[path] = re.sub(r"//[^\n]*", "", path.read_text())
    for body in text.values():
        words |= set(re.findall(r"\b(\w+)\(", body))
        words |= set(re.findall(r"\b(?:class|struct|enum class)(?: HEARTH_API)? (\w+)", body))
        words |= set(re.findall(r"\b(k[A-Z]\w+) =", body))
    return words


OPS = set(re.findall(r"\w+\((\w+)\)", (ROOT / "src" / "ops" / "op_list.def").read_text()))
WORDS = declared_words()


def is_there(answer):
    if answer.startswith("op "):
        return answer[3:] in OPS
    # Of the kinds of tensors, which all have it.
    return all(part in WORDS or part == "Kind" for part in answer.split("::"))


@pytest.mark.parametrize("trait", sorted({row[0] for row in rows()}))
def test_every_method_has_an_answer_that_exists(trait):
    for name, method, versions, answer, note in rows():
        if name != trait:
            continue
        assert set(versions.split("/")) <= TRAITS and versions.count("/") == 2, method
        assert answer, f"{method} has no answer"
        if answer == "-":
            assert note, f"{method} has neither an answer nor a reason"
        else:
            wrong = [one for one in answer.split(", ") if not is_there(one)]
            assert not wrong, f"{method}: {wrong} are not declared"


def test_no_method_stands_twice():
    methods = [(row[0], row[1]) for row in rows()]
    assert len(methods) == len(set(methods)) > 500
