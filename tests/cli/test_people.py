# SPDX-License-Identifier: MIT
"""rowlock list, show, wait, break and reap."""
import json
import os
import signal

import harness
from harness import (CLI, EBUSY, ECONNECT, ENOTHELD, ETIMEDOUT,
                     TerminalTest, ToolTest, entry, patience)

HELD, DEAD, FREE, UNKNOWN, WAITING, KEPT = range(6)

# Names that others may have written into the table by hand.
ODD_NAMES = ['quote"s', "back\\slash", "tab\tline\nfeed\r", "\x01\x1b[31m",
             "\u2028\u202e\u009b", "\u00e4\U0001f512\uffff", "'; DROP TABLE",
             "</script>", " ", "\x7f"]


class List(ToolTest):
    FULL = dict(kind=3, slot=3, info="nightly run", host="db7", pid=42,
                program="job", acquired_at="2026-11-20 12:00:00.123456",
                held=61500, remaining=29000, session=2**64 - 1,
                attempt=2**63 + 1, token=1763640000123456)

    def test_the_question_is_passed_on(self):
        for argv, want in ((["list"], (None, 1, 1, 0)),
                           (["list", "a*?"], ("a*?", 1, 1, 0)),
                           (["list", "-s", "row"], (None, 1, 0, 0)),
                           (["list", "-s", "lease"], (None, 0, 1, 0)),
                           (["list", "--probe"], (None, 1, 1, 1)),
                           (["list", "a", "-p"], ("a", 1, 1, 1))):
            self.assertEqual(self.run_tool(*argv)[0], 0)
            call = self.fake.expect("list")
            self.assertEqual((call.text("pattern"), call.number("row"),
                              call.number("lease"), call.number("probe")),
                             want)
            self.assertIsNone(call.text("name"))

    def test_the_table_is_aligned_and_has_no_tabs(self):
        self.fake.answers["list"] = [
            entry("short", 0, HELD, **self.FULL),
            entry("a much longer name", 1, UNKNOWN),
            entry("dead", 0, DEAD, held=3 * 86400000, expired=250,
                  acquired_at="2026-11-17 12:00:00.000000"),
            entry("locked", 1, HELD, held=250, connection=7, host="10.0.0.1",
                  acquired_at="2026-11-17 12:00:00.000000"),
            entry("ending", 1, HELD, held=250, connection=8,
                  acquired_at="2026-11-17 12:00:00.000000"),
            "reply 0"]
        code, out, err = self.run_tool("list")
        self.assertEqual((code, err), (0, ""))
        lines = out.split("\n")
        self.assertEqual(lines.pop(), "")
        self.assertEqual(lines[0].split(),
                         ["STRATEGY", "NAME", "KIND", "STATE", "HELD",
                          "EXPIRES", "HOLDER", "TOKEN", "INFO"])
        for title in ("NAME", "KIND", "STATE", "HELD", "HOLDER", "INFO"):
            column = lines[0].index(title)
            for line in lines[1:]:
                self.assertEqual(line[column - 2:column], "  ", line)
                self.assertNotEqual(line[column], " ", line)
        self.assertRegex(lines[1], r"^lease +short +permit +held +1m01s +29\.0s +"
                         r"job\[42\]@db7 +1763640000123456 +nightly run$")
        self.assertRegex(lines[2], r"^row +a much longer name +lock +unknown "
                         r"( *-){5}$")
        self.assertRegex(lines[3], r"^lease +dead +lock +dead +3d00h +0\.2s ago ")
        self.assertRegex(lines[4], r"^row +locked +lock +held +0\.2s +- +"
                         r"connection 7@10\.0\.0\.1 ")
        self.assertRegex(lines[5], r" connection 8 +-")
        self.assertNotIn("\t", out)
        self.assertNotIn("\x1b", out)

    def test_odd_names_are_escaped_in_the_table(self):
        self.fake.answers["list"] = [
            *(entry(name, info=name) for name in ODD_NAMES),
            entry(b"\xff\xc0\xafA"), "reply 0"]
        _, out, _ = self.run_tool("list")
        self.assertEqual(len(out.splitlines()), 2 + len(ODD_NAMES))
        for bad in "\t\r\x01\x1b\x7f\u2028\u202e\u009b":
            self.assertNotIn(bad, out)
        for good in ("\\x01\\x1b[31m", "back\\\\slash", "\\u{202e}",
                     "\\xff\\xc0\\xafA", "tab\\x09line\\x0afeed\\x0d"):
            self.assertIn(good, out)

    def test_json_is_valid_and_exact_for_every_name(self):
        self.fake.answers["list"] = [
            *(entry(name, info=name, host=name, program=name)
              for name in ODD_NAMES), "reply 0"]
        code, out, _ = self.run_tool("list", "--json")
        got = json.loads(out)
        self.assertEqual(code, 0)
        for key in ("name", "info", "host", "program"):
            self.assertEqual([e[key] for e in got], ODD_NAMES)
        # Still valid where the bytes are not even UTF-8.
        self.fake.answers["list"] = [entry(b"a\xffb\xed\xa0\x80"), "reply 0"]
        _, out, _ = self.run_tool("list", "--json")
        self.assertEqual(json.loads(out)[0]["name"],
                         "a\ufffdb\ufffd\ufffd\ufffd")

    def test_json_has_numbers_as_numbers_and_64_bits_as_text(self):
        self.fake.answers["list"] = [entry("n", 1, FREE, **self.FULL),
                                     entry("m"), "reply 0"]
        got = json.loads(self.run_tool("list", "-j")[1])
        self.assertEqual(got[0], {
            "name": "n", "strategy": "row", "kind": "permit", "slot": 3, "state": "free",
            "info": "nightly run", "host": "db7", "pid": 42, "program": "job",
            "acquired_at": "2026-11-20T12:00:00.123456Z", "held_ms": 61500,
            "remaining_ms": None, "expired_ms": None,
            "session": str(2**64 - 1), "attempt": str(2**63 + 1),
            "token": 1763640000123456, "connection": None, "place": None})

    def test_what_is_not_known_is_never_0(self):
        self.fake.answers["list"] = [
            entry("n", 1, UNKNOWN),
            entry("d", 0, DEAD, expired=4100, session=7, attempt=8,
                  acquired_at="2026-11-17 12:00:00.000000"),
            entry("r", 1, HELD, connection=9), "reply 0"]
        got = json.loads(self.run_tool("list", "-j")[1])
        self.assertEqual({key for key, value in got[0].items()
                          if value is not None},
                         {"name", "strategy", "kind", "slot", "state", "info"})
        self.assertEqual([got[1][key] for key in
                          ("held_ms", "remaining_ms", "expired_ms", "pid")],
                         [0, 0, 4100, None])
        self.assertEqual((got[2]["connection"], got[2]["remaining_ms"]),
                         (9, None))
        _, out, _ = self.run_tool("show", "n")
        first, second, third = (
            dict(line.split(None, 1) for line in text.splitlines())
            for text in out.split("\n\n"))
        self.assertEqual({key for key, value in first.items() if value == "-"},
                         {"info:", "host:", "pid:", "program:", "acquired:",
                          "held:", "expires:", "session:", "attempt:",
                          "token:"})
        self.assertEqual(second["expired:"], "4.1s ago (4100 ms)")
        self.assertEqual(third["connection:"], "9")

    def test_nothing_to_show_is_an_empty_array(self):
        self.assertEqual(self.run_tool("list", "--json"), (0, "[]\n", ""))

    def test_an_error_in_the_middle_prints_no_half_answer(self):
        self.fake.answers["list"] = [entry("n"),
                                     f"reply {ECONNECT} cut in two"]
        for argv in (["list"], ["list", "-j"], ["show", "n"]):
            code, out, err = self.run_tool(*argv)
            self.assertEqual((code, out), (125, ""))
            self.assertIn("cut in two", err)

    def test_an_error_in_a_long_list_ends_it_there(self):
        self.fake.answers["list"] = [
            *(entry(f"n{i:04}") for i in range(600)),
            f"reply {ECONNECT} cut in two"]
        code, out, err = self.run_tool("list")
        self.assertEqual(code, 125)
        self.assertIn("cut in two", err)
        names = [line.split()[1] for line in out.splitlines()[1:]]
        self.assertGreater(len(names), 0, "it was not shown as it was read")
        self.assertEqual(names, [f"n{i:04}" for i in range(len(names))])
        code, out, _ = self.run_tool("list", "-j")
        self.assertEqual(code, 125)
        self.assertRaises(json.JSONDecodeError, json.loads, out)

    def test_a_name_that_is_kept_says_until_when(self):
        self.fake.answers["list"] = [
            entry("n", 0, KEPT, held=60000, remaining=90000, host="db7",
                  pid=42, program="job", acquired_at="2026-11-20 12:00:00"),
            "reply 0"]
        got, = json.loads(self.run_tool("list", "-j")[1])
        self.assertEqual((got["state"], got["remaining_ms"], got["host"]),
                         ("kept", 90000, "db7"))
        self.assertRegex(self.run_tool("list")[1],
                         r"(?m)^lease +n +lock +kept +1m00s +1m30s +job")
        self.assertRegex(self.run_tool("show", "n")[1],
                         r"(?s)state: +kept\n.*expires: +1m30s")

    def test_many_names_are_all_shown(self):
        self.fake.answers["list"] = [
            *(entry(f"n{i}") for i in range(1000)), "reply 0"]
        got = json.loads(self.run_tool("list", "-j")[1])
        self.assertEqual([e["name"] for e in got],
                         [f"n{i}" for i in range(1000)])

    def test_held_is_what_somebody_has_or_had_or_waits_for(self):
        states = (HELD, DEAD, FREE, UNKNOWN, WAITING, KEPT)
        self.fake.answers["list"] = [
            *(entry(f"n{state}", 0, state) for state in states), "reply 0"]
        for argv, want in ((["--held"], (HELD, DEAD, WAITING, KEPT)),
                           ([], states), (["--all"], states)):
            got = json.loads(self.run_tool("list", "-j", *argv)[1])
            self.assertEqual([e["name"] for e in got],
                             [f"n{state}" for state in want])
        code, _, err = self.run_tool("list", "--held", "--all")
        self.assertEqual(code, 125)
        self.assertIn("--held, --all", err)


