#!/usr/bin/env python3
"""Compiles other projects' Metal kernels unchanged: `metal_corpus.py [options]`.

Fetches the sources by package name and version into a folder outside the repository, or takes those
that --folder names; tries one or two instances of each kernel function; prints, for each source,
how many were read, compile for the host (the simulator's g++) and for CUDA (NVRTC to PTX), and what
the failures say. Nothing of theirs becomes part of the repository.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
CRATES = "https://static.crates.io/crates/{0}/{0}-{1}.crate"


class Source:
    """Where a project's kernels come from: a crate, or a repository that git clones."""

    def __init__(self, package, version, kernels, includes=(), defines=()):
        self.package = package  # a name on crates.io, or a repository's address
        self.version = version  # of the crate, or a commit
        self.kernels = kernels  # the folder that is searched for .metal files
        self.includes = includes
        self.defines = defines


GGML = "llama.cpp/ggml/src"
SOURCES = {
    "mlx-native": Source("mlx-native", "0.15.16", "src/shaders"),
    "candle": Source("candle-metal-kernels", "0.11.1", "src/metal_src", ["src/metal_src"]),
    "llama.cpp 2026": Source("llama-cpp-sys-2", "0.1.161", GGML + "/ggml-metal/kernels",
                             [GGML + "/ggml-metal", GGML], ["GGML_METAL_HAS_BF16=1"]),
    "llama.cpp 2025": Source("llama-cpp-sys-2", "0.1.100", GGML + "/ggml-metal",
                             [GGML + "/ggml-metal", GGML], ["GGML_METAL_HAS_BF16=1"]),
    "MLX": Source("https://github.com/ml-explore/mlx", "846d176227a0ac13d2667e58d2bb68b322109ab0",
                  "mlx/backend/metal/kernels", ["."]),
    "mistral.rs": Source("mistralrs-quant", "0.8.1", "src/metal_kernels"),
    "tract": Source("tract-metal", "0.23.9", "src/kernels"),
    "whisper.cpp": Source("https://github.com/ggml-org/whisper.cpp",
                          "233fe1fc9b48a09e361d3594520838ca266537fe", "ggml/src/ggml-metal",
                          ["ggml/src/ggml-metal", "ggml/src"], ["GGML_METAL_HAS_BF16=1"]),
    "ThunderMittens": Source("https://github.com/HazyResearch/ThunderMittens",
                             "8633af90c270e3be62d29ffb6fd2f34ce24b4c13",
                             "ThunderMittens/kernels", ["ThunderMittens/include"]),
    "wgpu": Source("https://github.com/gfx-rs/wgpu", "64a61ee5c69569bbb3db03563997e88a229eba17",
                   "naga/tests/out/msl"),
    "zkMetal": Source("https://github.com/carni-ships/zkMetal",
                      "874995ef7668d4a0496990812001dbbed3153450", "Sources/Shaders"),
    "metal-marlin": Source("https://github.com/RESMP-DEV/metal-marlin",
                           "a901e528386b1a096c02e15738d88cbbc7268023", "src", ["src"]),
    "kernels-community": Source("https://github.com/huggingface/kernels-community",
                                "40d4194f48b6775c4be4776ed08035fabb0e758f", ".",
                                ["gpt-oss-metal-kernels/gptoss_kernels/source/include",
                                 "mlx-quantization-metal-kernels/quantization_mlx"]),
}
# Left out by name, with the reason: what docs/kernels.md says is outside the dialect.
EXCLUDED_FILES = re.compile(r"nax|_tensor\.metal$")
EXCLUDED = [
    (re.compile(r'cannot be passed; got ".*\b(texture|depth\dd|sampler|imageblock)'), "textures"),
    (re.compile(r'cannot be passed; got ".*(raytracing|acceleration_structure)'), "ray tracing"),
]


def registry_folder(crate, version):
    """Where cargo keeps the texts of a crate, or None."""
    home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    return next(home.glob(f"registry/src/*/{crate}-{version}"), None)


def fetch_crate(crate, version, cache):
    """By cargo where there is one, which knows the user's proxies and mirrors; else by itself."""
    if shutil.which("cargo") and not registry_folder(crate, version):
        subprocess.run(["cargo", "info", "--quiet", f"{crate}@{version}"], cwd=cache,
                       stdout=subprocess.DEVNULL)
    folder = registry_folder(crate, version) or cache / f"{crate}-{version}"
    if not folder.exists():
        archive = cache / f"{crate}-{version}.crate"
        with urllib.request.urlopen(CRATES.format(crate, version)) as reply:
            archive.write_bytes(reply.read())
        with tarfile.open(archive) as tar:
            tar.extractall(cache, filter="data")
    return folder


