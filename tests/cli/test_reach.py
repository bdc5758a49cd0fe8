# SPDX-License-Identifier: MIT
"""A command that becomes another user's: rowlock may not signal it."""
import os
import shutil
import signal
import unittest

import harness
from harness import CLI, ToolTest, patience

NOBODY = 65534


def is_root():
    return os.geteuid() == 0 and shutil.which("setpriv") is not None


class Beyond(ToolTest):
    def as_nobody(self):
        """How to run the tool as a user that may not signal root's."""
        if not is_root():
            return [CLI]
        # The directory and the fake are root's, and those above them, too.
        return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
                "--clear-groups", "--inh-caps=+dac_override",
                "--ambient-caps=+dac_override", CLI]

    def program(self, mode, text=None):
        """A program of root's, with these bits."""
        path = os.path.join(self.directory, "job")
        shutil.copy(shutil.which("true"), path)
        if text:
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
        os.chmod(path, mode)
        return path

    def test_a_command_that_could_not_be_ended_is_refused(self):
        if is_root():
            su = self.program(0o4755)
        else:
            su = shutil.which("su")
            if not su or not os.stat(su).st_mode & 0o4000:
                self.skipTest("no program here is set-user-ID")
        tool, *argv = self.as_nobody()
        self.environment["PATH"] = f"/nonexistent:{os.path.dirname(su)}:" + \
            self.environment["PATH"]
        for command in (su, os.path.basename(su)):
            code, _, err = self.run_tool(*argv, "run", "j", command, tool=tool)
            self.assertEqual((code, err), (
                125, f"rowlock: run: '{command}' runs as another user, so "
                "rowlock could not end it if the lock 'j' is lost: run rowlock "
                "as that user, or give --no-supervise\n"))
        code, _, err = self.run_tool(*argv, "elect", "j", su, tool=tool)
        self.assertEqual(code, 125)
        self.assertNotIn("--no-supervise", err)
        self.assertEqual(self.fake.seen, [])
        if is_root():
            self.assertEqual(self.run_tool(*argv, "run", "--no-supervise", "j",
                                           su, tool=tool)[0], 0)

    @unittest.skipUnless(is_root(), "needs root and setpriv")
    def test_a_script_and_a_program_of_our_own_are_not_refused(self):
        tool, *argv = self.as_nobody()
        script = self.program(0o4755, "#!/bin/sh\nexit 3\n")
        self.assertEqual(self.run_tool(*argv, "run", "j", script, tool=tool)[0],
                         3)
        own = self.program(0o4755)
        os.chown(own, NOBODY, NOBODY)
        os.chmod(own, 0o4755)
        self.assertEqual(self.run_tool(*argv, "run", "j", own, tool=tool)[0], 0)


@unittest.skipUnless(is_root(), "needs root and setpriv")
class Stranger(ToolTest):
    # As root without the right to signal others'.
    WEAK = ("--bounding-set=-kill", "--inh-caps=-kill", CLI)
    # It obeys TERM, but is another user's.
    JOB = ("setpriv", f"--reuid={NOBODY}", "--clear-groups", "bash", "-c",
           "exec 2>/dev/null; trap 'exit 3' TERM; echo $$; while :; do sleep 0.05; done")

    @staticmethod
    def end(pidfd):
        try:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.close(pidfd)

    def strange(self, *command):
        process = self.start(*self.WEAK, "run", "j", *command, tool="setpriv")
        pid = int(process.stdout.readline())
        self.addCleanup(self.end, os.pidfd_open(pid))
        self.assertRegex(
            process.stderr.readline(), f"^rowlock: run: process {pid} is "
            "another user's, so rowlock cannot end it if 'j' on fake:1 is "
            "lost: run rowlock as that user, or give --no-supervise$")
        return process, pid

    def test_it_is_told_at_once_and_by_whom_it_can_be_ended(self):
        process, pid = self.strange(*self.JOB)
        self.fake.say("lose")
        self.assertEqual(process.wait(patience()), 124)
        err = process.stderr.read()
        self.assertIn("'j' on fake:1 was lost: sending SIGTERM", err)
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.assertIn(f"may not send signal {int(number)} to process {pid}",
                          err)
        self.assertIn(f"process {pid} runs on without the lock 'j' on fake:1, "
                      "as it is another user's: end it yourself", err)
        self.assertNotIn("though it was killed", err)

    def test_one_process_of_the_group_is_seen_beside_others(self):
        job = " ".join(self.JOB[:5]) + f' "{self.JOB[5]}"'
        process, _ = self.strange("bash", "-c", job.replace("$$", "\\$\\$") +
                                  "; true")
        self.fake.say("lose")
        self.assertEqual(process.wait(patience()), 124)

    def test_a_signal_that_cannot_be_passed_on_is_told(self):
        process, pid = self.strange(*self.JOB)
        process.terminate()
        self.assertIn(f"'j' on fake:1: rowlock may not send signal 15 to "
                      f"process {pid}", process.stderr.readline())
        os.kill(pid, signal.SIGTERM)
        self.assertEqual(process.wait(patience()), 3)


if __name__ == "__main__":
    harness.main()
