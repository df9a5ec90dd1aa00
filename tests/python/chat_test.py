"""`hearth chat` with lines that come from a pipe or a terminal."""

import os
import pathlib
import pty
import select
import signal
import subprocess
import termios
import time

import pytest

import tiny_gguf

TOOL = os.environ.get("HEARTH_TOOL")

pytestmark = pytest.mark.skipif(not TOOL, reason="built without the hearth command")


def test_lines_behind_one_that_does_not_fit(tmp_path):
    path = tmp_path / "tiny.gguf"
    tiny_gguf.write_llama(path, context=64)
    lines = "hi\n" + "x" * 200 + "\n/reset\nhi\n/exit\n"
    done = subprocess.run(
        [TOOL, "chat", str(path), "--tokens", "4"], input=lines, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 2
    notes = [line for line in done.stderr.splitlines() if line.startswith("chat: line ")]
    assert len(notes) == 1 and notes[0].startswith("chat: line 2: "), done.stderr
    assert "/reset" in notes[0]
    assert "chat: lines without an answer; got 1" in done.stderr
    # Each line has its place, the one behind /reset an answer again.
    assert len(done.stdout.splitlines()) >= 3


class Terminal:
    """The command at a pseudo-terminal."""

    def __init__(self, *arguments, **environment):
        self.process, self.file = pty.fork()
        if self.process == 0:
            environment = {**os.environ, "TERM": "xterm", **environment}
            os.execve(TOOL, [TOOL, *arguments], environment)

    def read_until(self, mark):
        seen = b""
        end = time.monotonic() + 60
        while not seen.endswith(mark) and time.monotonic() < end:
            if select.select([self.file], [], [], 0.2)[0]:
                try:
                    seen += os.read(self.file, 1)
                except OSError:  # it ended
                    break
        assert seen.endswith(mark), seen
        return seen

    def write(self, text):
        os.write(self.file, text)


@pytest.mark.parametrize("kind", ["xterm", "dumb"])  # lines are edited, or only read
def test_messages_of_several_lines_at_a_terminal(tmp_path, kind):
    path = tmp_path / "tiny.gguf"
    tiny_gguf.write_llama(path, context=64)
    terminal = Terminal("chat", str(path), "--tokens", "4", TERM=kind)
    prompt = b"\x1b[?2004h> "
    terminal.read_until(prompt)
    terminal.write(b"\x1b[200~/rest\nb\x1b[201~\n")  # no command, but a message
    assert b"no such command" not in terminal.read_until(prompt)
    terminal.write(b"\x1b[D/rest\n")
    assert b"no such command; got /rest" in terminal.read_until(prompt)
    terminal.write(b'"""\n')
    terminal.read_until(b"... ")
    terminal.write(b"/rest\n")
    terminal.read_until(b"... ")
    terminal.write(b'"""\n')
    assert b"no such command" not in terminal.read_until(prompt)
    os.kill(terminal.process, signal.SIGINT)
    terminal.read_until(b"\x1b[?2004l")  # the terminal is left as it was
    assert os.waitpid(terminal.process, 0)[1] == signal.SIGINT
    os.close(terminal.file)


def has_line_editor():
    """Whether this build edits lines: CMake's cache says which library does it."""
    cache = pathlib.Path(os.environ.get("HEARTH_BUILD_DIR", "build/release")) / "CMakeCache.txt"
    return cache.exists() and "HEARTH_LIBEDIT_IS_WIDE:INTERNAL=1" in cache.read_text()


edits_lines = pytest.mark.skipif(not has_line_editor(), reason="built without libedit")
PROMPT = b"\x1b[?2004h> "


@pytest.fixture(params=["C", "C.UTF-8"])
def terminal(request, tmp_path):
    path = tmp_path / "tiny.gguf"
    tiny_gguf.write_llama(path, context=64)
    terminal = Terminal("chat", str(path), "--tokens", "4", LC_ALL=request.param)
    terminal.read_until(PROMPT)
    yield terminal
    os.close(terminal.file)


@edits_lines
def test_lines_are_edited_in_the_middle(terminal):
    # What the program takes for a command shows what it has read.
    terminal.write(b"/rs\x1b[De\x1b[Ft\x1b[HX\x1b[D\x1b[3~\x1b[1;2A\n")
    assert b"no such command; got /rest," in terminal.read_until(PROMPT)
    terminal.write(b"\x1b[A\x7f\n")
    assert b"no such command; got /res," in terminal.read_until(PROMPT)
    terminal.write(b"/?\n")
    assert b"/reset, /clear " in terminal.read_until(PROMPT)
    terminal.write(b"/x\n")
    terminal.read_until(PROMPT)
    terminal.write(b"\x1bOA\x1bOA\x1bOA\x1bOA\x1bOBs\n")
    assert b"no such command; got /ress," in terminal.read_until(PROMPT)
    terminal.write(b"\x04")
    assert os.waitpid(terminal.process, 0)[1] == 0


@edits_lines
def test_characters_of_several_bytes_are_edited(terminal):
    # Each is one step: three of them lie between the cursor and the letter that is put in.
    terminal.write("/r-\u00e9\u6f22\U0001f600".encode() + b"\x7f" * 3 + b"s\n")
    assert b"no such command; got /r-s," in terminal.read_until(PROMPT)
    terminal.write("\u00e9\u6f22/".encode() + b"\x1b[D\x7f\x7f\x1b[Fs\n")
    assert b"no such command; got /s," in terminal.read_until(PROMPT)


@edits_lines
def test_pasted_lines_are_one_message(terminal):
    terminal.write(b"\x1b[200~/rest\rb\x1b[201~\r")
    assert b"no such command" not in terminal.read_until(PROMPT)
    terminal.write(b"\x1b[A\x1b[Hx\r")  # from the history, too
    assert b"no such command" not in terminal.read_until(PROMPT)
    terminal.write(b"/\x1b[200~rest\x1b[201~\r")
    assert b"no such command; got /rest," in terminal.read_until(PROMPT)


@edits_lines
def test_the_terminal_is_left_as_it_was(terminal):
    before = termios.tcgetattr(terminal.file)
    assert not before[3] & termios.ICANON
    terminal.write(b"half\x03")
    terminal.read_until(b"\x1b[?2004l")
    after = termios.tcgetattr(terminal.file)
    assert after[3] & termios.ICANON and after[3] & termios.ECHO
    assert os.waitpid(terminal.process, 0)[1] == signal.SIGINT


def test_a_terminal_without_a_cursor_reads_lines(tmp_path):
    path = tmp_path / "tiny.gguf"
    tiny_gguf.write_llama(path, context=64)
    terminal = Terminal("chat", str(path), "--tokens", "4", TERM="dumb")
    terminal.read_until(PROMPT)
    terminal.write(b"\x1b[A/rest\n")
    assert b"no such command; got /rest" in terminal.read_until(PROMPT)
    terminal.write(b"\x04")
    assert os.waitpid(terminal.process, 0)[1] == 0
    os.close(terminal.file)
