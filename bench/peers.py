#!/usr/bin/env python3
"""Measures PyTorch, MLX and NumPy on the rows of `hearth bench`, in turn with it, and compares.

usage: bench/peers.py [--hearth PROGRAM] [--rows REGEX] [--threads N] [--seconds S]
                      [--json FILE|-] [--build] [--torch-only]

Each group of rows is measured by the peers, by Hearth, and by the peers again, so that all meet the
same minute of the machine. Medians with 10th and 90th percentiles. Peers run with the threads they
choose; `threads` states what Hearth used. Times of MLX include building its graph. PyTorch trains
only, and judges that row; without it the row has no target.
"""

import argparse
import functools
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "bench" / "requirements.txt"
ENVIRONMENT = ROOT / ".venv-peers"

# Patterns of `hearth bench --rows`, one group after the other.
GROUPS = [
    "^engine/",
    "^limit/|^elementwise/add",
    "^elementwise/(tanh_chain|poly_chain)",
    "^elementwise/(exp|log|tanh|erf|sin)_1m",
    "^matmul/kernel",
    "^matmul/f32_",
    "^matmul/bf16_",
    "^rows/",
    "^conv/",
    "^pool/",
    "^training/",
]
PEER_SECONDS = 0.15  # at most, for a row of the peers, before Hearth and again after it
SLOW = 0.5  # seconds of a run beyond which few are made
TRAINING_TARGET = 2.0  # times the tokens per second of PyTorch


def enter_environment():
    """Runs this script again in the environment that has the peers, making it if need be."""
    try:
        import mlx.core  # noqa: F401
        import numpy  # noqa: F401
    except ImportError as error:
        if os.environ.get("HEARTH_PEERS_READY"):
            sys.exit(f"peers: cannot import the peers in {sys.prefix}: {error}")
        python = ENVIRONMENT / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", str(REQUIREMENTS)], check=True)
        environment = {**os.environ, "HEARTH_PEERS_READY": "1"}
        os.execve(python, [str(python), *sys.argv], environment)


# ---- Measuring ----------------------------------------------------------------------------------


def quantile(samples, part):
    samples = sorted(samples)
    place = part * (len(samples) - 1)
    low = int(place)
    high = min(low + 1, len(samples) - 1)
    return samples[low] + (samples[high] - samples[low]) * (place - low)


class Contestant:
    """One peer on one row: collects seconds of a run."""

    def __init__(self, peer, row, run, scale=1e6, rate=False):
        self.peer = peer
        self.row = row
        self.run = run
        self.scale = scale
        self.rate = rate
        self.calls = 0
        self.samples = []
        self.slow = False

    def warm(self):
        one = SLOW
        for _ in range(2):  # the first run may compile
            start = time.perf_counter()
            self.run()
            one = max(time.perf_counter() - start, 1e-9)
            self.slow = one >= SLOW
            if self.slow:
                break
        self.calls = max(1, min(100000, int(1e-3 / one)))

    def sample(self):
        start = time.perf_counter()
        for _ in range(self.calls):
            self.run()
        self.samples.append((time.perf_counter() - start) / self.calls)

    def values(self):
        if self.rate:
            return [self.scale / max(seconds, 1e-12) for seconds in self.samples]
        return [self.scale * seconds for seconds in self.samples]

    def report(self):
        values = self.values()
        return {
            "median": statistics.median(values),
            "p10": quantile(values, 0.1),
            "p90": quantile(values, 0.9),
        }


def measure(contestants, seconds):
    """Peers of one row take turns."""
    by_row = {}
    for contestant in contestants:
        by_row.setdefault(contestant.row, []).append(contestant)
    for row in by_row.values():
        for contestant in row:
            if contestant.calls == 0:
                contestant.warm()
        end = time.perf_counter() + seconds
        rounds = 0
        fewest = 2 if any(contestant.slow for contestant in row) else 3
        while rounds < fewest or (time.perf_counter() < end and rounds < 100):
            for contestant in row if rounds % 2 == 0 else reversed(row):
                contestant.sample()
            rounds += 1


