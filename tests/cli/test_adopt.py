# SPDX-License-Identifier: MIT
"""rowlock hold: a lock that is exported, and one that is adopted."""
import json
import signal
import subprocess

import harness
from harness import ECONNECT, EINVAL, ELOST, ToolTest, patience

EUNSUPPORTED = -8


class AdoptTest(ToolTest):
    def start_hold(self, *argv, **more):
        return self.start("hold", "--json", *argv, "j", **dict(
            {"stdin": subprocess.PIPE}, **more))

    def told(self, process, event, **members):
        line = process.stdout.readline()
        self.assertTrue(line.endswith("\n"), f"no line: {line!r}")
        told = json.loads(line)
        wanted = {"event": event, "version": 1, "name": "j", **members}
        self.assertEqual(wanted, {key: told.get(key) for key in wanted})
        return told

    def say(self, process, text):
        process.stdin.write(text)
        process.stdin.flush()

    def end(self, process, status):
        self.assertEqual(process.stdout.read(), "")
        self.assertEqual(process.wait(patience()), status)
        return process.stderr.read()


class Exporting(AdoptTest):
    def exported(self, *argv):
        process = self.start_hold(*argv)
        self.told(process, "held")
        self.say(process, "export\n")
        told = self.told(process, "exported", string="the string of j")
        self.assertTrue(0 < told["deadline_ms"] <= 300000, told)
        return process

    def test_a_word_exports_and_the_adoption_ends_it(self):
        process = self.exported()
        self.assertIsNone(process.poll())
        self.fake.say("lose")
        told = self.told(process, "adopted")
        self.assertEqual(told["message"],
                         "the lock 'j' on fake:1 is not ours any more: by the test")
        self.assertIn("is not ours any more: by the test", self.end(process, 0))
        self.assertNotIn("release", self.fake.seen)

    def test_one_whose_session_ended_may_have_been_adopted(self):
        self.environment["ROWLOCK_FAKE_EVICTED"] = "1"
        process = self.exported()
        self.fake.say("lose")
        told = self.told(process, "lost", reason="ended")
        perhaps = "; it was exported, and may have been adopted before)"
        self.assertIn(perhaps, told["message"])
        self.assertIn(perhaps, self.end(process, 124))

    def test_it_ends_without_a_release(self):
        for end in ("input", "signal"):
            self.fake.seen.clear()
            process = self.exported("-t", "5m")
            if end == "input":
                process.stdin.close()
            else:
                process.terminate()
            told = self.told(process, "left")
            self.assertEqual(told["message"], "the lock 'j' on fake:1 is not released: "
                             "it is exported, and not adopted yet")
            self.assertIn("'j' stays locked for up to 5m00s: it is exported",
                          self.end(process, 0))
            self.assertEqual({"release", "free", "client_free"} & set(self.fake.seen),
                             set())

    def test_a_word_takes_it_back_and_releases(self):
        process = self.exported()
        self.say(process, "release\n")
        self.told(process, "released", certain=True)
        self.end(process, 0)
        self.fake.expect("release")

    def test_no_guard_tells_of_a_loss_from_then_on(self):
        process = self.exported()
        process.kill()
        self.end(process, -signal.SIGKILL)

    def test_words_that_come_together_are_taken_in_their_order(self):
        process = self.start_hold()
        self.told(process, "held")
        self.say(process, "what\nexport\nwhat\nrelease\nexport\n")
        self.told(process, "error", reason="input", held=True)
        self.told(process, "exported")
        self.told(process, "released")
        self.end(process, 0)

    def test_what_cannot_be_exported_is_held_on(self):
        self.fake.answers["export"] = [f"reply {EUNSUPPORTED} so it is"]
        process = self.start_hold()
        self.told(process, "held")
        self.say(process, "export\n")
        self.told(process, "error", reason="export", code=EUNSUPPORTED, held=True,
                  message="so it is")
        self.say(process, "release\n")
        self.told(process, "released")
        self.end(process, 0)

    def test_an_unknown_line_does_not_say_that_it_is_held(self):
        process = self.exported()
        self.say(process, "what\n")
        told = self.told(process, "error", reason="input", held=False)
        self.assertIn("'export' are; the lock stays exported", told["message"])
        process.stdin.close()
        self.told(process, "left")


