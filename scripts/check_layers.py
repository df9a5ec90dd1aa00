#!/usr/bin/env python3
"""Fails on an #include that points upward: `check_layers.py [ROOT]`.

Lower first: core < runtime < graph < ops < {autodiff, kernels} < devices < {nn, optim} < models <
tools; core < io < models; core < codegen < kernels.
"""

import pathlib
import re
import sys

# What a folder of src/ may include besides itself and public headers.
MAY_INCLUDE = {
    "core": set(),
    "codegen": {"core", "runtime"},
    "kernels": {"core", "runtime", "graph", "ops", "codegen"},
    "runtime": {"core"},
    "graph": {"core", "runtime"},
    "ops": {"core", "runtime", "graph"},
    "autodiff": {"core", "runtime", "graph", "ops"},
    "devices": {"core", "runtime", "graph", "ops", "codegen", "kernels"},
    "nn": {"core"},
    "optim": {"core"},
    "io": {"core"},
    "models": {
        "core", "runtime", "graph", "ops", "autodiff", "codegen", "kernels", "devices", "nn",
        "optim", "io",
    },
    "tools": {
        "core", "runtime", "graph", "ops", "autodiff", "codegen", "kernels", "devices", "nn",
        "optim", "io", "models",
    },
}

# The layer that implements a public header. A header not named here may be included by every layer
# above ops; public headers include each other freely.
PUBLIC_LAYER = {
    "error": "core", "place": "core", "dtype": "core", "shape": "core", "host_view": "core",
    "device": "runtime", "runtime": "runtime",
    "array": "graph", "numerics": "graph", "print": "graph", "stats": "graph",
    "ops": "ops", "random": "ops",
    "grad": "autodiff", "tensor": "autodiff", "custom_op": "kernels",
    "nn": "nn", "optim": "optim", "io": "io",
    "hearth": "models", "c_api": "models",
}
HIGH_LAYERS = {"autodiff", "kernels", "devices", "nn", "optim", "io", "models", "tools"}
# nn, optim and io are written against the public API, so they may use the public headers up to it.
PUBLIC_USERS = {"nn", "optim", "io"}
PUBLIC_API = {"core", "runtime", "graph", "ops", "autodiff"}

# Folders of src/devices/ that other devices build on.
SHARED_DEVICES = {"gpu"}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def includes(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def public_header_error(layer, header):
    stem = header.removeprefix("hearth/").removesuffix(".h")
    if stem not in PUBLIC_LAYER:
        return None if layer in HIGH_LAYERS | {"ops"} else f"{layer} may not include {header}"
    owner = PUBLIC_LAYER[stem]
    allowed = MAY_INCLUDE[layer] | {layer}
    if layer in PUBLIC_USERS:
        allowed |= PUBLIC_API
    return None if owner in allowed else f"{layer} may not include {header} (of {owner})"


def source_error(source, header):
    """What is wrong with the file at `source` (parts below src/) including `header`, or None."""
    layer = source[0]
    target = header.split("/")
    if layer not in MAY_INCLUDE:
        return f"src/{layer} is no known layer"
    if target[0] == "hearth":
        return public_header_error(layer, header)
    if target[0] not in MAY_INCLUDE:
        return None  # another library, or a file beside this one
    if target[0] != layer:
        return None if target[0] in MAY_INCLUDE[layer] else f"{layer} may not include {header}"
    if layer == "devices" and len(source) > 2 and len(target) > 2:
        if target[1] != source[1] and target[1] not in SHARED_DEVICES:
            return f"devices/{source[1]} may not include {header}"
        if source[1] in SHARED_DEVICES and target[1] != source[1]:
            return f"devices/{source[1]} may not include {header}"
    return None


def check(root):
    errors = []
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".h", ".cc", ".def", ".metal"):
            continue
        source = path.relative_to(root / "src").parts
        if len(source) < 2:
            errors.append(f"{path.relative_to(root)}: belongs into a folder")
            continue
        for number, _, header in includes(path):
            error = source_error(source, header)
            if error:
                errors.append(f"{path.relative_to(root)}:{number}: {error}")
    for path in sorted((root / "include").rglob("*.h")):
        for number, bracket, header in includes(path):
            if bracket == '"' and not (
                header.startswith("hearth/") and (root / "include" / header).exists()
            ):
                errors.append(
                    f"{path.relative_to(root)}:{number}: a public header may include std and public "
                    f"headers only; got {header}"
                )
            elif bracket == "<" and ("/" in header or header.endswith((".hpp", ".hh"))):
                errors.append(f"{path.relative_to(root)}:{number}: {header} is not a std header")
    for path in sorted((root / "examples").glob("*.cc")):
        for number, bracket, header in includes(path):
            if bracket == '"' and not header.startswith("hearth/"):
                errors.append(f"{path.relative_to(root)}:{number}: examples use public headers only")
    return errors


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__)
    root = root if len(sys.argv) > 1 else root.resolve().parent.parent
    errors = check(root)
    for error in errors:
        print(error)
    print(f"check_layers: {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
