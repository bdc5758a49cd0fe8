# SPDX-License-Identifier: MIT
"""rowlock hold, and a server that is away for a while."""
import os
import re
import signal
import subprocess

import harness
from harness import EBUSY, ECONNECT, EREADONLY, ToolTest, patience


class Hold(ToolTest):
    def holding(self, *argv, **more):
        process = self.start("hold", *argv, "j", **dict(
            {"stdin": subprocess.PIPE}, **more))
        self.assertEqual(process.stdout.readline(), "4711 j\n")
        return process

    def test_it_holds_until_its_input_ends(self):
        process = self.holding()
        process.stdin.write("what is said means nothing\n")
        process.stdin.flush()
        self.assertIsNone(process.poll())
        self.assertNotIn("release", self.fake.seen)
        self.assertEqual(self.finish(process), (0, "", ""))
        self.fake.expect("release")

    def test_it_holds_until_a_signal_asks_for_an_end(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.holding()
            process.send_signal(number)
            self.assertEqual(process.wait(patience()), 0)
            self.fake.expect("release")

    def test_it_says_whose_it_is_and_takes_the_options_of_run(self):
        process = self.holding("-t", "5m", "-w", "2", "--info=why")
        client = self.fake.expect("client_new")
        self.assertEqual((client.text("program"), client.number("ttl")),
                         ("rowlock hold", 300000))
        self.assertEqual(self.fake.expect("new").text("info"), "why")
        self.assertEqual(self.fake.expect("acquire").number("wait"), 2000)
        self.assertEqual(self.finish(process)[0], 0)

    def test_a_lock_that_is_lost_ends_it_at_once(self):
        process = self.holding()
        self.fake.say("lose")
        self.assertEqual(process.wait(patience()), 124)
        self.assertIn("the lock 'j' on fake:1 was lost (by the test)", process.stderr.read())

    def test_what_is_not_acquired_is_1_or_the_code_of_E(self):
        self.fake.answers["acquire"] = [f"reply {EBUSY} is held by another"]
        self.assertEqual(self.run_tool("hold", "-n", "j"), (1, "", ""))
        self.assertEqual(self.run_tool("hold", "-nE9", "j"), (9, "", ""))

    def test_a_signal_while_waiting_cancels(self):
        self.fake.answers["acquire"] = None
        process = self.start("hold", "j", stdin=subprocess.PIPE)
        self.fake.expect("acquire")
        process.terminate()
        self.fake.expect("cancel")
        self.assertEqual(self.finish(process)[:2], (-signal.SIGTERM, ""))

    def test_output_that_cannot_be_written_gives_it_back(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            code, _, err = self.finish(self.start(
                "hold", "j", stdout=full, stdin=subprocess.PIPE))
        self.assertEqual(code, 125)
        self.assertIn("No space left", err)
        self.fake.expect("release")

    def test_without_the_terminal_it_holds_on(self):
        # A session of its own has none; in the background a read fails.
        master, slave = os.openpty()
        process = self.holding(stdin=slave, start_new_session=True)
        os.close(slave)
        process.terminate()
        self.assertEqual(process.wait(patience()), 0)
        os.close(master)

    def test_a_command_is_refused(self):
        for argv in (["j", "true"], ["-c", "true", "j"], []):
            code, _, err = self.run_tool("hold", *argv)
            self.assertEqual(code, 125)
            self.assertIn("hold", err)
        self.assertEqual(self.fake.seen, [])


class InPlace(ToolTest):
    """--no-supervise: the command takes the place of the process."""

    def start_in_place(self, command, *argv):
        return self.start("run", "--no-supervise", *argv, "j", "--", "sh",
                          "-c", command, stdin=subprocess.PIPE)

    def test_the_command_is_the_process_that_was_started(self):
        process = self.start_in_place("echo $$; read x; exit 3")
        self.assertEqual(process.stdout.readline(), f"{process.pid}\n")
        self.assertNotIn("release", self.fake.seen)
        self.assertEqual(self.finish(process), (3, "", ""))
        self.fake.expect("release")
        self.fake.expect("client_free")

    def test_it_is_released_however_the_command_ends(self):
        process = self.start_in_place("echo; read x")
        process.stdout.readline()
        process.kill()
        self.fake.expect("release")

    def test_the_command_gets_what_it_gets_elsewhere_and_no_descriptor(self):
        _, out, _ = self.finish(self.start_in_place(
            "echo $ROWLOCK_NAME $ROWLOCK_TOKEN; echo $ROWLOCK_GUARD_SQL; "
            "for i in 3 4 5 6 7 8 9; do "
            "test -e /proc/$$/fd/$i && echo has $i; done", "--guarded"))
        self.assertEqual(out, "j 4711\nthe guard of j\n")

    def test_what_is_not_acquired_runs_nothing(self):
        self.fake.answers["acquire"] = [f"reply {EBUSY} is held by another"]
        for argv, code in ((["-n"], 1), (["-n", "-E", "9"], 9)):
            self.assertEqual(
                self.finish(self.start_in_place("echo ran", *argv)),
                (code, "", ""))
        self.fake.answers["acquire"] = [f"reply {ECONNECT} away"]
        self.assertEqual(self.finish(self.start_in_place("echo ran")),
                         (125, "", "rowlock: run: away\n"))

    def test_whoever_ends_it_while_it_waits_ends_the_wait(self):
        self.fake.answers["acquire"] = None
        process = self.start_in_place("echo ran")
        self.fake.expect("acquire")
        process.terminate()
        self.fake.expect("cancel")
        self.fake.expect("client_free")
        self.assertEqual(self.finish(process)[:2], (-signal.SIGTERM, ""))

    def test_a_command_that_cannot_be_executed_gives_it_back(self):
        code, _, err = self.run_tool("run", "--no-supervise", "j",
                                     "no-such-command")
        self.assertEqual(code, 127)
        self.assertIn("cannot execute 'no-such-command'", err)
        self.fake.expect("release")
        for option in ([], ["--no-supervise"]):
            code, _, err = self.run_tool("run", *option, "j", "echo hi; true")
            self.assertEqual(code, 127)
            self.assertIn("No such file or directory; use -c for a shell "
                          "command", err)

    def test_a_loss_is_told_and_the_command_runs_on(self):
        process = self.start_in_place("echo; read x; exit 3")
        process.stdout.readline()
        self.fake.say("lose")
        self.assertEqual(process.stderr.readline(),
                         "rowlock: run: the lock 'j' on fake:1 was lost (by "
                         "the test); the command runs on without it\n")
        self.fake.expect("client_free")
        self.assertNotIn("release", self.fake.seen)
        self.assertEqual(self.finish(process)[0], 3)


class Away(ToolTest):
    """--retry-connect."""

    def away(self, times, call, code=ECONNECT):
        """The first so many calls fail."""
        left = [times]

        def answer(_):
            left[0] -= 1
            return [f"reply {code} away" if left[0] >= 0 else "reply 0"]
        self.fake.answers[call] = answer

    def test_a_server_that_is_away_is_tried_again(self):
        for call in ("client_new", "acquire"):
            self.away(2, call)
            code, out, err = self.run_tool("run", "--retry-connect=10m", "j",
                                           "echo", "done")
            self.assertEqual((code, out, err), (0, "done\n", ""), call)

    def test_a_server_that_takes_no_writes_is_tried_again(self):
        """As in the minute of a failover."""
        for call in ("client_new", "acquire"):
            self.away(2, call, EREADONLY)
            code, out, err = self.run_tool("run", "--retry-connect=10m", "j",
                                           "echo", "done")
            self.assertEqual((code, out, err), (0, "done\n", ""), call)

    def test_the_client_is_kept_and_so_is_the_time_to_wait(self):
        self.away(1, "acquire")
        code, _, err = self.run_tool("run", "-v", "-w", "100",
                                     "--retry-connect=10m", "j", "true")
        self.assertEqual(code, 0)
        self.assertIn("run: away; tries again", err)
        waits = [self.fake.expect("acquire").number("wait") for _ in "12"]
        self.assertLess(waits[1], waits[0])
        self.assertEqual(self.fake.seen.count("client_new"), 1)

    def test_one_that_stays_away_is_given_up(self):
        for argv in ([], ["--retry-connect=0.3"],
                     ["-w", "0.3", "--retry-connect=10m"]):
            self.away(10000, "client_new")
            code, _, err = self.run_tool("run", *argv, "j", "true")
            self.assertEqual((code, err), (125, "rowlock: run: away\n"))

    def test_no_pause_is_longer_than_what_is_left_of_the_time(self):
        for argv in (["-w", "1.5", "--retry-connect=10m"],
                     ["--retry-connect=1.5"]):
            self.away(10000, "client_new")
            code, _, err = self.run_tool("run", "-v", *argv, "j", "true")
            pauses = [float(said) for said in
                      re.findall(r"tries again in ([0-9.]+) s", err)]
            self.assertEqual(code, 125)
            self.assertTrue(pauses, err)
            self.assertLessEqual(round(sum(pauses), 1), 1.5, err)

    def test_what_will_not_be_better_is_not_tried_again(self):
        self.away(1, "client_new", -12)
        code, _, _ = self.run_tool("run", "--retry-connect=10m", "j", "true")
        self.assertEqual(code, 125)
        self.assertEqual(self.fake.seen.count("client_new"), 1)

    def test_a_signal_ends_its_trying(self):
        self.away(10000, "acquire")
        process = self.start("run", "--retry-connect=10m", "j", "true")
        self.fake.expect("acquire")
        process.terminate()
        self.assertEqual(process.wait(patience()), -signal.SIGTERM)


if __name__ == "__main__":
    harness.main()
