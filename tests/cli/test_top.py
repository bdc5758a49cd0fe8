# SPDX-License-Identifier: MIT
"""rowlock top: on a screen, under tmux, and printed."""
import os
import re
import signal

import harness
from harness import (CLI, ECONNECT, ENOTHELD, TerminalTest, ToolTest, entry, waiting)
from window import WindowTest

HELD, DEAD, FREE, UNKNOWN, WAITING, KEPT = range(6)
LOCK, WRITER, READER, PERMIT, CANDIDATE, RWLOCK = range(6)
SINCE = "2026-11-20 12:00:00"


def hold(name, state=HELD, attempt=1, **more):
    known = {"host": "db7", "pid": 42, "program": "job", "acquired_at": SINCE,
             "held": 61500, "remaining": 0 if state == DEAD else 29000,
             "attempt": attempt, "session": 7}
    known.update(more)
    return entry(name, more.pop("strategy", 0), state,
                 **{key: value for key, value in known.items() if key != "strategy"})


def waiter(name, place, kind=LOCK, strategy=0):
    return entry(name, strategy, WAITING, kind=kind, place=place, connection=place)


# By name, by state, and so on, these are in different orders.
SIX = [hold("cron/a", DEAD, 1, held=9000, expired=4000, host="db9"),
       hold("cron/b", HELD, 2, held=300000, host="db8"),
       hold("import", HELD, 3, kind=PERMIT, slot=1, held=2000, remaining=9000),
       hold("stock", KEPT, 4, held=5000, remaining=500000),
       entry("row/x", 1, UNKNOWN), entry("row/y", 1, FREE)]
LINE = [waiter("cron/b", 1), waiter("cron/b", 2), waiter("import", 1, PERMIT),
        # They wait for other locks with these names.
        waiter("cron/a", 1, RWLOCK), waiter("stock", 1, strategy=1)]


def names(text):
    """Of the table, in their order."""
    lines = [line.split() for line in text.splitlines()]
    at = next(i for i, words in enumerate(lines) if "NAME" in words)
    column = lines[at].index("NAME")
    return [words[column] for words in lines[at + 1:] if len(words) > 4]


