"""scripts/check_layers.py: the order of docs/architecture.md, and a layer for each public header."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DRAWING = """## Layers

```
core < runtime < {graph, nn} < models < c_api    runtime < autodiff < kernels
ops < optim < io
```

### Rooms of models

```
files < language < {blocks, folder}
```

### Rooms of graph

```
graph < record < plan
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


def test_follows_the_drawing_of_rooms(tmp_path):
    found = tree(tmp_path, {
        "src/models/a.cc": '#include "models/language/blocks/a.h"\n',
        "src/models/files/a.cc": '#include "core/a.h"\n#include "models/a.h"\n',
        "src/models/language/a.cc": '#include "models/files/a.h"\n#include "models/language/b.h"\n',
        "src/models/language/blocks/a.cc": '#include "models/language/folder/a.h"\n',
        "src/models/new/a.cc": '#include "models/files/a.h"\n',
    })
    assert "src/models/files/a.cc:2: files may not include models/a.h" in found
    assert "src/models/language/blocks/a.cc:1: blocks may not include models/language/folder" in found
    assert "src/models/new/a.cc:1: src/models/new is no known room" in found
    assert "check_layers: 3 errors" in found


def test_rooms_above_their_layers_own_files_may_include_them(tmp_path):
    found = tree(tmp_path, {
        "src/graph/a.cc": '#include "graph/plan/a.h"\n',
        "src/graph/plan/a.cc": '#include "graph/record/a.h"\n#include "graph/a.h"\n',
        "src/graph/record/a.cc": '#include "graph/plan/a.h"\n',
    })
    assert "src/graph/record/a.cc:1: record may not include graph/plan/a.h" in found
    assert "check_layers: 1 errors" in found


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
