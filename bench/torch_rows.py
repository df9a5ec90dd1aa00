#!/usr/bin/env python3
"""Measures PyTorch on the GPU rows of `hearth bench`, in turn with it, and judges their targets.

usage: bench/torch_rows.py [--hearth PROGRAM] [--device NAME] [--rows REGEX] [--seconds S]
                           [--json FILE|-]

Each group of rows is measured by PyTorch, by Hearth, and by PyTorch again, so that both meet the
same minute of the card. What is timed, and how, is the same on both sides: see bench/README.md. f32
is f32 unless a row says tf32.
"""

import argparse
import gc
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.nn.functional as F
import torch_families
import torch_resnet
import torch_training
from peers import family_groups, family_summary, number, quantile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Patterns of rows, one group after the other; then families, and what none of them matches.
GROUPS = [
    "^gpu/(limit|elementwise)/",
    "^gpu/rows/.*_bf16_",
    "^gpu/rows/",
    "^gpu/indexing/",
    "^gpu/matmul/t?f32_",
    "^gpu/matmul/",
    "^gpu/attention/",
    "^gpu/matvec/",
    "^gpu/latency/",
    "^gpu/training/",
]
SHORTEST = {"stream": 4e-3, "replay": 4e-3, "sync": 1e-3}  # seconds of a sample
WARM_CALLS = 4
# Seconds between samples of rows that bring a card to its limit of power, as in Hearth.
REST = 20e-3
BEYOND_CACHE = 256e6  # bytes that the calls of one replay read
CUDA = "cuda"


class Peer:
    """One way in which PyTorch does a row: collects seconds of a call."""

    def __init__(self, row, timing, run, calls=1, name="torch", setting=None, pause=0):
        self.row = row
        self.name = name
        self.timing = timing
        self.run = run
        self.calls = calls  # of the row's, in one run
        self.setting = setting  # called before samples are taken
        self.pause = pause
        self.repeats = 0
        self.samples = []

    def seconds(self, repeats):
        start = time.perf_counter()
        for _ in range(repeats):
            self.run()
            if self.timing == "sync":
                torch.cuda.synchronize()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) / self.calls

    def warm(self):
        self.seconds(WARM_CALLS)
        if self.timing == "replay":
            self.captured = self.run  # holds the memory that the graph names
            self.run = graph_of(self.run)
            self.seconds(WARM_CALLS)
        repeats = 1
        for _ in range(2):  # a single run is mostly wait; the second guess counts
            each = max(self.seconds(repeats) * self.calls / repeats, 1e-9)
            repeats = min(max(1, math.ceil(SHORTEST[self.timing] / each)), 100000)
        self.repeats = repeats

    def measure(self, seconds):
        if self.setting is not None:
            self.setting()
        if self.repeats == 0:
            self.warm()
        end = time.perf_counter() + seconds
        rounds = 0
        while rounds < 4 or (time.perf_counter() < end and rounds < 100):
            if self.pause > 0:
                time.sleep(self.pause)
                self.seconds(self.repeats)
            self.samples.append(self.seconds(self.repeats) / self.repeats)
            rounds += 1

    def report(self, scale, is_rate):
        values = [scale / each if is_rate else scale * each for each in self.samples]
        return {
            "median": statistics.median(values),
            "p10": quantile(values, 0.1),
            "p90": quantile(values, 0.9),
        }