def fetch_commit(repository, commit, cache):
    """The files of a commit, of a repository that git can read."""
    folder = cache / f"{pathlib.PurePath(repository).name}-{commit}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=cache) as clone:
            subprocess.run(["git", "clone", "-q", "--filter=blob:none", "--no-checkout", repository,
                            clone], check=True)
            subprocess.run(["git", "-C", clone, "checkout", "-q", commit], check=True)
            shutil.copytree(clone, folder, ignore=shutil.ignore_patterns(".git"))
    return folder


class Nvrtc:
    """NVIDIA's run-time compiler, as far as PTX."""

    def __init__(self, path):
        # Its builtins are opened by name.
        for builtins in glob.glob(os.path.join(os.path.dirname(path), "libnvrtc-builtins.so*")):
            ctypes.CDLL(builtins, mode=ctypes.RTLD_GLOBAL)
        self.library = ctypes.CDLL(path)

    def compile(self, text):
        """None, or the compiler's messages."""
        options = [b"--gpu-architecture=compute_90", b"-default-device", b"--std=c++20",
                   b"--fmad=false", b"-w"]
        program = ctypes.c_void_p()
        self.library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None,
                                        None)
        result = self.library.nvrtcCompileProgram(
            program, len(options), (ctypes.c_char_p * len(options))(*options))
        size = ctypes.c_size_t()
        self.library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        self.library.nvrtcGetProgramLog(program, log)
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        return None if result == 0 else log.value.decode(errors="replace") or "no message"


def compile_nvrtc(path, text_file):
    """In a process of its own: NVRTC holds a lock, and may crash."""
    message = Nvrtc(path).compile(pathlib.Path(text_file).read_text())
    print(json.dumps(message))


class Corpus:
    def __init__(self, options):
        self.options = options
        self.roots = {}
        self.flags = ["-std=c++20", "-O0", "-w", "-fPIC", "-fsyntax-only", "-ffp-contract=off",
                      "-fwrapv", "-fsigned-char", "-fno-strict-aliasing", "-fno-exceptions",
                      "-fno-rtti", "-fexcess-precision=16", "-DHEARTH_HAS_FLOAT16=1"]
        self.flags += options.host_flags.split()

    def folder(self, name):
        """Where the files of a source are, fetched when they are not there yet."""
        for given in self.options.folder:
            which, _, path = given.partition("=")
            if which == name:
                return pathlib.Path(path)
        source = SOURCES[name]
        if "://" in source.package:
            return fetch_commit(source.package, source.version, self.options.cache)
        return fetch_crate(source.package, source.version, self.options.cache)

    def tool(self, file, name, extra):
        source = SOURCES[name]
        command = [self.options.tool, "check-kernel", str(file)]
        for folder in source.includes:
            command += ["--include", str(self.roots[name] / folder)]
        for define in source.defines:
            command += ["--define", define]
        done = subprocess.run(command + extra, capture_output=True, text=True, errors="replace")
        return done.returncode == 0, done.stdout, done.stderr.strip()

    def text(self, file, name, kernel, target):
        """The text for a target, with values for what the error asks for; (text, error)."""
        extra = []
        for _ in range(64):
            good, out, error = self.tool(file, name, ["--kernel", kernel, "--text", target] + extra)
            if good:
                return out, None
            constant = re.search(r"function constant has no value; got none for (.+) (\w+),", error)
            memory = re.search(r"\[\[threadgroup\((\d+)\)\]\]", error)
            if constant:
                extra += ["--constant", f"{constant[2]}={'true' if 'bool' in constant[1] else 1}"]
            elif memory and "has no size" in error:
                extra += ["--threadgroup", f"{memory[1]}=4096"]
            else:
                return None, error
        return None, "no end of values"

    def host(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".cc") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([self.options.compiler, *self.flags, file.name],
                                  capture_output=True, text=True, errors="replace")
        return None if done.returncode == 0 else done.stderr

    def cuda(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".cu") as file:
            file.write(text)
            file.flush()
            done = subprocess.run([sys.executable, __file__, "--compile-nvrtc", self.options.nvrtc,
                                   file.name], capture_output=True, text=True, errors="replace")
        return json.loads(done.stdout) if done.returncode == 0 else "NVRTC ended: " + done.stderr

    def attempt(self, item):
        name, file, kernel = item
        result = {"source": name, "file": file.name, "kernel": kernel}
        for target in ("host", "cuda"):
            text, error = self.text(file, name, kernel, target)
            if text is None:
                result["read"] = error
                return result
            if target == "cuda" and not self.options.nvrtc:
                continue
            result[target] = getattr(self, target)(text)
        return result

    def kernels(self, name):
        """(file, kernel) to try, how many files and entry points there are, and files left out."""
        root = self.roots[name] = self.folder(name)
        items, entries, files, excluded, unread = [], 0, 0, collections.Counter(), []
        folder = root / SOURCES[name].kernels
        for file in sorted([*folder.rglob("*.metal"), *folder.rglob("*.msl")]):
            files += 1
            reason = "tensor operations" if EXCLUDED_FILES.search(file.name) else None
            good, out, error = self.tool(file, name, ["--list"])
            names = [line.split("\t") for line in out.split("\n")[:-1]] if good else []
            entries += len(names)
            if reason:
                excluded[reason] += 1
                continue
            if not good and "no kernel to check" not in error:
                unread.append({"source": name, "file": file.name, "kernel": "", "read": error})
            functions = collections.OrderedDict()
            for each, function in names:
                functions.setdefault(function, []).append(each)
            for instances in functions.values():
                items.append((name, file, instances[0]))
                if len(instances) > 1 and not self.options.one:
                    items.append((name, file, instances[-1]))
        return items, files, entries, excluded, unread


