"""What scripts/generate_methods writes compiles for an op of any kind and number of inputs."""

import importlib.machinery
import importlib.util
import itertools
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = os.environ.get("CXX", "c++")

FLOATS = ["f16", "bf16", "f32", "f64"]
INTEGERS = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"]
# By the name of a constraint: dtypes, the kinds of tensor that meet it, and those that do not.
KINDS = {
    "all": (["bool", *INTEGERS, *FLOATS], ["Float", "Int", "Bool"], []),
    "numeric": ([*INTEGERS, *FLOATS], ["Float", "Int"], ["Bool"]),
    "float": (FLOATS, ["Float"], ["Int", "Bool"]),
    "bool": (["bool"], ["Bool"], ["Float", "Int"]),
}
NUMBER = {"Float": "0.5", "Int": "1", "Bool": "true"}

# Tensor as the generated text asks for it.
TENSOR = """
namespace hearth {
inline namespace v0 {
template <int Rank, TensorKind K>
class Tensor : public tensor_detail::Methods<Rank, K> {
 public:
  Tensor(Array array, tensor_detail::Unchecked) : array_(array) {}
  const Array& array() const noexcept { return array_; }

 private:
  Array array_;
};
}  // namespace v0
}  // namespace hearth

using namespace hearth;
"""


@pytest.fixture(scope="module")
def script():
    path = str(ROOT / "scripts" / "generate_methods")
    loader = importlib.machinery.SourceFileLoader("generate_methods", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def table():
    """One op of each form, constraint and dtype of the result."""
    ops = []
    for form, kind, result in itertools.product(
        ["unary", "binary", "reduction", "axis", "pair", "indexed"], KINDS, ["input", "bool"]
    ):
        inputs = {"binary": ["a", "b"], "indexed": ["x", "indices", "list", "values"]}
        parameters = {"axis": ["axis", "keepdim"], "pair": ["axis"], "indexed": ["axis"]}
        inputs = inputs.get(form, ["x"])
        name = f"{form}_of_{kind}_to_{result}"
        ops.append({
            "name": name,
            "method": f"m_{name}",
            "summary": "Made up.",
            "kind": {"reduction": "reduce", "unary": "elementwise", "binary": "elementwise"}.get(
                form, "opaque"
            ),
            "formula": "none",
            "shapes": "x [...], indices [..., m, ...], list [m, n], values [...] -> [...]",
            "max_inputs": len(inputs),
            "inputs": [{"name": each} for each in inputs],
            "params": [{"name": each} for each in parameters.get(form, [])],
            "dtypes": KINDS[kind][0],
            "results": [result, "i64"] if form == "pair" else [result],
        })
    return ops


def form(op):
    return op["name"].split("_")[0]


def constraint(op):
    return op["name"].split("_")[2]


def declaration(op):
    parameters = {
        "unary": ["const Array& x"],
        "binary": ["const Array& a, const Array& b"],
        "reduction": ["const Array& x", "const Array& x, const Dims& axes, bool keepdim"],
        "axis": ["const Array& x, std::int64_t axis, bool keepdim"],
        "pair": ["const Array& x, std::int64_t axis"],
        "indexed": [
            "const Array& x, const Array& indices, const Array& list, const Array& values, "
            "std::int64_t axis"
        ],
    }[form(op)]
    result = "std::pair<Array, Array>" if form(op) == "pair" else "Array"
    return "".join(f"HEARTH_API {result} {op['name']}({each});\n" for each in parameters)


def uses(op, kind):
    """Pairs of an expression and the type that it has, for `x` a tensor of rank 3 and `kind`."""
    result = "Bool" if op["results"][0] == "bool" else kind
    same, one = f"Tensor<3, {result}>", f"Tensor<1, {result}>"
    name, method = op["name"], op["method"]
    if form(op) == "unary":
        return [(f"{name}(x)", same), (f"x.{method}()", same)]
    if form(op) == "reduction":
        return [
            (f"{name}(x)", one),
            (f"x.{method}()", one),
            (f"x.{method}_dim(1)", same),
            (f"x.{method}_dims({{0, 1}})", same),
        ]
    if form(op) == "axis":
        return [(f"{name}(x, 1)", same), (f"x.{method}(1)", same)]
    if form(op) == "pair":
        both = f"std::pair<{same}, Tensor<3, Int>>"
        return [(f"{name}(x, 1)", both), (f"x.{method}(1)", both)]
    if form(op) == "indexed":
        tables = f"Tensor<3, Int>(x.array(), {{}}), Tensor<2, {kind}>(x.array(), {{}}), x"
        return [(f"{name}(x, {tables}, 1)", same), (f"x.{method}(1, {tables})", same)]
    calls = []
    for other in ["x", NUMBER[kind]]:
        calls += [(f"{name}(x, {other})", same), (f"x.{method}({other})", same)]
    return [*calls, (f"x.{method}_scalar({NUMBER[kind]})", same)]


def advice(op, kind, expression):
    """What the sentence names with which it does not compile; None for a list of candidates."""
    is_method = expression.startswith("x.")
    if constraint(op) == "numeric" and kind == "Bool":
        return f"int_().{op['method']}" if is_method and form(op) == "reduction" else None
    if constraint(op) != "float":
        return None
    is_number = form(op) == "binary" and expression != f"x.{op['method']}(x)"
    is_refused = is_number or not (is_method or form(op) == "unary")
    return None if is_refused else f"float_().{op['method']}"


def compiled(source):
    command = [COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    return subprocess.run(
        [*command, "-I", ROOT / "include", source], capture_output=True, text=True, check=False
    )


def test_methods_and_functions_compile(script, tmp_path):
    ops = table()
    (tmp_path / "made_up.h").write_text(script.header(ops))
    text = '#include "hearth/ops.h"\nnamespace hearth {\ninline namespace v0 {\n'
    text += "".join(map(declaration, ops)) + "}\n}\n"
    text += '#include "made_up.h"\n' + TENSOR
    checked = 0
    for kind in NUMBER:
        text += f"void check(const Tensor<3, {kind}>& x) {{\n"
        for op in ops:
            if kind not in KINDS[constraint(op)][1]:
                continue
            for expression, result in uses(op, kind):
                text += f"  {{ {result} y = {expression}; (void)y; }}\n"
                checked += 1
        text += "}\n"
    assert checked > 100
    source = tmp_path / "uses.cc"
    source.write_text(text)
    result = compiled(source)
    assert result.returncode == 0, result.stderr[:4000]

    # The constraints hold: a tensor of a kind that the op does not take.
    explained = []
    refused = "template <class X> constexpr bool takes = requires(const X& x) {{ {}; }};\n"
    for i, op in enumerate(ops):
        for kind in KINDS[constraint(op)][2]:
            for j, (expression, _) in enumerate(uses(op, kind)):
                if advice(op, kind, expression) is not None:
                    explained.append((op, kind, expression))
                    continue
                head = refused.replace("takes", f"takes_{i}_{j}_{kind}").format(expression)
                text += head + f"static_assert(!takes_{i}_{j}_{kind}<Tensor<3, {kind}>>);\n"
    source.write_text(text)
    result = compiled(source)
    assert result.returncode == 0, result.stderr[:4000]

    # What says in a sentence what to write.
    assert explained
    for number, (_, kind, expression) in enumerate(explained):
        text += f"void wrong_{number}(const Tensor<3, {kind}>& x) {{ (void){expression}; }}\n"
    source.write_text(text)
    result = compiled(source)
    assert result.returncode != 0
    for one in explained:
        assert f"write {advice(*one)}" in result.stderr, one
