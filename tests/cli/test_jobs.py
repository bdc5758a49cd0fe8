# SPDX-License-Identifier: MIT
"""rowlock jobs: which jobs of 'run --once-per' have run."""
import json

import harness
from harness import EAUTH, ECONNECT, TerminalTest, run_entry
from test_people import ODD_NAMES

SUCCEEDED, FAILED, RUNNING, DIED = range(4)
HOUR = 3600000
DAY = dict(from_at="2026-11-29 00:00:00.000000",
           until_at="2026-11-30 00:00:00.000000", left=10 * HOUR)


def succeeded(name="nightly", **more):
    return run_entry(name, SUCCEEDED, **{
        **DAY, "host": "db7", "pid": 42, "program": "report", "code": 3,
        "began_at": "2026-11-29 03:00:05.123456",
        "ended_at": "2026-11-29 03:04:10.123456",
        "began": 11 * HOUR, "took": 245000, "nth": 2, **more})


def failed(name="nightly", **more):
    return run_entry(name, FAILED, **{
        **DAY, "host": "db8", "pid": 43, "program": "report", "code": 7,
        "began_at": "2026-11-29 03:00:00.000000",
        "ended_at": "2026-11-29 03:00:03.000000",
        "began": 12 * HOUR, "took": 3000, "nth": 1, **more})


