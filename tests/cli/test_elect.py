# SPDX-License-Identifier: MIT
"""rowlock elect: a command that runs while its process leads, again and again."""
import os
import signal

import harness
from harness import (EAUTH, ECONNECT, EDB, EINVAL, ELOST, ENOMEM, EREADONLY,
                     EOVER, ESCHEMA, ESYSTEM, ToolTest, patience, waiting)


class Elect(ToolTest):
    # Says when it is ready, and who it is; ends by itself on TERM.
    LEADER = ("trap 'exit 5' TERM; trap ':' HUP; echo $$; "
              "while :; do sleep 0.05; done")

    def leader(self, *argv):
        process = self.start("elect", "--pause=1ms", *argv, "j", "bash", "-c",
                             self.LEADER)
        process.stdout.readline()
        return process

    def test_it_stands_again_when_its_command_has_ended(self):
        process = self.start("elect", "--pause=1ms", "j", "sh", "-c",
                             "echo $ROWLOCK_NAME $ROWLOCK_TOKEN; exit 3")
        for _ in range(3):
            self.assertEqual(process.stdout.readline(), "j 4711\n")
        process.terminate()
        self.finish(process)
        calls = self.fake.seen
        self.assertGreaterEqual(calls.count("acquire"), 3)
        # The signal may have come while the last client was being opened.
        self.assertIn(calls.count("client_new") - calls.count("client_free"),
                      (0, 1))
        # Each time it gives the lock back before it waits for it again.
        order = [c for c in calls if c in ("acquire", "release")]
        self.assertEqual(order[:5], ["acquire", "release"] * 2 + ["acquire"])

    def test_it_waits_for_ever_and_says_who_it_is(self):
        process = self.leader("--info", "10.0.0.1:80", "-t", "7s")
        new = self.fake.expect("client_new")
        self.assertEqual(new.number("ttl"), 7000)
        self.assertEqual(new.text("program"), "rowlock elect bash")
        self.assertEqual(self.fake.expect("new").text("info"), "10.0.0.1:80")
        self.assertEqual(self.fake.expect("acquire").args["wait"],
                         str(2**64 - 1))
        process.terminate()
        self.assertEqual(self.finish(process)[0], 5)

    def test_once_it_ends_with_its_commands_status(self):
        for code in (0, 3, 255):
            self.assertEqual(self.run_tool("elect", "--once", "j", "sh", "-c",
                                           f"exit {code}")[0], code)
        self.assertEqual(self.run_tool("elect", "-1", "j", "-c", "exit 4")[0],
                         4)
        self.assertEqual(self.fake.seen.count("acquire"), 4)

    def test_a_signal_ends_the_command_and_it(self):
        for name in ("TERM", "INT", "QUIT"):
            process = self.start(
                "elect", "j", "bash", "-c",
                f"trap 'exit 6' {name}; echo; while :; do sleep 0.05; done")
            process.stdout.readline()
            process.send_signal(getattr(signal, "SIG" + name))
            self.assertEqual(self.finish(process)[0], 6)
        self.assertEqual(self.fake.seen.count("acquire"), 3)
        self.assertEqual(self.fake.seen.count("release"), 3)

    def test_a_signal_that_the_command_takes_for_something_else_is_no_end(self):
        process = self.start(
            "elect", "--pause=1ms", "j", "bash", "-c",
            "trap 'exit 0' HUP; echo; while :; do sleep 0.05; done")
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.stdout.readline(), "\n")
        process.terminate()
        self.assertEqual(self.finish(process)[0], -signal.SIGTERM)
        self.assertEqual(self.fake.seen.count("acquire"), 2)

    def test_a_signal_that_the_command_dies_of_is_an_end(self):
        process = self.start("elect", "j", "bash", "-c",
                             "echo; exec sleep 1000")
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        self.assertEqual(self.finish(process)[0], -signal.SIGHUP)

    def test_a_leader_that_is_lost_stands_again(self):
        process = self.leader("-v")
        self.fake.say("lose")
        self.assertRegex(process.stdout.readline(), r"^\d+\n$")
        process.terminate()
        code, _, err = self.finish(process)
        self.assertEqual(code, 5)
        self.assertIn("elect: the lock 'j' on fake:1 was lost (by the test): "
                      "sending SIGTERM", err)
        self.assertIn("elect: 'j': ended with 124, stands again in 0.0 s", err)
        self.assertEqual(self.fake.seen.count("acquire"), 2)

    def test_a_server_that_is_away_is_waited_for(self):
        away = [[f"reply {ECONNECT} away"], [f"reply {ECONNECT} away"]]
        self.fake.answers["client_new"] = (
            lambda call: away.pop() if away else ["reply 0"])
        # A child of the shell could be made between the signal and its end.
        code, out, err = self.run_tool(
            "elect", "--pause=1ms", "j", "sh", "-c",
            "echo leads; kill $PPID; exec sleep 1000")
        self.assertEqual((code, out), (-signal.SIGTERM, "leads\n"))
        self.assertEqual(err.count("elect: away; it stands again until it "
                                   "works"), 1, err)

    def test_what_will_not_be_better_ends_it(self):
        self.fake.answers["client_new"] = [f"reply {EAUTH} who are you"]
        code, _, err = self.run_tool("elect", "--pause=1ms", "j", "true")
        self.assertEqual(code, 125)
        self.assertIn("who are you", err)
        del self.fake.answers["client_new"]
        self.assertEqual(self.run_tool("elect", "j", "/nonexistent/job")[0],
                         127)
        self.assertEqual(self.run_tool("elect", "j", self.directory)[0], 126)

    def test_a_refusal_of_what_worked_before_is_waited_for(self):
        """The account gets another password, tables are made anew, or an option
        file is written."""
        for code in EAUTH, ESCHEMA, EINVAL:
            news = [["reply 0"], [f"reply {code} refused"],
                    [f"reply {code} refused"], ["reply 0"]]
            self.fake.answers["client_new"] = lambda _: news.pop(0)
            led = os.path.join(self.directory, f"led{code}")
            result, out, err = self.run_tool(
                "elect", "--pause=1ms", "j", "sh", "-c",
                f"test -e {led} && {{ kill $PPID; exec sleep 1000; }}; "
                f"touch {led}")
            self.assertEqual((result, out), (-signal.SIGTERM, ""))
            self.assertEqual(err.count("refused; it stands again until it "
                                       "works"), 1, err)
            self.assertEqual(news, [])

    def test_a_refusal_that_stays_ends_it(self):
        news = [["reply 0"]]
        self.fake.answers["client_new"] = lambda _: (
            news.pop(0) if news else [f"reply {EAUTH} who are you"])
        code, _, err = self.run_tool("elect", "--pause=1ms",
                                     "--refusal-timeout=1s", "j", "true")
        self.assertEqual(code, 125)
        self.assertTrue(err.endswith("who are you\n"), err)
        self.assertEqual(err.count("who are you"), 2, err)

    def test_once_a_server_that_is_away_is_125(self):
        self.fake.answers["client_new"] = [f"reply {ECONNECT} away"]
        self.assertEqual(self.run_tool("elect", "-1", "j", "true")[0], 125)

    def test_a_signal_ends_its_waiting(self):
        self.fake.answers["acquire"] = None
        process = self.start("elect", "j", "true")
        self.fake.expect("acquire")
        process.terminate()
        self.fake.expect("cancel")
        self.fake.say("reply -3 canceled")
        self.assertEqual(self.finish(process)[0], -signal.SIGTERM)

    def test_a_signal_ends_its_pause(self):
        process = self.start("elect", "-v", "--pause=30s", "j", "true")
        for line in process.stderr:
            if "stands again in 30.0 s" in line:
                break
        process.terminate()
        self.assertEqual(self.finish(process)[0], -signal.SIGTERM)
        self.assertEqual(self.fake.seen.count("acquire"), 1)

    def test_what_its_command_left_behind_is_reaped_in_a_pause(self):
        fifo = self.fifo()
        process = self.start("elect", "-v", "--pause=30s", "j", "sh", "-c",
                             f": < {fifo} & true")
        for line in process.stderr:
            if "stands again in 30.0 s" in line:
                break
        with open(fifo, "w", encoding="ascii"):
            pass
        children = f"/proc/{process.pid}/task/{process.pid}/children"
        for _ in waiting():
            with open(children, encoding="ascii") as file:
                left = file.read()
            if not left:
                break
        self.assertEqual(left, "")
        process.terminate()
        self.assertEqual(self.finish(process)[0], -signal.SIGTERM)

    def test_the_pause_grows_while_its_command_fails_at_once(self):
        process = self.start("elect", "-v", "--pause=100ms", "j", "true")
        pauses = []
        for line in process.stderr:
            if "stands again in" in line:
                pauses.append(line.split()[-2])
            if len(pauses) == 3:
                break
        process.terminate()
        self.finish(process)
        self.assertEqual(pauses, ["0.1", "0.2", "0.4"])

    def pauses(self, process, fifo, *ran_ms):
        """Of an elect whose command is over when the fifo is read: how long it
        pauses behind commands that ran for so long."""
        told = []
        for ms in ran_ms:
            self.assertEqual(process.stdout.readline(), "\n")
            self.fake.pass_time(ms)
            with open(fifo, "w", encoding="ascii"):
                pass
            self.fake.expect("client_free")
            told.append(self.fake.expect("pause").number("ms"))
            # Not before that time is over.
            self.fake.pass_time(told[-1] - 1)
            self.fake.pass_time(1)
            self.fake.expect("acquire")
        return told

    def test_the_pause_is_short_again_after_a_command_that_ran(self):
        self.environment["ROWLOCK_FAKE_PACE"] = "1"
        fifo = self.fifo()
        process = self.start("elect", "--pause=8s", "j", "sh", "-c",
                             f"echo; : < {fifo}")
        self.assertEqual(self.pauses(process, fifo, 0, 9999, 0, 0, 10000, 0),
                         [8000, 16000, 30000, 30000, 8000, 16000])
        process.stdout.readline()
        process.terminate()
        self.assertEqual(self.finish(process)[0], -signal.SIGTERM)

    def test_a_pause_is_as_long_as_it_says(self):
        self.environment["ROWLOCK_FAKE_PACE"] = "1"
        process = self.start("elect", "--pause=30s", "j", "true")
        self.fake.expect("pause", ms="30000")
        for _ in range(3):
            self.fake.pass_time(9999)
        self.fake.pass_time(2)
        self.assertEqual(self.fake.seen.count("acquire"), 1)
        self.fake.pass_time(1)
        self.fake.expect("acquire")
        process.terminate()
        self.finish(process)

    def test_what_the_first_connect_warns_of_is_said_once_without_v(self):
        self.fake.answers["client_new"] = ["warn it forgets", "reply 0"]
        self.fake.answers["release"] = ["warn later", "reply 0"]
        process = self.start("elect", "--pause=1ms", "j", "true")
        for _ in range(3):
            self.fake.expect("client_new")
        process.terminate()
        self.assertEqual(self.finish(process),
                         (-signal.SIGTERM, "", "rowlock: it forgets\n"))
        for argv in (["run", "j", "true"], ["hold", "j"], ["wait", "j"],
                     ["wait", "-s", "row", "j"]):
            self.assertEqual(self.run_tool(*argv)[2], "rowlock: it forgets\n")
        self.assertEqual(self.run_tool("list")[2], "")

    def test_which_failures_end_it(self):
        """The next round fails in the same way, or not."""
        passing = {ELOST, ECONNECT, EREADONLY, EDB, ENOMEM, ESYSTEM}
        for code in range(EOVER, 0):
            for call in "client_new", "acquire":
                answers = [f"reply {code} trouble"]
                self.fake.answers[call] = lambda _: (
                    [answers.pop()] if answers else ["reply 0"])
                result, out, err = self.run_tool(
                    "elect", "--pause=1ms", "j", "sh", "-c",
                    "echo leads; kill $PPID; exec sleep 1000")
                with self.subTest(code=code, call=call):
                    self.assertEqual(
                        (result, out),
                        (-signal.SIGTERM, "leads\n") if code in passing
                        else (125, ""), err)
                    self.assertIn("elect: trouble", err)
                del self.fake.answers[call]

    def test_one_that_is_killed_does_not_leave_its_command_behind(self):
        process = self.start("elect", "j", "bash", "-c", self.LEADER)
        pidfd = os.pidfd_open(int(process.stdout.readline()))
        process.kill()
        process.wait(patience())
        self.await_gone(pidfd)
        os.close(pidfd)

    def test_a_weight_makes_it_a_candidate(self):
        code, out, _ = self.run_tool("elect", "-1", "--weight=7", "--info", "x",
                                     "j", "sh", "-c",
                                     "echo $ROWLOCK_TOKEN; exit 3")
        self.assertEqual((code, out), (3, "4711\n"))
        self.assertEqual(self.fake.expect("new").text("info"), "x")
        self.assertEqual(self.fake.expect("campaign").args["weight"], "7")
        self.assertEqual(self.fake.seen.count("challenger"), 0)

    def test_it_gives_way_to_a_heavier_one_that_has_waited(self):
        waited = ["2999", "3000"]
        self.fake.answers["challenger"] = lambda call: [
            f"reply 1 11 {waited.pop(0)}" if waited else "reply 0"]
        process = self.leader("--weight=7", "--preempt-after=3s")
        # The command is ended, and it stands again.
        self.assertRegex(process.stdout.readline(), r"^\d+\n$")
        self.assertEqual(waited, [])
        process.terminate()
        code, _, err = self.finish(process)
        self.assertEqual(code, 5)
        self.assertEqual(err.count("elect: 'j' on fake:1: a candidate of weight "
                                   "11 waits: sending SIGTERM"), 1)
        calls = [c for c in self.fake.seen
                 if c in ("campaign", "challenger", "release")]
        self.assertEqual(calls[:5], ["campaign", "challenger", "challenger",
                                     "release", "campaign"])

    def test_who_is_given_way_to_in_vain_is_not_so_soon_again(self):
        # It stands there all the time; then it has led, or was away, and stands
        # anew; and then nobody does.
        told = ["1 11 3600000"] * 3 + ["1 11 5"]
        asked = []

        def challenger(call):
            asked.append(call)
            return [f"reply {told.pop(0) if told else 0}"]

        self.fake.answers["challenger"] = challenger
        process = self.leader("--weight=7", "--preempt-after=1ms")
        for _ in waiting():
            if len(asked) >= 6:
                break
        calls = [c for c in self.fake.seen
                 if c in ("campaign", "challenger", "release")]
        self.assertEqual(calls[:11],
                         ["campaign", "challenger", "release",
                          "campaign"] + ["challenger"] * 3 + ["release",
                          "campaign"] + ["challenger"] * 2)
        for _ in range(2):
            self.assertRegex(process.stdout.readline(), r"^\d+\n$")
        process.terminate()
        code, _, err = self.finish(process)
        self.assertEqual(code, 5)
        self.assertEqual(err.count("a candidate of weight 11 waits"), 2)

    def ask_after(self, ms):
        """The leader's next question, so long after the last."""
        self.fake.expect("pause", ms="1000")
        self.fake.pass_time(ms)
        self.fake.expect("challenger")

    def test_it_gives_way_in_vain_after_longer_and_longer_pauses(self):
        self.environment["ROWLOCK_FAKE_PACE"] = "1"
        self.fake.answers["challenger"] = ["reply 1 11 1000000000"]
        process = self.leader("--weight=7", "--preempt-after=1ms")
        self.ask_after(1000)
        minutes = [1, 2, 4, 8, 16, 32, 60, 60]
        for minute in minutes:
            self.fake.expect("pause", ms="1")
            self.fake.pass_time(1)
            self.ask_after(minute * 60000 - 2)
            # A millisecond was left.
            self.ask_after(1000)
            self.fake.expect("release")
        self.fake.expect("pause", ms="1")
        # One that has led meanwhile, or left, stands for a shorter time.
        self.fake.answers["challenger"] = ["reply 1 11 999"]
        self.fake.pass_time(1)
        self.ask_after(1000)
        self.fake.expect("release")
        process.kill()

    def test_a_server_that_does_not_answer_challenges_nobody(self):
        answers = [f"reply {ECONNECT} away", f"reply {ECONNECT} away",
                   "reply 1 11 5000"]
        self.fake.answers["challenger"] = lambda call: [
            answers.pop(0) if answers else "reply 0"]
        process = self.leader("--weight=7", "--preempt-after=1ms")
        process.stdout.readline()
        self.assertEqual(answers, [])
        process.terminate()
        self.assertEqual(self.finish(process)[0], 5)

    def test_wrong_use_is_125_and_asks_for_nothing(self):
        for argv in ([], ["j"], ["--pause=0", "j", "true"],
                     ["--pause=31s", "j", "true"], ["--pause=x", "j", "true"],
                     ["--weight=1001", "j", "true"],
                     ["--weight=-1", "j", "true"], ["--weight=0", "j", "true"],
                     ["--weight=1x", "j", "true"],
                     ["--preempt-after=x", "--weight=1", "j", "true"],
                     ["--preempt-after=1s", "j", "true"],
                     ["--weight=1", "-s", "row", "j", "true"],
                     ["-n", "j", "true"], ["-w1", "j", "true"],
                     ["-c", "true", "j", "true"]):
            code, out, err = self.run_tool("elect", *argv)
            self.assertEqual((code, out), (125, ""), argv)
            self.assertIn("elect", err, argv)
        self.assertEqual(self.fake.seen, [])


if __name__ == "__main__":
    harness.main()