class Batch(ToolTest):
    def setUp(self):
        super().setUp()
        self.fake.answers["list"] = [*SIX, "reply 0"]
        self.fake.answers["waiters"] = [*LINE, "reply 0"]

    def print_once(self, *argv):
        code, out, self.err = self.run_tool("top", "-b", "-n", "1", *argv)
        self.assertEqual(code, 0, self.err)
        return out

    def test_it_is_printed_once_with_how_many_wait(self):
        head, title, *lines = self.print_once().splitlines()
        self.assertEqual(head, "2 held, 1 dead, 1 kept, 5 waiting on fake:1")
        self.assertEqual(title.split(),
                         ["STRATEGY", "NAME", "KIND", "STATE", "HELD", "EXPIRES",
                          "WAITERS", "HOLDER", "INFO"])
        self.assertEqual(
            [line.split()[:8] for line in lines],
            [["lease", "cron/a", "lock", "dead", "9.0s", "4.0s", "ago", "-"],
             ["lease", "cron/b", "lock", "held", "5m00s", "29.0s", "2", "job[42]@db8"],
             ["lease", "import", "permit", "held", "2.0s", "9.0s", "1", "job[42]@db7"],
             ["lease", "stock", "lock", "kept", "5.0s", "8m20s", "-", "job[42]@db7"]])
        self.assertEqual(self.err, "")

    def test_a_state_of_a_newer_library_is_unknown(self):
        self.fake.answers["list"] = [hold("new", 99999999), *SIX, "reply 0"]
        shown = self.print_once("--sort=state")
        self.assertEqual(names(shown)[-1], "new")
        self.assertRegex(shown, r" new +lock +unknown ")
        self.assertTrue(shown.startswith("2 held, 1 dead, 1 kept,"))

    def test_it_is_sorted_as_asked(self):
        for sort, want in (("name", "cron/a cron/b import stock"),
                           ("state", "cron/a stock cron/b import"),
                           ("held", "cron/b cron/a stock import"),
                           ("expires", "cron/a import cron/b stock"),
                           ("waiters", "cron/b import cron/a stock"),
                           ("host", "import stock cron/b cron/a")):
            with self.subTest(sort):
                self.assertEqual(names(self.print_once("--sort", sort)), want.split())
                self.assertEqual(names(self.print_once("--sort", sort, "-r")),
                                 want.split()[::-1])
        code, _, err = self.run_tool("top", "-b", "--sort=size")
        self.assertEqual(code, 125)
        self.assertIn("'size' is not an order", err)

    def test_the_question_is_passed_on(self):
        self.assertEqual(names(self.print_once("--all", "-s", "lease", "c*")),
                         ["cron/a", "cron/b", "import", "row/x", "row/y", "stock"])
        for call in ("list", "waiters"):
            asked = self.fake.expect(call)
            self.assertEqual((asked.text("pattern"), asked.number("row"),
                              asked.number("lease")), ("c*", 0, 1))

    def test_it_is_printed_as_often_as_asked(self):
        self.environment["ROWLOCK_FAKE_PACE"] = "1"
        process = self.start("top", "-b", "-n", "3", "-i", "5")
        for _ in range(2):
            self.fake.expect("pause", ms="5000")
            self.fake.pass_time(5000)
        code, out, _ = self.finish(process)
        self.assertEqual((code, out.count("STRATEGY")), (0, 3))
        self.assertEqual(self.fake.seen.count("list"), 3)

    def test_the_server_s_errors_end_it(self):
        for call in ("list", "waiters"):
            self.fake.answers = {call: [f"reply {ECONNECT} no way"]}
            code, out, err = self.run_tool("top", "-b")
            self.assertEqual((code, out, err), (125, "", "rowlock: no way\n"))

    def test_waiters_that_may_be_missing_are_told(self):
        self.fake.answers["waiters"] = ["reply 0 GRANT it"]
        self.assertIn("0 waiting or more", self.print_once())
        self.assertIn("waiters may be missing: GRANT it", self.err)

    def test_more_than_ten_thousand_are_shown_in_part(self):
        self.fake.answers["list"] = [*(hold(f"n{i:05}", HELD, i)
                                       for i in range(10001)), "reply 0"]
        out = self.print_once("--sort=name")
        self.assertIn("at least 10000 held", out)
        self.assertEqual(names(out)[:10000:9999], ["n00000", "n09999"])
        self.assertIn("This is a part: there is more than 10000", out)

    def test_without_a_terminal_it_says_what_to_give(self):
        code, out, err = self.run_tool("top")
        self.assertEqual((code, out), (125, ""))
        self.assertIn("give -b", err)
        self.assertEqual(self.fake.seen, [])
        for argv in (["-n", "1"], ["a", "b"], ["-i", "1ms"], ["-bn0"]):
            self.assertEqual(self.run_tool("top", *argv)[0], 125, argv)


class BatchOnTerminal(TerminalTest):
    def test_colours_and_columns_are_those_of_list(self):
        self.fake.answers["list"] = [*SIX, "reply 0"]
        shown = self.on_terminal("-b", "-n", "1", command="top")
        self.assertIn("\x1b[31mdead\x1b[0m", shown)
        self.assertNotIn("\x1b", self.on_terminal("-b", "-n", "1", command="top",
                                                  NO_COLOR="1"))


