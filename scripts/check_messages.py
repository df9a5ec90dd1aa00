#!/usr/bin/env python3
"""Compares src/devices/metal/objc/messages.def with bindings that others generated from Apple's headers.

usage: scripts/check_messages.py [-v]

Cargo fetches the crates below, of these very contents. Each row has to name a method that its class or
protocol has, itself or by inheritance, with the same arguments and result and the same rule for who owns
the result. Rows that the bindings cannot know stand in UNKNOWN, with the reason. Fails if a row
differs. The crates say nothing about the system that has a method first: that stays with the row's page.
"""

import collections
import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "src" / "devices" / "metal" / "objc" / "messages.def"
CRATES = {
    "objc2-foundation-0.3.2": "e3e0adef53c21f888deb4fa59fc59f7eb17404926ee8a6f59f5df0fd7f9f3272",
    "objc2-metal-0.3.2": "a0125f776a10d00af4152d74616409f0d4a2053a6f57fa5b7d6aa2854ac04794",
    "objc2-metal-performance-shaders-0.3.2":
        "46a10f15ff4e2045f947ffca8a17fc351b155c321de16f04278a008a1f446784",
    "objc2-metal-performance-shaders-graph-0.3.2":
        "3733321d6edbaa799a59b3f2c82b9e83abfa7577eae0274d3c02f9e879eab1aa",
}
RUNTIME = "of the runtime itself: the bindings call its functions instead"
UNKNOWN = dict.fromkeys(
    ["retain", "release", "responds_to", "alloc_array", "alloc_shaped_type", "alloc_tensor_data"],
    RUNTIME)  # fmt: skip

# C++ types of the table as codes: those of the Objective-C runtime, structs by their members.
TABLE_TYPES = {
    "void": "v", "Id": "@", "Id*": "^@", "const Id*": "^@", "Selector": ":", "Block": "@?",
    "Bool": "B", "Integer": "q", "UInteger": "Q", "std::int32_t": "i", "std::uint32_t": "I",
    "int": "i", "unsigned": "I", "float": "f", "double": "d", "const char*": "*", "void*": "^v",
    "const void*": "^v", "Size": "{QQQ}", "SystemVersion": "{qqq}",
}
RUST_TYPES = {
    "()": "v", "bool": "B", "Bool": "B", "Sel": ":", "NSInteger": "q", "NSUInteger": "Q",
    "isize": "q", "usize": "Q", "i64": "q", "u64": "Q", "i32": "i", "u32": "I", "c_int": "i",
    "c_uint": "I", "i16": "s", "u16": "S", "i8": "c", "u8": "C", "c_float": "f", "f32": "f",
    "c_double": "d", "f64": "d", "c_void": "v", "c_char": "c", "CGFloat": "d",
    "CFTimeInterval": "d",  # of a crate that these stand on
}
FAMILIES = ("new", "alloc", "copy", "mutableCopy", "init")

Row = collections.namedtuple("Row", "token receiver owner selector result arguments")
Method = collections.namedtuple("Method", "receiver types owned")


def rows():
    text = re.sub(r"//[^\n]*", "", TABLE.read_text())
    pattern = re.compile(r'HEARTH_MESSAGE\((\w+), (object|type), (\w+), "([^"]+)",\s*'
                         r"([\w:* ]+)\(([^)]*)\), macos\(")  # fmt: skip
    for match in pattern.finditer(text):
        token, receiver, owner, selector, result, arguments = match.groups()
        yield Row(token, receiver, owner, selector, result.strip(), arguments)


def row_types(row):
    arguments = [part.strip() for part in row.arguments.split(",")] if row.arguments else []
    return [TABLE_TYPES[each] for each in [row.result, *arguments]]


