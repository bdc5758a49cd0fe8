# SPDX-License-Identifier: MIT
"""Locks that 'rowlock hold' hands over, on a real server (ROWLOCK_TEST_DSN)."""
import json
import os
import subprocess
import sys

import harness
from harness import at_least, patience
from test_server import DSN, ServerTest


class HandOver(ServerTest):
    def hold(self, name, *options, string=None):
        """Its process, and its first line."""
        environment = dict(self.environment)
        if string is not None:
            environment["ROWLOCK_ADOPT"] = string
            options += ("--adopt",)
        process = self.start("hold", "--json", *options, name, stdin=subprocess.PIPE,
                             env=environment)
        return process, self.told(process)

    def told(self, process):
        line = process.stdout.readline()
        self.assertTrue(line, process.poll())
        return json.loads(line)

    def say(self, process, word):
        process.stdin.write(word + "\n")
        process.stdin.flush()

    def exported(self, *options):
        """A hold that is exported: name, process, token and string."""
        name = self.name("n")
        process, held = self.hold(name, *options)
        self.assertEqual(held["event"], "held", held)
        self.say(process, "export")
        exported = self.told(process)
        self.assertEqual(exported["event"], "exported")
        return name, process, held["token"], exported["string"]

    def refused(self, name, string, reason, words):
        """It is refused by this reason, and the lock is as it was."""
        before = self.list()
        process, told = self.hold(name, string=string)
        self.assertEqual((told["event"], told["reason"], told["held"]),
                         ("error", reason, False), told)
        self.assertIn(words, told["message"])
        self.assertEqual(process.wait(patience()), 1 if reason == "gone" else 125)
        for was, entry in zip(before, self.list(), strict=True):
            self.assertEqual((was["attempt"], was["session"]),
                             (entry["attempt"], entry["session"]))

    def test_the_successor_holds_it_and_the_first_one_learns_by_whom(self):
        name, first, token, string = self.exported("-t", at_least(3, 60))
        self.assertEqual(self.run_tool("run", "-n", name, "true")[0], 1)
        second, held = self.hold(name, "-t", at_least(30), string=string)
        self.assertEqual(held["event"], "held", held)
        self.assertGreater(held["token"], token)
        adopted = self.told(first)
        self.assertEqual(adopted["event"], "adopted")
        self.assertIn(f"; rowlock hold[{second.pid}]@{os.uname().nodename} has it since ",
                      adopted["message"])
        self.assertEqual(first.wait(patience()), 0)
        entry, = self.list()
        self.assertEqual((entry["pid"], entry["attempt"]), (second.pid, held["attempt"]))
        self.say(second, "release")
        self.assertEqual(self.told(second)["event"], "released")
        self.assertEqual(self.run_tool("run", "-n", name, "true")[0], 0)

    def test_it_is_there_for_its_successor_after_the_end_of_the_first_one(self):
        name, first, _, string = self.exported()
        first.stdin.close()
        self.assertEqual(self.told(first)["event"], "left")
        self.assertEqual(first.wait(patience()), 0)
        self.assertEqual(self.run_tool("run", "-n", name, "true")[0], 1)
        second, held = self.hold(name, string=string)
        self.assertEqual(held["event"], "held", held)
        self.refused(name, string, "gone", "another has it now: the string was used")
        second.stdin.close()
        self.assertTrue(self.told(second)["certain"])

    def test_what_is_no_string_of_it_changes_nothing(self):
        name, first, _, string = self.exported()
        last = "0" if string[-1] != "0" else "1"
        for bad, words in (
                ("a secret", "which has 57 characters: it has 8"),
                (string[:-3], "which has 57 characters: it has 54"),
                (string + string, "it has 64 or more"),
                ("x" + string[1:], "this is no string of an export"),
                (string[:-1] + last, "for another name, or on another database, or was "
                 "altered")):
            self.refused(name, bad, "string", words)
        self.refused(self.name("other"), string, "string", "for another name")
        self.say(first, "release")
        self.assertEqual(self.told(first)["event"], "released")
        self.refused(name, string, "gone", "nobody has it any more: it was released")

    def test_who_asked_for_it_goes_on_to_ask_the_successor(self):
        name, first, _, string = self.exported("-t", at_least(30))
        asker = self.start("revoke", "-r", "a backup", "-w", "1h", name)
        for waited in harness.waiting():
            shown = json.loads(self.run_tool("show", "--json", name)[1])
            if shown[0].get("asked"):
                break
        self.assertTrue(shown[0].get("asked"), f"after {waited:.0f} s")
        second, held = self.hold(name, "-t", at_least(3, 60), string=string)
        self.assertEqual(held["event"], "held", held)
        asked = self.told(second)
        self.assertEqual((asked["event"], asked["reason"]), ("asked", "a backup"))
        self.assertIsNone(asker.poll())
        self.say(second, "release")
        self.assertEqual(asker.wait(patience()), 0)
        first.kill()


if __name__ == "__main__":
    if not DSN:
        print("1..0 # SKIP no server: set ROWLOCK_TEST_DSN")
        sys.exit(77)
    harness.main()
