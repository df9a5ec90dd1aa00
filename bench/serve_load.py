#!/usr/bin/env python3
"""Asks `hearth serve` as many users at once would, through OpenAI's client; reports what they see.

usage: bench/serve_load.py [--hearth PROGRAM] [--model FILE] [--users N] [--requests N]
                           [--prompt TOKENS] [--tokens N] [--seed N] [--json FILE|-] [OPTION...]

Each of the users asks, reads the answer and asks again, until all requests are done. Prompts have
about as many tokens as said, some of them beginning alike. Half of the answers are streamed; one in
ten streams is closed after a few events; samplers differ; one answer in eight is held to a JSON
schema. What follows `--` goes to the server. Without --model a tiny model with random weights is
made, in which the server's own work is what is measured.

Reported are the time to the first token of streams and the time of whole answers (median and 99th
percentile), tokens a second, requests that were lost (any answer that is neither whole nor closed
by its user), and the server's resident memory after a tenth of the requests and at the end. Exit
status 1 where one was lost.
"""

import argparse
import asyncio
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import openai

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS = 600  # that one request may take
WORDS = "river stone cloud light seven paper garden winter music silver north island".split()
SAMPLERS = [
    {"temperature": 0},
    {"temperature": 1, "top_p": 0.9},
    {"temperature": 0.7, "extra_body": {"top_k": 40, "min_p": 0.05}},
    {"temperature": 1, "presence_penalty": 0.5, "frequency_penalty": 0.5},
    {"temperature": 1, "extra_body": {"mirostat": 2}},
    {"temperature": 1, "extra_body": {"dry_multiplier": 0.8, "xtc_probability": 0.3}},
]
SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "note",
        "schema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 12},
                "kind": {"enum": ["a", "b", "c"]},
                "count": {"type": "integer", "minimum": 0, "maximum": 99},
            },
            "required": ["name", "kind", "count"],
            "additionalProperties": False,
        },
    },
}


