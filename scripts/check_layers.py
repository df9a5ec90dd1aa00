#!/usr/bin/env python3
"""Fails on an #include that points upward: `check_layers.py [ROOT]`.

The order of the layers is the drawing under "Layers" in docs/architecture.md, that of the folders
of a layer the one under "Rooms of LAYER", where there is one.
"""

import pathlib
import re
import sys

DRAWING = re.compile(
    r"^(?:## Layers|### Rooms of (\w+))\n+```\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
# Layers that are written against the public API: of src/ they include core only, and the public
# headers up to autodiff's.
PUBLIC_USERS = {"nn", "optim", "io"}
PUBLIC_API = {"core", "runtime", "graph", "ops", "autodiff"}

# The layer that implements a public header, or a folder of them; public headers include each
# other freely.
PUBLIC_LAYER = {
    "error": "core", "call_site": "core", "dtype": "core", "shape": "core", "host_view": "core",
    "version": "core",
    "device": "runtime", "runtime": "runtime", "buffer_pool": "runtime",
    "array": "graph", "numerics": "graph", "print": "graph", "planned_work": "graph",
    "ops": "ops", "random": "ops", "indexing": "ops", "quantization": "ops",
    "grad": "autodiff", "tensor": "autodiff",
    "custom_op": "kernels",
    "nn": "nn", "parameter": "nn", "optim": "optim", "io": "io", "gguf": "io",
    "models": "models", "hearth": "models", "c_api": "c_api",
}

# Folders of src/devices/ that other devices build on.
SHARED_DEVICES = {"gpu"}

# Text without includes, compiled for every device: what an element is stands once.
FORMULAS = ["kernels", "formulas"]

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def includes(path):
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def drawings(root):
    """The drawings of docs/architecture.md: of the layers under None, of rooms under their layer."""
    page = root / "docs" / "architecture.md"
    found = {match.group(1): lower(match.group(2)) for match in DRAWING.finditer(page.read_text())}
    if None not in found:
        sys.exit(f"{page}: no drawing under \"## Layers\"")
    return found


def lower(drawing):
    """What each folder of a drawing may include besides itself: all that is drawn below it.
    `a < {b, c}` draws a below both; chains stand apart by lines or two spaces."""
    below = {}
    for chain in re.split(r"\n|  +", drawing.strip()):
        steps = [re.findall(r"\w+", step) for step in chain.split("<")]
        for step in steps:
            for layer in step:
                below.setdefault(layer, set())
        for under, upper in zip(steps, steps[1:]):
            for layer in upper:
                below[layer] |= set(under)
    for middle in below:
        for layer in below:
            if middle in below[layer]:
                below[layer] |= below[middle]
    return below


def may_include(layers, layer):
    return {"core"} if layer in PUBLIC_USERS else layers[layer]


def public_header_error(layers, layer, header):
    owner = PUBLIC_LAYER.get(header.split("/")[1].removesuffix(".h"))
    allowed = may_include(layers, layer) | {layer}
    if layer in PUBLIC_USERS:
        allowed |= PUBLIC_API
    # A header without a layer is an error of its own.
    if owner is None or owner in allowed:
        return None
    return f"{layer} may not include {header} (of {owner})"


def public_layer_errors(root, layers):
    """Every public header has a layer, and every layer's header is there."""
    headers = {path.stem for path in (root / "include" / "hearth").glob("*")}
    for stem in sorted(headers - PUBLIC_LAYER.keys()):
        yield f"include/hearth/{stem}.h: has no layer; add it to PUBLIC_LAYER"
    for stem in sorted(PUBLIC_LAYER.keys() - headers):
        yield f"PUBLIC_LAYER: no include/hearth/{stem}.h"
    for layer in sorted(set(PUBLIC_LAYER.values()) - layers.keys()):
        yield f"PUBLIC_LAYER: {layer} is no known layer"


def source_error(layers, source, header):
    """What is wrong with the file at `source` (parts below src/) including `header`, or None."""
    layer = source[0]
    target = header.split("/")
    if layer not in layers:
        return f"src/{layer} is no known layer"
    if target[0] == "hearth":
        return public_header_error(layers, layer, header)
    if target[0] not in layers or target[:2] == FORMULAS:
        return None  # another library, a file beside this one, or text for every layer
    if target[0] != layer:
        allowed = target[0] in may_include(layers, layer)
        return None if allowed else f"{layer} may not include {header}"
    if layer == "devices" and len(source) > 2 and len(target) > 2:
        if target[1] != source[1] and target[1] not in SHARED_DEVICES:
            return f"devices/{source[1]} may not include {header}"
        if source[1] in SHARED_DEVICES and target[1] != source[1]:
            return f"devices/{source[1]} may not include {header}"
    return None


def room_error(rooms, source, header):
    """Likewise within a layer whose rooms are drawn: a room is the folder that a file lies in. Files
    of the layer itself may include all, and only rooms above it are drawn to include them."""
    layer = source[0]
    target = header.split("/")
    if layer not in rooms or target[0] != layer:
        return None
    room, other = source[-2], target[-2]
    if room != layer and room not in rooms[layer]:
        return f"src/{'/'.join(source[:-1])} is no known room"
    if room in (layer, other):
        return None
    return None if other in rooms[layer][room] else f"{room} may not include {header}"


def check(root):
    rooms = drawings(root)
    layers = rooms.pop(None)
    errors = list(public_layer_errors(root, layers))
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".h", ".cc", ".def", ".metal"):
            continue
        source = path.relative_to(root / "src").parts
        if len(source) < 2:
            errors.append(f"{path.relative_to(root)}: belongs into a folder")
            continue
        for number, _, header in includes(path):
            error = source_error(layers, source, header) or room_error(rooms, source, header)
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