class ListOnTerminal(TerminalTest):
    """A line is not longer than the terminal."""

    LONG = "a name of a lock that says much of what it is for, to its very end"

    def answer(self, *entries):
        self.fake.answers["list"] = [*entries, "reply 0"]

    def test_colours_are_for_terminals_without_NO_COLOR(self):
        self.answer(entry("n"))
        self.assertIn("\x1b[32mheld\x1b[0m", self.on_terminal())
        self.assertNotIn("\x1b", self.on_terminal(NO_COLOR="1"))

    def test_a_lock_and_its_holder_are_seen_in_80_columns(self):
        self.answer(entry("nightly/report", 0, HELD, **List.FULL))
        title, line = self.lines()
        self.assertEqual(title.split(), ["NAME", "KIND", "STATE", "HELD",
                                         "EXPIRES", "HOLDER", "INFO"])
        self.assertEqual(line.split(), ["nightly/report", "permit", "held",
                                        "1m01s", "29.0s", "job[42]@db7",
                                        "nightly", "run"])

    def test_what_is_too_long_is_cut_and_marked(self):
        self.answer(entry(self.LONG, 0, HELD,
                          **dict(List.FULL, info=self.LONG,
                                 program=self.LONG)),
                    entry("\u5c71" * 50, 1, HELD, connection=2**63,
                          host="\u5c71" * 30))
        for columns in (40, 60, 79, 80, 81, 100, 132):
            with self.subTest(columns):
                title, first, second = self.lines(columns=columns)
                place = title.index("STATE")
                self.assertEqual(first[place:place + 4], "held")
                self.assertIn("a name of", first)
                self.assertIn("\u2026", first)
                self.assertIn("[42]@db7", first)
                self.assertIn("\u2026", second)
        self.answer(entry(self.LONG))
        self.assertIn("~", self.lines(columns=40, LC_ALL="C")[1])

    def test_a_wide_terminal_is_used(self):
        self.answer(entry(self.LONG, 0, HELD, **List.FULL))
        self.assertRegex(self.lines(columns=200)[1],
                         rf"^{self.LONG} +permit +held +1m01s +29\.0s +"
                         r"job\[42\]@db7 +1763640000123456 +nightly run$")

    def test_wide_shows_all_in_full_whatever_the_terminal_is(self):
        self.answer(entry(self.LONG, 0, HELD, **dict(List.FULL,
                                                     info=self.LONG)))
        wide = self.on_terminal("--wide", columns=40, NO_COLOR="1")
        self.assertEqual(wide, self.run_tool("list")[1])

    def test_what_nobody_is_known_to_hold_is_counted_only(self):
        self.answer(entry("lease"), entry("free", 1, FREE),
                    entry("one", 1, UNKNOWN), entry("two", 1, UNKNOWN))
        self.assertEqual([line.split()[0] for line in self.lines()],
                         ["NAME", "lease"])
        self.assertEqual(self.err, "rowlock: 2 names under row may be held as "
                         "well (--probe looks, --all lists)\n")
        self.assertEqual(len(self.lines("--all")), 5)
        self.assertEqual(self.err, "rowlock: 2 names under row may be held or "
                         "free (--probe looks)\n")
        self.answer(entry("one", 1, UNKNOWN))
        self.lines()
        self.assertTrue(self.err.startswith("rowlock: 1 name under row may "))

    def test_what_is_not_known_of_a_row_is_told_with_how_to_know_it(self):
        self.answer(entry("lease"), entry("who", 1, HELD),
                    entry("known", 1, HELD, connection=7, host="db7"))
        line = self.lines()[2]
        self.assertEqual(line.split(), ["who", "row", "held"] + ["-"] * 5)
        self.assertEqual(self.err, "rowlock: 1 name under row is held, and by "
                         "whom is not known (rowlock(1) says who is told)\n")
        for state, said in (
                (UNKNOWN, "may be held or free: --probe looks"),
                (HELD, "is held, and by whom is not known: rowlock(1) says "
                 "who is told"), (FREE, "")):
            with self.subTest(state):
                self.answer(entry("n", 1, state))
                out = self.on_terminal("n", command="show")
                self.assertRegex(out, r"(?s)host: +-\npid: +-\n.*held: +-\n")
                self.assertEqual(self.err, said and
                                 f"rowlock: 'n' (row) on fake:1 {said}\n")
                # A program reads the state.
                for argv in (["list"], ["show", "n"], ["show", "-j", "n"]):
                    self.assertEqual(self.run_tool(*argv)[2], "")

    def test_later_blocks_are_not_longer_either(self):
        self.answer(*(entry(f"n{i}") for i in range(300)),
                    entry(self.LONG, 0, DEAD, kind=4, **{
                        key: value for key, value in List.FULL.items()
                        if key != "kind"}, expired=12 * 3600000))
        last = self.lines()[-1]
        self.assertIn("12h00m ago", last)
        self.assertIn("candidate", last)


