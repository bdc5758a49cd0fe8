# SPDX-License-Identifier: MIT
"""The lines for a crontab and a shell and the units of systemd, as README, docs/cron.md
and the manual have them, on a real server (ROWLOCK_TEST_DSN): each is run as cron
would, with cron's environment.

Only the place of what is installed is another one, and how long a line waits.
"""
import os
import re
import shutil
import subprocess
import unittest

import harness
from harness import ToolTest, patience
from option_file import option_file
from page import blocks, read

CLI = os.environ.get("ROWLOCK_TOOL", "rowlock")
DSN = os.environ.get("ROWLOCK_TEST_DSN", "")
# Behind the times, and in /etc/cron.d a user's name; or in a unit.
JOB = re.compile(r"^(?:\s*\d+ \d+ \* \* \*\s+(?:\w+\s+)?|ExecStart=)(/.* nightly .*)$", re.M)
LINES = [line for page in ("README.md", "docs/cron.md", "tools/man/rowlock.1.scd")
         for line in JOB.findall(read(page))]
UNITS = blocks("docs/cron.md", "# /etc/systemd/system/")
SHELL, = blocks("README.md", "rowlock run nightly")
SCHEMA, = blocks("README.md", "rowlock run schema")
# Finishes what it finds undone, and is alone meanwhile.
MIGRATION = """mkdir "$HOME/alone" || exit 9
[ -e "$HOME/migrated" ] || echo migrated >>"$HOME/done"
: >"$HOME/migrated"
rmdir "$HOME/alone"
"""


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
            self.script(job, f'echo "$ROWLOCK_NAME" >>{self.done}\nexit 5\n')

    def script(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(f"#!/bin/sh\n{text}")
        os.chmod(path, 0o755)

    def placed(self, text):
        """The text for what is installed here."""
        return re.sub(r"/usr/(local/)?bin/", f"{self.bin}/", text)

    def play(self, line, name):
        line = self.placed(line).replace("-w 2h", "-w 10ms")
        line = line.replace("$$", "$")  # for systemd
        self.assertRegex(line, r"\bnightly (--|-c)")
        line = re.sub(r"\bnightly (--|-c)", rf"{name} \1", line)
        return self.run_tool("-c", line, tool="/bin/sh", env=self.cron)

    def test_each_line_runs_with_the_environment_of_cron(self):
        self.assertEqual(len(LINES), 8, LINES)
        for number, line in enumerate(LINES):
            with self.subTest(line):
                name = f"test-cron-{os.getpid()}-{number}"
                self.assertEqual(self.play(line, name), (5, "", ""))
                with open(self.done, encoding="utf-8") as done:
                    self.assertEqual(done.read(), f"{name}\n")
                os.remove(self.done)

    def test_a_line_that_keeps_its_name_runs_once(self):
        keeps = [line for line in LINES if "--at-least" in line]
        self.assertEqual(len(keeps), 1)
        for number, line in enumerate(keeps):
            name = f"test-cron-{os.getpid()}-k{number}"
            self.assertEqual(self.play(line, name), (5, "", ""))
            self.assertEqual(self.play(line, name), (0, "", ""))
            with open(self.done, encoding="utf-8") as done:
                self.assertEqual(done.read(), f"{name}\n")
            os.remove(self.done)

    def test_a_line_that_is_once_per_day_runs_until_it_succeeds(self):
        lines = [line for line in LINES if "--once-per day" in line]
        self.assertEqual(len(lines), 4)
        for number, line in enumerate(lines):
            name = f"test-cron-{os.getpid()}-o{number}"
            for status, ran in ((5, 1), (5, 2), (0, 3), (0, 3)):
                for job in ("report", "nightly.sh"):
                    self.script(job, f'echo "$ROWLOCK_NAME" >>{self.done}\n'
                                f"exit {status}\n")
                self.assertEqual(self.play(line, name), (status, "", ""))
                with open(self.done, encoding="utf-8") as done:
                    self.assertEqual(done.read(), f"{name}\n" * ran)
            os.remove(self.done)

    def test_a_job_is_ended_at_its_longest_time(self):
        self.environment["ROWLOCK_DSN"] = DSN
        for strategy in ("lease", "row"):
            name = f"test-cron-{os.getpid()}-max-{strategy}"
            code, _, err = self.run_tool("run", "--max=2s", "-s", strategy, name,
                                         "--", "sleep", "600", tool=CLI)
            self.assertEqual(code, 124, err)
            self.assertEqual(self.run_tool("run", name, "-s", strategy, "-w", "1m",
                                           "true", tool=CLI), (0, "", ""))

    def test_where_another_has_it_nothing_runs_and_cron_sends_no_mail(self):
        name = f"test-cron-{os.getpid()}-held"
        self.environment["ROWLOCK_DSN"] = DSN
        holder = self.start("run", name, "--", "sh", "-c", "echo; read x",
                            tool=CLI, stdin=-1)
        self.assertTrue(holder.stdout.readline())
        # The others wait for it.
        for line in LINES:
            if "-E 0" not in line:
                continue
            with self.subTest(line):
                self.assertEqual(self.play(line, name), (0, "", ""))
        self.assertFalse(os.path.exists(self.done))
        holder.stdin.close()
        holder.stdin = None
        holder.wait(patience())

    def test_each_line_of_the_shell_chapter_runs_its_command(self):
        self.script("report.sh", f"echo report >>{self.done}\n")
        self.script("import", f"echo import >>{self.done}\n")
        # It leads until somebody ends it. Its shell would say that a sleep was
        # ended as well.
        self.script("mailer", f"exec 2>/dev/null\necho mailer >>{self.done}\n"
                    "trap 'exit 0' TERM\n"
                    "kill $PPID\nwhile :; do sleep 0.1; done\n")
        self.cron["PATH"] += f":{self.bin}"
        lines = re.sub(r"(?<![./])\b(nightly|import|mailer)\b",
                       rf"test-shell-{os.getpid()}-\1", SHELL)
        for line in lines.splitlines():
            with self.subTest(line):
                code, _, err = self.run_tool("-c", line, tool="/bin/sh", env=self.cron,
                                             cwd=self.bin)
                self.assertEqual((code, err), (0, ""))
        with open(self.done, encoding="utf-8") as done:
            self.assertEqual(done.read().split(), ["report", "report", "import", "mailer"])

    def test_of_ten_deployments_one_migrates_and_none_is_disturbed(self):
        for name in ("migrate.sh", "flyway", "liquibase"):
            self.script(name, MIGRATION)
        self.cron["PATH"] += f":{self.bin}"
        for line in SCHEMA.splitlines():
            with self.subTest(line):
                line = line.replace(" schema ", f" test-schema-{os.getpid()} ")
                started = [self.start("-c", line, tool="/bin/sh", env=self.cron,
                                      cwd=self.bin) for _ in range(10)]
                for process in started:
                    self.assertEqual(self.finish(process), (0, "", ""))
                with open(self.done, encoding="utf-8") as done:
                    self.assertEqual(done.read(), "migrated\n")
                os.remove(self.done)
                os.remove(os.path.join(self.directory, "migrated"))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze")
    def test_systemd_has_nothing_to_say_of_the_units(self):
        self.script("mailer", "")
        paths = []
        for unit in UNITS:
            paths.append(os.path.join(self.directory, re.match(r"# .*/(.+)", unit)[1]))
            with open(paths[-1], "w", encoding="utf-8") as out:
                out.write(self.placed(unit))
        said = subprocess.run(["systemd-analyze", "verify", *paths], check=False,
                              capture_output=True, text=True).stderr
        # It also looks at units of this machine.
        self.assertNotRegex(said, r"report\.|mailer\.")
        enabled, = blocks("docs/cron.md", "sudo systemctl")
        self.assertLessEqual(set(re.findall(r"\w+\.(?:timer|service)", enabled)),
                             set(map(os.path.basename, paths)))


if __name__ == "__main__":
    harness.main()
