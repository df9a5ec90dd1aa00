"""Every method of Burn's backend traits has an answer in bindings/burn/methods.tsv: functions, members
and types that the public headers declare, or a reason why there is none."""

import collections
import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "bindings" / "burn" / "methods.tsv"
HEADERS = ROOT / "include" / "hearth"
TOOL = os.environ.get("HEARTH_TOOL")
# A dtype of what the methods of a trait take.
DTYPE_OF = {"FloatTensorOps": "f32", "IntTensorOps": "i32", "BoolTensorOps": "bool",
            "ModuleOps": "f32", "ActivationOps": "f32"}
# How many methods the traits have in each of the three versions: required and optional.
COUNTS = [(244, 247), (237, 272), (246, 287)]
# How many there are in all.
METHODS = 566


def rows():
    for line in TABLE.read_text().splitlines():
        if not line.startswith("#"):
            cells = line.split("\t")
            yield cells + [""] * (5 - len(cells))


def declared_name(statement):
    """The name that a declaration gives, or None: a function's, an alias's, a data member's."""
    text = statement.strip()
    if match := re.match(r"using (\w+) =", text):
        return match[1]
    if text.startswith(("using ", "friend ", "static_assert", "#")):
        return None
    while text.startswith("template"):
        text = text[text.index("<"):]
        depth = 0
        for at, c in enumerate(text):
            depth += (c == "<") - (c == ">")
            if depth == 0:
                break
        text = text[at + 1 :].strip()
    text = re.sub(r"^requires\s*(\w+<[^()]*?>\s+|[A-Za-z]\w+\s+)?", "", text)
    if match := re.match(r"[^(=]*?(\w+)\s*\(", re.sub(r"operator.*", "", text)):
        return match[1]
    match = re.match(r"[\w:<>,&*\s]+?\s(\w+)\s*(=.*|\{.*)?$", text, re.DOTALL)
    return match[1] if match else None


def declarations(text):
    """What a header declares: (type or None, name), for types (None, name) too."""
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"^#.*?[^\\]$", "", text, flags=re.MULTILINE)
    text = re.sub(r'"(\\.|[^"\\\n])*"|\'(\\.|[^\'\\])\'', "0", text)
    text = re.sub(r"\[\[.*?\]\]|\bHEARTH_API\b", "", text)
    scopes, statement, parentheses = [None], "", 0  # of a scope: a type's name, None, or "body"
    for c in text:
        inside = scopes[-1]
        parentheses += (c == "(") - (c == ")")
        if c == "{":
            head = statement.strip()
            kind = re.search(
                r"(?:^|>|\s)(namespace|struct|enum class|class|enum|union)\b\s*(\w*)", head)
            if inside == "body" or not kind or "(" in head and kind[1] != "enum class":
                if inside != "body" and (name := declared_name(head)):
                    yield inside, name
                scopes.append("body")
                # A body ends a statement, braces of a default do not.
                statement = "" if "=" not in head or "(" in head else statement
                if "(" not in head:
                    continue
            elif kind[1] == "namespace":
                scopes.append(None)
            else:
                yield None, kind[2]
                scopes.append(kind[2] if not kind[1].startswith("enum") else "enum " + kind[2])
            statement = ""
        elif c == "}":
            if isinstance(inside, str) and inside.startswith("enum "):
                for value in statement.split(","):
                    if match := re.match(r"\s*(\w+)", value):
                        yield inside[5:], match[1]
            if len(scopes) > 1:
                scopes.pop()
            if inside != "body":
                statement = ""
        elif inside == "body":
            continue
        elif c == ";" and parentheses == 0:
            if name := declared_name(statement):
                yield inside, name
            statement = ""
        elif c == ":" and statement.strip() in ("public", "private", "protected"):
            statement = ""
        else:
            statement += c


DECLARED = {
    one for path in HEADERS.rglob("*.h") for one in declarations(path.read_text())
}


