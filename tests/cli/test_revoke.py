# SPDX-License-Identifier: MIT
"""rowlock revoke, and holders that are asked to give their lock back."""
import json
import signal
import subprocess

import harness
from harness import EAUTH, ENOTHELD, ToolTest, entry, hexed, patience

NONE, HEARD, LATER, NO, UNASKED = range(5)


def request(answer=NONE, attempt=7, reason="a backup"):
    return (f"request {answer} {attempt} 42 {hexed('db7')} {hexed('job')} "
            f"{hexed(reason)}")


class Asking(ToolTest):
    def test_it_asks_once_and_takes_nothing(self):
        self.fake.answers["revoke"] = [request(), "reply 0"]
        self.assertEqual(self.run_tool("revoke", "-r", "why", "n"), (0, "", ""))
        call = self.fake.expect("revoke")
        self.assertEqual((call.text("name"), call.text("reason")), ("n", "why"))
        self.assertNotIn("break", self.fake.seen)

    def test_without_a_reason_it_says_none(self):
        self.fake.answers["revoke"] = [request(), "reply 0"]
        self.assertEqual(self.run_tool("revoke", "n")[0], 0)
        self.assertEqual(self.fake.expect("revoke").text("reason"), "")

    def test_nobody_to_ask_is_1_and_a_failure_125(self):
        self.fake.answers["revoke"] = [f"reply {ENOTHELD} nobody"]
        code, out, err = self.run_tool("revoke", "n")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("nobody holds 'n' (lease) on fake:1", err)
        self.fake.answers["revoke"] = [f"reply {EAUTH} no right"]
        code, _, err = self.run_tool("revoke", "n")
        self.assertEqual(code, 125)
        self.assertIn("no right", err)

    def test_a_reader_that_cannot_be_asked_is_not_nobody(self):
        self.fake.answers["revoke"] = [f"reply {ENOTHELD} nobody"]
        self.fake.answers["list"] = [entry("n", kind=2, slot=9, program="job", pid=7,
                                           host="db7"), "reply 0"]
        code, out, err = self.run_tool("revoke", "-w", "1h", "n")
        self.assertEqual((code, out), (125, ""))
        self.assertIn("'n' on fake:1 is held by job[7]@db7, who cannot be asked", err)

    def test_a_refusal_ends_the_wait_and_is_told(self):
        self.fake.answers["revoke"] = [request(), "reply 0"]
        process = self.start("revoke", "--wait=1h", "n")
        self.fake.expect("revoke")
        self.fake.say(request(LATER))
        self.assertIn("the holder of 'n' on fake:1 gives it back when it is done",
                      process.stderr.readline())
        self.fake.say(request(NO))
        code, _, err = self.finish(process)
        self.assertEqual(code, 2)
        self.assertIn("does not give it back", err)

    def test_the_wait_ends_with_the_hold_that_was_asked_for(self):
        # Another has the name by then, and is not waited for.
        self.fake.answers["revoke"] = [request(attempt=7), "reply 0"]
        process = self.start("revoke", "--wait=1h", "n")
        self.fake.expect("revoke")
        self.fake.say(request(HEARD, attempt=7))
        self.assertIn("knows", process.stderr.readline())
        self.fake.say(request(UNASKED, attempt=8))
        self.assertEqual(self.finish(process), (0, "", ""))

    def test_the_wait_goes_on_with_the_hold_that_adopted_the_one_asked_for(self):
        self.fake.answers["revoke"] = [request(attempt=7), "reply 0"]
        process = self.start("revoke", "--wait=1h", "n")
        self.fake.expect("revoke")
        self.fake.say(request(LATER, attempt=7))
        self.assertIn("is done", process.stderr.readline())
        self.fake.say(request(HEARD, attempt=8))
        self.assertIn("knows", process.stderr.readline())
        self.fake.say(request(HEARD, attempt=9, reason="another's"))
        self.assertEqual(self.finish(process), (0, "", ""))

    def test_a_wait_that_is_over_tells_what_takes_the_lock(self):
        self.fake.answers["revoke"] = [request(), "reply 0"]
        for wait in ("0", "10ms"):
            code, _, err = self.run_tool("revoke", "-w", wait, "n")
            self.assertEqual(code, 2)
            self.assertIn("'n' on fake:1 is still held, and its holder has not "
                          "answered: 'rowlock break' takes it", err)

    def test_wrong_use_asks_nobody(self):
        for argv in ([], ["a", "b"], ["-w", "soon", "n"]):
            self.assertEqual(self.run_tool("revoke", *argv)[0], 125)
        self.assertEqual(self.fake.seen, [])


