# SPDX-License-Identifier: MIT
"""A command that becomes another user's: rowlock may not signal it."""
import os
import shutil
import signal
import subprocess
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

    @unittest.skipUnless(is_root(), "needs root and setpriv")
    def test_a_set_user_id_program_that_keeps_its_real_user_can_be_ended(self):
        path = os.path.join(self.directory, "job")
        shutil.copy(shutil.which("cat"), path)
        os.chmod(path, 0o4755)
        tool, *argv = self.as_nobody()
        for command in ("run", "elect"):
            process = self.start(*argv, command, "j", path, tool=tool,
                                 stdin=subprocess.PIPE)
            process.stdin.write("it runs\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "it runs\n")
            process.terminate()
            self.assertEqual(process.wait(patience()), -signal.SIGTERM)
            self.assertEqual(process.stderr.read(), "")


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

    def begin(self, tool_command, *command):
        process = self.start(*self.WEAK, tool_command, "j", *command, tool="setpriv")
        pid = int(process.stdout.readline())
        self.addCleanup(self.end, os.pidfd_open(pid))
        return process, pid

    def runs_on(self, pid, err):
        self.assertIn(f"process {pid} runs on without the lock 'j' on fake:1, "
                      "as it is another user's: end it yourself", err)

    def strange(self, *command):
        process, pid = self.begin("run", *command)
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
        self.assertIn("'j' on fake:1 was lost (by the test): sending SIGTERM", err)
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.assertIn(f"may not send signal {int(number)} to process {pid}",
                          err)
        self.runs_on(pid, err)
        self.assertNotIn("though it was killed", err)

    def test_a_candidate_starts_no_other_beside_it(self):
        process, pid = self.begin("elect", *self.JOB)
        self.fake.say("lose")
        self.assertEqual(process.wait(patience()), 124)
        self.runs_on(pid, process.stderr.read())

    def beside(self):
        job = " ".join(self.JOB[:5]) + f' "{self.JOB[5]}"'
        return self.strange("bash", "-c", job.replace("$$", "\\$\\$") +
                            "; true")

    def test_one_process_of_the_group_is_seen_beside_others(self):
        process, pid = self.beside()
        self.fake.say("lose")
        self.assertEqual(process.wait(patience()), 124)
        self.assertIn(f"may not send signal 9 to process {pid}",
                      process.stderr.read())

    def test_a_signal_that_ends_others_only_is_told(self):
        process, pid = self.beside()
        process.terminate()
        self.assertEqual(process.wait(patience()), -signal.SIGTERM)
        self.runs_on(pid, process.stderr.read())

    def test_a_signal_that_cannot_be_passed_on_is_told(self):
        process, pid = self.strange(*self.JOB)
        process.send_signal(signal.SIGWINCH)
        process.terminate()
        self.assertIn(f"'j' on fake:1: rowlock may not send signal 15 to "
                      f"process {pid}", process.stderr.readline())
        os.kill(pid, signal.SIGTERM)
        self.assertEqual(process.wait(patience()), 3)


if __name__ == "__main__":
    harness.main()