def left_out(results):
    """By reason, the kernels that are outside the dialect by what the reader says of them."""
    reasons = collections.defaultdict(list)
    for result in results:
        for pattern, reason in EXCLUDED:
            if pattern.search(result.get("read", "")):
                reasons[reason].append(result)
                break
    return reasons


def cause(message):
    """The first error, without what differs between kernels."""
    first = next((line for line in message.splitlines() if "error" in line), message.strip())
    first = re.sub(r"^\S+?\(?\d*\)?:(\d+:)*\s*", "", first)
    return re.sub(r"\s+", " ", first)[:150]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("XDG_CACHE_HOME",
                                                            pathlib.Path.home() / ".cache"))
                        / "hearth-corpus", help="where the sources are kept")
    parser.add_argument("--folder", action="append", default=[], metavar="SOURCE=PATH",
                        help="a folder that has the files of a source, which is not fetched then")
    parser.add_argument("--tool", default=str(ROOT / "build/release/bin/hearth"))
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--host-flags", default="")
    parser.add_argument("--nvrtc", help="libnvrtc.so; the newest below .venv unless given")
    parser.add_argument("--source", action="append", choices=list(SOURCES), help="only this one")
    parser.add_argument("--match", default="", help="only kernels whose FILE:NAME this matches")
    parser.add_argument("--sample", type=int, default=1, help="try every Nth kernel")
    parser.add_argument("--one", action="store_true", help="one instance of a function, not two")
    parser.add_argument("--json", type=pathlib.Path, help="write all results there")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--verbose", action="store_true", help="name the kernels that fail")
    parser.add_argument("--compile-nvrtc", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compile_nvrtc:
        return compile_nvrtc(*options.compile_nvrtc)
    if options.nvrtc is None:
        found = sorted(glob.glob(str(ROOT / ".venv/lib/python*/site-packages/nvidia/*/lib/"
                                                "libnvrtc.so.*")))
        options.nvrtc = found[-1] if found else ""
        if not found:
            print("no NVRTC: the column CUDA stays empty (scripts/bootstrap installs it, or --nvrtc)")
    options.cache.mkdir(parents=True, exist_ok=True)
    corpus = Corpus(options)
    rows, failures = [], []
    for name in options.source or SOURCES:
        items, files, entries, excluded, results = corpus.kernels(name)
        items = [item for item in items
                 if re.search(options.match, f"{item[1].name}:{item[2]}")][::options.sample]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results += pool.map(corpus.attempt, items)
        for reason, those in left_out(results).items():
            results = [result for result in results if result not in those]
            print(f"{name}: {len(those)} kernels left out: {reason}")
        tried = len(results)
        read = sum("read" not in result for result in results)
        host = sum(result.get("host", "-") is None for result in results)
        cuda = sum(result.get("cuda", "-") is None for result in results)
        rows.append((name, files, entries, tried, read, host, cuda))
        failures += results
        for reason, count in excluded.items():
            print(f"{name}: {count} files left out: {reason}")
    rows.append(("all", *(sum(row[i] for row in rows) for i in range(1, 7))))
    print("| source | files | entry points | tried | read | host | CUDA |\n|" + " --- |" * 7)
    for row in rows:
        share = [f"{row[i]} ({100 * row[i] / max(row[3], 1):.0f} %)" for i in (4, 5, 6)]
        print("| " + " | ".join([row[0], *map(str, row[1:4]), *share]) + " |")
    for step in ("read", "host", "cuda"):
        causes = collections.defaultdict(list)
        for result in failures:
            if result.get(step):
                causes[cause(result[step])].append(result)
        if causes:
            print(f"\nfailures: {step}")
        for text, those in sorted(causes.items(), key=lambda each: -len(each[1])):
            example = f"{those[0]['source']}, {those[0]['file']}: {those[0]['kernel']}"
            print(f"{len(those):5} {text}\n        {example}")
            if options.verbose:
                for each in those:
                    print(f"        {each['file']}: {each['kernel']}")
    if options.json:
        options.json.write_text(json.dumps(failures, indent=1))


if __name__ == "__main__":
    sys.exit(main())
