#!/usr/bin/env python3
"""Measures `hearth bench-model` and llama.cpp's llama-bench on the same GGUF files, in turn.

usage: bench/llama_cpp.py --llama-bench PROGRAM [--hearth PROGRAM]... [--threads N]... [--prompt N]
                          [--tokens N] [--rounds N] [--json FILE|-] MODEL...

A round runs every contestant once on every model and number of threads; the order is reversed in
every other round. Before and after each run a loop of a fixed length is timed: runs beside which
the processor was much slower than at its best are left out. Reported are the best and the median
run of each contestant and the ratios of the bests and of the medians, Hearth to llama.cpp. With
several --hearth the programs are measured beside each other.

Models without a tokenizer do: `hearth bench-model --shape llama-1b --type q4_0 --save FILE` writes
some.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLOCK_COUNT = 300_000
CLOCK_LIMIT = 1.25  # times the best loop of the session; slower neighbours disqualify a run


def clock_loop():
    """Seconds of a loop whose length never changes."""
    start = time.perf_counter()
    value = 0
    for i in range(CLOCK_COUNT):
        value ^= i
    return time.perf_counter() - start


def output_of(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise SystemExit(f"llama_cpp: {command[0]} failed: {lines[-1] if lines else 'no output'}")
    return done.stdout


def run_hearth(program, model, threads, options):
    text = output_of([program, "bench-model", "--model", model, "--threads", str(threads),
                      "--prompt", str(options.prompt), "--tokens", str(options.tokens),
                      "--depth", str(options.depth), "--repeat", "2", "--json"])
    # Encoders read texts at once, which llama-bench calls a prompt.
    return {row["test"].split(" ")[0].replace("embed", "pp"): row["best"]
            for row in json.loads(text)["rows"]}


def run_llama(program, model, threads, options):
    command = [program, "-m", model, "-t", str(threads), "-p", str(options.prompt),
               "-n", str(options.tokens), "-d", str(options.depth), "-r", "2", "-o", "json"]
    if options.embeddings:
        command += ["--embeddings", "1"]
    rates = {}
    for row in json.loads(output_of(command)):
        is_prompt = row["n_prompt"] > 0
        name = f"pp{row['n_prompt']}" if is_prompt else f"tg{row['n_gen']}"
        rates[name] = max(row["samples_ts"])
    return rates


class Samples:
    """Rates of one contestant in one test, with the clock beside each."""

    def __init__(self):
        self.all = []

    def add(self, rate, clock):
        self.all.append((rate, clock))

    def kept(self, best_clock):
        good = [rate for rate, clock in self.all if clock <= CLOCK_LIMIT * best_clock]
        return good or [rate for rate, _ in self.all]


def measure(options):
    contestants = [("llama.cpp", run_llama, options.llama_bench)]
    for number, program in enumerate(options.hearth):
        contestants.append((f"hearth {number + 1}" if number else "hearth", run_hearth, program))
    samples = {}
    best_clock = min(clock_loop() for _ in range(20))
    for round_number in range(options.rounds):
        order = contestants if round_number % 2 == 0 else contestants[::-1]
        for model in options.models:
            for threads in options.threads:
                for name, run, program in order:
                    before = clock_loop()
                    rates = run(program, model, threads, options)
                    clock = max(before, clock_loop())
                    best_clock = min(best_clock, clock)
                    for test, rate in rates.items():
                        key = (pathlib.Path(model).name, threads, test)
                        samples.setdefault(key, {}).setdefault(name, Samples()).add(rate, clock)
        print(f"round {round_number + 1} of {options.rounds}", file=sys.stderr)
    return samples, best_clock


def rows_of(samples, best_clock):
    rows = []
    for (model, threads, test), by_name in sorted(samples.items()):
        kept = {name: each.kept(best_clock) for name, each in by_name.items()}
        theirs = kept.get("llama.cpp")
        for name, rates in kept.items():
            rows.append({"model": model, "threads": threads, "test": test, "contestant": name,
                         "runs": len(rates), "best": max(rates),
                         "median": statistics.median(rates),
                         "ratio": max(rates) / max(theirs) if theirs else None,
                         "ratio_of_medians": (statistics.median(rates) / statistics.median(theirs)
                                              if theirs else None)})
    return rows


def table_of(rows):
    lines = ["| model | threads | test | contestant | best t/s | median | runs | of llama.cpp "
             "| of its median |",
             "| --- | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    for row in rows:
        best, median = (f"{row[name]:.2f}" if row[name] else "-"
                        for name in ("ratio", "ratio_of_medians"))
        lines.append(f"| {row['model']} | {row['threads']} | {row['test']} | {row['contestant']} "
                     f"| {row['best']:.1f} | {row['median']:.1f} | {row['runs']} | {best} "
                     f"| {median} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--llama-bench", required=True)
    parser.add_argument("--hearth", action="append")
    parser.add_argument("--threads", type=int, action="append")
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--depth", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--embeddings", action="store_true", help="the models are encoders")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    options.hearth = options.hearth or [str(ROOT / "build" / "release" / "bin" / "hearth")]
    options.threads = options.threads or [1, 2]
    rows = rows_of(*measure(options))
    if options.json == "-":
        print(json.dumps(rows, indent=2))
        return
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    print(table_of(rows))


if __name__ == "__main__":
    main()