# ---- The rows -----------------------------------------------------------------------------------


def elementwise_rows(wants):
    import mlx.core as mx
    import numpy as np

    out = []
    random = np.random.default_rng(1)
    for name, count in (("10k", 10000), ("1m", 1 << 20), ("16m", 1 << 24)):
        rows = [f"elementwise/{kind}_{name}" for kind in ("add", "tanh_chain", "poly_chain")]
        if not any(wants(row) for row in rows):
            continue
        a, b, c, d = (random.uniform(-1, 1, count).astype(np.float32) for _ in range(4))
        ma, mb, mc, md = (mx.array(x) for x in (a, b, c, d))
        mx.eval(ma, mb, mc, md)
        if wants(rows[0]):
            out.append(Contestant("mlx", rows[0], lambda x=ma, y=mb: mx.eval(x + y)))
            out.append(Contestant("numpy", rows[0], lambda x=a, y=b: x + y))
        if name == "10k":
            continue

        def tanh_chain(x, y):
            return mx.tanh(x * y + 1.5) * mx.sigmoid(x - y) + mx.exp(-x * x) * 0.5

        def tanh_chain_numpy(x, y):
            return np.tanh(x * y + np.float32(1.5)) / (1 + np.exp(y - x)) + np.exp(
                -x * x
            ) * np.float32(0.5)

        def poly_chain(x, y, z, w):
            return (x * y + z) * w - x + 0.5 * z

        # Compiled, MLX fuses these as Hearth does.
        fused_tanh, fused_poly = mx.compile(tanh_chain), mx.compile(poly_chain)
        if wants(rows[1]):
            run = lambda x=ma, y=mb, f=fused_tanh: mx.eval(f(x, y))  # noqa: E731
            out.append(Contestant("mlx", rows[1], run))
            out.append(Contestant("numpy", rows[1], lambda x=a, y=b: tanh_chain_numpy(x, y)))
        if wants(rows[2]):
            run = lambda x=ma, y=mb, z=mc, w=md, f=fused_poly: mx.eval(f(x, y, z, w))  # noqa: E731
            out.append(Contestant("mlx", rows[2], run))
            run = lambda x=a, y=b, z=c, w=d: poly_chain(x, y, z, w)  # noqa: E731
            out.append(Contestant("numpy", rows[2], run))

    functions = {
        "exp": (mx.exp, np.exp, -20, 20),
        "log": (mx.log, np.log, 1e-6, 100),
        "tanh": (mx.tanh, np.tanh, -5, 5),
        "erf": (mx.erf, None, -4, 4),
        "sin": (mx.sin, np.sin, -100, 100),
    }
    for name, (in_mlx, in_numpy, low, high) in functions.items():
        row = f"elementwise/{name}_1m"
        if not wants(row):
            continue
        x = random.uniform(low, high, 1 << 20).astype(np.float32)
        y = mx.array(x)
        mx.eval(y)
        out.append(Contestant("mlx", row, lambda f=in_mlx, y=y: mx.eval(f(y))))
        if in_numpy is not None:
            out.append(Contestant("numpy", row, lambda f=in_numpy, x=x: f(x)))
    return out


def engine_rows(wants):
    import mlx.core as mx
    import numpy as np

    out = []
    x, y = mx.array(np.ones(4, np.float32)), mx.array(np.full(4, 1e-3, np.float32))
    mx.eval(x, y)

    def chain(at, add):
        for _ in range(1000):
            at = at + add
        return at

    if wants("engine/record_op"):  # MLX: building the graph, not evaluating it
        out.append(Contestant("mlx", "engine/record_op", lambda: chain(x, y), 1e3))
    for row in ("engine/chain1000_unfused", "engine/chain1000_fused"):
        if not wants(row):
            continue
        function = mx.compile(chain) if row.endswith("_fused") else chain
        out.append(Contestant("mlx", row, lambda f=function: mx.eval(f(x, y)), 1e3))
        if not row.endswith("_fused"):
            a, b = np.array(x), np.array(y)
            out.append(Contestant("numpy", row, lambda: chain(a, b), 1e3))
    if wants("engine/add4_read"):
        out.append(Contestant("mlx", "engine/add4_read", lambda: (x + y).tolist()))
        a, b = np.array(x), np.array(y)
        out.append(Contestant("numpy", "engine/add4_read", lambda: (a + b).tolist()))
    return out