def graph_of(run):
    """The work that `run` queues, as a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, device=CUDA, dtype=dtype)


def tf32(allowed):
    def setting():
        torch.backends.cuda.matmul.allow_tf32 = allowed

    return setting


def copies_beyond_cache(size):
    return int(min(max(BEYOND_CACHE / size + 1, 2), 64))


# ---- The rows -----------------------------------------------------------------------------------


def limit_rows(wants):
    if not wants("gpu/limit/copy"):
        return []
    x = torch.zeros(2 << 30, dtype=torch.uint8, device=CUDA)
    y = torch.empty_like(x)
    # The row's unit is a terabyte, read and written.
    return [Peer("gpu/limit/copy", "stream", lambda: y.copy_(x), 4 * (1 << 30) / 1e12)]


def elementwise_rows(wants):
    out = []
    million = 1 << 20
    row = "gpu/elementwise/tanh_chain_f32_64m"
    if wants(row):
        a, b = normal(64 * million), normal(64 * million)

        def chain(x=a, y=b):
            return torch.tanh(x * y + 1.5) * torch.sigmoid(x - y) + torch.exp(-x * x) * 0.5

        out.append(Peer(row, "stream", chain))
    row = "gpu/elementwise/add_f32_256m"
    if wants(row):
        c, d = normal(256 * million), normal(256 * million)
        out.append(Peer(row, "stream", lambda: c + d))
    for row, source, target in (
        ("gpu/elementwise/cast_f32_to_bf16_128m", torch.float32, torch.bfloat16),
        ("gpu/elementwise/cast_bf16_to_f32_128m", torch.bfloat16, torch.float32),
    ):
        if wants(row):
            e = normal(128 * million, dtype=source)
            out.append(Peer(row, "stream", lambda x=e, to=target: x.to(to)))
    return out


def row_rows(wants):
    out = []
    columns = 4096
    norms = {
        "softmax": lambda x, w: F.softmax(x, -1),
        "layer_norm": lambda x, w: F.layer_norm(x, (columns,), w, w),
        "rms_norm": lambda x, w: F.rms_norm(x, (columns,), w, 1e-5),
    }
    for count in (32768, 4096):
        for name, function in norms.items():
            row = f"gpu/rows/{name}_bf16_{count}x4096"
            if not wants(row):
                continue
            x = normal(count, columns, dtype=torch.bfloat16)
            w = normal(columns, dtype=torch.bfloat16)
            out.append(Peer(row, "stream", lambda f=function, x=x, w=w: f(x, w)))
    folds = {
        "sum_dim0": lambda x: x.sum(0),
        "sum_dim1": lambda x: x.sum(1),
        "argmax_dim0": lambda x: x.argmax(0),
        "argmax_dim1": lambda x: x.argmax(1),
        "transpose": lambda x: x.t().contiguous(),
    }
    for name, function in folds.items():
        row = f"gpu/rows/{name}_f32_32768x4096"
        if wants(row):
            x = normal(32768, columns)
            out.append(Peer(row, "stream", lambda f=function, x=x: f(x)))
    return out


def indexing_rows(wants):
    out = []
    count, width = 1 << 20, 128
    adds = [f"gpu/indexing/index_add_rows{kind}_f32_1mx128" for kind in ("", "_atomic")]
    gather = "gpu/indexing/gather_rows_f32_1mx128"
    if not any(map(wants, [gather, *adds])):
        return out
    rows = normal(count, width)
    indices = torch.randint(0, count, (count,), device=CUDA)
    if wants(gather):
        out.append(Peer(gather, "stream", lambda: rows[indices]))
    total = torch.zeros(count, width, device=CUDA)
    for row in filter(wants, adds):
        out.append(Peer(row, "stream", lambda: total.index_add_(0, indices, rows)))
    return out


def matmul_rows(wants):
    out = []
    kinds = {
        "f32": (torch.float32, False),
        "tf32": (torch.float32, True),
        "bf16": (torch.bfloat16, False),
        "f16": (torch.float16, False),
    }
    for kind, (dtype, is_tf32) in kinds.items():
        for n in (64, 128, 256, 512, 1024, 2048, 4096, 8192):
            row = f"gpu/matmul/{kind}_{n}"
            if not wants(row):
                continue
            a, b = normal(n, n, dtype=dtype), normal(n, n, dtype=dtype)
            timing = "sync" if n < 1024 else "stream"
            run = lambda a=a, b=b: a @ b  # noqa: E731
            pause = REST if timing == "stream" else 0
            out.append(Peer(row, timing, run, setting=tf32(is_tf32), pause=pause))
    return out


def attention_rows(wants):
    out = []
    half = torch.bfloat16
    for batch, length in ((1, 4096), (4, 2048)):
        for causal in (False, True):
            row = f"gpu/attention/prefill_bf16_b{batch}_h32_s{length}_d128"
            row += "_causal" if causal else ""
            if not wants(row):
                continue
            q, k, v = (normal(batch, 32, length, 128, dtype=half) for _ in range(3))
            run = lambda q=q, k=k, v=v, c=causal: F.scaled_dot_product_attention(  # noqa: E731
                q, k, v, is_causal=c
            )
            out.append(Peer(row, "stream", run, pause=REST))
    for thousands in (1, 8, 32):
        row = f"gpu/attention/decode_bf16_gqa32_8_s{thousands}k_d128"
        if not wants(row):
            continue
        length = thousands * 1024
        copies = copies_beyond_cache(4 * 8 * length * 128)
        queries = [normal(1, 32, 1, 128, dtype=half) for _ in range(copies)]
        keys, values = (
            [normal(1, 8, length, 128, dtype=half) for _ in range(copies)] for _ in range(2)
        )

        def decode(queries=queries, keys=keys, values=values):
            for q, k, v in zip(queries, keys, values):
                F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

        out.append(Peer(row, "replay", decode, copies))
    return out


def matvec_rows(wants):
    out = []
    for count, columns in ((4096, 4096), (14336, 4096), (4096, 14336), (128256, 4096)):
        row = f"gpu/matvec/bf16_{count}x{columns}"
        if not wants(row):
            continue
        copies = copies_beyond_cache(2 * count * columns)
        weights = [normal(count, columns, dtype=torch.bfloat16) for _ in range(copies)]
        x = normal(1, columns, dtype=torch.bfloat16)

        def products(x=x, weights=weights):
            for weight in weights:
                F.linear(x, weight)

        out.append(Peer(row, "replay", products, copies))
    return out


def latency_rows(wants):
    out = []
    a, b = (torch.full((4,), value, device=CUDA) for value in (1.0, 1e-3))

    def chain():
        total = a
        for _ in range(1000):
            total = total + b
        return total

    row = "gpu/latency/add4_chain1000"
    if wants(row):
        out.append(Peer(row, "stream", chain, 1000, "torch, eager"))
        out.append(Peer(row, "replay", chain, 1000, "torch, graph"))
    for timing in ("sync", "stream"):
        row = f"gpu/latency/add4_{timing}"
        if wants(row):
            out.append(Peer(row, timing, lambda: a + b))
    return out


def training_rows(wants):
    out = []
    row = "gpu/training/gpt2_124m"
    if wants(row):
        for name, step in torch_training.steps().items():
            out.append(Peer(row, "sync", step, name=f"torch, {name}"))
    for batch in torch_resnet.BATCHES:
        row = f"gpu/training/resnet50_{batch}"
        if wants(row):
            for name, step in torch_resnet.steps(batch).items():
                out.append(Peer(row, "sync", step, name=f"torch, {name}"))
    row = "gpu/training/adamw_148_arrays"
    if wants(row):
        out.append(Peer(row, "sync", torch_training.update()))
    return out


def family_rows(rows):
    rows = [row for row in rows if row.startswith("gpu/families/")]
    calls = torch_families.calls_of(rows, CUDA)
    return [Peer(row, "stream", call, setting=tf32(False)) for row, call in calls]


MAKERS = (
    limit_rows,
    elementwise_rows,
    row_rows,
    indexing_rows,
    matmul_rows,
    attention_rows,
    matvec_rows,
    latency_rows,
    training_rows,
)

# ---- Hearth and the report ----------------------------------------------------------------------


def run_hearth(options, names):
    """The rows as Hearth measures them. Where one of several fails, each is run by itself."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.json"
        pattern = "^(" + "|".join(names) + ")$"
        command = [options.hearth, "bench", "--device", options.device, "--rows", pattern,
                   "--seconds", str(options.seconds), "--json", str(path)]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0 and path.exists():
            return json.loads(path.read_text())["rows"]
    if len(names) > 1:
        return [row for name in names for row in run_hearth(options, [name])]
    reason = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
    return [{"row": names[0], "ok": False, "error": " ".join(reason) or str(done.returncode)}]