class Adopting(AdoptTest):
    def test_the_string_is_that_of_the_environment(self):
        self.environment["ROWLOCK_ADOPT"] = "a string"
        process = self.start_hold("--adopt")
        self.told(process, "held", token=4711)
        self.assertEqual(self.fake.expect("adopt").text("text"), "a string")
        self.say(process, "release\n")
        self.told(process, "released")
        self.end(process, 0)

    def test_or_the_first_line_of_the_input_and_what_follows_is_the_protocols(self):
        self.environment["ROWLOCK_ADOPT"] = ""
        process = self.start_hold("--adopt")
        self.say(process, "a string\r\nexport\n")
        self.told(process, "held")
        self.assertEqual(self.fake.expect("adopt").text("text"), "a string")
        self.told(process, "exported")
        process.stdin.close()
        self.told(process, "left")

    def test_one_without_json_is_held_likewise(self):
        process = self.start("hold", "--adopt", "j", stdin=subprocess.PIPE)
        self.say(process, "a string\n")
        self.assertEqual(process.stdout.readline(), "4711 j\n")
        self.assertEqual(self.finish(process), (0, "", ""))
        self.fake.expect("release")

    def test_it_looks_for_no_holder_that_would_wait_for_itself(self):
        # Its parent may have exported it.
        self.environment["ROWLOCK_HELD"] = "lease 4711 sh j\n"
        self.environment["ROWLOCK_ADOPT"] = "a string"
        process = self.start_hold("--adopt")
        self.told(process, "held")
        self.assertNotIn("list", self.fake.seen)
        self.finish(process)

    def test_a_line_that_has_no_end_is_handed_on_in_part(self):
        process = self.start_hold("--adopt")
        self.say(process, "x" * 100000 + "\n")
        self.told(process, "held")
        self.assertEqual(self.fake.expect("adopt").text("text"), "x" * 127)
        self.finish(process)

    def test_a_string_that_is_refused_is_not_acquired_instead(self):
        for code, status, reason in ((ELOST, 1, "gone"), (EINVAL, 125, "string"),
                                     (ECONNECT, 125, "failed")):
            self.fake.answers["adopt"] = [f"reply {code} so it is"]
            self.environment["ROWLOCK_ADOPT"] = "a string"
            process = self.start_hold("--adopt")
            self.told(process, "error", reason=reason, code=code, held=False,
                      message="so it is")
            self.assertEqual(self.end(process, status), "rowlock: hold: so it is\n")
        self.assertNotIn("acquire", self.fake.seen)

    def test_without_a_string_nothing_is_asked(self):
        code, out, err = self.run_tool("hold", "--json", "--adopt", "j")
        self.assertEqual((code, out), (125, ""))
        self.assertIn("--adopt 'j': give the string of the export in ROWLOCK_ADOPT, "
                      "or as the first line of standard input", err)
        self.assertEqual(self.fake.seen, [])

    def test_what_would_mean_nothing_is_refused(self):
        self.environment["ROWLOCK_ADOPT"] = "a string"
        for argv in (["-s", "row"], ["--also=k"], ["--read"], ["--permits=2"],
                     ["--at-least=1s"], ["--delay-after-loss=1s"], ["--max=1h"],
                     ["-n"], ["-w", "1s"], ["--info=x"]):
            code, _, err = self.run_tool("hold", "--adopt", *argv, "j")
            self.assertEqual(code, 125, argv)
            self.assertIn("hold: --adopt: ", err)
        code, _, err = self.run_tool("hold", "--adopt", "rowlock1.0123", "j")
        self.assertEqual(code, 125)
        self.assertEqual(self.fake.seen, [])


if __name__ == "__main__":
    harness.main()
