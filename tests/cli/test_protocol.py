# SPDX-License-Identifier: MIT
"""rowlock hold --json: what a program in another language is told, and when."""
import json
import os
import select
import signal
import subprocess

import harness
from harness import (EBUSY, ECANCELED, ECONNECT, ELOST, ETIMEDOUT, ToolTest,
                     at_least, patience)

EUNKNOWN = -7


class ProtocolTest(ToolTest):
    def start_hold(self, *argv, **more):
        return self.start("hold", "--json", *argv, **dict(
            {"stdin": subprocess.PIPE}, **more))

    def told(self, process):
        """The next line."""
        line = process.stdout.readline()
        self.assertTrue(line.endswith("\n"), f"no line: {line!r}")
        told = json.loads(line)
        self.assertEqual(told["version"], 1)
        self.assertIn(told["event"], ("held", "lost", "released", "error"))
        return told

    def holding(self, *argv, **more):
        process = self.start_hold(*argv, "j", **more)
        held = self.told(process)
        self.assertEqual(held["event"], "held")
        return process, held

    def expect(self, process, status, event, **members):
        """Its last line, and its end."""
        told = self.told(process)
        self.assertEqual({"event": event, **members},
                         {key: told[key] for key in ("event", *members)}, told)
        self.assertEqual(process.stdout.read(), "")
        self.assertEqual(process.wait(patience()), status)
        return told


class Held(ProtocolTest):
    def test_a_line_tells_all_of_what_is_held(self):
        process, held = self.holding("--guarded", "-t", "5m")
        deadline = held.pop("deadline_ms")
        self.assertTrue(0 < deadline <= 300000, deadline)
        self.assertEqual(held, {
            "event": "held", "version": 1, "name": "j", "strategy": "lease",
            "token": 4711, "tokens": {"j": 4711},
            "attempt": "18446744073709551615", "ttl_ms": 300000,
            "server": "fake:1", "guard": ["the guard of j"]})
        self.assertEqual(self.finish(process)[0], 0)

    def test_the_guard_is_a_list_of_statements_whatever_is_quoted_in_it(self):
        name = "a'; '; b\"; \"; c`; ``; `; d"
        process = self.start_hold("--guarded=call", name)
        held = self.told(process)
        self.assertEqual(held["name"], name)
        self.assertEqual(held["guard"], [
            "a call for a'; '", "b\"; \"", "c`; ``; `", "d"])
        self.assertEqual(self.finish(process)[0], 0)

    def test_several_names_have_a_token_each_and_permits_none(self):
        process, held = self.holding("--also=k")
        self.assertEqual((held["tokens"], held["guard"]),
                         ({"j": 4712, "k": 4712}, None))
        self.assertEqual(self.finish(process)[0], 0)
        process, held = self.holding("--permits=2")
        self.assertEqual((held["token"], held["tokens"]), (None, {"j": None}))
        self.assertEqual(self.finish(process)[0], 0)

    def test_a_row_has_no_attempt(self):
        process, held = self.holding("-s", "row")
        self.assertEqual((held["strategy"], held["attempt"]), ("row", None))
        self.assertEqual(self.finish(process)[0], 0)

    def test_a_word_or_the_end_of_the_input_releases(self):
        for said in ("release\n", "release\r\nmore", None):
            process, _ = self.holding()
            if said:
                process.stdin.write(said)
                process.stdin.flush()
            else:
                process.stdin.close()
            self.expect(process, 0, "released", certain=True)
            self.fake.expect("release")

    def test_an_unknown_line_is_an_error_and_the_lock_is_held_on(self):
        process, _ = self.holding()
        for said, shown in (("let go", "'let go'"), ("", "''"),
                            ("release now", "'release now'"),
                            ("x" * 5000, "'" + "x" * 64 + "'...")):
            process.stdin.write(said + "\n")
            process.stdin.flush()
            told = self.told(process)
            self.assertEqual((told["event"], told["reason"], told["held"]),
                             ("error", "input", True))
            self.assertIn(shown + " is none that rowlock knows: 'release' and 'export' are",
                          told["message"])
        self.assertNotIn("release", self.fake.seen)
        process.stdin.write("rel")
        process.stdin.flush()
        process.stdin.write("ease\n")
        process.stdin.flush()
        self.expect(process, 0, "released")

    def test_the_guard_has_no_room_without_json(self):
        code, _, err = self.run_tool("hold", "--guarded", "j")
        self.assertEqual(code, 125)
        self.assertIn("--guarded: with --json", err)