def combine(row, peers):
    """Adds PyTorch to a row of Hearth, and judges it; above 1 Hearth is better."""
    row["peers"] = {}
    if "error" in row:
        return row
    for peer in peers:
        if peer.row != row["row"]:
            continue
        report = peer.report(row["scale"], row["rate"])
        ours, theirs = row["median"], report["median"]
        report["times_better"] = ours / theirs if row["rate"] else theirs / ours
        row["peers"][peer.name] = report
    wanted = row["peer_target"]
    if wanted is not None and row["peers"]:
        reached = min(peer["times_better"] for peer in row["peers"].values()) >= wanted
        row["ok"] = reached and row["ok"] is not False
    return row


def table(rows):
    cells = [("row", "hearth", "p10..p90", "unit", "limit", "ratio", "torch", "x", "target", "ok")]
    for row in rows:
        if "error" in row:
            cells.append((row["row"], "failed", "", "", "", "", "", "", "", "MISS"))
            continue
        best = min(row["peers"].values(), key=lambda peer: peer["times_better"], default=None)
        limit = row["reference_median"]
        cells.append((
            row["row"], number(row["median"]), f"{number(row['p10'])}..{number(row['p90'])}",
            row["unit"], f"{row['reference']} {number(limit)}" if limit else "",
            number(row["ratio"]) if row["ratio"] is not None else "",
            number(best["median"]) if best else "", number(best["times_better"]) if best else "",
            row["target"], {True: "ok", False: "MISS", None: "-"}[row["ok"]],
        ))  # fmt: skip
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    lines = []
    for i, line in enumerate(cells):
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
        for key in ("note", "error"):
            if i > 0 and rows[i - 1].get(key):
                lines.append("    " + rows[i - 1][key])
    lines += family_summary(rows)
    judged = [row["ok"] for row in rows if row["ok"] is not None]
    lines.append(f"{sum(judged)} of {len(judged)} targets met; "
                 "x: how many times better Hearth is than the best of PyTorch")  # fmt: skip
    return "\n".join(lines)