def fetch():
    """The texts of all crates."""
    with tempfile.TemporaryDirectory() as folder:
        lines = ["[package]", 'name = "bindings"', 'version = "0.0.0"', 'edition = "2021"',
                 "[lib]", 'path = "lib.rs"', "[dependencies]"]  # fmt: skip
        for crate in CRATES:
            name, version = crate.rsplit("-", 1)
            lines.append(f'{name} = {{ version = "={version}", default-features = false }}')
        manifest = pathlib.Path(folder) / "Cargo.toml"
        manifest.write_text("\n".join(lines) + "\n")
        (manifest.parent / "lib.rs").touch()
        if shutil.which("cargo") is None:
            sys.exit("check_messages: Cargo is not here: it comes with Rust 1.70 or newer")
        command = ["cargo", "fetch", "--quiet", "--manifest-path", str(manifest)]
        if subprocess.run(command, check=False).returncode != 0:
            sys.exit("check_messages: Cargo fetched no crates")
        command = ["cargo", "metadata", "--format-version", "1", "--offline",
                   "--manifest-path", str(manifest)]  # fmt: skip
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    texts = []
    for crate, wanted in CRATES.items():
        found = re.search(rf'"manifest_path":"([^"]+/{re.escape(crate)}/Cargo\.toml)"', listed)
        if found is None:
            sys.exit(f"check_messages: cargo does not know {crate}")
        source = pathlib.Path(found.group(1)).parent
        registry = source.parent
        archive = registry.parent.parent / "cache" / registry.name / f"{crate}.crate"
        got = hashlib.sha256(archive.read_bytes()).hexdigest()
        if got != wanted:
            sys.exit(f"check_messages: {crate} is another; got {got}, expected {wanted}")
        with tarfile.open(archive) as files:
            for member in files:
                if member.name.endswith(".rs") and "/src/" in member.name:
                    texts.append(files.extractfile(member).read().decode())
    return texts


def closing(text, at, pair):
    """The place behind what closes the bracket at `at`; "->" closes nothing."""
    depth = 0
    for i in range(at, len(text)):
        if text[i] == pair[0]:
            depth += 1
        elif text[i] == pair[1] and text[i - 1 : i + 1] != "->":
            depth -= 1
            if depth == 0:
                return i + 1
    return len(text)