class Output(ToolTest):
    """Standard output that is full, or not there, is an error."""

    ALL = (["list"], ["show", "n"], ["show", "-j", "n"], ["list", "-j"],
           ["permits", "n"], ["reap"], ["--help"], ["list", "--help"],
           ["--version"])

    def setUp(self):
        super().setUp()
        self.fake.answers["list"] = [entry("n"), "reply 0"]
        self.fake.answers["count"] = ["reply 1 5 2"]

    def test_a_full_disk_is_told(self):
        for argv in self.ALL:
            with self.subTest(argv), open("/dev/full", "w",
                                          encoding="utf-8") as full:
                code, _, err = self.finish(self.start(*argv, stdout=full))
                self.assertEqual(code, 125)
                self.assertIn("No space left", err)

    def test_one_that_is_closed_is_told(self):
        for argv in self.ALL:
            with self.subTest(argv):
                code, _, err = self.run_tool(
                    "-c", f'"$0" {" ".join(argv)} >&-', CLI, tool="sh")
                self.assertEqual(code, 125)
                self.assertIn("cannot write to stdout", err)

    def test_a_reader_that_has_enough_ends_it_in_silence(self):
        self.fake.answers["list"] = [*(entry(f"n{i}") for i in range(1000)),
                                     "reply 0"]
        for ignored in (False, True):
            with self.subTest(ignored=ignored):
                reader, writer = os.pipe()
                os.close(reader)
                process = self.start("list", stdout=writer,
                                     restore_signals=not ignored)
                os.close(writer)
                code, _, err = self.finish(process)
                self.assertEqual((code, err), (-signal.SIGPIPE, ""))