class Server:
    """A `hearth serve` on a port of its own."""

    def __init__(self, program, model, options):
        self.process = subprocess.Popen(
            [program, "serve", "--model", str(model), "--port", "0", *options],
            stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.search(r":(\d+)$", line.strip())
        if found is None:
            raise SystemExit(f"serve_load: the server did not start: {line}")
        self.url = f"http://127.0.0.1:{found.group(1)}"
        if "is ready" not in self.process.stdout.readline():
            raise SystemExit("serve_load: the model was not loaded")

    def resident(self):
        """Bytes of memory, 0 where the system does not tell."""
        try:
            fields = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()
        except OSError:
            return 0
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def post(self, path, body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            return json.load(response)

    def takes_chats(self):
        """Whether the model says how to talk to it; else its texts are completed."""
        try:
            self.post("/v1/chat/completions",
                      {"messages": [{"role": "user", "content": "a"}], "max_tokens": 1})
        except urllib.error.HTTPError:
            return False
        return True

    def metric(self, name):
        with urllib.request.urlopen(self.url + "/metrics", timeout=SECONDS) as response:
            text = response.read().decode()
        return int(re.search(rf"^hearth_{name} (\d+)$", text, re.MULTILINE).group(1))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        self.process.stdout.close()
        return status


def prompt_of(server, tokens, chosen):
    """Random words of about so many tokens; their beginning is one of four."""
    text = f"User {chosen.randrange(4)}. " + " ".join(chosen.choices(WORDS, k=tokens))
    ids = server.post("/tokenize", {"content": text})["tokens"]
    return server.post("/detokenize", {"tokens": ids[:tokens]})["content"]


class Load:
    def __init__(self, server, model, options):
        self.server, self.model, self.options = server, model, options
        self.client = openai.AsyncOpenAI(
            base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=SECONDS)
        chosen = random.Random(options.seed)
        self.prompts = [prompt_of(server, options.prompt, chosen) for _ in range(64)]
        self.firsts, self.wholes, self.lost = [], [], []
        self.tokens = self.closed = self.done = 0
        self.early_memory = 0
        self.is_chat = server.takes_chats()
        self.ask = (self.client.chat if self.is_chat else self.client).completions.create

    def fields(self, number, chosen):
        fields = {"model": self.model, "max_tokens": self.options.tokens, "seed": number}
        fields.update(SAMPLERS[number % len(SAMPLERS)])
        text = f"{self.prompts[number % 64]} {number}."
        if self.is_chat:
            fields["messages"] = [{"role": "user", "content": text}]
        else:
            fields["prompt"] = text
        if chosen.random() < 1 / 8:
            extra = fields.get("extra_body", {})
            fields["extra_body"] = {**extra, "response_format": SCHEMA}
        return fields

    def text_of(self, choice):
        if not self.is_chat:
            return choice.text
        return (choice.delta if hasattr(choice, "delta") else choice.message).content

    async def stream(self, fields, closes):
        begun, finish, pieces = time.perf_counter(), None, 0
        stream = await self.ask(
            stream=True, stream_options={"include_usage": True}, **fields)
        first = None
        async for chunk in stream:
            if chunk.usage:
                self.tokens += chunk.usage.completion_tokens
            if not chunk.choices:
                continue
            finish = chunk.choices[0].finish_reason or finish
            pieces += 1
            if first is None and (self.text_of(chunk.choices[0]) or finish):
                first = time.perf_counter() - begun
                self.firsts.append(first)
            if closes and pieces > 3:
                await stream.close()
                self.closed += 1
                return
        if finish is None:
            raise RuntimeError("a stream without an end")
        self.wholes.append(time.perf_counter() - begun)

    async def whole(self, fields):
        begun = time.perf_counter()
        answer = await self.ask(**fields)
        if answer.choices[0].finish_reason is None:
            raise RuntimeError("an answer without an end")
        is_held = "response_format" in fields.get("extra_body", {})
        if is_held and answer.choices[0].finish_reason == "stop":
            json.loads(self.text_of(answer.choices[0]))
        self.tokens += answer.usage.completion_tokens
        self.wholes.append(time.perf_counter() - begun)

    async def one(self, number):
        chosen = random.Random(number * 7919 + self.options.seed)
        fields = self.fields(number, chosen)
        try:
            if chosen.random() < 0.5:
                await self.stream(fields, chosen.random() < 0.1)
            else:
                await self.whole(fields)
        except Exception as error:  # whatever it is, the user got no answer
            cause = error.__cause__ or error.__context__ or "no cause"
            self.lost.append(f"request {number}: {type(error).__name__}: {error} ({cause!r})")
        self.done += 1
        if self.done == max(1, self.options.requests // 10):
            self.early_memory = self.server.resident()

    async def run(self):
        numbers = iter(range(self.options.requests))

        async def user():
            for number in numbers:
                await self.one(number)

        begun = time.perf_counter()
        await asyncio.gather(*(user() for _ in range(self.options.users)))
        self.seconds = time.perf_counter() - begun
        await self.client.close()


def share(values, part):
    """The value that this part of all is not above."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else float("nan")


def report_of(load):
    return {
        "requests": load.options.requests, "users": load.options.users,
        "prompt_tokens": load.options.prompt, "answer_tokens": load.options.tokens,
        "lost": len(load.lost), "closed": load.closed, "seconds": round(load.seconds, 2),
        "first_token_p50": round(share(load.firsts, 0.5), 4),
        "first_token_p99": round(share(load.firsts, 0.99), 4),
        "whole_p50": round(share(load.wholes, 0.5), 4),
        "whole_p99": round(share(load.wholes, 0.99), 4),
        "tokens_per_second": round(load.tokens / load.seconds, 1),
        "memory_early_mib": round(load.early_memory / (1 << 20), 1),
        "memory_end_mib": round(load.server.resident() / (1 << 20), 1),
    }


def tiny_model(folder):
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    import tiny_gguf

    path = pathlib.Path(folder) / "tiny.gguf"
    tiny_gguf.write_llama(path, context=4096)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hearth", default=str(ROOT / "build" / "release" / "bin" / "hearth"))
    parser.add_argument("--model")
    parser.add_argument("--users", type=int, default=32)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json")
    parser.add_argument("serve", nargs="*", help="options of the server, behind --")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = options.model or tiny_model(folder)
        server = Server(options.hearth, model, ["--parallel", str(options.users), *options.serve])
        try:
            load = Load(server, "model", options)
            asyncio.run(load.run())
            report = report_of(load)
            report["preemptions"] = server.metric("preemptions_total")
        finally:
            status = server.stop()
    report["exit_status"] = status
    for name, value in report.items():
        print(f"{name:20} {value}")
    for line in load.lost[:10]:
        print("lost:", line)
    if options.json:
        text = json.dumps(report)
        print(text) if options.json == "-" else pathlib.Path(options.json).write_text(text + "\n")
    return 1 if load.lost or status != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
