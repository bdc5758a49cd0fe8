# SPDX-License-Identifier: MIT
"""A tool in a window of tmux, whose lines are read and whose keys are typed."""
import os
import re
import shutil
import subprocess
import unittest

from harness import CLI, ToolTest, patience, waiting

BUILT = os.environ.get("HAVE_NCURSESW") == "1"


@unittest.skipUnless(BUILT, "this build has no screen: no ncursesw")
@unittest.skipUnless(shutil.which("tmux"), "no tmux")
class WindowTest(ToolTest):
    ANSWERED = r"\d+ to \d+ of \d+ by "

    def setUp(self):
        super().setUp()
        self.servers = 0
        self.code = os.path.join(self.directory, "code")
        self.environment.update(LC_ALL="C.UTF-8")

    def tearDown(self):
        self.close()
        super().tearDown()

    def tmux(self, *words, check=True):
        return subprocess.run(
            ["tmux", "-S", os.path.join(self.directory, f"tmux-{self.servers}"), "-f",
             "/dev/null", *words], check=check, env=self.environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
            timeout=patience()).stdout

    def window(self, command, columns=80, lines=24):
        """One that stays when the command has ended."""
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(lines),
                  f"{command}; exec sleep 600")

    def open(self, *argv, columns=80, lines=24, until=ANSWERED):
        """The tool in one, until its first answer is there."""
        command = " ".join([CLI, "top", *argv])
        self.window(f"trap : INT; {command}; echo code=$?; stty -a >{self.code}",
                    columns, lines)
        return self.wait_for(until)

    def close(self):
        """Until what ran there has ended."""
        pane = self.tmux("list-panes", "-a", "-F", "#{pane_pid}", check=False).strip()
        if pane:
            pidfd = os.pidfd_open(int(pane))
            self.tmux("kill-server", check=False)
            self.await_gone(pidfd)
            os.close(pidfd)
        # A server that ends would take the next window with it.
        self.servers += 1

    def shown(self, *more):
        return self.tmux("capture-pane", "-p", *more)

    def wait_for(self, *texts, but=()):
        """Until all of the texts are shown, and none of the others."""
        for waited in waiting():
            shown = self.shown()
            if all(re.search(text, shown) for text in texts) and not any(
                    re.search(text, shown) for text in but):
                return shown
        self.fail(f"waited {waited:.0f} s for {texts} without {but} in\n{shown}")

    def keys(self, *keys):
        self.tmux("send-keys", *keys)