class Screen(WindowTest):
    KEYS = "q quit  b break"

    def setUp(self):
        super().setUp()
        self.fake.answers["list"] = [*SIX, "reply 0"]
        self.fake.answers["waiters"] = [*LINE, "reply 0"]
        self.fake.answers["break"] = ["reply 0"]
        self.environment["ROWLOCK_FAKE_PACE"] = "1"

    def pid(self):
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        with open(f"/proc/{shell}/task/{shell}/children", encoding="ascii") as children:
            return int(children.read().split()[0])

    def next_answer(self, *entries, seconds=2):
        """The rows of the next one, which is asked for then."""
        self.fake.answers["list"] = [*entries, "reply 0"]
        self.fake.pass_time(seconds * 1000)

    def test_all_is_there_at_80_columns(self):
        shown = self.open(until="stock")
        lines = shown.splitlines()
        self.assertEqual(lines[0], "rowlock top: 2 held, 1 dead, 1 kept, 5 waiting "
                         "on fake:1")
        self.assertEqual(lines[1], "1 to 4 of 4 by name")
        self.assertEqual(lines[2].split(), ["NAME", "KIND", "STATE", "HELD", "EXPIRES",
                                            "WAITERS", "HOLDER", "INFO"])
        self.assertEqual(lines[4].split(), ["cron/b", "lease", "held", "5m00s", "29.0s",
                                            "2", "job[42]@db8", "-"])
        self.assertTrue(lines[23].startswith(self.KEYS))

    def test_q_and_signals_give_the_terminal_back(self):
        for end, code in (("q", 0), (signal.SIGTERM, 143), ("C-c", 130),
                          (signal.SIGHUP, 129)):
            with self.subTest(end):
                self.open()
                if isinstance(end, str):
                    self.keys(end)
                else:
                    os.kill(self.pid(), end)
                shown = self.wait_for(f"code={code}")
                self.assertNotIn(self.KEYS, shown)
                for waited in waiting():
                    if os.path.exists(self.code) and os.path.getsize(self.code):
                        break
                with open(self.code, encoding="ascii") as said:
                    said = said.read()
                self.assertRegex(said, r" echo .*")
                self.assertRegex(said, r" icanon")
                os.remove(self.code)
                self.close()

    def test_it_asks_again_and_the_chosen_one_stays_chosen(self):
        self.open("-i", "5")
        self.keys("Down", "Down")
        self.next_answer(hold("a"), *SIX, seconds=5)
        self.wait_for("1 to 5 of 5")
        self.keys("b")
        self.wait_for(r"break 'import' \(lease, with all its holds\) of job\[42\]@db7\?")

    def test_a_hold_is_broken_after_a_yes(self):
        self.open()
        self.keys("Down", "b")
        self.wait_for(r"break 'cron/b' \(lease\) of job\[42\]@db8\? y/N")
        self.keys("y")
        call = self.fake.expect("break")
        self.assertEqual((call.text("name"), call.number("strategy")), ("cron/b", 0))
        self.wait_for(r"'cron/b' \(lease\) was broken")

    def test_any_other_key_breaks_nothing(self):
        self.open()
        for key in ("n", "Enter", "b", "Escape"):
            self.keys("b")
            self.wait_for("break 'cron/a'")
            self.keys(key)
            self.wait_for("'cron/a': nothing was broken", but=("y/N",))
        self.keys("q")
        self.wait_for("code=0")
        self.assertNotIn("break", self.fake.seen)

    def test_another_size_of_the_window_answers_no_question(self):
        self.open()
        self.keys("b")
        self.wait_for("break 'cron/a'")
        for columns in (90, 100, 80):
            self.tmux("resize-window", "-x", str(columns), "-y", "20")
        self.wait_for("break 'cron/a'.*y/N", but=("nothing was broken",))
        self.keys("y")
        self.fake.expect("break")

    def test_another_hold_of_the_name_is_not_broken(self):
        self.open()
        self.keys("b")
        self.wait_for("break 'cron/a'")
        # Its next holder has it.
        self.next_answer(hold("cron/a", HELD, 99), hold("cron/b", HELD, 2))
        self.wait_for("1 to 2 of 2", "break 'cron/a'")
        self.keys("y")
        self.wait_for("'cron/a': nothing was broken: that hold is over")
        self.fake.answers["break"] = [f"reply {ENOTHELD} it is not"]
        self.keys("b", "y")
        self.wait_for("nothing was broken: that hold is over")
        self.fake.answers["break"] = ["reply -13 a DBA may"]
        self.keys("b", "y")
        self.wait_for("a DBA may")
        self.assertEqual(self.fake.seen.count("break"), 2)

    def test_what_became_of_a_break_does_not_hide_the_next_question(self):
        self.fake.answers["break"] = None
        self.open()
        self.keys("b", "y")
        self.fake.expect("break")
        self.keys("Down", "b")
        self.wait_for("break 'cron/b'")
        self.fake.answers["list"] = [*SIX[1:], "reply 0"]
        self.fake.say("reply 0")
        self.wait_for("1 to 3 of 3", "break 'cron/b'", but=("was broken",))
        self.keys("n")
        self.wait_for("'cron/b': nothing was broken")

    def test_what_nobody_holds_is_not_asked_for(self):
        self.fake.answers["list"] = [
            entry("mail", 0, WAITING, kind=CANDIDATE), "reply 0"]
        self.open()
        self.keys("b")
        self.wait_for("'mail' is waiting here: only a hold can be broken")

    def test_keys_sort_and_reverse(self):
        self.open()
        for sort in ("state", "held", "expires", "waiters", "host", "name"):
            self.keys("s")
            self.wait_for(f"by {sort}\n")
        self.keys("r")
        self.assertEqual(names(self.wait_for("by name, reversed").rsplit("\n", 2)[0]),
                         ["stock", "import", "cron/b", "cron/a"])

    def test_a_filter_looks_at_name_and_holder(self):
        self.open()
        self.keys("/", "CRON")
        self.wait_for(r"show what has \(Enter, Esc\): CRON_", "1 to 2 of 2")
        self.keys("BSpace", "BSpace", "BSpace", "BSpace", "@db7", "Enter")
        shown = self.wait_for("by name, with '@db7'", self.KEYS)
        self.assertNotIn("cron", shown)
        self.keys("/", "Escape")
        self.wait_for("1 to 4 of 4 by name\n")

    def test_a_letter_with_the_number_of_a_key_is_a_letter(self):
        self.open()
        # Those of Enter, and of Down.
        self.keys("/", "x\u0157\u0102y")
        self.wait_for("x\u0157\u0102y_")
        self.keys("Escape", "\u0102", "b")
        self.wait_for("break 'cron/a'")

    def test_a_shows_all_names(self):
        self.open()
        self.keys("a")
        self.wait_for("row/x", "row/y")
        self.keys("a")
        self.wait_for("1 to 4 of 4", but=("row/",))

    def test_a_silent_server_keeps_no_key_waiting(self):
        self.open()
        self.fake.answers["list"] = None
        self.fake.pass_time(2000)
        self.fake.expect("list")
        self.fake.pass_time(12000)
        self.wait_for("rowlock top: no answer for 14 s from fake:1")
        self.keys("s", "Down")
        self.wait_for("by state")
        self.keys("b", "y")
        self.wait_for("nothing was broken: the server has not answered")
        self.fake.answers["list"] = [hold("back"), "reply 0"]
        self.fake.say(hold("back"), "listed 0")
        self.wait_for("top: 1 held", "back", but=("no answer",))
        # It ends at once, too.
        self.fake.answers["list"] = None
        self.keys("Space")
        self.fake.expect("list")
        self.keys("q")
        self.wait_for("code=0")

    def test_an_error_stays_until_the_server_is_back(self):
        self.open()
        self.fake.answers["list"] = [f"reply {ECONNECT} it went away"]
        self.fake.pass_time(2000)
        self.wait_for("no answer for 2 s: it went away", "stock")
        self.next_answer(hold("back"))
        self.wait_for("top: 1 held", "back", but=("no answer", "stock"))

    def test_a_first_error_ends_it(self):
        self.fake.answers["new"] = [f"reply {ECONNECT} no way"]
        self.fake.answers["client"] = [f"reply {ECONNECT} no way"]
        self.fake.answers["list"] = [f"reply {ECONNECT} no way"]
        self.assertIn("rowlock: no way", self.open(until="code=125"))

    def test_a_window_may_have_any_size(self):
        long = "a name that is long enough to be cut in the middle of a word"
        self.fake.answers["list"] = [hold(long, info=long, program=long),
                                     *(hold(f"n{i:03}", HELD, i) for i in range(100)),
                                     "reply 0"]
        self.open()
        for columns, lines in ((60, 10), (200, 50), (20, 5), (3, 2), (1, 1), (80, 24)):
            self.tmux("resize-window", "-x", str(columns), "-y", str(lines))
            if columns == 20:
                self.wait_for(r"(?m)\Arowlock top: 101 he[~\u2026]$")
            if columns >= 60:
                rows = lines - 4
                shown = self.wait_for(f"(?m)^1 to {rows} of 101", f"n{rows - 2:03}",
                                      r"(?m)^q quit.*\n*\Z",
                                      but=(f"n{rows - 1:03}",))
                self.assertEqual(len(shown.splitlines()), lines)
        self.keys("End")
        self.wait_for("82 to 101 of 101", "n099")

    def test_ten_thousand_holds_are_paged(self):
        """With texts of a hundred characters."""
        self.fake.answers["list"] = [
            *(hold(f"n{i:05}" + "x" * 94, HELD, i + 1, held=i, info="i" * 100,
                   program="p" * 100, host="h" * 100) for i in range(10001)), "reply 0"]
        self.open(until="at least 10000 held")
        shown = self.wait_for("1 to 20 of 10000 by name; not all were read")
        title, *rows = shown.splitlines()[2:23]
        for row in rows:
            self.assertEqual(row[title.index("STATE"):].split()[0], "held")
            self.assertLessEqual(len(row), 80)
        self.keys("End")
        self.wait_for("9981 to 10000 of 10000", "n09999")
        self.keys("PPage", "Home", "s", "s")
        self.wait_for("by held")
        self.keys("/", "n0123", "Enter")
        self.wait_for("1 to 10 of 10 by held, with 'n0123'")

    def test_texts_of_a_hundred_characters_stay_in_their_columns(self):
        wide = "\u5c71" * 100
        self.fake.answers["list"] = [
            hold("n" * 100, info="i" * 100, host="h" * 100, program="p" * 100),
            hold(wide, info=wide, host=wide, program=wide, attempt=2), "reply 0"]
        shown = self.open(until="nnn")
        _, _, title, first, second, *_ = shown.splitlines()
        at = title.index("STATE")
        self.assertEqual(first[at:at + 4], "held")
        self.assertEqual(re.sub("[\u5c71]", "xx", second)[at:at + 4], "held")
        self.assertIn("\u2026", first)
        self.assertIn("\u2026", second)

    def test_hostile_names_do_not_touch_the_screen(self):
        hostile = ["\x1b[2J\x1b[31m", "tab\tline\nfeed\r", "\u202eabc", "\x9b31m",
                   "\u05e9\u05dc\u05d5\u05dd", "e\u0301" + "\u0301" * 50, "\uffff",
                   "\U0001f512", "\u0378", "%s%n", "\u200d\u200d", "z"]
        self.fake.answers["list"] = [
            *(hold(name, HELD, i, info="INFO") for i, name in enumerate(hostile)),
            entry(b"\xff\xfe\xc0", 0, HELD), "reply 0"]
        shown = self.open(until="(?:[^\n]* held [^\n]*\n){13}")
        lines = shown.splitlines()
        at = lines[2].index("STATE")
        self.assertEqual(len(lines), 24)
        self.assertIn("\\x1b[2J\\x1b[31m", shown)
        self.assertIn("\\u{202e}abc", shown)
        self.assertIn("\\xff\\xfe\\xc0", shown)
        self.assertIn("1 to 13 of 13", lines[1])
        self.assertEqual(lines[16:23], [""] * 7)
        for line in lines[3:16]:
            cells = "".join("xx" if c == "\U0001f512" else c for c in line
                            if c not in "\u0301\u200d")
            self.assertEqual(cells[at:at + 4], "held", line)
        self.keys("Down", "Down", "Down", "b")
        self.wait_for(r"break 'tab\\x09line\\x0afeed\\x0d'")

    def test_in_the_locale_C_other_letters_are_marks(self):
        self.environment["LC_ALL"] = "C"
        self.fake.answers["list"] = [hold("\u00e4\u5c71\u5c71b"), "reply 0"]
        self.assertRegex(self.open(until="lease"), r"(?m)^\?\?\?b +lease +held")

    def test_colours_are_for_terminals_that_have_them(self):
        for more, want in (("", True), ("NO_COLOR=1", False), ("TERM=vt100", False)):
            with self.subTest(more):
                self.window(f"env {more} {CLI} top")
                self.wait_for("stock")
                shown = self.shown("-e")
                self.assertEqual("\x1b[31m" in shown or "\x1b[31;" in shown, want, shown)
                self.assertIn("dead", shown)
                self.close()

    def test_a_terminal_without_a_cursor_is_told_of_b(self):
        for kind in ("dumb", "no-such-terminal"):
            with self.subTest(kind):
                self.window(f"TERM={kind} {CLI} top; echo code=$?")
                shown = self.wait_for("code=125")
                self.assertIn(f"a terminal '{kind}' has no screen", shown)
                self.close()

    def test_ctrl_z_stops_it_and_fg_shows_it_again(self):
        self.environment["PS1"] = "PROMPT> "
        self.window("bash --norc --noprofile -i")
        self.keys(f"{CLI} top", "Enter")
        self.wait_for("stock")
        self.keys("C-z")
        self.wait_for("Stopped", but=("stock",))
        self.tmux("resize-window", "-x", "100", "-y", "12")
        self.keys("fg", "Enter")
        shown = self.wait_for("stock", self.KEYS)
        self.assertEqual(len(shown.splitlines()), 12)
        self.keys("q")
        self.wait_for("PROMPT", but=("stock",))

    def test_behind_the_shell_it_stops_and_draws_nothing(self):
        self.environment["PS1"] = "PROMPT> "
        # It tells at once of a job that stops.
        self.window("bash --norc --noprofile -b -i")
        self.keys(f"{CLI} top &", "Enter")
        self.wait_for("Stopped", but=("stock",))
        self.keys("fg", "Enter")
        self.wait_for("stock", self.KEYS)
        self.keys("C-z")
        self.wait_for("Stopped", but=("stock",))
        self.keys("bg", "Enter")
        self.wait_for(r"(?s)PROMPT> bg.*Stopped", but=("stock",))
        self.keys("fg", "Enter")
        self.wait_for("stock", self.KEYS)
        self.keys("q")
        self.wait_for("PROMPT", but=("stock",))


if __name__ == "__main__":
    harness.main()