def matmul_rows(wants):
    import mlx.core as mx
    import numpy as np

    out = []
    random = np.random.default_rng(2)
    for dtype, sizes in (("f32", (64, 128, 256, 512, 1024, 2048)), ("bf16", (256, 512))):
        for n in sizes:  # bf16 of MLX takes seconds beyond 512
            row = f"matmul/{dtype}_{n}_2t"
            if not wants(row):
                continue
            a, b = (random.uniform(-1, 1, (n, n)).astype(np.float32) for _ in range(2))
            mx_dtype = mx.float32 if dtype == "f32" else mx.bfloat16
            x, y = (mx.array(v).astype(mx_dtype) for v in (a, b))
            mx.eval(x, y)
            scale = 2e-9 * n**3
            out.append(Contestant("mlx", row, lambda x=x, y=y: mx.eval(x @ y), scale, True))
            if dtype == "f32":
                out.append(Contestant("numpy", row, lambda a=a, b=b: a @ b, scale, True))
    return out


def row_rows(wants):
    import mlx.core as mx
    import numpy as np

    side = 4096
    rows = {
        "softmax": (lambda x: mx.softmax(x, axis=-1), None),
        "rms_norm": (lambda x: mx.fast.rms_norm(x, None, 1e-5), None),
        "layer_norm": (lambda x: mx.fast.layer_norm(x, None, None, 1e-5), None),
        "sum_axis0": (lambda x: x.sum(axis=0), lambda x: x.sum(axis=0)),
        "sum_axis1": (lambda x: x.sum(axis=1), lambda x: x.sum(axis=1)),
        "argmax_axis0": (lambda x: mx.argmax(x, axis=0), lambda x: x.argmax(axis=0)),
        "argmax_axis1": (lambda x: mx.argmax(x, axis=1), lambda x: x.argmax(axis=1)),
        "transpose_copy": (
            lambda x: mx.contiguous(x.T),
            lambda x: np.ascontiguousarray(x.T),
        ),
    }
    if not any(wants(f"rows/{name}") for name in rows):
        return []
    out = []
    x = np.random.default_rng(3).uniform(-3, 3, (side, side)).astype(np.float32)
    y = mx.array(x)
    mx.eval(y)
    for name, (in_mlx, in_numpy) in rows.items():
        row = f"rows/{name}"
        if not wants(row):
            continue
        out.append(Contestant("mlx", row, lambda f=in_mlx: mx.eval(f(y))))
        if in_numpy is not None:
            out.append(Contestant("numpy", row, lambda f=in_numpy: f(x)))
    return out