def is_there(answer):
    """`function`, `Type` or `Type::member`."""
    owner, _, name = answer.rpartition("::")
    return (owner or None, name) in DECLARED


@pytest.mark.parametrize("trait", sorted({row[0] for row in rows()}))
def test_every_method_has_an_answer_that_exists(trait):
    for name, method, versions, answer, note in rows():
        if name != trait:
            continue
        assert re.fullmatch(r"[ro-]/[ro-]/[ro-]", versions) and versions != "-/-/-", method
        assert answer, f"{method} has no answer"
        if answer == "-":
            assert note, f"{method} has neither an answer nor a reason"
        else:
            wrong = [one for one in answer.split(", ") if not is_there(one)]
            assert not wrong, f"{method}: {wrong} are not declared"


@pytest.fixture(scope="module")
def functions():
    if not TOOL:
        pytest.skip("built without the hearth command")
    answer = subprocess.run([TOOL, "ops", "--json"], check=True, capture_output=True)
    return {one["name"]: one for one in json.loads(answer.stdout)["functions"]}


@pytest.mark.parametrize("trait", sorted(DTYPE_OF))
def test_answers_take_the_dtypes_of_their_trait(trait, functions):
    asked = 0
    for name, method, _, answer, _ in rows():
        if name != trait:
            continue
        for one in answer.split(", "):
            arrays = [each for each in functions.get(one, {"parameters": []})["parameters"]
                      if each["type"].startswith("array") and each["shared"]]
            for each in arrays[:1]:
                asked += 1
                assert DTYPE_OF[trait] in each["dtypes"], f"{method}: {one} of {DTYPE_OF[trait]}"
    assert asked > 5


def test_all_methods_of_all_versions_are_there():
    methods = [(row[0], row[1]) for row in rows()]
    assert len(methods) == len(set(methods)) == METHODS
    for version, expected in enumerate(COUNTS):
        counts = collections.Counter(row[2].split("/")[version] for row in rows())
        assert (counts["r"], counts["o"]) == expected, f"version {version}"


@pytest.mark.parametrize("answer", [
    "add", "vjp", "Array::detach", "Device::supports", "Properties::has_tile_products", "Gradients::take",
    "QuantizedArray::scheme", "flow", "Float", "max_pool_backward", "InterpolateMode::nearest",
])
def test_what_headers_declare_is_found(answer):
    assert is_there(answer)


@pytest.mark.parametrize("answer", [
    "detach", "has_tile_products", "return", "Array::conv", "Device::detach", "static_cast", "x",
    "softmax_backward", "nearest",
])
def test_what_is_only_called_or_belongs_to_a_type_is_not(answer):
    assert not is_there(answer)


def test_an_answer_calls_no_op_that_has_no_function():
    assert not any(one.startswith("op ") for row in rows() for one in row[3].split(", "))


@pytest.mark.parametrize("version", ["burn_0_21", "burn_0_22"])
def test_the_backend_leaves_no_method_to_its_default(version):
    sources = ROOT / "bindings" / "burn" / "burn-hearth" / "src"
    versions = sorted(path.name for path in (sources / "versions").iterdir())
    texts = [path.read_text() for path in sources.rglob("*.rs")
             if path.parent.parent.name != "versions" or path.parent.name == version]
    written = set(re.findall(r"\w+", "\n".join(texts)))
    missing = []
    for trait, method, required, answers, _ in rows():
        # Hooks of gradients are those of Burn's own decorator. What flows is dequantized and
        # computed by the methods of floats, which is what Burn's defaults do.
        hook = method.endswith(("_detach", "_set_require_grad", "_is_require_grad"))
        flows = answers.startswith("flow") or method == "q_matmul"
        there = required.split("/")[versions.index(version)] != "-"
        asked = there and trait in {*DTYPE_OF, "QTensorOps", "TransactionOps"}
        if asked and answers != "-" and not hook and not flows and method not in written:
            missing.append(method)
    assert not missing