def split(text):
    """At commas that no bracket is around."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in "<([{":
            depth += 1
        elif c in ")]}" or (c == ">" and text[i - 1] != "-"):
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


class Bindings:
    def __init__(self, texts):
        self.methods = collections.defaultdict(dict)  # by owner, by selector and receiver
        self.parents = collections.defaultdict(set)
        self.values = dict(RUST_TYPES)  # Rust's text for each named type
        self.classes = set()
        texts = [re.sub(r"^\s*//[^\n]*", "", text, flags=re.M) for text in texts]
        for text in texts:
            self.read_types(text)
        for text in texts:
            self.read_owners(text)

    def read_types(self, text):
        for name, inner in re.findall(r"pub struct (\w+)\(pub ([\w:]+)\);", text):
            self.values.setdefault(name, inner)
        for name, inner in re.findall(r"pub type (\w+) = ([^;]+);", text):
            self.values.setdefault(name, inner)
        for name, inner in re.findall(r"pub struct (\w+): (\w+) \{", text):  # bit flags
            self.values.setdefault(name, inner)
        for match in re.finditer(r"pub struct (\w+) \{([^}]*)\}", text):
            members = re.findall(r"(?:pub(?:\(crate\))? )?\w+: ([^,]+),", match.group(2))
            self.values.setdefault(match.group(1), members)
        # The first super class is the nearest.
        pattern = r"#\[unsafe\(super\(([^)]*)\)\)\](?:\s*#\[[^\n]*\])*\s*pub struct (\w+)"
        for above, name in re.findall(pattern, text):
            self.parents[name].update(re.findall(r"\w+", above))
            self.classes.add(name)
        for name in re.findall(r"pub struct (\w+)(?:<[^;{]*>)?;", text):
            self.classes.add(name)

    def read_owners(self, text):
        for match in re.finditer(r"pub unsafe trait (\w+)(?::([^{]*))?\{", text):
            self.parents[match.group(1)].update(re.findall(r"\w+", match.group(2) or ""))
            self.classes.add(match.group(1))
            self.read_methods(match.group(1), text, match.end() - 1)
        for match in re.finditer(r"\nimpl(?:<[^{]*?>)? (\w+)(?:<[^{]*>)? \{", text):
            self.read_methods(match.group(1), text, match.end() - 1)
        for above, name in re.findall(r"unsafe impl(?:<[^{]*?>)? (\w+) for (\w+)", text):
            self.parents[name].add(above)

    def read_methods(self, owner, text, at):
        body = text[at : closing(text, at, "{}")]
        pattern = r"#\[unsafe\(method\(([\w:]+)\)\)\]\s*#\[unsafe\(method_family = (\w+)\)\]"
        for match in re.finditer(pattern, body):
            function = re.compile(r"fn (?:r#)?\w+").search(body, match.end())
            at = function.end()
            if body[at] == "<":
                at = closing(body, at, "<>")
            end = closing(body, at, "()")
            parameters = split(body[at + 1 : end - 1])
            result = body[end : body.index(";", end)].strip()
            result = re.sub(r"\s+where .*", "", result.removeprefix("->"), flags=re.S).strip()
            self.add(owner, match.group(1), match.group(2), parameters, result or "()")

    def add(self, owner, selector, family, parameters, result):
        receiver = "type"
        if parameters and re.match(r"&(mut )?self$|self\b|this: ", parameters[0]):
            receiver = "object"
            parameters = parameters[1:]
        kinds = [parameter.split(":", 1)[1] for parameter in parameters]
        if selector.endswith("_"):  # what fails: an error comes out of the last argument
            selector = selector[:-1]
            result = split(result[result.index("<") + 1 : -1])[0]
            result = "bool" if result == "()" else result
            kinds.append("Option<&mut Option<Retained<NSError>>>")
        types = [self.code(kind) for kind in [result, *kinds]]
        method = Method(receiver, types, family in FAMILIES)
        self.methods[owner].setdefault((selector, receiver), method)

    def code(self, kind):
        """What a value of a Rust type is; "?" and the type where that is not known."""
        kind = re.sub(r"\s+", " ", kind).strip().removesuffix(",").strip()
        inner = re.fullmatch(r"Option<(.*)>", kind)
        if inner:
            return self.code(inner.group(1))
        if "DynBlock<" in kind or "block2::" in kind:
            return "@?"
        if re.match(r"(Retained|Allocated)<", kind) or kind == "Self":
            return "@"
        inner = re.fullmatch(r"&mut (.*)|NonNull<(.*)>|\*(?:mut|const) (.*)", kind)
        if inner:
            pointed = self.code(next(filter(None, inner.groups())))
            return "*" if pointed == "c" else "^" + pointed.removeprefix("^")
        if kind.startswith("&"):
            return "@"
        name = re.match(r"(?:\w+::)*(\w+)", kind)
        name = name.group(1) if name else kind
        if name in ("ProtocolObject", "AnyObject", "AnyClass"):
            return "@"
        value = self.values.get(kind, self.values.get(name))
        if isinstance(value, list):
            return "{" + "".join(map(self.code, value)) + "}"
        if value is not None:
            return self.code(value) if value in self.values else value
        return "@" if name in self.classes or name == "ObjectType" else f"?{kind}"

    def find(self, owner, selector, receiver):
        seen, left = set(), collections.deque([owner])
        while left:
            name = left.popleft()
            found = self.methods[name].get((selector, receiver))
            if found:
                return found
            seen.add(name)
            left.extend(self.parents[name] - seen)
        return None


def faults(row, bindings):
    if row.owner not in bindings.classes:
        return [f"no class or protocol {row.owner}"]
    method = bindings.find(row.owner, row.selector, row.receiver)
    if method is None:
        return [f"{row.owner} has no {row.selector} of {row.receiver}s"]
    found = []
    types = row_types(row)
    if types != method.types:
        found.append(f"other types; got {' '.join(types)}, expected {' '.join(method.types)}")
    owned = returns_owned(row.selector)
    if owned != method.owned:
        found.append(f"another owner of the result; expected {'the caller' if owned else 'a pool'}")
    return found


def returns_owned(selector):
    """As messages.h has it."""
    return re.match(rf"_*({'|'.join(FAMILIES)})(?![a-z])", selector) is not None


def main():
    bindings = Bindings(fetch())
    checked, failures = 0, []
    for row in rows():
        checked += 1
        found = faults(row, bindings)
        if row.token in UNKNOWN:
            print(f"{row.token}: not in the bindings: {UNKNOWN[row.token]}")
            if not found:
                failures.append(f"{row.token}: the bindings know it; UNKNOWN says they do not")
        else:
            failures += [f"{row.token}: {each}" for each in found]
            if "-v" in sys.argv[1:] and not found:
                print(f"{row.token}: {row.owner} {row.selector} {' '.join(row_types(row))}")
    if checked != TABLE.read_text().count("\nHEARTH_MESSAGE("):
        failures.append("a row of the table cannot be read")
    for failure in failures:
        print(f"FAILED: {failure}")
    print(f"{checked} messages, {len(failures)} that differ from the bindings")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