class Lost(ProtocolTest):
    def test_a_loss_is_told_and_ends_it(self):
        process, _ = self.holding()
        self.fake.say("lose")
        told = self.expect(process, 124, "lost", reason="ended")
        self.assertIn("the lock 'j' on fake:1 was lost (by the test)", told["message"])
        self.assertIn("was lost", process.stderr.read())

    def test_a_lock_that_is_not_renewed_is_given_up_before_its_deadline(self):
        # It is given up 50 ms before the end; the fake does not renew it.
        self.fake.answers["acquire"] = ["remaining 900", "reply 0"]
        process = self.start_hold("-t", "1s", "j")
        told = self.told(process)
        if told["event"] == "held":  # else the machine is slow
            told = self.told(process)
        self.assertEqual((told["event"], told["reason"]), ("lost", "silence"))
        # The library has not told a loss: it is still held, and is left to its
        # deadline, as a release would let another have it at once.
        code, _, err = self.finish(process)
        self.assertEqual(code, 124)
        self.assertIn("'j' stays locked for up to 1.0s: it was about to be lost", err)
        self.assertEqual({"release", "free", "client_free"} & set(self.fake.seen), set())

    def test_one_that_delays_takes_the_end_of_its_input_for_a_death(self):
        for words, freed in (([], True), (["--delay-after-loss=1h"], False)):
            self.fake.seen.clear()
            process = self.start_hold(*words, "j")
            self.assertEqual(self.told(process)["event"], "held")
            self.assertEqual(self.finish(process)[0], 0)
            if freed:
                self.fake.expect("client_free")
        self.assertEqual({"release", "free"} & set(self.fake.seen), set())

    def test_one_that_reaches_its_maximum_is_not_told_as_silence(self):
        self.fake.answers["acquire"] = ["remaining 900", "reply 0"]
        process = self.start_hold("--max=1s", "j")
        told = self.told(process)
        if told["event"] == "held":  # else the machine is slow
            told = self.told(process)
        self.assertEqual((told["event"], told["reason"]), ("lost", "ended"))
        self.assertIn("lost (its maximum is nearly over)", told["message"])
        code, _, err = self.finish(process)
        self.assertEqual(code, 124)
        self.assertIn("(its maximum is nearly over): it is given up", err)

    def test_one_that_is_stopped_is_told_as_lost_by_its_guard(self):
        process, _ = self.holding("-t", at_least(2))
        process.send_signal(signal.SIGSTOP)
        told = self.expect(process, -signal.SIGKILL, "lost", reason="stopped")
        self.assertEqual(told["name"], "j")

    def test_one_that_is_killed_is_told_as_lost_by_its_guard(self):
        process, _ = self.holding()
        process.kill()
        self.expect(process, -signal.SIGKILL, "lost", reason="killed")

    def test_one_that_is_killed_while_it_waits_tells_nothing(self):
        self.fake.answers["acquire"] = None
        process = self.start_hold("j")
        self.fake.expect("acquire")
        process.kill()
        self.assertEqual(self.finish(process)[:2], (-signal.SIGKILL, ""))

    def test_a_signal_is_told_before_the_lock_is_released(self):
        self.fake.answers["release"] = None
        process, _ = self.holding()
        process.terminate()
        self.fake.expect("release")
        is_told, _, _ = select.select([process.stdout], [], [], 0)
        self.fake.say("reply 0")
        self.assertTrue(is_told)
        self.expect(process, 0, "lost", reason="signal")

    def test_a_release_tells_what_it_has_found(self):
        for code, status, event, members in (
                (ELOST, 124, "lost", {"reason": "ended"}),
                (EUNKNOWN, 0, "released", {"certain": False}),
                (ECONNECT, 0, "released", {"certain": False})):
            self.fake.answers["release"] = [f"reply {code} so it is"]
            process, _ = self.holding()
            process.stdin.close()
            self.expect(process, status, event, message="so it is", **members)

    def test_a_long_release_is_no_loss(self):
        self.fake.answers["release"] = None
        process, _ = self.holding("-t", at_least(2))
        process.stdin.close()
        self.fake.expect("release")
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGCONT)
        self.fake.say("reply 0")
        self.expect(process, 0, "released")


