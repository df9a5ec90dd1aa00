"""`hearth chat` with lines that come from a pipe or a terminal."""

import os
import pty
import select
import signal
import subprocess
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

    def __init__(self, *arguments):
        self.process, self.file = pty.fork()
        if self.process == 0:
            os.execv(TOOL, [TOOL, *arguments])

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


def test_messages_of_several_lines_at_a_terminal(tmp_path):
    path = tmp_path / "tiny.gguf"
    tiny_gguf.write_llama(path, context=64)
    terminal = Terminal("chat", str(path), "--tokens", "4")
    prompt = b"\x1b[?2004h> "
    terminal.read_until(prompt)
    terminal.write(b"\x1b[200~/rest\nb\x1b[201~\n")  # no command, but a message
    assert b"no such command" not in terminal.read_until(prompt)
    terminal.write(b"\x1b[A/rest\n")
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