class Show(ToolTest):
    def test_all_is_shown_of_one_name(self):
        self.fake.answers["list"] = [entry("n", **List.FULL), entry("n", 1),
                                     "reply 0"]
        code, out, err = self.run_tool("show", "n")
        call = self.fake.expect("list")
        self.assertEqual((call.text("name"), call.text("pattern")),
                         ("n", None))
        self.assertEqual((code, err), (0, ""))
        first, second = out.split("\n\n")
        fields = dict(line.split(None, 1) for line in first.splitlines())
        self.assertEqual(fields["host:"], "db7")
        self.assertEqual(fields["session:"], str(2**64 - 1))
        self.assertIn("strategy:   row", second)

    def test_an_unknown_name_is_1(self):
        code, out, err = self.run_tool("show", "n")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("'n' on fake:1 is not held", err)
        self.assertEqual(self.run_tool("show", "--json", "n"), (1, "[]\n", ""))


class Waiting(ToolTest):
    TITLES = ["STRATEGY", "NAME", "KIND", "PLACE", "WAITED", "WAITER"]
    LINE = [entry("n", 0, WAITING, place=1, connection=7, host="10.0.0.1"),
            entry("n", 0, WAITING, place=2, connection=8, host="db7", pid=42,
                  program="job", held=61500,
                  acquired_at="2026-11-20 12:00:00.123456"),
            entry("n", 1, WAITING, kind=5, place=1, connection=9, held=250,
                  acquired_at="2026-11-20 12:00:00.123456")]

    def test_the_question_is_passed_on(self):
        for argv, want in (([], (None, 1, 1)), (["a*"], ("a*", 1, 1)),
                           (["-s", "row"], (None, 1, 0)),
                           (["-s", "lease"], (None, 0, 1))):
            self.assertEqual(self.run_tool("list", "--waiting", *argv)[0], 0)
            call = self.fake.expect("waiters")
            self.assertEqual((call.text("pattern"), call.number("row"),
                              call.number("lease")), want)
        self.assertNotIn("list", self.fake.seen)

    def test_the_table_has_the_places(self):
        self.fake.answers["waiters"] = [*self.LINE, "reply 0"]
        code, out, err = self.run_tool("list", "--waiting")
        self.assertEqual((code, err), (0, ""))
        title, *lines = out.splitlines()
        self.assertEqual(title.split(), self.TITLES)
        self.assertEqual([line.split() for line in lines], [
            ["lease", "n", "lock", "1", "-", "connection", "7@10.0.0.1"],
            ["lease", "n", "lock", "2", "1m01s", "job[42]@db7"],
            ["row", "n", "rwlock", "1", "0.2s", "connection", "9"]])

    def test_nobody_waits(self):
        code, out, err = self.run_tool("list", "--waiting")
        self.assertEqual((code, out.split(), err), (0, self.TITLES, ""))
        self.assertEqual(self.run_tool("list", "--waiting", "-j"),
                         (0, "[]\n", ""))

    def test_json_has_places_and_what_is_known(self):
        self.fake.answers["waiters"] = [*self.LINE, "reply 0"]
        got = json.loads(self.run_tool("list", "--waiting", "-j")[1])
        self.assertEqual([(one["state"], one["place"]) for one in got],
                         [("waiting", 1), ("waiting", 2), ("waiting", 1)])
        self.assertEqual([got[0][key] for key in
                          ("program", "pid", "held_ms", "acquired_at")],
                         [None] * 4)
        self.assertEqual({key: value for key, value in got[1].items()
                          if value is not None}, {
            "name": "n", "strategy": "lease", "kind": "lock", "slot": 0,
            "state": "waiting", "info": "", "host": "db7", "pid": 42,
            "program": "job", "acquired_at": "2026-11-20T12:00:00.123456Z",
            "held_ms": 61500, "connection": 8, "place": 2})

    def test_who_may_not_see_others_is_told_so(self):
        self.fake.answers["waiters"] = ["reply 0 GRANT it"]
        for argv in (["list", "--waiting"], ["list", "--waiting", "-j"]):
            code, _, err = self.run_tool(*argv)
            self.assertEqual(code, 1)
            self.assertIn("waiters may be missing: GRANT it", err)
        self.fake.answers["list"] = [entry("n"), "reply 0"]
        code, out, err = self.run_tool("show", "n")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.splitlines()[-1],
                         "waiting:    some may be missing: GRANT it")
        code, out, err = self.run_tool("show", "-j", "n")
        self.assertEqual((code, len(json.loads(out))), (0, 1))
        self.assertIn("waiters may be missing: GRANT it", err)

    def test_show_has_a_line_for_each_behind_the_holder(self):
        self.fake.answers["list"] = [entry("n"), "reply 0"]
        self.fake.answers["waiters"] = [*self.LINE, "reply 0"]
        code, out, err = self.run_tool("show", "n")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(self.fake.expect("waiters").text("name"), "n")
        self.assertEqual(out.split("\n\n")[1].splitlines(), [
            "waiting:    1. in line (lease, lock): connection 7@10.0.0.1",
            "waiting:    2. in line (lease, lock): job[42]@db7 for 1m01s "
            "(61500 ms)",
            "waiting:    1. in line (row, rwlock): connection 9 for 0.2s "
            "(250 ms)"])
        got = json.loads(self.run_tool("show", "-j", "n")[1])
        self.assertEqual([one["place"] for one in got], [None, 1, 2, 1])

    def test_an_error_is_125(self):
        self.fake.answers["waiters"] = [f"reply {ECONNECT} cut in two"]
        for argv in (["list", "--waiting"], ["show", "n"]):
            code, out, err = self.run_tool(*argv)
            self.assertEqual((code, out), (125, ""))
            self.assertIn("cut in two", err)

    def test_what_is_about_holders_is_refused_beside_it(self):
        for switch in ("--held", "--all", "--probe"):
            code, _, err = self.run_tool("list", "--waiting", switch)
            self.assertEqual(code, 125)
            self.assertIn("--waiting", err)
        self.assertEqual(self.fake.seen, [])