def measure_group(options, names):
    wants = set(names).__contains__
    peers = [peer for make in MAKERS for peer in make(wants)] + family_rows(names)
    for peer in peers:
        peer.measure(options.seconds / 2)
    rows = run_hearth(options, names)
    for peer in peers:
        peer.measure(options.seconds / 2)
    return [combine(row, peers) for row in rows]


def measure_rows(options, names):
    """Groups of rows, one after the other."""
    left = list(names)
    for group in [*GROUPS, *family_groups(names), ""]:
        chosen = [name for name in left if re.search(group, name)]
        left = [name for name in left if name not in chosen]
        if not chosen:
            continue
        yield measure_group(options, chosen)
        gc.collect()
        torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser(description="Hearth beside PyTorch on a GPU, in turn.")
    parser.add_argument("--hearth", default=str(ROOT / "build" / "release" / "bin" / "hearth"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", default="", help="only rows whose name this matches")
    parser.add_argument("--seconds", type=float, default=0.1,
                        help="to spend on a row, on each side")
    parser.add_argument("--json", nargs="?", const="-",
                        help="write JSON to a file or to - (stdout)")
    options = parser.parse_args()
    if not os.access(options.hearth, os.X_OK):
        sys.exit(f"torch_rows: {options.hearth} is missing; build it first (make release)")
    if not torch.cuda.is_available():
        sys.exit("torch_rows: PyTorch sees no card")
    torch.manual_seed(1)
    torch.backends.cudnn.allow_tf32 = False

    listed = subprocess.run(
        [options.hearth, "bench", "--device", options.device, "--list", "--json"],
        check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    known = json.loads(listed.stdout)
    wanted = re.compile(options.rows)
    names = [row for row in known["rows"] if wanted.search(row)]
    result = {
        "device": known["device"],
        "card": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "rows": [],
    }
    with torch.no_grad():
        for rows in measure_rows(options, names):
            result["rows"] += rows
            # After each group, so that whoever stops this keeps what there is.
            if options.json and options.json != "-":
                pathlib.Path(options.json).write_text(json.dumps(result, indent=2) + "\n")
    if options.json == "-":
        print(json.dumps(result, indent=2))
    else:
        print(table(result["rows"]))


if __name__ == "__main__":
    main()