class Shown(ToolTest):
    HOLD = entry("n", attempt=7, session=1)

    def test_show_has_the_request_and_its_answer(self):
        self.fake.answers["list"] = [
            self.HOLD, request(LATER, reason="\x1b[31mred"), "reply 0"]
        _, out, _ = self.run_tool("show", "n")
        self.assertIn("\nasked by:   job[42]@db7\nreason:     \\x1b[31mred\n"
                      "answer:     the holder gives it back when it is done\n",
                      out)
        got = json.loads(self.run_tool("show", "-j", "n")[1])
        self.assertEqual(got[0]["asked"], {
            "host": "db7", "pid": 42, "program": "job",
            "reason": "\x1b[31mred", "asked_at": None, "answer": "later"})

    def test_a_request_for_another_hold_is_not_shown(self):
        for line in (request(LATER, attempt=8), request(UNASKED)):
            self.fake.answers["list"] = [self.HOLD, line, "reply 0"]
            self.assertNotIn("asked", self.run_tool("show", "n")[1])
            self.assertNotIn("asked", self.run_tool("show", "-j", "n")[1])


class Asked(ToolTest):
    def ask(self, line=request()):
        """Have the client told; its answer."""
        self.fake.say(line, "revoke")
        return int(next(iter(self.fake.expect("answered").args)))

    def run_asked(self, script, *words):
        process = self.start("run", *words, "j", "--", "sh", "-c", script,
                             stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_the_command_gets_the_chosen_signal(self):
        for word in ("USR1", "SIGUSR1", "usr1", str(int(signal.SIGUSR1))):
            process = self.run_asked(
                "trap 'echo asked; exit 3' USR1; echo ready; "
                "while :; do read x; done", f"--on-revoke={word}")
            self.assertEqual(self.ask(), LATER)
            self.assertEqual(process.stdout.readline(), "asked\n")
            code, _, err = self.finish(process)
            self.assertEqual(code, 3)
            self.assertIn("'n' on fake:1 is asked for by job[42]@db7: a backup",
                          err)

    def test_a_command_that_ends_as_asked_frees_a_lock_that_delays(self):
        process = self.run_asked("echo ready; read x", "--on-revoke=TERM",
                                 "--delay-after-loss=1h")
        self.assertEqual(self.ask(), LATER)
        # Its input ends behind the signal, which follows the answer.
        self.assertEqual(process.wait(patience()), 143)
        self.assertNotIn("stays locked", self.finish(process)[2])
        self.fake.expect("release")

    def test_a_request_that_comes_once_more_is_told_once(self):
        process = self.run_asked("echo ready; read x; exit 4", "--on-revoke=URG")
        for second, reason, told in ((1, "one", True), (1, "one", False),
                                     (2, "two", True)):
            self.ask(request(reason=reason) + f" 2026-11-29 20:00:0{second}.000000")
            if told:
                self.assertIn(f": {reason}; the command gets its signal\n",
                              process.stderr.readline())
        self.assertEqual(self.finish(process), (4, "", ""))

    def test_later_and_no_leave_the_command_alone(self):
        for word, answer in (("later", LATER), ("no", NO)):
            process = self.run_asked("echo ready; read x; exit 4",
                                     f"--on-revoke={word}")
            self.assertEqual(self.ask(), answer)
            self.assertIn("is asked for", process.stderr.readline())
            self.assertIsNone(process.poll())
            self.assertEqual(self.finish(process)[0], 4)

    def test_without_the_option_nobody_listens(self):
        process = self.run_asked("echo ready; read x; exit 0")
        self.assertEqual(self.ask(), -1)
        self.assertEqual(self.finish(process), (0, "", ""))

    def test_a_program_that_holds_gets_a_line(self):
        process = self.start("hold", "--json", "j", stdin=subprocess.PIPE)
        self.assertEqual(json.loads(process.stdout.readline())["event"], "held")
        self.assertEqual(self.ask(), HEARD)
        self.assertEqual(json.loads(process.stdout.readline()), {
            "event": "asked", "version": 1, "name": "j", "host": "db7",
            "pid": 42, "program": "job", "reason": "a backup",
            "answer": "heard"})
        process.stdin.write("release\n")
        process.stdin.flush()
        self.assertEqual(json.loads(process.stdout.readline())["event"],
                         "released")
        self.assertEqual(process.wait(patience()), 0)

    def test_what_cannot_be_asked_for_is_refused(self):
        for argv in (["run", "--on-revoke=soon", "j", "true"],
                     ["run", "--on-revoke=TERM", "--read", "j", "true"],
                     ["run", "--on-revoke=no", "-s", "row", "j", "true"],
                     ["run", "--on-revoke=no", "--permits=2", "j", "true"],
                     ["run", "--on-revoke=no", "--no-supervise", "j", "true"],
                     ["hold", "--on-revoke=TERM", "j"]):
            code, _, err = self.run_tool(*argv)
            self.assertEqual(code, 125, argv)
            self.assertIn("--on-revoke", err)
        self.assertEqual(self.fake.seen, [])


if __name__ == "__main__":
    harness.main()
