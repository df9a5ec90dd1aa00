#!/usr/bin/env python3
"""Uses the page of `hearth serve` in a browser: `HEARTH_TOOL=... chat_page_check.py [PICTURE_FOLDER]`.

Needs Chromium, which CI does not have, so it is run by hand where the page has changed. Speaks the
browser's own protocol over its pipe. Exits with 1 where the page does not do what it should.
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import serve_test
import tiny_gguf

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
SECONDS = 30


class Browser:
    def __init__(self, program, profile):
        to_browser, self.out = os.pipe()
        self.read_end, from_browser = os.pipe()

        def give_pipes():
            os.dup2(to_browser, 103)
            os.dup2(from_browser, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=give_pipes, pass_fds=(3, 4, to_browser, from_browser),
            stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        self.held, self.count, self.session, self.faults = b"", 0, None, []

    def ask(self, method, **parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.held:
                self.held += os.read(self.read_end, 1 << 16)
            text, self.held = self.held.split(b"\0", 1)
            reply = json.loads(text)
            if reply.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.faults.append(reply["params"])
            if reply.get("id") == self.count:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']}")
                return reply["result"]

    def open(self, address):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            self.ask(domain + ".enable")
        self.ask("Page.navigate", url=address)

    def value(self, expression):
        result = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)  # fmt: skip
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, expression):
        end = time.monotonic() + SECONDS
        while not self.value(expression):
            if time.monotonic() > end:
                raise RuntimeError(f"never true: {expression}; the page says {self.value('document.body?.innerText')!r}")
            time.sleep(0.05)

    def size(self, width, height, dark=False):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=width < 500)  # fmt: skip
        scheme = "dark" if dark else "light"
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path):
        data = self.ask("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        self.process.kill()
        self.process.wait()


def check(browser, server, pictures):
    browser.open(f"http://127.0.0.1:{server.port}/")
    browser.size(1000, 760)
    browser.wait_for("document.readyState === 'complete' && at('model').textContent === 'tiny'")
    unnamed = browser.value(
        "[...document.querySelectorAll('input, textarea')].filter((e) => !e.labels.length).length")  # fmt: skip
    assert unnamed == 0, f"{unnamed} fields without a label"
    # An answer comes in pieces, and is kept.
    browser.value("at('system').value = 'Be brief.'; at('temperature').value = 0; at('most').value = 40; at('text').value = 'Hello'")
    browser.value("at('send').click()")
    browser.wait_for("running === null && turns.length === 2")
    assert browser.value("document.querySelectorAll('.user').length") == 1
    assert browser.value("document.querySelector('.note').textContent").startswith("40 tokens")
    # It can be stopped, and what was written stays.
    browser.value("at('most').value = 3900; at('text').value = 'More'; at('send').click()")
    browser.wait_for("!at('stop').hidden && document.querySelectorAll('.assistant')[1]?.textContent.length > 20")
    browser.value("at('stop').click()")
    browser.wait_for("running === null")
    assert browser.value("turns.length") == 4
    server.wait_for("requests_running", 0)
    if pictures:
        browser.picture(pictures / "desk.png")
        browser.size(390, 800, dark=True)
        browser.value("document.querySelector('details').open = true")
        browser.picture(pictures / "phone.png")
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")
    # The conversation outlives the page; a new one is empty.
    browser.ask("Page.reload")
    browser.wait_for("document.readyState === 'complete' && document.querySelectorAll('.user').length === 2")
    browser.value("at('fresh').click()")
    assert browser.value("document.querySelectorAll('.turn').length") == 0
    # What the server refuses is shown, and the question is there to be asked again.
    browser.value("at('temperature').value = -1; at('text').value = 'x'; at('send').click()")
    browser.wait_for("document.querySelector('.error')?.textContent.includes('temperature')")
    assert browser.value("turns.length") == 0
    assert browser.value("at('text').value") == "x"
    # An answer that is left has no place in the next conversation.
    browser.value("at('temperature').value = ''; at('most').value = 3900; at('send').click()")
    browser.wait_for("document.querySelector('.assistant')?.textContent.length > 20")
    browser.value("at('fresh').click()")
    browser.wait_for("running === null")
    assert browser.value("turns.length") == 0
    assert browser.value("document.querySelectorAll('.turn').length") == 0
    faults = [fault for fault in map(json.dumps, browser.faults)
              if "status of 400" not in fault and '"level": "verbose"' not in fault]  # fmt: skip
    assert not faults, faults


def main():
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        sys.exit("chat_page_check: no browser; expected one of " + ", ".join(BROWSERS))
    pictures = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        model = pathlib.Path(folder) / "tiny.gguf"
        tiny_gguf.write_llama(model, context=4096)
        with serve_test.serving(str(model)) as server:
            browser = Browser(program, folder + "/profile")
            try:
                check(browser, server, pictures)
            finally:
                browser.close()
    print("chat_page_check: the page does what it should")


if __name__ == "__main__":
    main()
