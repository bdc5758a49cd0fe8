# SPDX-License-Identifier: MIT
"""rowlock-reaperd: passes, signals, a server that is away, systemd."""
import os
import signal
import socket
import unittest

import harness
from harness import (EAUTH, ECONNECT, ESCHEMA, REAPERD, ToolTest,
                     patience, waiting)


class Once(ToolTest):
    def test_one_pass_and_its_result(self):
        self.fake.answers["reap"] = ["reaped 2 3 1", "reply 0"]
        code, out, err = self.run_tool("--once", "-b", "7", tool=REAPERD)
        self.assertEqual((code, out), (0, ""))
        self.assertIn("evicted 2 sessions, swept 3 leases, removed 1 tokens",
                      err)
        client = self.fake.expect("client_new")
        self.assertTrue(client.number("flags") & harness.NO_REAPER)
        self.assertEqual(client.text("program"), "rowlock-reaperd")
        self.assertEqual(client.number("log"), 1)
        self.assertEqual(self.fake.expect("reap").number("batch"), 7)
        self.assertEqual(self.fake.seen.count("reap"), 1)

    def test_a_pass_that_fails_is_1(self):
        for call in ("client_new", "reap"):
            self.fake.answers = {call: [f"reply {ECONNECT} no way"]}
            code, _, err = self.run_tool("--once", tool=REAPERD)
            self.assertEqual(code, 1)
            self.assertIn("no way", err)

    def test_a_pass_that_fails_until_somebody_acts_is_78(self):
        for call in ("client_new", "reap"):
            self.fake.answers = {call: [f"reply {EAUTH} no way"]}
            self.assertEqual(self.run_tool("--once", tool=REAPERD)[0], 78)


class Daemon(ToolTest):
    def daemon(self, *argv, **more):
        return self.start("-i", "100ms", *argv, tool=REAPERD, **more)

    def stopped(self, process, number=signal.SIGTERM, code=0):
        process.send_signal(number)
        self.assertEqual(process.wait(patience()), code)
        return process.stderr.read()

    def test_passes_go_on_until_it_is_told_to_stop(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.daemon()
            for _ in range(3):
                self.fake.expect("reap")
            self.assertIn("stopped", self.stopped(process, number))
            self.fake.expect("client_free")

    def test_each_line_has_a_date_when_nobody_else_dates_it(self):
        process = self.daemon()
        self.fake.expect("reap")
        for line in self.stopped(process).splitlines():
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ "
                             rf"rowlock-reaperd\[{process.pid}\]: ")

    def test_each_line_has_a_priority_for_the_journal(self):
        read, write = os.pipe()
        stat = os.fstat(write)
        self.environment["JOURNAL_STREAM"] = f"{stat.st_dev}:{stat.st_ino}"
        process = self.daemon(stderr=write)
        os.close(write)
        self.fake.expect("reap")
        process.terminate()
        process.wait(patience())
        with os.fdopen(read) as err:
            self.assertEqual(err.read(), "<6>stopped\n")

    def test_a_stop_does_not_wait_for_a_server_that_hangs(self):
        for call, server in (("client_new", "the server"), ("reap", "fake:1")):
            self.fake.answers = {call: None}
            process = self.daemon()
            self.fake.expect(call)
            self.assertIn(f"without an answer from {server}\n",
                          self.stopped(process))

    def test_a_server_that_is_away_is_told_once_and_so_is_its_return(self):
        away = [f"reply {ECONNECT} cannot reach db1"]
        process = self.daemon()
        self.fake.expect("reap")
        self.fake.answers["reap"] = away
        # One may be answered already; two more are refused for certain.
        for _ in range(3):
            self.fake.expect("reap")
        self.fake.answers.clear()
        for _ in range(3):
            self.fake.expect("reap")
        err = self.stopped(process)
        self.assertEqual(err.count("cannot reach db1"), 1, err)
        self.assertEqual(err.count("the server is back: fake:1"), 1, err)

    def test_it_starts_before_its_server(self):
        self.fake.answers["client_new"] = [f"reply {ECONNECT} not yet"]
        process = self.daemon()
        self.fake.expect("client_new")
        self.fake.answers.clear()
        self.fake.expect("reap")
        err = self.stopped(process)
        self.assertEqual(err.count("not yet"), 1)
        self.assertIn("the server is back", err)

    def test_what_nobody_but_people_can_mend_ends_it_at_the_start(self):
        for reply in (EAUTH, ESCHEMA):
            self.fake.answers["client_new"] = [f"reply {reply} mend me"]
            process = self.daemon()
            self.assertEqual(process.wait(patience()), 78)
            self.assertIn("mend me", process.stderr.read())

    def test_the_same_later_is_waited_for(self):
        process = self.daemon()
        self.fake.expect("reap")
        self.fake.answers["reap"] = [f"reply {EAUTH} password changed"]
        while "password" not in process.stderr.readline():
            pass
        self.fake.answers.clear()
        while "back" not in process.stderr.readline():
            pass
        self.stopped(process)

    def test_HUP_opens_a_new_client_before_it_drops_the_old_one(self):
        process = self.daemon()
        self.fake.expect("client_new")
        self.fake.expect("reap")
        process.send_signal(signal.SIGHUP)
        self.fake.expect("client_new")
        self.fake.expect("client_free")
        self.fake.expect("reap")
        self.assertIn("reloaded", self.stopped(process))

    def test_a_reload_that_fails_changes_nothing(self):
        process = self.daemon()
        self.fake.expect("reap")
        self.fake.answers["client_new"] = [f"reply {EAUTH} wrong password"]
        process.send_signal(signal.SIGHUP)
        self.fake.expect("client_new")
        self.fake.expect("reap")
        self.fake.expect("reap")
        self.assertNotIn("client_free", self.fake.seen)
        err = self.stopped(process)
        self.assertIn("reload failed, going on as before: wrong password",
                      err)

    def test_no_core_file_can_hold_the_password(self):
        process = self.daemon()
        # No limit is asked for one that goes into a pipe (core(5)).
        self.assertEqual(self.fake.expect("client_new").number("dumpable"), 0)
        self.fake.expect("reap")
        with open(f"/proc/{process.pid}/limits", encoding="utf-8") as limits:
            core = [l for l in limits if l.startswith("Max core file")][0]
        self.assertEqual(core.split()[4:6], ["0", "0"])
        self.stopped(process)


