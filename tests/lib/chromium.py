# SPDX-License-Identifier: MIT
"""A page in a headless Chromium: what it shows, and whether anything ran in it.

The browser is steered over a pipe (its DevTools protocol: JSON, each message ends with
a zero byte), so that no port is open. What is evaluated here is not bound by the
page's policy; what the page has in it, is.
"""
import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile

from patience import patience

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")


class Chromium:
    """One browser with one page. Use it in a with statement."""

    def __init__(self):
        self.number, self.events, self.text, self.session = 0, [], b"", None
        # The home directory may not be writable.
        self.home = tempfile.mkdtemp(prefix="rowlock-chromium-")
        # Above those of the browser, which are 3 and 4.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10)
                for pipe in (os.pipe(), os.pipe()) for end in pipe]
        read, self.out, self.source, write = ends

        def become():
            os.dup2(read, 3)
            os.dup2(write, 4)
        self.process = subprocess.Popen(
            [CHROMIUM, "--headless", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", f"--user-data-dir={self.home}",
             *(["--no-sandbox"] if os.geteuid() == 0 else [])],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.home},
            close_fds=False, preexec_fn=become, start_new_session=True)
        os.close(read)
        os.close(write)

    def __enter__(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(patience())
        os.close(self.out)
        os.close(self.source)
        shutil.rmtree(self.home, ignore_errors=True)

    def message(self):
        while b"\0" not in self.text:
            if not select.select([self.source], [], [], patience())[0]:
                raise TimeoutError("Chromium is silent")
            more = os.read(self.source, 1 << 20)
            if not more:
                raise EOFError("Chromium has ended")
            self.text += more
        line, _, self.text = self.text.partition(b"\0")
        return json.loads(line)

    def call(self, method, **params):
        self.number += 1
        question = {"id": self.number, "method": method, "params": params}
        if self.session:
            question["sessionId"] = self.session
        text = json.dumps(question).encode() + b"\0"
        while text:
            text = text[os.write(self.out, text):]
        while True:
            answer = self.message()
            if answer.get("id") != self.number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def seen(self, *methods):
        """The parameters of the events so far."""
        return [event["params"] for event in self.events
                if event.get("method") in methods]

    def open(self, url, width, height, telephone=False):
        """Until it is loaded, with its style. A telephone has no scroll bar."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=telephone)
        self.events.clear()
        failed = self.call("Page.navigate", url=url).get("errorText")
        assert not failed, failed
        while not self.seen("Page.loadEventFired"):
            self.events.append(self.message())

    def evaluate(self, expression):
        """In the page that is there then: one that refreshes itself goes meanwhile."""
        while True:
            try:
                answer = self.call("Runtime.evaluate", expression=expression,
                                   returnByValue=True)
            except RuntimeError as error:
                if "navigated" in str(error) or "context" in str(error):
                    continue
                raise
            assert "exceptionDetails" not in answer, answer["exceptionDetails"]
            return answer["result"].get("value")

    def screenshot(self, path):
        """Of what is in the window."""
        with open(path, "wb") as file:
            file.write(base64.b64decode(
                self.call("Page.captureScreenshot", format="png")["data"]))
