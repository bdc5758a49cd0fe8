# SPDX-License-Identifier: MIT
"""How rowlock ends: as its command ended, by a signal or not, also as process 1."""
import os
import shutil
import signal
import subprocess
import unittest

import harness
from harness import CLI, ToolTest, patience


def can_unshare():
    """May we make a namespace of processes?"""
    return (os.geteuid() == 0 and shutil.which("unshare") is not None and
            subprocess.run(["unshare", "--pid", "--fork", "true"],
                           stderr=subprocess.DEVNULL,
                           check=False).returncode == 0)


class End(ToolTest):
    def end_by(self, job, number=signal.SIGTERM, command="run"):
        process = self.start(command, "j", "bash", "-c", job)
        self.assertEqual(process.stdout.readline(), "\n")
        process.send_signal(number)
        return process.wait(patience())

    def test_a_signal_that_was_passed_on_and_ended_the_command_ends_run(self):
        for command in ("run", "elect"):
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGRTMIN):
                self.assertEqual(self.end_by("echo; exec sleep 1000", number,
                                            command), -number)
        self.assertEqual(self.fake.seen.count("release"), 6)

    def test_each_signal_that_was_passed_on_counts_and_not_the_last_alone(self):
        for first, last in ((signal.SIGINT, signal.SIGTERM),
                            (signal.SIGTERM, signal.SIGHUP)):
            process = self.start("run", "j", "bash", "-c",
                                 f"trap 'echo' {first.name}; echo; "
                                 "while :; do sleep 0.05; done")
            self.assertEqual(process.stdout.readline(), "\n")
            process.send_signal(first)
            self.assertEqual(process.stdout.readline(), "\n")
            process.send_signal(last)
            self.assertEqual(process.wait(patience()), -last)

    def test_a_status_of_its_own_is_passed_on_whatever_it_is(self):
        self.assertEqual(self.end_by("trap 'exit 143' TERM; echo; "
                                    "while :; do sleep 0.05; done"), 143)

    def test_a_signal_that_came_from_elsewhere_is_told_as_a_status(self):
        self.assertEqual(self.run_tool("run", "j", "sh", "-c",
                                       "kill -TERM $$")[0], 143)
        self.assertEqual(self.end_by("trap 'kill -KILL $$' TERM; echo; "
                                    "while :; do sleep 0.05; done"), 137)

    def test_what_was_lost_is_124_by_whatever_it_was_ended(self):
        process = self.start("run", "j", "bash", "-c", "echo; exec sleep 1000")
        self.assertEqual(process.stdout.readline(), "\n")
        self.fake.say("lose")
        self.assertEqual(process.wait(patience()), 124)


@unittest.skipUnless(can_unshare(), "needs root and unshare")
class First(ToolTest):
    def first(self, *argv, **more):
        return self.start("--pid", "--fork", "--kill-child", CLI, *argv,
                          tool="unshare", **more)

    def test_as_process_1_it_exits_with_the_number_of_the_signal(self):
        process = self.first("run", "j", "bash", "-c", "echo; exec sleep 1000")
        self.assertEqual(process.stdout.readline(), "\n")
        with open(f"/proc/{process.pid}/task/{process.pid}/children",
                  encoding="ascii") as children:
            os.kill(int(children.read()), signal.SIGTERM)
        self.assertEqual(process.wait(patience()), 143)
        self.fake.expect("release")

    def test_as_process_1_a_command_in_place_is_refused(self):
        process = self.first("run", "--no-supervise", "j", "echo", "ran")
        code, out, err = self.finish(process)
        self.assertEqual((code, out), (125, ""))
        self.assertIn("would be process 1", err)
        self.assertEqual(self.fake.seen, [])


if __name__ == "__main__":
    harness.main()