class Break(ToolTest):
    def test_a_hold_is_broken(self):
        for argv, strategy in (([], 0), (["-s", "row"], 1)):
            self.assertEqual(self.run_tool("break", *argv, "n"), (0, "", ""))
            call = self.fake.expect("break")
            self.assertEqual((call.text("name"), call.number("strategy")),
                             ("n", strategy))

    def test_a_verbose_break_leaves_it_to_the_library_to_say_so(self):
        self.assertEqual(self.run_tool("break", "-v", "n"), (0, "", ""))

    def test_no_hold_to_break_is_1(self):
        self.fake.answers["break"] = [f"reply {ENOTHELD} no hold"]
        code, _, err = self.run_tool("break", "n")
        self.assertEqual(code, 1)
        self.assertIn("nobody holds 'n' (lease) on fake:1", err)

    def test_what_a_dba_can_type_is_shown(self):
        self.fake.answers["break"] = ["reply -15 a DBA can type: KILL 7"]
        code, _, err = self.run_tool("break", "-s", "row", "n")
        self.assertEqual(code, 125)
        self.assertIn("KILL 7", err)


class Permits(ToolTest):
    def test_how_many_there_are_is_shown(self):
        self.fake.answers["count"] = ["reply 1 5 2"]
        code, out, err = self.run_tool("permits", ODD_NAMES[3])
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, "name:      \\x01\\x1b[31m\n"
                              "permits:   5\nused:      2\n")
        self.assertEqual(self.fake.expect("count").text("name"), ODD_NAMES[3])
        for name in ODD_NAMES:
            got = json.loads(self.run_tool("permits", "-j", name)[1])
            self.assertEqual(got, [{"name": name, "permits": 5, "used": 2}])
        self.assertNotIn("resize", self.fake.seen)

    def test_a_semaphore_that_is_not_there_is_1(self):
        self.fake.answers["count"] = ["reply 0 0 0"]
        code, out, err = self.run_tool("permits", "n")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("'n' on fake:1 is not a semaphore yet", err)
        self.assertEqual(self.run_tool("permits", "--json", "n"),
                         (1, "[]\n", ""))

    def test_their_number_is_changed(self):
        self.assertEqual(self.run_tool("permits", "n", "7"), (0, "", ""))
        call = self.fake.expect("resize")
        self.assertEqual((call.text("name"), call.number("permits")),
                         ("n", 7))
        self.assertNotIn("count", self.fake.seen)
        self.assertIn("'n' on fake:1 has 7 permits now",
                      self.run_tool("permits", "-v", "n", "7")[2])

    def test_what_the_server_refuses_is_125(self):
        self.fake.answers["count"] = [f"reply {ECONNECT} cut"]
        self.fake.answers["resize"] = [f"reply {ECONNECT} cut"]
        for words in (["n"], ["n", "7"]):
            code, out, err = self.run_tool("permits", *words)
            self.assertEqual((code, out), (125, ""))
            self.assertIn("cut", err)

    def test_numbers_that_are_none_are_refused_before_it_is_asked(self):
        for words in ([], ["n", "0"], ["n", "1001"], ["n", "-1"], ["n", ""],
                      ["n", "many"], ["n", "1", "2"], ["-j", "n", "1"]):
            code, _, err = self.run_tool("permits", *words)
            self.assertEqual(code, 125, words)
            self.assertIn("permits", err)
        self.assertEqual(self.fake.seen, [])