class Refused(ProtocolTest):
    def test_a_refusal_is_a_line_and_the_exit_code_is_as_ever(self):
        for code, status, argv, reason in (
                (EBUSY, 1, ["-n"], "busy"), (ETIMEDOUT, 9, ["-E9"], "timeout"),
                (ECONNECT, 125, [], "failed")):
            self.fake.answers["acquire"] = [f"reply {code} so it is"]
            process = self.start_hold(*argv, "j")
            self.expect(process, status, "error", reason=reason, code=code,
                        held=False, name="j", message="so it is")
            self.assertEqual(
                process.stderr.read(),
                "rowlock: hold: so it is\n" if status == 125 else "")

    def test_the_end_of_the_input_ends_the_wait(self):
        self.fake.answers["acquire"] = None
        process = self.start_hold("j")
        self.fake.expect("acquire")
        process.stdin.close()
        self.fake.expect("cancel")
        self.fake.say(f"reply {ECANCELED} canceled")
        self.expect(process, 1, "error", reason="canceled", held=False,
                    code=ECANCELED)

    def test_the_end_of_the_input_is_no_signal_while_it_connects(self):
        self.fake.answers["client_new"] = None
        self.fake.answers["acquire"] = None
        process = self.start_hold("-E9", "j")
        self.fake.expect("client_new")
        process.stdin.close()
        self.fake.say("reply 0")
        self.expect(process, 9, "error", reason="canceled", held=False,
                    code=ECANCELED)
        self.assertEqual(process.stderr.read(), "")

    def test_a_hangup_while_it_waits_is_one(self):
        self.fake.answers["acquire"] = None
        process = self.start_hold("j")
        self.fake.expect("acquire")
        process.send_signal(signal.SIGHUP)
        self.fake.expect("cancel")
        self.fake.say(f"reply {ECANCELED} canceled")
        self.expect(process, -signal.SIGHUP, "error", reason="canceled",
                    held=False)


class Unread(ProtocolTest):
    """Nothing waits for a program that does not read."""

    def full(self):
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        os.set_blocking(write, False)
        for size in (4096, 1):
            try:
                while True:
                    os.write(write, b"." * size)
            except BlockingIOError:
                pass
        os.set_blocking(write, True)
        self.fake.answers["acquire"] = ["frozen 1000000", "reply 0"]
        process = self.start_hold("j", stdout=write)
        os.close(write)
        self.fake.expect("looked")
        return process, read

    def test_a_loss_a_release_and_a_signal_are_not_kept_back(self):
        process, _ = self.full()
        self.fake.say("lose")
        self.assertEqual(process.wait(patience()), 124)
        process, _ = self.full()
        process.stdin.write("release\n")
        process.stdin.close()
        self.assertEqual(process.wait(patience()), 0)
        process, _ = self.full()
        process.terminate()
        self.assertEqual(process.wait(patience()), 0)

    def test_answers_without_a_reader_keep_no_release_back(self):
        process, _ = self.full()
        for _ in range(2000):
            process.stdin.write("x" * 50 + "\n" + "y\n" * 2000)
        process.stdin.write("release\n")
        process.stdin.close()
        self.assertEqual(process.wait(patience()), 0)

    def test_an_output_that_cannot_be_written_gives_it_back(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            process = self.start_hold("j", stdout=full)
        self.assertEqual(process.wait(patience()), 125)
        self.assertIn("No space left", process.stderr.read())
        self.fake.expect("release")


if __name__ == "__main__":
    harness.main()