class Jobs(TerminalTest):
    def answer(self, *entries):
        self.fake.answers["runs"] = [*entries, "reply 0"]

    def table(self, *argv):
        code, out, err = self.run_tool("jobs", *argv)
        self.assertEqual((code, err), (0, ""))
        return [line.split() for line in out.splitlines()]

    def json(self, *argv):
        code, out, err = self.run_tool("jobs", "-j", *argv)
        self.assertEqual((code, err), (0, ""))
        return json.loads(out)

    def test_the_patterns_are_passed_on_in_their_order(self):
        for argv, want in (([], [None]), (["a*?"], ["a*?"]),
                           (["b", "a", "b"], ["b", "a", "b"])):
            self.fake.seen.clear()
            self.table(*argv)
            calls = [self.fake.expect("runs") for _ in want]
            self.assertEqual([call.text("pattern") for call in calls], want)
            self.assertEqual({call.text("name") for call in calls}, {None})
            self.assertEqual(self.fake.seen.count("runs"), len(want))

    def test_a_name_has_one_row_with_its_last_success_and_failure(self):
        self.answer(succeeded(), failed(), succeeded(host="older", nth=1),
                    failed(code=99), succeeded("other", host=""))
        self.assertEqual(self.table(), [
            ["NAME", "STATE", "RUNS", "SUCCESS", "TOOK", "HOST", "FAILURE",
             "CODE", "NEXT"],
            ["nightly", "succeeded", "2", "10h55m", "ago", "4m05s", "db7",
             "11h59m", "ago", "7", "in", "10h00m"],
            ["other", "succeeded", "2", "10h55m", "ago", "4m05s", "-", "-",
             "-", "in", "10h00m"]])

    def test_a_run_that_runs_is_neither_success_nor_failure(self):
        self.answer(run_entry("n", RUNNING, host="db9", began=60000, took=60000,
                              nth=3, **DAY), succeeded("n"))
        self.assertEqual(self.table()[1][:9],
                         ["n", "running", "3", "10h55m", "ago", "4m05s", "db7",
                          "-", "-"])
        got, = self.json()
        self.assertEqual((got["state"], got["runs"], got["last"]["host"],
                          got["last"]["took_ms"], got["last"]["ended_at"],
                          got["last_success"]["host"], got["last_failure"]),
                         ("running", 3, "db9", 60000, None, "db7", None))

    def test_a_run_that_died_is_a_failure_without_a_code(self):
        self.answer(run_entry("n", DIED, host="db9", began=2 * HOUR,
                              **dict(DAY, left=-HOUR)), failed("n"))
        self.assertEqual(self.table()[1],
                         ["n", "died", "1", "-", "-", "-", "2h00m", "ago",
                          "died", "1h00m", "ago"])
        got, = self.json()
        self.assertEqual((got["state"], got["last_success"], got["next_ms"],
                          got["last_failure"]["code"],
                          got["last_failure"]["took_ms"]),
                         ("died", None, -HOUR, None, None))

    def test_a_history_has_each_run(self):
        self.answer(succeeded(), failed(), succeeded("other"))
        self.assertEqual(self.table("--history"), [
            ["NAME", "STATE", "BEGAN", "TOOK", "CODE", "RUN", "HOST", "WINDOW"],
            ["nightly", "succeeded", "2026-11-29", "03:00:05", "4m05s", "3", "2",
             "db7", "2026-11-29", "00:00:00"],
            ["nightly", "failed", "2026-11-29", "03:00:00", "3.0s", "7", "1",
             "db8", "2026-11-29", "00:00:00"],
            ["other", "succeeded", "2026-11-29", "03:00:05", "4m05s", "3", "2",
             "db7", "2026-11-29", "00:00:00"]])
        first, second, _ = self.json("-H")
        self.assertEqual(first, {
            "name": "nightly", "state": "succeeded",
            "began_at": "2026-11-29T03:00:05.123456Z",
            "ended_at": "2026-11-29T03:04:10.123456Z", "took_ms": 245000,
            "code": 3, "run": 2, "window_from": "2026-11-29T00:00:00.000000Z",
            "window_until": "2026-11-30T00:00:00.000000Z", "host": "db7",
            "pid": 42, "program": "report"})
        self.assertEqual(second["state"], "failed")
        # The parts of a name's own object are the same.
        got = self.json()[0]
        self.assertEqual((got["last"], got["last_success"],
                          got["last_failure"]["code"], got["next_at"]),
                         (first, first, 7, first["window_until"]))

    def test_an_object_has_a_line(self):
        self.answer(succeeded("a"), succeeded("b"))
        lines = self.run_tool("jobs", "-j")[1].splitlines()
        self.assertEqual((lines[0], len(lines), lines[3]), ("[", 4, "]"))
        self.assertEqual(json.loads(lines[1].rstrip(","))["name"], "a")
        self.answer()
        self.assertEqual(self.run_tool("jobs", "-j"), (0, "[]\n", ""))
        self.assertEqual(len(self.table()), 1)

    def test_a_name_of_two_patterns_has_two_rows(self):
        self.answer(succeeded(), failed())
        self.assertEqual([row[0] for row in self.table("n*", "nightly")],
                         ["NAME", "nightly", "nightly"])

    def test_many_names_are_all_shown_and_each_once(self):
        for each in (1, 2):
            self.answer(*(run for i in range(500) for run in
                          [succeeded(f"n{i}"), failed(f"n{i}")][:each]))
            self.assertEqual([row["name"] for row in self.json()],
                             [f"n{i}" for i in range(500)])
            self.assertEqual(len(self.json("-H")), 500 * each)

    def test_odd_names_are_escaped(self):
        self.answer(*(succeeded(name, host=name) for name in ODD_NAMES))
        for argv in ([], ["-H"]):
            out = self.run_tool("jobs", *argv)[1]
            self.assertEqual(len(out.splitlines()), 1 + len(ODD_NAMES))
            for bad in "\t\r\x01\x1b\x7f\u2028\u202e\u009b":
                self.assertNotIn(bad, out)
        self.assertEqual([row["name"] for row in self.json()], ODD_NAMES)
        self.assertEqual([row["host"] for row in self.json("-H")], ODD_NAMES)

    def test_a_line_fits_the_terminal(self):
        self.answer(run_entry("n", RUNNING, **DAY), succeeded("n"),
                    succeeded("a/name/that/says/what/the/job/does/and/for/whom",
                              host="db7.a.domain.with.a.long.name.example.org"),
                    failed("f"))
        for columns in (40, 60, 80, 100, 200):
            for argv in ([], ["-H"]):
                title, *lines = self.lines(*argv, columns=columns, command="jobs")
                place = title.index("STATE")
                self.assertEqual([line[place:].split()[0] for line in lines],
                                 ["running", *["succeeded"] * (1 + len(argv)), "failed"])
        title, *_ = self.lines(columns=80, command="jobs")
        self.assertEqual(title.split(), ["NAME", "STATE", "SUCCESS", "HOST",
                                         "FAILURE", "CODE", "NEXT"])
        self.assertEqual(self.on_terminal("--wide", columns=40, command="jobs",
                                          NO_COLOR="1"),
                         self.run_tool("jobs")[1])
        del self.environment["NO_COLOR"]
        shown = self.on_terminal(command="jobs")
        for colour, word in ((32, "running"), (2, "succeeded"), (31, "failed")):
            self.assertIn(f"\x1b[{colour}m{word}\x1b[0m", shown)

    def test_a_refusal_is_told(self):
        for code in (EAUTH, ECONNECT):
            self.fake.answers["runs"] = [succeeded(), f"reply {code} not here"]
            for argv in ([], ["-j"], ["-H"], ["a", "b"]):
                self.assertEqual(self.run_tool("jobs", *argv),
                                 (125, "", "rowlock: not here\n"))


if __name__ == "__main__":
    harness.main()