class Reap(ToolTest):
    def test_it_says_what_was_removed(self):
        self.fake.answers["reap"] = ["reaped 2 3 1", "reply 0"]
        self.assertEqual(
            self.run_tool("reap", "-b", "7"),
            (0, "evicted 2 sessions, swept 3 leases, removed 1 tokens\n", ""))
        self.assertEqual(self.fake.expect("reap").number("batch"), 7)

    def test_it_says_that_there_may_be_more(self):
        self.fake.answers["reap"] = ["reaped 1 0 0 1", "reply 0"]
        code, _, err = self.run_tool("reap", "--timeout", "2m")
        self.assertEqual(code, 0)
        self.assertEqual(self.fake.expect("reap").number("most"), 120000)
        self.assertIn("there may be more on ", err)

    def test_an_error_says_what_was_removed_before_it(self):
        self.fake.answers["reap"] = ["reaped 1 0 0", f"reply {ECONNECT} cut"]
        code, out, err = self.run_tool("reap")
        self.assertEqual(code, 125)
        self.assertIn("evicted 1 sessions", out)
        self.assertIn("cut", err)

    def test_its_client_does_not_reap_by_itself(self):
        self.run_tool("reap")
        self.assertTrue(self.fake.expect("client_new").number("flags") & harness.NO_REAPER)


