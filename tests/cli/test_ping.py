# SPDX-License-Identifier: MIT
"""rowlock ping: what it asks, says and exits with."""
import json
import os
import re
import subprocess

import harness
from harness import (CLI, EAUTH, EBUSY, ECONNECT, EINVAL, EREADONLY, ESCHEMA,
                     NO_REAPER, ToolTest)
from patience import patience

HEALTH = os.path.join(harness.HERE, "..", "..", "docs", "health.md")


class Ping(ToolTest):
    def test_a_lock_of_its_own_is_taken_and_released(self):
        names = set()
        for _ in range(2):
            code, out, err = self.run_tool("ping")
            self.assertEqual((code, err), (0, ""))
            self.assertRegex(out, r"^fake:1: well: connected in \d+ ms, a lock "
                                  r"taken and released in \d+ ms\n$")
            opened = self.fake.expect("client_new")
            self.assertEqual(opened.number("flags"), NO_REAPER)
            self.assertEqual(opened.number("log"), 0)
            made = self.fake.expect("new")
            self.assertEqual(made.number("strategy"), 0)
            names.add(made.text("name"))
            self.assertEqual(self.fake.expect("acquire").number("wait"), 0)
            self.fake.expect("release")
            self.fake.expect("client_free")
        self.assertEqual(len(names), 2)
        for name in names:
            self.assertRegex(name, "^rowlock-ping/[0-9a-f]{16}$")

    def test_the_exit_code_says_what_failed(self):
        for call, error, number, expected, word in (
                ("client_new", ECONNECT, 2002, 2, "no answer"),
                ("client_new", ECONNECT, 0, 2, "no answer"),
                ("client_new", ECONNECT, 5014, 2, "no answer"),
                ("client_new", ECONNECT, 1040, 1, "refuses"),
                ("client_new", ECONNECT, 3032, 1, "refuses"),
                ("client_new", ECONNECT, 2026, 1, "refuses"),
                ("client_new", EAUTH, 1045, 1, "refuses"),
                ("client_new", ESCHEMA, 0, 1, "refuses"),
                ("client_new", EINVAL, 0, 3, "not tried"),
                ("acquire", EREADONLY, 1290, 1, "refuses"),
                ("acquire", EBUSY, 0, 1, "refuses"),
                ("release", ECONNECT, 2013, 2, "no answer")):
            with self.subTest(call=call, error=error, number=number):
                self.fake.answers = {call: [f"number {number}",
                                            f"reply {error} it says why"]}
                code, out, err = self.run_tool("ping")
                self.assertEqual((code, out), (expected, ""))
                self.assertEqual(err, f"rowlock: ping: {word}: it says why\n")
                code, out, err = self.run_tool("ping", "--json")
                self.assertEqual((code, err), (expected, ""))
                self.assertEqual(out.count("\n"), 1)
                server = None if call == "client_new" else "fake:1"
                self.assertEqual(json.loads(out), {
                    "code": expected, "answer": word, "server": server,
                    "reason": "it says why", "connect_ms": None,
                    "lock_ms": None})

    def test_well_is_one_object_as_well(self):
        code, out, err = self.run_tool("ping", "-j")
        self.assertEqual((code, err), (0, ""))
        got = json.loads(out)
        self.assertEqual((got["code"], got["answer"], got["server"],
                          got["reason"]), (0, "well", "fake:1", None))
        self.assertGreaterEqual(got["connect_ms"], 0)
        self.assertGreaterEqual(got["lock_ms"], 0)

    def test_the_status_is_the_answer_though_its_line_cannot_be_written(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            for call, argv, code in (("none", [], 0), ("none", ["-j"], 0),
                                     ("client_new", ["-j"], 2)):
                self.fake.answers = {call: ["number 2002", f"reply {ECONNECT} away"]}
                self.assertEqual(self.run_tool("ping", *argv, stdout=full)[0], code)

    def test_wrong_usage_is_3_and_asks_nobody(self):
        for words in (["name"], ["--bogus"], ["-s", "row"],
                      ["--dsn=password=x"], ["--connect-timeout=x"]):
            code, out, err = self.run_tool("ping", *words)
            self.assertEqual((code, out), (3, ""), words)
            self.assertIn("rowlock: ", err)
        self.assertEqual(self.fake.seen, [])
        self.assertEqual(self.run_tool("ping", "--help")[0], 0)

    def test_the_bound_of_the_connect_is_that_of_each_step(self):
        self.run_tool("ping", "--connect-timeout=700ms")
        opened = self.fake.expect("client_new")
        self.assertEqual((opened.number("connect"), opened.number("call")),
                         (700, 700))
        self.run_tool("ping")
        opened = self.fake.expect("client_new")
        self.assertEqual((opened.number("connect"), opened.number("call")),
                         (0, 0))

    def test_the_lines_of_the_manual_work(self):
        with open(HEALTH, encoding="utf-8") as page:
            text = page.read()
        docker = re.search("^HEALTHCHECK .* CMD (.*)$", text, re.M)[1]
        script = re.search("^(#!/bin/sh\n.*?)```", text, re.M | re.S)[1]
        script = script.replace("/usr/bin/rowlock", CLI)
        os.symlink(CLI, os.path.join(self.directory, "rowlock"))
        self.environment["PATH"] += ":" + self.directory
        for error, expected in ((0, 0), (ECONNECT, 1)):
            self.fake.answers = {"client_new": [f"reply {error} gone"]}
            done = subprocess.run(["sh", "-c", docker], env=self.environment,
                                  capture_output=True, timeout=patience(),
                                  check=False)
            self.assertEqual(done.returncode, expected, done.stderr)
            self.fake.expect("client_new")
        done = subprocess.run(["sh", "-c", script, "check", "lb", "33", "db7",
                               "3307"], env=self.environment, check=False,
                              capture_output=True, timeout=patience())
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(self.fake.expect("client_new").text("dsn"),
                         "host=db7;port=3307")


if __name__ == "__main__":
    harness.main()
