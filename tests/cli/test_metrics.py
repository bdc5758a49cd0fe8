# SPDX-License-Identifier: MIT
"""rowlock metrics: what it counts, says and exits with."""
import glob
import os
import shutil
import subprocess
import time

import harness
import own_server
from harness import ToolTest, patience
from metrics_text import parsed, promtool_says
from own_server import OwnTables
from test_doctor import Relay

TOOL = os.environ.get("ROWLOCK_TOOL", "rowlock")


class Usage(ToolTest):
    def test_a_class_that_is_none_is_refused(self):
        for argument in ("", "=", "a", "a=", "=a", "a=b c", 'a=b"c', "a=ü",
                         "a=" + "x" * 65):
            code, out, err = self.run_tool("metrics", f"--class={argument}")
            self.assertEqual((code, out), (125, ""), argument)
            self.assertIn("--class: ", err)
        many = [f"--class={i}*=c{i}" for i in range(65)]
        code, out, err = self.run_tool("metrics", *many)
        self.assertEqual((code, out), (125, ""))
        self.assertIn("one more than the 64 that there may be", err)
        self.assertEqual(self.run_tool("metrics", "name")[0], 125)

    def test_a_server_that_does_not_answer_is_a_figure_too(self):
        self.environment["ROWLOCK_DSN"] = "host=127.0.0.1;port=1;user=u;database=d"
        code, out, err = self.run_tool("metrics")
        self.assertEqual(code, 1)
        self.assertEqual(set(parsed(out)), {("rowlock_up",),
                                            ("rowlock_scrape_duration_seconds",)})
        self.assertEqual(parsed(out)["rowlock_up",], 0)
        self.assertIn("127.0.0.1:1", err)