def training_rows(wants, model):
    """The training step of `hearth bench`: the same model, loss, clipping and optimizer."""
    if not wants("training/train_step"):
        return []
    import mlx.core as mx
    import mlx.nn as nn
    import mlx.optimizers as optim

    dim, heads, kv_heads = model["dim"], model["heads"], model["kv_heads"]
    head_dim = dim // heads

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q_proj = nn.Linear(dim, heads * head_dim, bias=False)
            self.k_proj = nn.Linear(dim, kv_heads * head_dim, bias=False)
            self.v_proj = nn.Linear(dim, kv_heads * head_dim, bias=False)
            self.o_proj = nn.Linear(heads * head_dim, dim, bias=False)

        def __call__(self, x):
            batch, rows, _ = x.shape

            def split(y, count):
                return y.reshape(batch, rows, count, head_dim).transpose(0, 2, 1, 3)

            def turn(y):
                return mx.fast.rope(
                    y, head_dim, traditional=False, base=10000.0, scale=1.0, offset=0
                )

            q = turn(split(self.q_proj(x), heads))
            k = turn(split(self.k_proj(x), kv_heads))
            v = split(self.v_proj(x), kv_heads)
            y = mx.fast.scaled_dot_product_attention(q, k, v, scale=head_dim**-0.5, mask="causal")
            return self.o_proj(y.transpose(0, 2, 1, 3).reshape(batch, rows, -1))

    class FeedForward(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate_proj = nn.Linear(dim, model["hidden"], bias=False)
            self.up_proj = nn.Linear(dim, model["hidden"], bias=False)
            self.down_proj = nn.Linear(model["hidden"], dim, bias=False)

        def __call__(self, x):
            return self.down_proj(nn.silu(self.gate_proj(x)) * self.up_proj(x))

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.input_layernorm = nn.RMSNorm(dim, eps=1e-5)
            self.self_attn = Attention()
            self.post_attention_layernorm = nn.RMSNorm(dim, eps=1e-5)
            self.mlp = FeedForward()

        def __call__(self, x):
            x = x + self.self_attn(self.input_layernorm(x))
            return x + self.mlp(self.post_attention_layernorm(x))

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed_tokens = nn.Embedding(model["vocabulary"], dim)
            self.layers = [Layer() for _ in range(model["layers"])]
            self.norm = nn.RMSNorm(dim, eps=1e-5)

        def __call__(self, tokens):
            x = self.embed_tokens(tokens)
            for layer in self.layers:
                x = layer(x)
            return self.embed_tokens.as_linear(self.norm(x))

    mx.random.seed(1)
    shape = (model["batch"], model["context"])
    tokens = mx.random.randint(0, model["vocabulary"], shape)
    targets = mx.random.randint(0, model["vocabulary"], shape)

    def make(compiled):
        transformer = Transformer()
        optimizer = optim.AdamW(1e-3, betas=[0.9, 0.98], eps=1e-8, weight_decay=0.1)
        state = [transformer.state, optimizer.state]
        mx.eval(state)

        def loss(network, inputs, wanted):
            return nn.losses.cross_entropy(network(inputs), wanted, reduction="mean")

        gradient = nn.value_and_grad(transformer, loss)

        def step(inputs, wanted):
            value, gradients = gradient(transformer, inputs, wanted)
            gradients, _ = optim.clip_grad_norm(gradients, 1.0)
            optimizer.update(transformer, gradients)
            return value

        if compiled:
            step = functools.partial(mx.compile, inputs=state, outputs=state)(step)

        def run():
            for _ in range(model["steps_a_read"]):
                value = step(tokens, targets)
                mx.eval(value, state)
            return value.item()

        return run

    scale = model["steps_a_read"] * model["batch"] * model["context"]
    return [
        Contestant("mlx", "training/train_step", make(False), scale, True),
        Contestant("mlx, compiled", "training/train_step", make(True), scale, True),
    ]


def torch_training_rows(wants, model):
    """The same in PyTorch, where it is installed."""
    if not wants("training/train_step"):
        return []
    try:
        from torch_transformer import training_steps
    except ImportError as error:
        print(f"peers: no PyTorch to judge training/train_step: {error}", file=sys.stderr)
        return []
    count = model["steps_a_read"]
    scale = count * model["batch"] * model["context"]
    return [
        Contestant(name, "training/train_step", functools.partial(steps, count), scale, True)
        for name, steps in (
            ("torch", training_steps(model, compiled=False)),
            ("torch, compiled", training_steps(model, compiled=True)),
        )
    ]


def torch_conv_rows(names):
    """Convolutions in PyTorch, where it is installed; a row's name says the problem."""
    rows = [name for name in names if name.startswith("conv/")]
    if not rows:
        return []
    try:
        from torch_conv import call_of, flops_of
    except ImportError as error:
        print(f"peers: no PyTorch to judge conv/: {error}", file=sys.stderr)
        return []
    return [Contestant("torch", row, call_of(row), 1e-9 * flops_of(row), True) for row in rows]


def torch_pool_rows(names):
    """Pools and resized images in PyTorch, where it is installed."""
    rows = [name for name in names if name.startswith("pool/")]
    if not rows:
        return []
    try:
        from torch_pool import bytes_of, call_of
    except ImportError as error:
        print(f"peers: no PyTorch to judge pool/: {error}", file=sys.stderr)
        return []
    return [Contestant("torch", row, call_of(row), 1e-9 * bytes_of(row), True) for row in rows]


def torch_family_rows(names, threads):
    """Functions of all families in PyTorch, where it is installed, with as many threads."""
    rows = [name for name in names if name.startswith("families/")]
    if not rows:
        return []
    try:
        import torch
        from torch_families import calls_of
    except ImportError as error:
        print(f"peers: no PyTorch to judge families/: {error}", file=sys.stderr)
        return []
    torch.set_num_threads(threads or min(2, os.cpu_count()))
    torch.manual_seed(1)
    return [Contestant("torch", row, call) for row, call in calls_of(rows, "cpu")]


# ---- Hearth and the report ----------------------------------------------------------------------


def family_groups(rows):
    """A pattern for each family among the rows `families/<family>/...`, in their order."""
    found = (re.match(r"(gpu/)?families/[^/]+/", row) for row in rows)
    return list(dict.fromkeys("^" + match.group() for match in found if match))


def family_summary(rows):
    """A line for each family: the median of how many times better Hearth is, and how many miss."""
    lines = []
    for group in family_groups(row["row"] for row in rows):
        times = [
            min(peer["times_better"] for peer in row["peers"].values())
            for row in rows
            if re.match(group, row["row"]) and row.get("peers")
        ]
        if times:
            behind = sum(each < 1 for each in times)
            median = statistics.median(times)
            lines.append(f"{group[1:]:<28} median {median:6.2f}x of {len(times):3}"
                         f" rows, least {min(times):.2f}x, {behind} behind")  # fmt: skip
    return lines


def run_hearth(options, pattern):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "rows.json"
        command = [options.hearth, "bench", "--rows", pattern, "--json", str(path)]
        if options.threads:
            command += ["--threads", str(options.threads)]
        if options.seconds:
            command += ["--seconds", str(options.seconds)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if done.returncode != 0 or not path.exists():
            sys.exit(f"peers: {' '.join(command)} failed with status {done.returncode}")
        return json.loads(path.read_text())


def combine(row, contestants):
    """Adds the peers to a row of Hearth; a ratio above 1 says that Hearth is better."""
    row["peers"] = {}
    for contestant in contestants:
        if contestant.row != row["row"] or not contestant.samples:
            continue
        peer = contestant.report()
        ours, theirs = row["median"], peer["median"]
        peer["times_better"] = ours / theirs if contestant.rate else theirs / ours
        row["peers"][contestant.peer] = peer
    judges = [peer for name, peer in row["peers"].items() if name.startswith("torch")]
    if row.get("peer_target") is not None and judges:
        row["ok"] = min(peer["times_better"] for peer in judges) >= row["peer_target"]
    if row["row"].startswith("training/") and judges:
        row["target"] = f">= {TRAINING_TARGET:g}x PyTorch"
        row["ok"] = min(peer["times_better"] for peer in judges) >= TRAINING_TARGET
    return row


def number(value):
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3 if size >= 0.1 else 4
    return f"{value:.{digits}f}"


def table(rows):
    cells = [("row", "threads", "hearth", "unit", "in-run reference", "ratio", "target", "ok",
              "torch", "x", "mlx", "x", "numpy", "x")]  # fmt: skip
    for row in rows:
        peers = row["peers"]
        torch, mlx = (
            min(
                (peer for name, peer in peers.items() if name.startswith(library)),
                key=lambda peer: peer["times_better"],
                default=None,
            )
            for library in ("torch", "mlx")
        )
        line = [row["row"], str(row["threads"]), number(row["median"]), row["unit"],
                f"{row['reference']} {number(row['reference_median'])}" if row["reference"] else "",
                number(row["ratio"]) if row["ratio"] is not None else "", row["target"],
                {True: "ok", False: "MISS", None: "-"}[row["ok"]]]  # fmt: skip
        for peer in (torch, mlx, peers.get("numpy")):
            line += [number(peer["median"]), number(peer["times_better"])] if peer else ["", ""]
        cells.append(tuple(line))
    widths = [max(len(line[i]) for line in cells) for i in range(len(cells[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in cells
    )


def measure_builds():
    """Clean builds of library and tool, then of the tests: two jobs, in folders of their own."""
    rows = []
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        def seconds(*command):
            start = time.perf_counter()
            # A compiler cache would time the cache.
            environment = {**os.environ, "CCACHE_DISABLE": "1"}
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
            return time.perf_counter() - start

        configure = ["cmake", "-S", str(ROOT), "-B", folder, "-G", "Ninja",
                     "-DCMAKE_BUILD_TYPE=Release"]  # fmt: skip
        build = ["cmake", "--build", folder, "-j", "2"]
        tool = seconds(*configure, "-DHEARTH_BUILD_TESTS=OFF", "-DHEARTH_BUILD_EXAMPLES=OFF")
        tool += seconds(*build)
        tests = seconds(*configure, "-DHEARTH_BUILD_TESTS=ON", "-DHEARTH_BUILD_EXAMPLES=ON")
        tests += seconds(*build)
    for name, value, limit in (("build/library_and_tool", tool, 90), ("build/tests", tests, 120)):
        rows.append({"row": name, "unit": "s", "median": value, "p10": value, "p90": value,
                     "reference": None, "reference_median": None, "ratio": None,
                     "target": f"<= {limit} s", "threads": 2, "recording_included": False,
                     "ok": value <= limit, "note": "one build, without a compiler cache",
                     "peers": {}})  # fmt: skip
    return rows


def main():
    parser = argparse.ArgumentParser(description="Hearth beside PyTorch, MLX and NumPy, in turn.")
    parser.add_argument("--hearth", default=str(ROOT / "build" / "release" / "bin" / "hearth"))
    parser.add_argument("--rows", default="", help="only rows whose name this matches")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0, help="time to spend on a row of Hearth")
    parser.add_argument("--json", nargs="?", const="-",
                        help="write JSON to a file or to - (stdout)")
    parser.add_argument("--build", action="store_true", help="measure clean builds too")
    parser.add_argument("--torch-only", action="store_true",
                        help="PyTorch alone, in this Python; installs nothing")  # fmt: skip
    options = parser.parse_args()
    if not options.torch_only:
        enter_environment()
    if not os.access(options.hearth, os.X_OK):
        sys.exit(f"peers: {options.hearth} is missing; build it first (make release)")
    wanted = re.compile(options.rows)
    peer_seconds = min(PEER_SECONDS, options.seconds or PEER_SECONDS)

    listed = subprocess.run([options.hearth, "bench", "--list", "--json"], check=True,
                            stdout=subprocess.PIPE)  # fmt: skip
    known = json.loads(listed.stdout)
    rows = []
    for group in GROUPS + family_groups(known["rows"]):
        names = [row for row in known["rows"] if re.search(group, row) and wanted.search(row)]
        if not names:
            continue
        contestants = []
        wants = set(names).__contains__
        if not options.torch_only:
            for make in (engine_rows, elementwise_rows, matmul_rows, row_rows):
                contestants += make(wants)
            contestants += training_rows(wants, known["model"])
        contestants += torch_training_rows(wants, known["model"])
        contestants += torch_conv_rows(names)
        contestants += torch_pool_rows(names)
        contestants += torch_family_rows(names, options.threads)
        measure(contestants, peer_seconds)
        report = run_hearth(options, "^(" + "|".join(names) + ")$")
        measure(contestants, peer_seconds)
        rows += [combine(row, contestants) for row in report["rows"]]
        del contestants  # and the memory of their arrays
    if options.build:
        rows += measure_builds()

    result = {"device": known["device"], "model": known["model"], "rows": rows}
    text = json.dumps(result, indent=2) + "\n"
    if options.json == "-":
        sys.stdout.write(text)
        return
    if options.json:
        pathlib.Path(options.json).write_text(text)
    print("\n".join([table(rows), *family_summary(rows)]))
    print("x: how many times better Hearth is than the peer, the better of its variants")


if __name__ == "__main__":
    main()
