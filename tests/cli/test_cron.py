# SPDX-License-Identifier: MIT
"""The lines for a crontab, as README and the manual have them, on a real server
(ROWLOCK_TEST_DSN): each is run as cron would, with cron's environment.

Only the place of what is installed is another one, and what a line sleeps for.
"""
import os
import re
import unittest

import harness
from harness import ToolTest, patience
from option_file import option_file

CLI = os.environ.get("ROWLOCK_TOOL", "rowlock")
DSN = os.environ.get("ROWLOCK_TEST_DSN", "")
ROOT = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..")
TIMES = r"^\s*\d+ \d+ \* \* \*\s+"


def crontab(path, user):
    """The commands of a text's crontab lines; with a user's name before each, as
    in /etc/cron.d, or without."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read()
    if path.endswith(".scd"):
        text = text.replace("\\*", "*")
    for line in text.splitlines():
        if match := re.match(TIMES, line):
            command = line[match.end():]
            yield re.sub(r"^\w+\s+", "", command) if user else command


LINES = [*crontab("README.md", True), *crontab("tools/man/rowlock.1.scd", False)]


@unittest.skipUnless(DSN, "no ROWLOCK_TEST_DSN")
class Cron(ToolTest):
    def setUp(self):
        super().setUp()
        # What cron gives, and all that it gives.
        self.cron = {"PATH": "/usr/bin:/bin", "HOME": self.directory,
                     "LOGNAME": "report", "SHELL": "/bin/sh"}
        for key in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
            if key in self.environment:
                self.cron[key] = self.environment[key]
        os.remove(os.path.join(self.directory, ".my.cnf"))
        option_file(os.path.join(self.directory, ".my.cnf"), DSN, "rowlock")
        self.bin = os.path.join(self.directory, "bin")
        os.mkdir(self.bin)
        os.symlink(os.path.abspath(CLI), os.path.join(self.bin, "rowlock"))
        self.done = os.path.join(self.directory, "done")
        for job in ("report", "nightly.sh"):
            path = os.path.join(self.bin, job)
            with open(path, "w", encoding="utf-8") as out:
                out.write(f'#!/bin/sh\necho "$ROWLOCK_NAME" >>{self.done}\n'
                          "exit 5\n")
            os.chmod(path, 0o755)

    def play(self, line, name):
        line = line.replace("/usr/local/bin", self.bin)
        self.assertRegex(line, r"\bnightly (--|-c)")
        line = re.sub(r"\bnightly (--|-c)", rf"{name} \1", line)
        line = re.sub(r"\bsleep \d+", f"{self.bin}/rowlock show {name} "
                      f">{self.directory}/then", line)
        return self.run_tool("-c", line, tool="/bin/sh", env=self.cron)

    def test_each_line_runs_with_the_environment_of_cron(self):
        self.assertEqual(len(LINES), 4, LINES)
        for number, line in enumerate(LINES):
            with self.subTest(line):
                name = f"test-cron-{os.getpid()}-{number}"
                self.assertEqual(self.play(line, name), (5, "", ""))
                with open(self.done, encoding="utf-8") as done:
                    self.assertEqual(done.read(), f"{name}\n")
                os.remove(self.done)

    def test_a_line_that_waits_has_the_lock_as_it_does(self):
        waits = [line for line in LINES if "sleep" in line]
        self.assertEqual(len(waits), 2)
        for number, line in enumerate(waits):
            name = f"test-cron-{os.getpid()}-w{number}"
            self.assertEqual(self.play(line, name), (5, "", ""))
            with open(os.path.join(self.directory, "then"),
                      encoding="utf-8") as then:
                self.assertIn("held", then.read())

    def test_where_another_has_it_nothing_runs_and_cron_sends_no_mail(self):
        name = f"test-cron-{os.getpid()}-held"
        self.environment["ROWLOCK_DSN"] = DSN
        holder = self.start("run", name, "--", "sh", "-c", "echo; read x",
                            tool=CLI, stdin=-1)
        self.assertTrue(holder.stdout.readline())
        for line in LINES:
            with self.subTest(line):
                self.assertEqual(self.play(line, name), (0, "", ""))
        self.assertFalse(os.path.exists(self.done))
        holder.stdin.close()
        holder.stdin = None
        holder.wait(patience())


if __name__ == "__main__":
    harness.main()
