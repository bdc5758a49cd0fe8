# SPDX-License-Identifier: MIT
"""What is said while a command waits for its lock."""
import os
import pty
import select
import signal

import harness
from harness import CLI, EBUSY, ECONNECT, ToolTest, entry, patience


class Waiting(ToolTest):
    HOLDERS = [entry("j", 0, 0, host="db7", pid=42, program="job", held=61500,
                     acquired_at="2026-11-20 12:00:00.000000", info="of a"),
               entry("j", 0, 0, slot=1, host="db8", pid=43, program="job",
                     held=1, acquired_at="2026-11-20 12:01:00.000000", kind=3),
               entry("j", 0, 4, slot=2, kind=4),
               "reply 0"]

    def test_a_verbose_wait_says_who_is_in_the_way(self):
        self.fake.answers["acquire"] = None
        self.fake.answers["list"] = self.HOLDERS
        process = self.start("run", "-v", "j", "true")
        line = process.stderr.readline()
        self.assertRegex(line, r"^rowlock: run: waiting for 'j' for \d\.\ds: "
                         r"held for 1m0\ds by job\[42\]@db7 \(of a\)\n$")
        call = self.fake.expect("list")
        self.assertEqual((call.text("name"), call.number("lease"),
                          call.number("row"), call.number("probe")),
                         ("j", 1, 0, 0))
        self.fake.say("reply 0")
        code, _, err = self.finish(process)
        self.assertEqual(code, 0)
        self.assertRegex(err, r"acquired 'j' \(lease, token 4711\) on fake:1 after "
                         r"\d+\.\ds\n")

    def wait_in_line(self, *argv):
        """Start it; until it waits."""
        self.environment["ROWLOCK_FAKE_PACE"] = "1"
        self.fake.answers = {"acquire": None, "waiters": None,
                             "list": self.HOLDERS}
        process = self.start(*argv)
        self.fake.expect("acquire")
        return process

    def line(self, process):
        """The next one, for which a look at the server is answered."""
        while not select.select([process.stderr], [], [], 0.02)[0]:
            self.fake.pass_time(1)
        return process.stderr.readline()

    def place(self, process, place, reply="listed 0"):
        """Answer the next look at the line: we stand there as number @place,
        behind others, some of which have our number on another host; 0: we do
        not stand there. Returns what is printed."""
        self.fake.pass_time(10000)
        self.fake.expect("waiters", lease="1", row="0")
        ours = os.uname().nodename
        self.fake.say(*(entry("j", 0, 4, host=ours if at == place else "db7",
                              pid=process.pid, program="rowlock", place=at)
                        for at in range(1, place + 1)), reply)
        return self.line(process)

    def test_a_verbose_wait_says_the_place_in_line_as_it_changes(self):
        process = self.wait_in_line("run", "-v", "j", "true")
        self.assertRegex(self.place(process, 3), r"^rowlock: run: waiting for "
                         r"'j' for \d+\.\ds, third in line: held for 1m")
        self.assertIn(", number 11 in line: held ", self.place(process, 11))
        self.assertRegex(self.place(process, 0), r"for \S+: held ")
        self.assertIn(", first in line: held ", self.place(process, 1))
        self.fake.say("reply 0")
        self.assertEqual(self.finish(process)[0], 0)

    def test_a_place_that_is_not_shown_is_told_and_asked_for_once(self):
        process = self.wait_in_line("hold", "-v", "j")
        unseen = "account a may not see the connections of others: GRANT P"
        self.assertEqual(self.place(process, 2, f"listed 0 {unseen}"),
                         "rowlock: hold: not all that wait for 'j' may be "
                         f"seen: {unseen}\n")
        later = ", second or later in line: held "
        self.assertIn(later, process.stderr.readline())
        self.assertIn(later, self.place(process, 2, f"listed 0 {unseen}"))
        self.assertNotIn("in line", self.place(process, 0, f"listed 0 {unseen}"))
        self.fake.pass_time(10000)
        self.assertNotIn("in line", self.line(process))
        self.assertEqual(self.fake.seen.count("waiters"), 3)

    def test_a_place_is_asked_for_only_where_there_is_one_and_by_v(self):
        for argv in (["run", "-v", "--also=k", "j", "true"],
                     ["elect", "-v", "--weight=3", "j", "true"],
                     ["wait", "-v", "j"]):
            with self.subTest(argv=argv):
                self.fake.seen.clear()
                self.fake.answers = {"acquire": None, "list": self.HOLDERS}
                process = self.start(*argv)
                self.assertIn("waiting for", process.stderr.readline())
                process.terminate()
                self.assertEqual(self.finish(process)[0], -signal.SIGTERM)
                self.assertNotIn("waiters", self.fake.seen)

    def test_a_verbose_run_says_who_has_another_lock_of_the_name(self):
        self.fake.answers["list"] = self.HOLDERS
        for argv, other in ((["-v"], "job\\[43\\]@db8"), (["-v", "--read"],
                            "job\\[42\\]@db7 \\(of a\\), and by 1 more")):
            err = self.run_tool("run", *argv, "j", "true")[2]
            self.assertRegex(err, "the other locks named 'j' on fake:1, of which one "
                             rf"is held for .* by {other}; see --read")
        self.assertEqual(self.run_tool("run", "--read", "j", "true"), (0, "", ""))

    def test_a_holder_that_cannot_be_asked_for_costs_no_signal(self):
        self.fake.answers["acquire"] = None
        self.fake.answers["list"] = None
        process = self.start("run", "-v", "j", "true")
        self.fake.expect("list")
        process.terminate()
        self.fake.expect("cancel")
        self.fake.say("listed 0")
        self.assertEqual(self.finish(process)[0], -signal.SIGTERM)

    def test_who_is_refused_is_told_who_holds_it(self):
        self.fake.answers["acquire"] = [f"reply {EBUSY} is held by another"]
        self.fake.answers["list"] = self.HOLDERS
        code, _, err = self.run_tool("run", "-nv", "j", "true")
        self.assertEqual(code, 1)
        self.assertRegex(err, r"^rowlock: run: is held by another; now held "
                         r"for 1m0\ds by job\[42\]@db7 \(of a\)\n$")
        self.fake.answers["list"] = [*self.HOLDERS[:2], self.HOLDERS[1],
                                     "reply 0"]
        err = self.run_tool("run", "-nv", "--permits=3", "j", "true")[2]
        self.assertRegex(err, r"held for 0\.\ds by job\[43\]@db8, and by 1 "
                         r"more\n$")
        self.fake.answers["list"] = [entry("j", 1, 3), "reply 0"]
        err = self.run_tool("run", "-nv", "-s", "row", "j", "true")[2]
        self.assertIn("; now held, and this account is not told by whom", err)
        self.fake.answers["list"] = [f"reply {ECONNECT} cut"]
        err = self.run_tool("run", "-nv", "j", "true")[2]
        self.assertEqual(err, "rowlock: run: is held by another\n")

    def test_a_wait_for_a_name_says_so_too(self):
        self.fake.answers["list"] = self.HOLDERS
        process = self.start("wait", "-v", "j")
        self.assertRegex(process.stderr.readline(),
                         r"^rowlock: wait: waiting for 'j' for \d\.\ds: "
                         r"held for 1m0\ds by job\[42\]@db7 \(of a\), ")
        self.fake.answers["list"] = ["reply 0"]
        code, _, err = self.finish(process)
        self.assertEqual(code, 0)
        self.assertRegex(err, r"rowlock: wait: waited \d+\.\ds for 'j' on fake:1; "
                         r"now free\n$")

    def test_a_wait_that_is_given_up_says_who_has_it_then(self):
        self.fake.answers["list"] = self.HOLDERS
        code, _, err = self.run_tool("wait", "-v", "-w", "0", "j")
        self.assertEqual(code, 1)
        self.assertRegex(err, r"^rowlock: wait: waited 0\.\ds for 'j' on "
                         r"fake:1; now held for 1m0\ds by job\[42\]@db7 ")
        self.fake.answers["acquire"] = [f"reply {EBUSY} is held by another"]
        self.fake.answers["list"] = [entry("j", 1, 3), "reply 0"]
        code, _, err = self.run_tool("wait", "-vs", "row", "-w", "0", "j")
        self.assertEqual(code, 1)
        self.assertRegex(err, r"^rowlock: wait: waited 0\.\ds for 'j' on "
                         r"fake:1; now held, and this account is not told")
        self.fake.answers["acquire"] = ["reply 0"]
        err = self.run_tool("wait", "-vs", "row", "j")[2]
        self.assertRegex(err, r"^rowlock: wait: waited 0\.\ds for 'j' on "
                         r"fake:1; now free\n$")

    def test_on_a_terminal_it_is_one_line_that_goes_away(self):
        self.fake.answers["acquire"] = None
        self.fake.answers["list"] = self.HOLDERS
        pid, master = pty.fork()
        if pid == 0:
            os.execvpe(CLI, [CLI, "run", "j", "echo", "done"],
                       dict(self.environment, LC_ALL="C.UTF-8", COLUMNS="60"))
        text = self.read(master, "\u2026")
        self.assertRegex(text, r"^waiting for 'j' for \d\.\ds: "
                         r"held for 1m0\ds by job\[42")
        self.assertEqual(len(text), 59)
        self.fake.say("reply 0")
        text = self.read(master, "done")
        status = os.waitpid(pid, 0)[1]
        os.close(master)
        self.assertRegex(text, r"\r {59}\r$")
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)

    def test_a_signal_leaves_no_line_behind(self):
        for argv, silent, sent, code in (
                (["wait", "j"], None, signal.SIGINT, -signal.SIGINT),
                (["wait", "j"], None, signal.SIGTERM, -signal.SIGTERM),
                (["wait", "-s", "row", "j"], "acquire", signal.SIGINT,
                 -signal.SIGINT),
                (["run", "j", "true"], "acquire", signal.SIGINT,
                 -signal.SIGINT),
                (["run", "j", "true"], "client_new", signal.SIGINT,
                 -signal.SIGINT)):
            with self.subTest(argv=argv, silent=silent, sent=sent):
                self.fake.answers = {"list": self.HOLDERS}
                if silent:
                    self.fake.answers[silent] = None
                pid, master = pty.fork()
                if pid == 0:
                    # It may be ignored, and so be by what is executed.
                    signal.signal(signal.SIGINT, signal.SIG_DFL)
                    os.execvpe(CLI, [CLI, *argv],
                               dict(self.environment, COLUMNS="60"))
                self.read(master, "waiting for 'j' for ")
                os.kill(pid, sent)
                text = self.read_to_its_end(master)
                status = os.waitpid(pid, 0)[1]
                os.close(master)
                self.assertEqual(os.waitstatus_to_exitcode(status), code)
                self.assertRegex(text, r"\r +\r$")

    def read_to_its_end(self, master):
        text = b""
        while True:
            if not select.select([master], [], [], patience())[0]:
                self.fail(f"waited for the end of {text!r}")
            try:
                text += os.read(master, 65536)
            except OSError:  # nobody has it open any more
                return text.decode()

    def read(self, master, end):
        """What the terminal shows before @end."""
        text = ""
        while end not in text:
            if not select.select([master], [], [], patience())[0]:
                self.fail(f"waited for {end!r} in {text!r}")
            text += os.read(master, 65536).decode()
        before, _, _ = text.partition(end)
        return before + (end if end == "\u2026" else "")


if __name__ == "__main__":
    harness.main()
