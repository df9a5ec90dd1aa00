"""scripts/check_docs.py: a row for each family of models."""

import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("check_docs", ROOT / "scripts" / "check_docs.py")
check_docs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_docs)


def faults(root, rows, families):
    table = "| family | models |\n| --- | --- |\n" + "".join(f"| `{row}` | Some |\n" for row in rows)
    (root / "docs").mkdir(exist_ok=True)
    (root / check_docs.MODELS).write_text(f"# Models\n\n{table}\n| `other` | table |\n")
    folder = root / check_docs.FAMILIES
    folder.mkdir(parents=True, exist_ok=True)
    for name in families:
        (folder / f"{name}.cc").write_text(f'  return {{.architecture = "{name}",\n')
    return list(check_docs.family_faults(root))


def test_families_and_rows_are_the_same(tmp_path):
    assert faults(tmp_path, ["bert", "gpt-oss"], ["bert", "gpt-oss"]) == []
    assert faults(tmp_path, ["bert"], []) == [
        "docs/inference.md: no row for the family gpt-oss of src/models/families/gpt-oss.cc"
    ]
    assert faults(tmp_path, ["bert", "gpt-oss", "none"], []) == [
        "docs/inference.md: a row for the family none, which is not in src/models/families"
    ]
    assert faults(tmp_path, ["gpt-oss", "bert", "bert"], []) == [
        "docs/inference.md: rows of families that are not in their order, or there twice"
    ]


def test_the_table_of_this_tree_is_whole():
    assert len(check_docs.FAMILY.findall((ROOT / check_docs.FAMILIES / "llama.cc").read_text())) == 1
    assert list(check_docs.family_faults(ROOT)) == []