class Wait(ToolTest):
    def test_a_free_name_is_not_waited_for(self):
        for states in ([], [DEAD]):
            self.fake.answers["list"] = [*(entry("n", 0, s) for s in states),
                                         "reply 0"]
            self.assertEqual(self.run_tool("wait", "n"), (0, "", ""))

    def test_a_lease_is_looked_at_until_it_is_gone(self):
        looks = []

        def answer(call):
            looks.append(call)
            held = [entry("n", 0, HELD)] if len(looks) < 4 else []
            return [*held, "reply 0"]
        self.fake.answers["list"] = answer
        self.assertEqual(self.run_tool("wait", "n"), (0, "", ""))
        self.assertEqual(len(looks), 4)
        self.assertEqual((looks[0].text("name"), looks[0].number("row")),
                         ("n", 0))
        self.assertNotIn("acquire", self.fake.seen)

    def test_a_server_that_is_away_is_looked_at_again(self):
        looks = [[entry("n", 0, HELD), "reply 0"],
                 [f"reply {ECONNECT} away"], [f"reply {ECONNECT} away"],
                 [entry("n", 0, HELD), "reply 0"], ["reply 0"]]
        self.fake.answers["list"] = lambda _: looks.pop(0)
        self.assertEqual(
            self.run_tool("wait", "n"),
            (0, "", "rowlock: wait: away; it looks again until it works\n"))
        self.fake.answers["list"] = [f"reply {ECONNECT} away"]
        self.assertEqual(self.run_tool("wait", "-w0", "n"),
                         (125, "", "rowlock: wait: away\n"))

    def test_a_name_that_is_none_is_refused_as_by_run(self):
        self.fake.answers["new"] = ["reply -9 has a blank at the end"]
        for strategy in ("lease", "row"):
            code, _, err = self.run_tool("wait", "-s", strategy, "n ")
            self.assertEqual(code, 125)
            self.assertIn("has a blank at the end", err)

    def test_the_time_to_wait_is_kept(self):
        self.fake.answers["list"] = [entry("n", 0, HELD), "reply 0"]
        self.assertEqual(self.run_tool("wait", "-w", "0", "n")[0], 1)
        self.assertEqual(self.run_tool("wait", "-w0.2", "-E", "9", "n")[0], 9)

    def test_a_row_is_acquired_and_released(self):
        self.assertEqual(self.run_tool("wait", "-s", "row", "n"), (0, "", ""))
        self.assertEqual(self.fake.expect("new").number("strategy"), 1)
        self.assertEqual(self.fake.expect("acquire").number("wait"),
                         2**64 - 1)
        self.fake.expect("release")

    def test_a_row_that_stays_held_is_the_conflict_code(self):
        for reply in (EBUSY, ETIMEDOUT):
            self.fake.answers["acquire"] = [f"reply {reply} held"]
            self.assertEqual(self.run_tool("wait", "-s", "row", "-w", "2",
                                           "-E", "7", "n"), (7, "", ""))

    def test_a_signal_cancels_the_wait_for_a_row(self):
        self.fake.answers["acquire"] = None
        process = self.start("wait", "-s", "row", "n")
        self.fake.expect("acquire")
        process.terminate()
        self.fake.expect("cancel")
        self.assertEqual(process.wait(patience()), -15)


if __name__ == "__main__":
    harness.main()