class Metrics(OwnTables):
    def metrics(self, *argv, code=0):
        got, out, err = self.run_tool("metrics", *argv, tool=TOOL)
        self.assertEqual((got, err), (code, ""))
        return out

    def session(self, number, live=True, breaks=0):
        self.sql("INSERT INTO lease_session (id, ttl, expires_at, breaks, started_at)"
                 f" VALUES ({number}, 30000, UTC_TIMESTAMP(6) + INTERVAL "
                 f"{3600 if live else -1} SECOND, {breaks}, UTC_TIMESTAMP(6))")

    def lease(self, name, session=1, slot=0, age=0, expires="NULL"):
        self.sql("INSERT INTO business_lease (name, slot, session, attempt, "
                 f"acquired_at, expires_at) VALUES ('{name}', {slot}, {session}, "
                 f"1, UTC_TIMESTAMP(6) - INTERVAL {age} SECOND, {expires})")

    def awaited(self, key, number):
        for waited in harness.waiting():
            found = parsed(self.metrics())
            if found[key] == number:
                return found
            # InnoDB tells of waits as they were until nobody asks for 0.1 s.
            time.sleep(0.2)
        self.fail(f"{key} is {found[key]} after {waited:.0f} s")

    def holds(self, *labels, text=None):
        return parsed(text or self.metrics()).get(("rowlock_holds", "lease", *labels))

    def test_each_metric_is_there_with_nothing_in_the_tables(self):
        found = parsed(self.metrics())
        self.assertEqual({key: found.pop(key) for key in list(found)
                          if "seconds" not in key[0]},
                         {("rowlock_up",): 1, ("rowlock_scrape_truncated",): 0,
                          ("rowlock_holds", "lease", "lock", "held", "other"): 0,
                          ("rowlock_holds", "lease", "lock", "dead", "other"): 0,
                          ("rowlock_names", "row"): 0,
                          ("rowlock_sessions", "live"): 0,
                          ("rowlock_sessions", "dead"): 0,
                          ("rowlock_waiters_visible",): 0,
                          ("rowlock_token_floor",): 0})
        self.assertEqual({key[0] for key in found},
                         {"rowlock_scrape_duration_seconds",
                          "rowlock_oldest_hold_seconds",
                          "rowlock_clock_offset_seconds"})
        self.assertLess(abs(found["rowlock_clock_offset_seconds",]), 60)

    def test_the_clock_offset_is_positive_where_the_server_is_ahead(self):
        library = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        if not library or os.environ.get("ROWLOCK_TEST_SLOW"):
            self.skipTest("no libfaketime here")
        self.environment |= {"LD_PRELOAD": library[0], "FAKETIME": "-5m",
                             "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        offset = parsed(self.metrics())["rowlock_clock_offset_seconds",]
        self.assertTrue(240 < offset < 360, offset)

    def test_kinds_and_states_are_those_of_the_view(self):
        self.session(1)
        self.session(2, live=False)
        # Keeps: of a client that lives, of one that is gone.
        self.sql("INSERT INTO lease_session (id, ttl, expires_at, breaks, started_at)"
                 " SELECT 8589934592, 30000, expires_at, 0, started_at FROM "
                 "lease_session WHERE id = 1")
        self.session(3, breaks=8589934592)
        self.session(4, breaks=8589934593)
        for number, session in enumerate((1, 2, 3, 4, 5)):
            for slot in (0, 1, 1073741823, 1073741824, 2147483647, 2147483648,
                         2147483649, 4294967295):
                self.lease(f"n{number}", session, slot)
        past = "UTC_TIMESTAMP(6) - INTERVAL 1 SECOND"
        self.lease("over", 1, expires=past)
        self.lease("\\x01receipt", 1)
        view = {tuple(row.split("\t")[:2]): int(row.split("\t")[2]) for row in
                self.sql("SELECT kind, state, holds FROM lock_summary "
                         "WHERE strategy = 'lease'").splitlines()}
        text = self.metrics()
        ours = {key[2:4]: number for key, number in parsed(text).items()
                if key[0] == "rowlock_holds" and number}
        self.assertEqual(ours, view)
        self.assertIn(("lock", "kept"), view)
        found = parsed(text)
        self.assertEqual(found["rowlock_sessions", "live"], 2)
        self.assertEqual(found["rowlock_sessions", "dead"], 1)

    def test_the_first_pattern_that_matches_is_a_names_class(self):
        self.session(1)
        for name in ("nightly/a", "nightly/bü", "nightly/x=y", "a%b", "a-b", "zz"):
            self.lease(name, age=100)
        self.lease("nightly/old", age=5000)
        text = self.metrics("--class=nightly/x=y=equal", "--class=nightly/??=two",
                            "--class=*/*=nightly", "--class=a%b=percent",
                            "--class=other*=other", "--class=none=none",
                            "--class=*z=nightly")
        counts = {name: self.holds("lock", "held", name, text=text) for name in
                  ("equal", "two", "nightly", "percent", "none", "other")}
        self.assertEqual(counts, {"equal": 1, "two": 1, "nightly": 3, "percent": 1,
                                  "none": 0, "other": 1})
        oldest = parsed(text)["rowlock_oldest_hold_seconds", "lease", "lock", "held",
                              "nightly"]
        self.assertGreaterEqual(oldest, 5000)
        self.assertLess(oldest, 5000 + patience())

    def test_no_name_leaves_without_a_pattern(self):
        self.session(1)
        self.lease("secret-name")
        self.sql("INSERT INTO business_lock (name) VALUES ('secret-row')")
        text = self.metrics()
        self.assertNotIn("secret", text)
        self.assertEqual(parsed(text)["rowlock_names", "row"], 1)

    def test_it_counts_a_part_and_says_so(self):
        self.session(1)
        self.sql("INSERT INTO business_lease (name, slot, session, attempt, "
                 "acquired_at) SELECT CONCAT('n', seq), 0, 1, seq, UTC_TIMESTAMP(6) "
                 "FROM seq_1_to_50000")
        whole = parsed(self.metrics())
        self.lease("zzz")
        part = parsed(self.metrics())
        for found, truncated in ((whole, 0), (part, 1)):
            self.assertEqual(found["rowlock_scrape_truncated",], truncated)
            self.assertEqual(found["rowlock_holds", "lease", "lock", "held", "other"],
                             50000)

    def test_waiters_are_counted_where_the_account_sees_them(self):
        self.environment["ROWLOCK_DSN"] = self.sandbox("dsn", "--root")
        for strategy in ("lease", "row"):
            command = ("run", "-s", strategy, "mine", "--", "sh", "-c",
                       "echo held; exec cat")
            holder = self.start(*command, tool=TOOL, stdin=subprocess.PIPE)
            self.assertEqual(holder.stdout.readline(), "held\n")
            self.start(*command, tool=TOOL)
            found = self.awaited(("rowlock_waiters", strategy), 1)
            self.assertGreaterEqual(found["rowlock_oldest_wait_seconds", strategy], 0)
        self.assertEqual(found["rowlock_waiters_visible",], 1)

    def test_it_locks_nothing_and_waits_for_nobody(self):
        self.session(1)
        self.lease("locked")
        client = subprocess.Popen(self.client("-n"), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.processes.append(client)
        client.stdin.write("BEGIN; SELECT name FROM business_lease FOR UPDATE; "
                           "DELETE FROM business_lease;\nSELECT 'done';\n")
        client.stdin.flush()
        while client.stdout.readline() != "done\n":
            pass
        self.assertEqual(self.holds("lock", "held", "other"), 1)
        client.communicate("ROLLBACK;\n", timeout=patience())

    def test_a_server_that_falls_silent_meanwhile_is_down(self):
        for part in (b"START TRANSACTION", b"COMMIT"):
            frozen = []

            def rewrite(request, payload, part=part, frozen=frozen):
                if part in request:
                    frozen.append(part)
                return None if frozen else payload
            relay = Relay(self.port, rewrite)
            self.addCleanup(relay.close)
            self.environment["ROWLOCK_DSN"] = self.dsn.replace(f"port={self.port}",
                                                               f"port={relay.port}")
            code, out, err = self.run_tool("metrics", tool=TOOL)
            self.assertTrue(frozen)
            self.assertEqual((code, parsed(out)["rowlock_up",]), (1, 0), part)
            self.assertIn("no answer", err)

    def test_an_account_without_the_rights_is_told(self):
        self.environment["ROWLOCK_DSN"] = self.sandbox("dsn", "--monitor")
        code, out, err = self.run_tool("metrics", tool=TOOL)
        self.assertEqual((code, parsed(out)["rowlock_up",]), (1, 0))
        self.assertIn("rowlock_monitor", err)

    def test_the_reapers_account_is_enough(self):
        self.environment["ROWLOCK_DSN"] = self.sandbox("dsn", "--reaper")
        self.assertEqual(parsed(self.metrics())["rowlock_up",], 1)

    def test_promtool_takes_it(self):
        if not shutil.which("promtool"):
            self.skipTest("no promtool")
        self.session(1)
        self.lease("a")
        self.assertEqual(promtool_says(self.metrics("--class=a=a")), (0, ""))


if __name__ == "__main__":
    own_server.main()