@unittest.skipUnless(os.environ.get("HAVE_LIBSYSTEMD") == "1",
                     "built without libsystemd")
class Systemd(ToolTest):
    def setUp(self):
        super().setUp()
        path = os.path.join(self.directory, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.socket.settimeout(patience())
        self.passed_over = []
        self.environment["NOTIFY_SOCKET"] = path

    def tearDown(self):
        self.socket.close()
        super().tearDown()

    def expect(self, word):
        """Await a message; others are kept. Two threads send: the first
        pass may tell its end before the other one tells readiness."""
        for i, message in enumerate(self.passed_over):
            if message.startswith(word):
                return self.passed_over.pop(i)
        while True:
            try:
                message = self.socket.recv(4096).decode()
            except TimeoutError:
                raise AssertionError(
                    f"waited {self.socket.gettimeout():.0f} s for {word!r}; "
                    f"there came: {self.passed_over}") from None
            if message.startswith(word):
                return message
            self.passed_over.append(message)

    def test_it_tells_readiness_reload_and_stop(self):
        process = self.start("-i", "24h", tool=REAPERD)
        self.expect("READY=1")
        self.expect("STATUS=Removed 0 rows")
        process.send_signal(signal.SIGHUP)
        self.assertRegex(self.expect("RELOADING=1"), r"MONOTONIC_USEC=\d+")
        self.expect("READY=1")
        process.terminate()
        self.expect("STOPPING=1")
        self.assertEqual(process.wait(patience()), 0)

    def test_it_is_ready_though_the_server_is_away_and_says_what_it_awaits(self):
        self.fake.answers["client_new"] = [f"reply {ECONNECT} no db1"]
        self.start("-i", "24h", tool=REAPERD)
        self.expect("READY=1")
        self.assertIn("no db1", self.expect("STATUS=Waiting"))

    def test_it_is_not_ready_before_its_first_pass(self):
        for call in ("client_new", "reap"):
            self.fake.answers = {call: [f"reply {EAUTH} mend me"]}
            process = self.start("-i", "24h", tool=REAPERD)
            self.expect("STOPPING=1")
            self.assertEqual(process.wait(patience()), 78)
            self.assertNotIn("READY=1", self.passed_over)

    def test_the_watchdog_is_fed_in_pauses(self):
        self.environment["WATCHDOG_USEC"] = "400000"
        self.start("-i", "24h", tool=REAPERD)
        for _ in range(3):
            self.expect("WATCHDOG=1")

    def test_a_hanging_pass_starves_the_watchdog(self):
        self.environment["WATCHDOG_USEC"] = "200000"
        self.fake.answers["reap"] = None
        self.start("-i", "100ms", tool=REAPERD)
        self.fake.expect("reap")
        # Some were sent before it hung. Five of its pauses without one.
        self.socket.settimeout(1)
        for waited in waiting():
            try:
                self.socket.recv(4096)
            except TimeoutError:
                break
        else:
            self.fail(f"the watchdog is still fed after {waited:.0f} s")
        self.fake.say("reply 0")
        self.socket.settimeout(patience())
        self.expect("WATCHDOG=1")


if __name__ == "__main__":
    harness.main()
