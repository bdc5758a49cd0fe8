# SPDX-License-Identifier: MIT
"""Options, texts, passwords: what is decided before anything is held."""
import fcntl
import os
import re
import signal
import socket
import termios
import unittest

import harness
from harness import (CLI, EBUSY, ENOTHELD, ETIMEDOUT, ECONNECT, EINVAL, MIGRATE,
                     NO_REAPER, REAPERD, ToolTest, entry, waiting)

TOOLS = os.path.join(harness.HERE, "..", "..", "tools")
COMMANDS = ("run", "elect", "hold", "list", "top", "show", "wait", "permits", "ping",
            "doctor", "metrics", "break", "reap")


class Usage(ToolTest):
    def refused(self, *argv, code=125, says="", tool=CLI):
        got, out, err = self.run_tool(*argv, tool=tool)
        self.assertEqual(got, code, err)
        self.assertEqual(out, "")
        self.assertIn(says, err)
        self.assertEqual(self.fake.seen, [], "the server was asked")

    def test_every_command_has_help_and_version(self):
        for command in ((), *((c,) for c in COMMANDS)):
            for option in ("-h", "--help"):
                code, out, err = self.run_tool(*command, option)
                self.assertEqual((code, err), (0, ""))
                self.assertTrue(out.startswith("usage: rowlock"), out)
                self.assertIn("--defaults-group-suffix", out)
            for option in ("-V", "--version"):
                code, out, err = self.run_tool(*command, option)
                self.assertRegex(out, r"^rowlock \d+\.\d+\.\d+\n$")
                self.assertEqual((code, err), (0, ""))
        code, out, _ = self.run_tool("--help", tool=REAPERD)
        self.assertTrue(out.startswith("usage: rowlock-reaperd"))
        code, out, _ = self.run_tool("--version", tool=REAPERD)
        self.assertRegex(out, r"^rowlock-reaperd \d+\.\d+\.\d+\n$")

    def test_help_lines_fit_80_columns(self):
        for command in ((), *((c,) for c in COMMANDS)):
            for line in self.run_tool(*command, "-h")[1].split("\n"):
                self.assertLessEqual(len(line), 79, line)

    def test_every_help_has_two_examples(self):
        for command in COMMANDS:
            out = self.run_tool(command, "-h")[1]
            self.assertRegex(out, f"\n\nExamples:(\n  rowlock {command}.*){{2}}\n\n")
            for option in re.findall(r" (--?\w[\w-]*)", out.partition("Examples:")[2]):
                self.assertRegex(out, f"  {option}[ ,=]|, {option}[ ,=]")

    def test_help_names_every_command(self):
        out = self.run_tool("--help")[1]
        for command in COMMANDS:
            self.assertIn(f"\n  {command}", out)

    def test_help_is_a_command_too(self):
        self.assertEqual(self.run_tool("help"), self.run_tool("--help"))
        for command in COMMANDS:
            self.assertEqual(self.run_tool("help", command),
                             self.run_tool(command, "--help"))

    def test_an_unknown_option_points_to_the_help(self):
        for command in COMMANDS:
            for option in ("--frobnicate", "-Z"):
                self.refused(command, option,
                             code=3 if command == "ping" else 125,
                             says=f"see 'rowlock {command} --help'")
        self.refused("--frobnicate", tool=REAPERD,
                     says="see 'rowlock-reaperd --help'")

    def test_each_line_has_a_priority_for_the_journal(self):
        path = os.path.join(self.directory, "journal")
        for argv, tool, begins in (
                (["break", "j", "-v"], CLI, "<6>rowlock: nobody holds 'j'"),
                (["list"], CLI, "<3>rowlock: no way"),
                (["run", "j", "no-such-command"], CLI,
                 "<3>rowlock: cannot execute 'no-such-command'"),
                (["--no-such-file", "--bogus"], MIGRATE, "<3>rowlock-migrate: "),
                (["list", "--bogus"], CLI, "<3>rowlock: list: "),
                (["--bogus"], REAPERD, "<3>rowlock-reaperd: unrecognized")):
            with self.subTest(argv=argv), open(path, "w+", encoding="utf-8") as file:
                stat = os.fstat(file.fileno())
                self.environment["JOURNAL_STREAM"] = f"{stat.st_dev}:{stat.st_ino}"
                self.fake.answers = {"break": [f"reply {ENOTHELD}"],
                                     "list": [f"reply {ECONNECT} no way"]}
                self.run_tool(*argv, tool=tool, stderr=file)
                file.seek(0)
                self.assertIn("\n" + begins, "\n" + file.read())
        # It is somebody else's.
        self.assertTrue(self.run_tool("list")[2].startswith("rowlock: "))

    def test_a_wait_that_is_no_number_is_named(self):
        self.refused("--wait", "1m", tool=MIGRATE,
                     says="--wait: '1m' is not a number of seconds up to 99999")

    def test_no_or_unknown_command_is_refused(self):
        for command in ("run", "list", "show", "wait", "break"):
            self.refused(says=f"\n  rowlock {command} ")
        self.refused("frobnicate", says="'frobnicate' is not a command")
        self.refused("help", "frobnicate", says="'frobnicate' is not a command")
        self.refused("--frobnicate", says="rowlock --help")

    def test_what_may_be_meant_is_suggested(self):
        for word, meant in (("lisst", "list"), ("Show", "show"), ("lock", "run"),
                            ("ls", "list"), ("status", "list"), ("ps", "list"),
                            ("release", "break")):
            self.refused(word, "x", says=f"did you mean '{meant}' (")
        self.refused("nightly", "--", "true", says="'rowlock run nightly ...'")
        for argv, meant in ((["run", "--nonblok", "x", "true"], "nonblock"),
                            (["run", "x", "--wiat=1", "true"], "wait"),
                            (["run", "--shared", "x", "true"], "read"),
                            (["list", "--tls-unverifyed"], "tls-unverified"),
                            (["--verbos", "lists"], "")):
            self.refused(*argv, says=f"did you mean '--{meant}'?" if meant else "")
        self.refused("--intervall=1", tool=REAPERD,
                     says="did you mean '--interval'?")
        self.refused("--databse=x", tool=MIGRATE,
                     says="did you mean '--database'?")

    def test_a_time_that_is_none_is_told_what_one_is(self):
        for argv in (["run", "-w"], ["run", "-t"], ["run", "--retry-connect"],
                     ["wait", "-w"], ["elect", "--preempt-after"],
                     ["reap", "--timeout"]):
            self.refused(*argv, "1w", "x", says="'1w' is not a time: write 30s,")

    def test_wrong_arguments_are_refused_before_the_server_is_asked(self):
        for argv in (["run"], ["run", "x"], ["run", "x", "--"],
                     ["run", "-c", "true", "x", "true"],
                     ["run", "-s", "both", "x", "true"],
                     ["run", "-w", "soon", "x", "true"],
                     ["run", "-w", "-1", "x", "true"],
                     ["run", "-w", "1 s", "x", "true"],
                     ["run", "-w", "", "x", "true"],
                     ["run", "-w", ".", "x", "true"],
                     ["run", "-w", "99999999999999999999", "x", "true"],
                     ["run", "-t", "0", "x", "true"],
                     ["run", "-t", "2d", "x", "true"],
                     ["run", "-t", "999ms", "x", "true"],
                     ["run", "-t", "25h", "x", "true"],
                     ["run", "-t", "1s", "-s", "row", "x", "true"],
                     ["run", "x", "-s", "row", "-t", "2h", "true"],
                     ["elect", "-t", "1ms", "x", "true"],
                     ["run", "--no-supervise", "--release-exit-code=3", "x",
                      "true"],
                     ["run", "-t", "0.5", "x", "true"],
                     ["run", "-t", "25h", "x", "true"],
                     ["run", "-t", "2.5", "-s", "row", "x", "true"],
                     ["run", "-s", "row", "x", "-t", "1", "true"],
                     ["run", "-s", "row", "x", "-t", "61m", "true"],
                     ["run", "-E", "256", "x", "true"],
                     ["run", "-E", "-1", "x", "true"],
                     ["run", "--frobnicate", "x", "true"],
                     ["run", "x", "-z", "--", "true"],
                     ["run", "--at-least=0", "x", "true"],
                     ["run", "--max=0", "x", "true"],
                     ["run", "--max=999ms", "x", "true"],
                     ["run", "--max=31d", "x", "true"],
                     ["run", "--max=1h", "--read", "x", "true"],
                     ["run", "--max=1s", "--at-least=2s", "x", "true"],
                     ["run", "--at-least=31d", "x", "true"],
                     ["run", "--at-least=soon", "x", "true"],
                     ["run", "--at-least=1s", "-s", "row", "x", "true"],
                     ["run", "--delay-after-loss=0", "x", "true"],
                     ["run", "--delay-after-loss=31d", "x", "true"],
                     ["run", "--delay-after-loss=1s", "-s", "row", "x", "true"],
                     ["run", "--delay-after-loss=1s", "--read", "x", "true"],
                     ["run", "--delay-after-loss=1s", "--also=b", "x", "true"],
                     ["run", "--delay-after-loss=1s", "--at-least=1s", "x", "true"],
                     ["run", "--at-least=1s", "--read", "x", "true"],
                     ["run", "--at-least=1s", "--write", "x", "true"],
                     ["run", "--at-least=1s", "--permits=2", "x", "true"],
                     ["run", "--at-least=1s", "--also=b", "x", "true"],
                     ["list", "a", "b"], ["list", "-s", "both"],
                     ["show"], ["show", "a", "b"], ["wait"],
                     ["wait", "-w", "x", "n"], ["break"],
                     ["reap", "x"], ["reap", "-b", "0"],
                     ["reap", "--batch", "501"],
                     ["reap", "--timeout", "0"],
                     ["reap", "--observe-beats"],
                     ["list", "--connect-timeout", "1ms"]):
            with self.subTest(argv):
                self.refused(*argv)
        for argv in (["-i", "1ms"], ["-i", "25h"], ["-b", "0"], ["x"],
                     ["--once", "--observe-beats"], ["--frobnicate"]):
            with self.subTest(argv):
                self.refused(*argv, tool=REAPERD)

    def test_wrong_usage_is_one_number_in_all_programs(self):
        for tool in (CLI, REAPERD, MIGRATE):
            for argv in (["--frobnicate"], ["--dsn"], ["frobnicate"]):
                with self.subTest(tool, argv=argv):
                    self.refused(*argv, tool=tool)
        for page in ("rowlock.1", "rowlock-reaperd.8", "rowlock-migrate.8"):
            with open(os.path.join(TOOLS, "man",
                                   page + ".scd"), encoding="utf-8") as text:
                self.assertRegex(text.read(), r"\n\*125\*\n\tWrong use")

    def test_ctrl_c_at_the_question_for_a_password_gives_the_echo_back(self):
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        self.environment["ROWLOCK_DSN"] = "host=127.0.0.1;port=1;user=x"
        process = self.start(
            "--database=x", "-p", tool=MIGRATE, stdin=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.assertEqual(process.stderr.read(len("Password: ")), "Password: ")
        for _ in waiting():
            if not termios.tcgetattr(slave)[3] & termios.ECHO:
                break
        os.write(master, b"\x03")
        self.assertEqual(self.finish(process)[0], -signal.SIGINT)
        self.assertTrue(termios.tcgetattr(slave)[3] & termios.ECHO)

    def test_a_password_on_the_command_line_is_refused(self):
        for dsn in ("host=a;password=x", "password={x}", "PASSWORD=x",
                    " passwd = x", "host={a;b};pwd=x", "a=1; pwd=x", "a=1;ssl_passphrase=x",
                    "host=a;;password=x", "tls-passphrase=x",
                    "database=a{b;password=x", "user=a}b{;pwd=x;db=c}",
                    "database={a}}b};password=x"):
            with self.subTest(dsn):
                self.refused("list", f"--dsn={dsn}", says="ROWLOCK_DSN")
                self.refused(f"--dsn={dsn}", tool=REAPERD,
                             says="ROWLOCK_DSN")

    def test_a_password_that_is_an_option_is_not_shown(self):
        for tool, *argv in ((CLI, "list"), (CLI, "run", "x", "--"), (REAPERD,)):
            for option in (["--password=sEcReT"], ["--passwor=sEcReT"],
                           ["--password", "sEcReT"], ["--password"]):
                code, _, err = self.run_tool(*argv[:1], *option, *argv[1:],
                                             tool=tool)
                self.assertEqual(code, 125)
                self.assertIn("--password: none on the command line", err)
                self.assertNotIn("sEcReT", err)

    def test_a_dsn_without_a_password_is_passed_on(self):
        for dsn in ("host=a;user=b", "host={password=x};user=b",
                    "database={a;password=b}", "user= {a}};password=b}"):
            with self.subTest(dsn):
                self.run_tool("list", f"--dsn={dsn}")
                call = self.fake.expect("client_new")
                self.assertEqual(call.text("dsn"), dsn)
                self.assertIsNone(call.text("file"))
                self.assertIsNone(call.text("group"))


class Connection(ToolTest):
    def connect(self, *argv):
        code, _, err = self.run_tool("list", *argv)
        self.assertEqual(code, 0, err)
        return self.fake.expect("client_new"), err

    def test_without_anything_the_standard_option_files_are_read(self):
        call, _ = self.connect()
        self.assertEqual([call.text(k) for k in ("dsn", "file", "group")],
                         [None, None, None])
        self.assertEqual(call.number("flags"), NO_REAPER)

    def test_options_may_stand_before_the_command(self):
        code, _, err = self.run_tool("--defaults-file=/f", "--single-writer",
                                     "list", "--tls-unverified",
                                     "--observe-beats",
                                     "--unverified-auth=dialog,parsec",
                                     "--connect-timeout=1.5")
        self.assertEqual(code, 0, err)
        call = self.fake.expect("client_new")
        self.assertEqual(call.text("auth"), "dialog,parsec")
        self.assertEqual(call.text("file"), "/f")
        self.assertEqual(call.number("flags"), 7 | NO_REAPER)
        self.assertEqual(call.number("connect"), 1500)

    def test_what_says_where_option_files_are_is_handed_over(self):
        call, _ = self.connect("--defaults-file=/f",
                               "--defaults-group-suffix=_two")
        self.assertEqual([call.text(k) for k in ("file", "group", "suffix")],
                         ["/f", None, "_two"])
        call, _ = self.connect("--no-defaults", "--dsn=host=x")
        self.assertEqual((call.text("dsn"), call.number("flags")),
                         ("host=x", 8 | NO_REAPER))

    def test_a_failing_server_is_told_and_ends_with_125(self):
        self.fake.answers["client_new"] = [
            f"reply {ECONNECT} cannot reach db1:3306"]
        for argv in (["run", "x", "true"], ["list"], ["show", "x"],
                     ["wait", "x"], ["break", "x"], ["reap"]):
            with self.subTest(argv):
                code, out, err = self.run_tool(*argv)
                self.assertEqual((code, out), (125, ""))
                self.assertIn("cannot reach db1:3306", err)

    def test_what_the_library_says_is_put_into_the_words_of_the_command(self):
        for said, told in (
                ("set ROWLOCK_TLS_UNVERIFIED", "give --tls-unverified"),
                ("use lease, or ROWLOCK_SINGLE_WRITER if only",
                 "use lease, or --single-writer if only"),
                ("(mysql_clear_password), allow it (unverified_auth)",
                 "(mysql_clear_password), allow it (--unverified-auth)"),
                ("told that by itself, so give ROWLOCK_TLS_UNVERIFIED instead",
                 "told that by itself, so give --tls-unverified instead"),
                ("so give ROWLOCK_OBSERVE_BEATS instead",
                 "so give --observe-beats instead"),
                ("client option unverified_auth: names of",
                 "--unverified-auth: names of"),
                ("name it in the dsn (database=...) or the option file",
                 "name it (database=...) in ROWLOCK_DSN, --dsn or the option "
                 "file"),
                ("change it there (rowlock_semaphore_resize(), or UPDATE "
                 "lock_permits)", "change it there by 'rowlock permits'"),
                # Not what somebody else has written.
                ("lock 'ROWLOCK_SINGLE_WRITER' is held",
                 "lock 'ROWLOCK_SINGLE_WRITER' is held"),
                ("MY_ROWLOCK_SINGLE_WRITER", "MY_ROWLOCK_SINGLE_WRITER"),
                ("ROWLOCK_SINGLE_WRITERS", "ROWLOCK_SINGLE_WRITERS")):
            with self.subTest(said):
                self.fake.answers["client_new"] = [f"reply {ECONNECT} {said}"]
                self.assertEqual(self.run_tool("list"),
                                 (125, "", f"rowlock: {told}\n"))
                code, _, err = self.run_tool("--once", tool=REAPERD)
                self.assertEqual(code, 1)
                self.assertIn(told, err)

    def test_messages_cannot_steer_a_terminal(self):
        self.fake.answers["client_new"] = [
            f"reply {ECONNECT} a\x1b[31mb\u009bc\u202ed\u00e9"]
        _, _, err = self.run_tool("list")
        self.assertEqual(err, "rowlock: a\\x1b[31mb\\u{009b}c\\u{202e}d"
                              "\u00e9\n")


class RunOptions(ToolTest):
    def acquired_with(self, *argv):
        code, _, err = self.run_tool("run", *argv)
        self.assertEqual(code, 0, err)
        return (self.fake.expect("client_new"), self.fake.expect("new"),
                self.fake.expect("acquire"))

    def test_defaults_are_lease_and_to_wait_for_ever(self):
        client, lock, acquire = self.acquired_with("job", "--", "true")
        self.assertEqual(client.number("ttl"), 30000)
        self.assertEqual(client.text("program"), "rowlock run true")
        self.assertEqual(lock.text("name"), "job")
        self.assertEqual(lock.number("strategy"), 0)
        self.assertIsNone(lock.text("info"))
        self.assertEqual(acquire.number("wait"), 2**64 - 1)

    def test_options_are_flocks_and_may_follow_the_name(self):
        for argv in (["-n", "job", "true"], ["--nb", "job", "true"],
                     ["--nonblock", "job", "--", "true"],
                     ["job", "-n", "true"], ["job", "-n", "--", "true"],
                     ["job", "-nc", "true"], ["-w", "0", "job", "true"]):
            with self.subTest(argv):
                self.assertEqual(
                    self.acquired_with(*argv)[2].number("wait"), 0)

    def test_times_are_seconds_with_fractions_or_suffixes(self):
        for text, ms in (("1", 1000), ("0.25", 250), (".5", 500),
                         ("2.", 2000), ("0.0001", 1), ("1500ms", 1500),
                         ("2s", 2000), ("1.5m", 90000), ("2h", 7200000),
                         ("1d", 86400000),
                         ("1.0000000001", 1001)):
            for option in ("-w", "--wait", "--timeout"):
                acquire = self.acquired_with(option, text, "j", "true")[2]
                self.assertEqual(acquire.number("wait"), ms, text)

    def test_the_ttl_is_the_leases_or_the_rows_idle_bound(self):
        client, lock, _ = self.acquired_with("-t", "5m", "j", "true")
        self.assertEqual(client.number("ttl"), 300000)
        self.assertEqual(client.number("idle"), 10000)
        client, lock, _ = self.acquired_with("-s", "row", "--ttl=4", "j",
                                             "true")
        self.assertEqual(client.number("ttl"), 30000)
        self.assertEqual(client.number("idle"), 4000)
        self.assertEqual(lock.number("strategy"), 1)

    def test_the_time_to_keep_a_name_is_passed_on(self):
        self.assertEqual(self.acquired_with("--at-least=10s", "j", "true")[1]
                         .number("at_least"), 10000)
        self.assertEqual(self.acquired_with("j", "true")[1]
                         .number("at_least"), 0)

    def test_the_delay_after_a_loss_is_passed_on(self):
        self.assertEqual(self.acquired_with("--delay-after-loss=15s", "j", "true")[1]
                         .number("delay"), 15000)
        self.assertEqual(self.acquired_with("j", "true")[1]
                         .number("delay"), 0)

    def test_the_longest_time_of_a_hold_is_passed_on(self):
        lock = self.acquired_with("--max=2h", "--at-least=2h", "j", "true")[1]
        self.assertEqual(lock.number("max"), 7200000)
        self.assertEqual(self.acquired_with("j", "true")[1].number("max"), 0)

    def test_info_is_passed_on(self):
        lock = self.acquired_with("--info=why not", "j", "true")[1]
        self.assertEqual(lock.text("info"), "why not")

    def test_an_info_that_a_row_does_not_take_is_told(self):
        self.fake.answers["list"] = [entry("j", 1, 3, info="the first"),
                                     "reply 0"]
        for argv, told in ((["--info=why", "-s", "row"], "the first"),
                           (["--info=the first", "-s", "row"], ""),
                           (["--info=why"], ""), (["-s", "row"], "")):
            code, _, err = self.run_tool("run", *argv, "j", "true")
            self.assertEqual(code, 0)
            self.assertEqual(err, "rowlock: run: --info: under row 'j' keeps "
                             "the one that it was made with: 'the first'\n"
                             if told else "")
        self.fake.answers["list"] = [f"reply {ECONNECT} away"]
        self.assertEqual(self.run_tool("run", "--info=why", "-s", "row", "j",
                                       "true"), (0, "", ""))

    def test_the_commands_own_options_are_left_alone(self):
        code, out, err = self.run_tool("run", "j", "echo", "-n", "-w", "x")
        self.assertEqual((code, out), (0, "-w x"), err)
        code, out, err = self.run_tool("run", "j", "--", "echo", "--", "-v")
        self.assertEqual((code, out), (0, "-- -v\n"), err)

    def test_not_acquired_is_1_or_the_code_of_E(self):
        for reply in (EBUSY, ETIMEDOUT):
            self.fake.answers["acquire"] = [f"reply {reply} held by db7"]
            self.assertEqual(self.run_tool("run", "-n", "j", "true"),
                             (1, "", ""))
            self.assertEqual(self.run_tool("run", "-nE", "75", "j", "true"),
                             (75, "", ""))
            self.assertEqual(self.run_tool("run", "-n", "-E0", "j", "true"),
                             (0, "", ""))
            code, _, err = self.run_tool("run", "-nv", "j", "true")
            self.assertEqual(code, 1)
            self.assertIn("held by db7", err)

    def test_refused_names_and_options_are_125(self):
        self.fake.answers["new"] = [f"reply {EINVAL} no such thing"]
        code, _, err = self.run_tool("run", "-E", "5", "j", "true")
        self.assertEqual(code, 125)
        self.assertIn("no such thing", err)


class Harness(ToolTest):
    def test_the_fake_does_not_end_with_a_tool_that_is_gone(self):
        tool = socket.socket(socket.AF_UNIX)
        tool.connect(self.fake.path)
        tool.sendall(b"lock_new\n")
        self.fake.expect("lock_new")
        tool.close()
        # The first is lost; the second would be the SIGPIPE.
        for _ in range(2):
            self.fake.say("reply 0")


if __name__ == "__main__":
    harness.main()
