"""scripts/check_layers.py: the order of docs/architecture.md, and a layer for each public header."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRAWING = """## Layers

```
core < runtime < {graph, nn} < models < c_api    runtime < autodiff < kernels
ops < optim < io    graph/record < {graph/plan, graph/lower}
```
"""


def errors(root):
    command = [sys.executable, ROOT / "scripts" / "check_layers.py", root]
    return subprocess.run(command, capture_output=True, text=True).stdout


def tree(root, files):
    (root / "docs").mkdir()
    (root / "docs" / "architecture.md").write_text(DRAWING)
    headers = root / "include" / "hearth"
    headers.mkdir(parents=True)
    for header in (ROOT / "include" / "hearth").glob("*.h"):
        (headers / header.name).write_text("")
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return errors(root)


def test_follows_the_drawing(tmp_path):
    found = tree(tmp_path, {
        "src/graph/a.cc": '#include "core/a.h"\n#include "runtime/a.h"\n',
        "src/runtime/a.cc": '#include "graph/a.h"\n',
        "src/kernels/a.cc": '#include "core/a.h"\n#include "graph/a.h"\n',
    })
    assert "src/runtime/a.cc:1: runtime may not include graph/a.h" in found
    assert "src/kernels/a.cc:2: kernels may not include graph/a.h" in found
    assert "check_layers: 2 errors" in found


def test_folders_of_a_layer_have_an_order_where_it_is_drawn(tmp_path):
    found = tree(tmp_path, {
        "src/graph/record/a.cc": '#include "graph/record/a.h"\n#include "graph/plan/a.h"\n',
        "src/graph/plan/a.cc": '#include "graph/record/a.h"\n#include "graph/lower/a.h"\n',
        "src/graph/other/a.cc": '#include "graph/plan/a.h"\n#include "graph/a.h"\n',
    })
    assert "src/graph/record/a.cc:2: graph/record may not include graph/plan/a.h" in found
    assert "src/graph/plan/a.cc:2: graph/plan may not include graph/lower/a.h" in found
    assert "check_layers: 2 errors" in found


def test_public_headers_have_layers(tmp_path):
    found = tree(tmp_path, {
        "include/hearth/new.h": "",
        "src/runtime/a.cc": '#include "hearth/ops.h"\n#include "hearth/error.h"\n',
    })
    assert "include/hearth/new.h: has no layer" in found
    assert "src/runtime/a.cc:1: runtime may not include hearth/ops.h (of ops)" in found
    (tmp_path / "include" / "hearth" / "print.h").unlink()
    assert "no include/hearth/print.h" in errors(tmp_path)
    assert "check_layers: 3 errors" in errors(tmp_path)
