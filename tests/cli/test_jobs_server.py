# SPDX-License-Identifier: MIT
"""rowlock jobs against a real server (ROWLOCK_TEST_DSN)."""
import json
import os
import signal
import sys
import unittest

import harness
from harness import patience, waiting
from test_advice import AccountTest
from test_server import ADMIN_DSN, DSN, ServerTest


class Jobs(ServerTest):
    def job(self, name, status, *options):
        code, _, err = self.run_tool("run", "--once-per=day", *options, name,
                                     "--", "sh", "-c", f"exit {status}")
        self.assertEqual(code, status, err)

    def jobs(self, *argv):
        code, out, err = self.run_tool("jobs", "--json", *argv)
        self.assertEqual((code, err), (0, ""))
        return json.loads(out)

    def runs(self, name):
        """State, code and number of each run, newest first."""
        return [(run["state"], run["code"], run["run"])
                for run in self.jobs("--history", name)]

    def begun(self, name, *options):
        """A run that has begun, and goes on."""
        process = self.start("run", "--once-per=day", *options, name, "--",
                             "sh", "-c", "echo; read x", stdin=-1)
        if not process.stdout.readline():
            self.fail(process.stderr.read())
        return process

    def test_what_ran_is_shown(self):
        name = self.name("n")
        self.job(name, 7)
        process = self.begun(name)
        got, = self.jobs(name)
        self.assertEqual((got["state"], got["runs"], got["last_success"],
                          got["last_failure"]["code"]), ("running", 2, None, 7))
        self.assertEqual(self.runs(name),
                         [("running", None, 2), ("failed", 7, 1)])
        process.stdin.close()
        process.stdin = None
        self.assertEqual(process.wait(patience()), 1)
        self.job(name, 0)
        self.job(name, 0)  # there is nothing to do
        self.assertEqual(self.runs(name), [("succeeded", 0, 3), ("failed", 1, 2),
                                           ("failed", 7, 1)])
        got, = self.jobs(name)
        self.assertEqual((got["state"], got["runs"], got["last_failure"]["run"]),
                         ("succeeded", 3, 2))
        success = got["last_success"]
        self.assertEqual((success["host"], success["program"][:11], success["code"]),
                         (os.uname().nodename, "rowlock run", 0))
        self.assertGreater(success["pid"], 0)
        self.assertLess(success["began_at"], success["ended_at"])
        self.assertLess(success["window_from"], success["began_at"])
        self.assertTrue(success["window_until"].endswith("T00:00:00.000000Z"))
        self.assertEqual(got["next_at"], success["window_until"])
        self.assertLess(0, got["next_ms"])
        self.assertLessEqual(got["next_ms"], 24 * 3600000)

    def test_a_run_whose_host_is_gone_has_died(self):
        name = self.name("n")
        process = self.begun(name, "--ttl=2s")
        self.assertEqual(self.runs(name), [("running", None, 1)])
        process.send_signal(signal.SIGKILL)
        process.wait(patience())
        for waited in waiting():
            seen = self.runs(name)
            if seen != [("running", None, 1)]:
                break
        self.assertEqual(seen, [("died", None, 1)], f"after {waited:.0f} s")
        # The next one is another run.
        self.job(name, 0)
        self.assertEqual(self.runs(name), [("succeeded", 0, 2), ("died", None, 1)])

    def test_a_run_whose_lock_was_taken_does_not_run(self):
        name = self.name("n")
        process = self.begun(name)
        process.send_signal(signal.SIGSTOP)
        self.assertEqual(self.run_tool("break", name)[0], 0)
        other = self.begun(name)
        self.assertEqual(self.runs(name), [("running", None, 2), ("died", None, 1)])
        process.send_signal(signal.SIGKILL)
        other.send_signal(signal.SIGKILL)

    def test_patterns_choose_names(self):
        for name in ("a1", "a%", "b"):
            self.job(self.name(name), 0)
        for patterns, want in ((("*",), ["a%", "a1", "b"]), (("a?",), ["a%", "a1"]),
                               (("a%",), ["a%"]), (("b", "a1"), ["b", "a1"]),
                               (("nothing",), [])):
            got = self.jobs(*map(self.name, patterns))
            self.assertEqual([row["name"] for row in got],
                             [self.name(name) for name in want])

    def test_keep_bounds_the_history(self):
        name = self.name("n")
        for status in (3, 4, 5, 6):
            self.job(name, status, "--keep=2")
        # Each run forgets before it ends: this one is kept besides.
        self.assertEqual([code for _, code, _ in self.runs(name)], [6, 5, 4])
        self.job(name, 0, "--keep=1")
        self.assertEqual([code for _, code, _ in self.runs(name)], [0, 6])

    def test_many_runs_come_in_their_order(self):
        name = self.name("n")
        for i in range(3):
            self.job(f"{name}{i}", i)
        # Two of each moment.
        self.sql(*(f"INSERT INTO job_run (name, run, from_at, until_at, nth, began_at)"
                   f" VALUES ('{name}{i}', {seq}, '2020-01-01', '2020-01-02', {seq},"
                   f" '2020-01-01 00:00:{seq // 2:02}')"
                   for i in range(3) for seq in range(100)))
        got = self.jobs("--history", name + "?")
        self.assertEqual([run["name"] for run in got],
                         [f"{name}{i}" for i in range(3) for _ in range(101)])
        for i in range(3):
            times = [run["began_at"] for run in got if run["name"] == f"{name}{i}"]
            self.assertEqual(times, sorted(times, reverse=True))
        self.assertEqual([(row["state"], row["runs"]) for row in self.jobs(name + "?")],
                         [("succeeded", 1), ("failed", 1), ("failed", 1)])


@unittest.skipUnless(ADMIN_DSN, "no ROWLOCK_TEST_ADMIN_DSN")
class Refused(AccountTest):
    def test_an_account_that_may_not_read_is_told_what_to_grant(self):
        self.account(*(f"SELECT ON `{self.database}`.{table}" for table in (
            "business_lock", "business_lease", "lease_session", "lock_token",
            "lock_token_floor", "lock_permits", "rowlock_schema")))
        self.assertEqual(self.run_tool("list", "none")[0], 0)
        self.refused("list runs: SELECT command denied", "job_run",
                     "grants.sql has what each of them needs", argv=("jobs",))

    def test_tables_of_an_older_version_are_named(self):
        old = f"{self.database}_{os.getpid()}"
        self.account(f"SELECT ON `{old}`.*")
        try:
            self.admin(f"CREATE DATABASE `{old}`")
            code, _, err = self.run_tool(
                "--no-defaults", f"--dsn=database={old}", tool=harness.MIGRATE,
                env={**self.environment, "ROWLOCK_DSN": ADMIN_DSN})
            self.assertEqual(code, 0, err)
            self.admin(f"DROP TABLE `{old}`.job_run")
            self.refused("list runs: ", f"{old}.job_run", "run 'rowlock-migrate'",
                         argv=("jobs", f"--dsn=database={old}"))
        finally:
            self.admin(f"DROP DATABASE IF EXISTS `{old}`")


if __name__ == "__main__":
    if not DSN:
        print("1..0 # SKIP no ROWLOCK_TEST_DSN")
        sys.exit(77)
    harness.main()
