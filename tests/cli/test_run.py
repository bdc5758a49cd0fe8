# SPDX-License-Identifier: MIT
"""rowlock run: the command, its signals, its end, and the loss of the lock."""
import os
import re
import resource
import signal
import stat
import subprocess
import sys

import harness
from harness import (CLI, ECONNECT, EDB, ELOST, MIGRATE, ToolTest, patience,
                     slack, waiting)


class Status(ToolTest):
    def test_the_commands_own_status_is_passed_on(self):
        for code in (0, 1, 3, 124, 255):
            self.assertEqual(
                self.run_tool("run", "j", "sh", "-c", f"exit {code}")[0],
                code)
        self.assertEqual(self.fake.seen.count("release"), 5)

    def test_a_signal_that_ends_the_command_is_128_and_its_number(self):
        for name in ("TERM", "KILL", "SEGV", "HUP"):
            code, _, _ = self.run_tool("run", "j", "sh", "-c",
                                       f"ulimit -c 0; kill -{name} $$")
            self.assertEqual(code, 128 + getattr(signal, "SIG" + name))

    def crash(self, process):
        """Whether it left a core file behind."""
        os.kill(process.pid, signal.SIGABRT)
        _, status = os.waitpid(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, -signal.SIGABRT)
        return os.WCOREDUMP(status)

    def test_no_core_file_can_hold_the_password(self):
        before = resource.getrlimit(resource.RLIMIT_CORE)
        try:
            resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
        except ValueError:
            self.skipTest("no core file may be made here")
        self.addCleanup(resource.setrlimit, resource.RLIMIT_CORE, before)
        plain = self.start("60", tool="sleep", cwd=self.directory)
        if not self.crash(plain):
            self.skipTest("this machine makes no core files")
        fifo = self.fifo()
        process = self.start("run", "j", "sh", "-c", f"echo >{fifo}; sleep 60",
                             cwd=self.directory)
        with open(fifo, encoding="ascii") as job:
            job.read()
        self.assertFalse(self.crash(process))
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        process = self.start("-Dx", "-p", tool=MIGRATE, stdin=slave,
                             cwd=self.directory)
        self.assertEqual(process.stderr.read(len("Password: ")), "Password: ")
        self.assertFalse(self.crash(process))

    def test_a_command_that_does_not_exist_is_127_and_the_lock_is_free(self):
        code, _, err = self.run_tool("run", "j", "/nonexistent/job")
        self.assertEqual(code, 127)
        self.assertIn("'/nonexistent/job': No such file", err)
        self.assertIn("release", self.fake.seen)

    def test_a_command_whose_name_is_not_UTF_8_is_run(self):
        name = b"s\xfc\xc3\xbc\n"
        path = os.path.join(os.fsencode(self.directory), name)
        os.symlink("/bin/true", path)
        self.assertEqual(self.run_tool("run", "j", path), (0, "", ""))
        self.assertEqual(self.fake.expect("client_new").text("program"),
                         "rowlock run s?\xfc?")

    def test_a_command_whose_name_is_long_is_run(self):
        path = os.path.join(self.directory, "\u20ac" * 85)
        os.symlink("/bin/true", path)
        self.assertEqual(self.run_tool("run", "j", path), (0, "", ""))
        self.assertEqual(self.fake.expect("client_new").text("program"),
                         "rowlock run " + "\u20ac" * 81)

    def test_a_command_that_is_not_executable_is_126(self):
        path = os.path.join(self.directory, "job")
        with open(path, "w", encoding="utf-8") as out:
            out.write("#!/bin/sh\n")
        code, _, err = self.run_tool("run", "j", path)
        self.assertEqual(code, 126)
        self.assertIn("Permission denied", err)
        self.assertEqual(self.run_tool("run", "j", self.directory)[0], 126)

    def test_a_script_without_an_interpreter_line_is_run_by_the_shell(self):
        path = os.path.join(self.directory, "job")
        with open(path, "w", encoding="utf-8") as out:
            out.write("exit 9\n")
        os.chmod(path, stat.S_IRWXU)
        self.assertEqual(self.run_tool("run", "j", path)[0], 9)

    def test_c_runs_a_shell_command_by_SHELL(self):
        code, out, _ = self.run_tool("run", "j", "-c", "echo $0 one; exit 4")
        self.assertEqual((code, out), (4, "/bin/sh one\n"))
        self.environment["SHELL"] = "/bin/echo"
        self.assertEqual(self.run_tool("run", "j", "-c", "text")[1],
                         "-c text\n")

    def test_a_failed_release_is_told_and_by_exit_code_if_asked_for(self):
        self.fake.answers["release"] = [f"reply {ECONNECT} server gone"]
        for argv, code, span in (([], 3, "30.0s"),
                                 (["-t", "5m"], 3, "5m00s"),
                                 (["--at-least=1h"], 3, "1h00m"),
                                 (["--at-least=9s"], 3, "30.0s"),
                                 (["--delay-after-loss=1h"], 3, "1h00m"),
                                 (["-s", "row"], 3, "10.0s"),
                                 (["--release-exit-code=77"], 77, "30.0s")):
            self.assertEqual(
                self.run_tool("run", *argv, "j", "sh", "-c", "exit 3"),
                (code, "", f"rowlock: run: 'j' stays locked for up to {span}: "
                 "server gone\n"))
        self.fake.answers["release"] = ["reply 0"]
        self.assertEqual(self.run_tool("run", "--release-exit-code=77", "j",
                                       "true"), (0, "", ""))
        self.assertEqual(self.run_tool("run", "--release-exit-code=256", "j",
                                       "true")[0], 125)

    def test_a_release_behind_a_transaction_tells_that_it_may_last(self):
        self.fake.answers["release"] = ["number 1205", f"reply {EDB} busy"]
        self.assertEqual(
            self.run_tool("run", "j", "true"),
            (0, "", "rowlock: run: 'j' stays locked for up to 30.0s after the "
             "end of a transaction: busy\n"))

    def test_a_release_that_finds_the_lock_lost_is_124(self):
        self.fake.answers["release"] = [f"reply {ELOST} lost"]
        code, _, err = self.run_tool("run", "j", "true")
        self.assertEqual(code, 124)
        self.assertIn("'j' on fake:1 was lost", err)


class Surroundings(ToolTest):
    def test_the_command_knows_name_token_and_strategy(self):
        self.environment["ROWLOCK_TOKEN"] = "stale"
        self.environment["KEPT"] = "yes"
        code, out, _ = self.run_tool("run", "-s", "row", "a 'b'", "env", "-0")
        env = dict(e.split("=", 1) for e in out.split("\0") if e)
        self.assertEqual(env["ROWLOCK_NAME"], "a 'b'")
        self.assertEqual(env["ROWLOCK_TOKEN"], "4711")
        self.assertEqual(env["ROWLOCK_STRATEGY"], "row")
        self.assertEqual(env["KEPT"], "yes")
        self.assertEqual(out.count("ROWLOCK_TOKEN="), 1)

    def test_the_command_knows_the_guard_of_its_lock(self):
        self.environment["ROWLOCK_GUARD_SQL"] = "stale"
        _, out, _ = self.run_tool("run", "j", "env", "-0")
        self.assertNotIn("ROWLOCK_GUARD_SQL", out)
        code, out, err = self.run_tool("run", "--guarded", "j", "env", "-0")
        env = dict(e.split("=", 1) for e in out.split("\0") if e)
        self.assertEqual(code, 0, err)
        self.assertEqual(env["ROWLOCK_GUARD_SQL"], "the guard of j")
        self.assertEqual(env["ROWLOCK_TOKENS"], "4711 j")
        _, out, _ = self.run_tool("run", "--guarded=call", "j", "env", "-0")
        self.assertIn("ROWLOCK_GUARD_SQL=a call for j\0", out)
        code, out, err = self.run_tool("run", "--guarded=cal", "j", "echo",
                                       "ran")
        self.assertEqual((code, out), (125, ""))
        self.assertIn("'cal' is not 'call'", err)
        for more in (("-s", "row"), ("--also", "k"), ("--read",), ("--write",),
                     ("--permits", "2")):
            code, out, err = self.run_tool("run", "--guarded", *more, "j",
                                           "echo", "ran")
            self.assertEqual((code, out), (125, ""))
            self.assertIn("--guarded: only a lease", err)

    def test_several_names_are_held_together_each_with_its_token(self):
        self.environment["ROWLOCK_TOKENS"] = "stale"
        code, out, err = self.run_tool("run", "--also", "bb", "a", "--also=ccc",
                                       "env", "-0")
        env = dict(e.split("=", 1) for e in out.split("\0") if e)
        self.assertEqual(code, 0, err)
        self.assertEqual(env["ROWLOCK_NAME"], "a")
        self.assertEqual(env["ROWLOCK_TOKEN"], "4712")
        self.assertEqual(env["ROWLOCK_TOKENS"], "4712 a\n4713 bb\n4714 ccc")
        self.assertEqual(self.fake.expect("new").text("name"), "a+bb+ccc")
        self.fake.expect("release")
        self.fake.expect("client_free")
        _, out, _ = self.run_tool("run", "j", "env", "-0")
        env = dict(e.split("=", 1) for e in out.split("\0") if e)
        self.assertEqual(env["ROWLOCK_TOKENS"], "4711 j")

    def test_a_token_that_cannot_be_had_ends_it_without_a_command(self):
        self.fake.answers["token"] = [f"reply {ECONNECT} no answer"]
        code, out, err = self.run_tool("run", "a", "--also=b", "echo", "ran")
        self.assertEqual((code, out), (125, ""))
        self.assertIn("no answer", err)
        self.fake.expect("release")

    def test_several_names_that_are_lost_end_the_command(self):
        self.fake.answers["release"] = [f"reply {ELOST} lost"]
        code, _, err = self.run_tool("run", "a", "--also=b", "true")
        self.assertEqual(code, 124)
        self.assertIn("'a' on fake:1 was lost", err)

    def test_more_names_than_can_be_held_together_are_refused(self):
        names = [f"--also={i}" for i in range(63)]
        self.assertEqual(self.run_tool("run", *names, "j", "true")[0], 0)
        code, _, err = self.run_tool("run", *names, "--also=x", "j", "true")
        self.assertEqual(code, 125)
        self.assertIn("at most 64 names", err)
        code, _, err = self.run_tool("run", "-s", "row", "--also=x", "j", "true")
        self.assertEqual(code, 125)
        self.assertIn("--also", err)

    def test_a_name_is_held_for_reading_or_for_writing(self):
        for option, other in (("--read", "write"), ("--write", "read")):
            self.fake.seen.clear()
            code, out, err = self.run_tool("run", option, "j", "-c",
                                           "echo $ROWLOCK_TOKEN")
            self.assertEqual((code, out), (0, "4711\n"), err)
            self.assertIn(option[2:], self.fake.seen)
            self.assertNotIn(other, self.fake.seen)
            self.assertIn("release", self.fake.seen)
        self.fake.answers["release"] = [f"reply {ELOST} lost"]
        self.assertEqual(self.run_tool("run", "--read", "j", "true")[0], 124)

    def test_what_cannot_be_shared_is_refused(self):
        for words in (("-s", "row", "--read"), ("--write", "--also=x"),
                      ("--read", "--write"), ("--write", "--read")):
            code, _, err = self.run_tool("run", *words, "j", "true")
            self.assertEqual(code, 125)
            self.assertIn("--read, --write", err)

    def test_a_permit_is_held_or_several_at_once(self):
        for words, what in (((), "permits-1-of-5"),
                            (("--take=3",), "permits-3-of-5"),
                            (("--permits=stored", "--take=7"),
                             f"permits-7-of-{2**32 - 1}")):
            self.fake.seen.clear()
            code, out, err = self.run_tool("run", "--permits", "5", *words,
                                           "j", "-c", "echo $ROWLOCK_TOKEN")
            self.assertEqual((code, out), (0, "0\n"), err)
            self.assertIn(what, self.fake.seen)
            self.assertIn("release", self.fake.seen)
        self.fake.answers["release"] = [f"reply {ELOST} lost"]
        self.assertEqual(self.run_tool("run", "--permits=5", "j", "true")[0],
                         124)

    def test_permits_of_what_has_none_are_refused(self):
        for words in (("-s", "row", "--permits=2"), ("--permits=2", "--also=x"),
                      ("--permits=2", "--read"), ("--permits=0",),
                      ("--permits=1001",), ("--permits=two",), ("--take=1",),
                      ("--permits=2", "--take=3"), ("--permits=2", "--take=0")):
            code, _, err = self.run_tool("run", *words, "j", "true")
            self.assertEqual(code, 125, words)
            self.assertRegex(err, "--permits|--take")
        self.assertNotIn("acquire", self.fake.seen)

    def test_the_command_gets_none_of_our_descriptors(self):
        read, write = os.pipe()
        code, out, err = self.run_tool("run", "j", "ls", "-l",
                                       "/proc/self/fd", pass_fds=[read])
        os.close(read)
        os.close(write)
        fds = {line.split()[8]: line.split()[10]
               for line in out.splitlines()[1:]}
        self.assertEqual(code, 0, err)
        # Its own directory, the standard ones, and the one that we gave.
        fds = {fd for fd, to in fds.items() if not to.startswith("/proc")}
        self.assertEqual(fds, {"0", "1", "2", str(read)})

    def test_closed_standard_descriptors_become_nothing_of_ours(self):
        place = os.path.join(self.directory, "fds")
        code = subprocess.run(
            ["sh", "-c", 'exec "$@" 0<&- 1>&- 2>&-', "sh", CLI, "run", "-v",
             "j", "sh", "-c", f"exec ls -l /proc/self/fd >'{place}'"],
            env=self.environment, timeout=patience(), check=False).returncode
        self.assertEqual(code, 0)
        with open(place, encoding="utf-8") as file:
            fds = {line.split()[8]: line.split()[10]
                   for line in file.read().splitlines()[1:]}
        self.assertEqual(fds["0"], "/dev/null")
        self.assertEqual(fds["2"], "/dev/null")

    def test_signal_mask_and_dispositions_are_those_of_the_caller(self):
        def show(*argv, **more):
            out = subprocess.run(
                [*argv, "sh", "-c", "exec grep -E '^Sig(Blk|Ign)' "
                 "/proc/self/status"], env=self.environment, timeout=patience(),
                stdout=subprocess.PIPE, check=True, **more).stdout
            # 32 and 33 are the C library's own.
            return [line.split()[0] + b"%x" % (int(line.split()[1], 16) & ~(3 << 31))
                    for line in out.splitlines()]

        def odd():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        self.assertEqual(show(CLI, "run", "j"), show())
        self.assertEqual(show(CLI, "run", "j", preexec_fn=odd),
                         show(preexec_fn=odd))

    def test_an_ignored_SIGCHLD_does_not_cost_the_status(self):
        code, _, _ = self.run_tool(
            "run", "j", "sh", "-c", "exit 6",
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(code, 6)

    def test_the_command_leads_a_process_group_of_its_own(self):
        process = self.start("run", "j", "sh", "-c",
                             "echo $$ $(ps -o pgid= -p $$)")
        code, out, _ = self.finish(process)
        pid, group = out.split()
        self.assertEqual(pid, group)

    def test_stdin_reaches_the_command(self):
        with open(os.path.join(self.directory, "in"), "w+") as f:
            f.write("hello\n")
            f.seek(0)
            self.assertEqual(self.run_tool("run", "j", "cat", stdin=f)[1],
                             "hello\n")

    def test_the_lock_is_free_again_though_a_background_job_lives_on(self):
        path = self.fifo()
        code, _, err = self.run_tool(
            "run", "-v", "j", "sh", "-c",
            f"(read x < {path}) >/dev/null 2>&1 &")
        self.assertEqual(code, 0)
        self.assertIn("release", self.fake.seen)
        self.assertIn("left processes behind", err)
        with open(path, "w", encoding="utf-8") as out:
            out.write("end\n")


class Signals(ToolTest):
    # Says "ready", then the number of each signal of its arguments that comes;
    # SIGTERM is the last. Not a shell's trap: a signal just before a read that
    # waits would be told after it.
    TELL = (sys.executable, "-S", "-c", """
import signal, sys
told = {int(word) for word in sys.argv[1:]}
signal.pthread_sigmask(signal.SIG_BLOCK, told)
print("ready", flush=True)
while True:
    number = int(signal.sigwait(told))
    print(number, flush=True)
    if number == signal.SIGTERM:
        sys.exit(7)
""")

    def tell(self, *numbers, **more):
        return self.ready(*self.TELL,
                          *(str(int(number)) for number in numbers), **more)

    def ready(self, *argv, **more):
        read, write = os.pipe()
        process = self.start("run", "j", *argv, stdin=read, **more)
        os.close(read)
        self.keep = os.fdopen(write, "w")
        self.addCleanup(self.keep.close)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_signals_are_passed_on_to_the_process_group(self):
        numbers = [getattr(signal, "SIG" + name) for name in
                   ("HUP", "INT", "QUIT", "USR1", "USR2", "ALRM", "TERM")]
        process = self.tell(*numbers)
        for number in numbers:
            process.send_signal(number)
            self.assertEqual(process.stdout.readline(), f"{int(number)}\n")
        self.assertEqual(process.wait(patience()), 7)
        self.fake.expect("release")

    def test_the_group_is_signalled_not_only_its_leader(self):
        script = ("(trap 'echo inner; exit' TERM; echo ready; "
                  "while :; do sleep 0.05; done) & wait")
        process = self.ready("bash", "-c", script)
        process.terminate()
        self.assertEqual(process.stdout.readline(), "inner\n")
        self.assertEqual(process.wait(patience()), -15)

    def test_real_time_signals_are_passed_on(self):
        number = signal.SIGRTMIN + 3
        process = self.tell(number, signal.SIGTERM)
        process.send_signal(number)
        self.assertEqual(process.stdout.readline(), f"{number}\n")
        process.terminate()
        self.assertEqual(process.wait(patience()), 7)

    def test_an_ignored_SIGHUP_stays_ignored_for_nohup(self):
        process = self.tell(
            signal.SIGTERM,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        process.terminate()
        self.assertEqual(process.stdout.readline(), "15\n")
        self.assertEqual(process.wait(patience()), 7)

    def test_a_stopped_command_keeps_the_lock_and_can_be_continued(self):
        process = self.start("run", "j", "bash", "-c",
                             "echo $$; kill -STOP $$; echo on; exit 5")
        pid = int(process.stdout.readline())
        self.await_state(pid, "T")
        self.assertIsNone(process.poll())
        self.assertNotIn("release", self.fake.seen)
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.stdout.readline(), "on\n")
        self.assertEqual(process.wait(patience()), 5)

    def waiting(self, **more):
        self.fake.answers["acquire"] = None
        process = self.start("run", "j", "touch",
                             os.path.join(self.directory, "ran"), **more)
        self.fake.expect("acquire")
        return process

    def test_a_signal_while_waiting_cancels_and_nothing_runs(self):
        for name in ("TERM", "INT", "HUP", "QUIT", "USR1"):
            number = getattr(signal, "SIG" + name)
            process = self.waiting()
            process.send_signal(number)
            self.fake.expect("cancel")
            self.assertEqual(process.wait(patience()), -number)
            self.fake.expect("client_free")
        self.assertNotIn("release", self.fake.seen)
        self.assertFalse(os.path.exists(os.path.join(self.directory, "ran")))

    def test_an_ignored_signal_does_not_cancel_the_wait(self):
        process = self.waiting(
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        self.fake.say("reply 0")
        self.assertEqual(process.wait(patience()), 0)
        self.assertNotIn("cancel", self.fake.seen)

    def test_a_grant_that_came_with_the_signal_is_given_back(self):
        self.environment["ROWLOCK_FAKE_CANCEL"] = "late"
        process = self.waiting()
        process.terminate()
        self.assertEqual(process.wait(patience()), -15)
        self.fake.expect("client_free")
        self.assertIn("release", self.fake.seen)
        self.assertFalse(os.path.exists(os.path.join(self.directory, "ran")))

    def test_a_signal_that_came_with_the_grant_is_told_either_way(self):
        self.fake.answers["cancel"] = None
        process = self.waiting()
        self.fake.answers["release"] = None
        # Granted, but the tool has not noticed: stopped.
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        process.send_signal(signal.SIGTERM)
        self.fake.say("reply 0")
        process.send_signal(signal.SIGCONT)
        code = None
        while code is None:
            call = self.fake.next_call("the release and the client's end")
            if call.name == "release":
                self.fake.say("reply 0")
            if call.name == "client_free":
                code = process.wait(patience())
        self.assertEqual(code, -15)

    def test_a_signal_before_there_is_a_client_ends_at_once(self):
        self.fake.answers["client_new"] = None
        process = self.start("run", "j", "true")
        self.fake.expect("client_new")
        process.terminate()
        self.assertEqual(process.wait(patience()), -15)

    def test_signals_that_end_nothing_do_not_cancel(self):
        process = self.waiting()
        for number in (signal.SIGWINCH, signal.SIGCONT, signal.SIGCHLD):
            process.send_signal(number)
        self.fake.say("reply 0")
        self.assertEqual(process.wait(patience()), 0)
        self.assertNotIn("cancel", self.fake.seen)


class Loss(ToolTest):
    # A leader and a background process, neither of which minds TERM.
    STUBBORN = ("trap 'echo TERM' TERM; "
                "(trap '' TERM; echo $BASHPID; "
                "while :; do sleep 0.05; done) & "
                "echo $$; while :; do wait; done")

    def pidfds(self, process, count):
        return [os.pidfd_open(int(process.stdout.readline()))
                for _ in range(count)]

    def gone(self, pidfds):
        for fd in pidfds:
            self.await_gone(fd)
            os.close(fd)

    def stubborn(self, *argv):
        process = self.start("run", *argv, "j", "bash", "-c", self.STUBBORN,
                             stdin=None)
        return process, self.pidfds(process, 2)

    def test_a_sudden_loss_is_TERM_then_KILL_of_the_whole_group(self):
        for strategy in ("lease", "row"):
            process, pidfds = self.stubborn("-s", strategy)
            self.fake.say("lose")
            self.assertEqual(process.stdout.readline(), "TERM\n")
            self.gone(pidfds)
            self.assertEqual(process.wait(patience()), 124)
            err = process.stderr.read()
            self.assertIn("'j' on fake:1 was lost (by the test): sending SIGTERM", err)
            self.assertIn("sending SIGKILL", err)

    def lost_by_one_that_obeys(self):
        process = self.start("run", "j", "bash", "-c",
                             "trap 'exit 0' TERM; echo ready; "
                             "while :; do sleep 0.05; done")
        process.stdout.readline()
        self.fake.say("lose")
        self.assertEqual(process.wait(patience()), 124)
        return process

    def test_after_a_loss_it_does_not_wait_for_a_server_that_is_away(self):
        self.environment["ROWLOCK_FAKE_STUCK"] = "1"
        self.lost_by_one_that_obeys()
        self.assertNotIn("release", self.fake.seen)
        self.fake.expect("client_free")

    def test_a_command_that_obeys_TERM_is_124_all_the_same(self):
        process = self.lost_by_one_that_obeys()
        self.assertNotIn("SIGKILL", process.stderr.read())

    def test_a_background_process_is_killed_after_its_leader_obeyed(self):
        process = self.start(
            "run", "j", "bash", "-c",
            "(trap '' TERM; echo $BASHPID; while :; do sleep 0.05; done) & "
            "trap 'exit 0' TERM; while :; do sleep 0.05; done")
        pidfds = self.pidfds(process, 1)
        self.fake.say("lose")
        self.gone(pidfds)
        self.assertEqual(process.wait(patience()), 124)
        self.assertIn("SIGKILL", process.stderr.read())

    def see(self, process, line):
        """Let the tool, woken by a signal, look at a hold that has so much
        left. However late it looks, it is so much."""
        self.fake.say(line)
        process.send_signal(signal.SIGCHLD)
        self.fake.expect("looked")

    # At a TTL of 100 s TERM is due when 20 s are left, KILL when 2 s are, and
    # by the guard when 1 s is.

    def test_beats_that_stay_away_are_TERM_then_KILL_before_the_deadline(self):
        process, pidfds = self.stubborn("-t", "100s")
        # From here on nothing wakes the tool but its own timer.
        self.see(process, "remaining 20200")
        self.assertEqual(process.stdout.readline(), "TERM\n")
        self.see(process, "frozen 2200")
        # This hold has not ended, and never does.
        self.fake.say("frozen 2000")
        self.gone(pidfds)
        self.assertEqual(process.wait(patience()), 124)
        err = process.stderr.read()
        self.assertIn("about to be lost", err)
        self.assertNotIn("was lost", err)

    FREED = {"release", "free", "client_free"}

    def test_a_lock_that_delays_is_not_freed_while_it_is_about_to_be_lost(self):
        for words, freed in (([], True), (["--delay-after-loss=1h"], False)):
            self.fake.seen.clear()
            process, pidfds = self.stubborn("-t", "100s", *words)
            self.see(process, "frozen 10000")
            self.assertEqual(process.stdout.readline(), "TERM\n")
            self.fake.say("frozen 2000")
            self.gone(pidfds)
            self.assertEqual(process.wait(patience()), 124)
            if freed:
                self.fake.expect("client_free")
        self.assertEqual(self.FREED & set(self.fake.seen), set())
        self.assertIn("'j' stays locked for up to 1h01m: it was about to be lost",
                      process.stderr.read())

    def test_a_lock_that_delays_is_not_freed_when_its_command_is_killed(self):
        for words, job, code, freed in (
                (["--delay-after-loss=1h"], "exit 9", 9, True),
                ([], "kill -9 $$", 137, True),
                (["--delay-after-loss=1h"], "kill -9 $$", 137, False)):
            self.fake.seen.clear()
            got, _, err = self.run_tool("run", *words, "j", "sh", "-c", job)
            self.assertEqual(got, code, err)
            if freed:
                self.fake.expect("client_free")
            self.assertEqual("its command was killed" in err, not freed)
        self.assertEqual(self.FREED & set(self.fake.seen), set())

    def test_a_lock_that_delays_is_freed_when_a_signal_was_passed_on(self):
        process = self.start("run", "--delay-after-loss=1h", "j", "bash", "-c",
                             "echo; exec sleep 1000")
        self.assertEqual(process.stdout.readline(), "\n")
        process.terminate()
        self.assertEqual(process.wait(patience()), -signal.SIGTERM)
        self.fake.expect("release")

    def test_an_end_at_the_maximum_is_told_as_that(self):
        process, pidfds = self.stubborn("-t", "100s", "--max=50s")
        self.see(process, "frozen 10000")
        self.assertEqual(process.stdout.readline(), "TERM\n")
        self.fake.say("lose")
        self.gone(pidfds)
        self.assertEqual(process.wait(patience()), 124)
        self.assertIn("about to be lost (its maximum is nearly over): sending",
                      process.stderr.read())

    def test_after_TERM_a_hold_that_recovers_is_not_killed(self):
        process = self.start("run", "-t", "100s", "j", "bash", "-c",
                             "trap 'echo TERM' TERM; echo ready; "
                             "while ! read -t 0.05 x; do :; done; exit 0",
                             stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.see(process, "frozen 20000")
        self.assertEqual(process.stdout.readline(), "TERM\n")
        left = min(2000 + 3000 * slack(), 20000)
        self.see(process, f"frozen {left:.0f}")
        self.see(process, "frozen 90000")
        # Time has to pass here: until KILL would have come, and the guard's.
        try:
            process.wait(left / 1000)
            self.fail(process.stderr.read())
        except subprocess.TimeoutExpired:
            pass
        process.stdin.write("end\n")
        process.stdin.flush()
        self.assertEqual(process.wait(patience()), 124)
        self.assertNotIn("SIGKILL", process.stderr.read())

    def test_a_stopped_command_is_ended_too(self):
        process = self.start("run", "j", "bash", "-c",
                             "echo $$; kill -STOP $$; echo never; sleep 60")
        pidfds = self.pidfds(process, 1)
        self.fake.say("lose")
        self.gone(pidfds)
        self.assertEqual(process.wait(patience()), 124)

    def test_a_run_that_slept_past_the_deadline_kills_at_once(self):
        process, pidfds = self.stubborn("-t", "10s")
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        self.fake.say("remaining 0")
        process.send_signal(signal.SIGCONT)
        self.gone(pidfds)
        self.assertEqual(process.wait(patience()), 124)

    def alarm_of(self, guard):
        """How many seconds the guard's timer has to run, 0 after its end.

        Returns None if only root may look: the guard makes no core file, so
        its /proc belongs to root.
        """
        place = f"/proc/{guard}/"
        try:
            for fd in os.listdir(place + "fd"):
                if "timerfd" in os.readlink(place + "fd/" + fd):
                    with open(place + "fdinfo/" + fd, encoding="ascii") as file:
                        left = re.search(r"it_value: \((\d+), (\d+)\)",
                                         file.read())
                    return int(left[1]) + int(left[2]) / 1e9
        except PermissionError:
            return None
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended
        return 0

    def stop_a_run(self):
        """Stops a run whose hold ends in 4500 ms.

        Returns its process, the pidfds of its command, and its guard's pid.
        """
        process, pidfds = self.stubborn("-t", "5s")
        guard = self.await_guard(process)
        self.see(process, "frozen 4500")
        process.send_signal(signal.SIGSTOP)
        self.await_state(process.pid, "T")
        return process, pidfds, guard

    def test_a_guard_wakes_before_the_end_of_the_hold(self):
        process, pidfds, guard = self.stop_a_run()
        left = self.alarm_of(guard)
        process.kill()
        self.gone(pidfds)
        if left is None:
            self.skipTest("only root may look at the guard's timer")
        # The hold has 4500 ms from a look that is past. So has the guard, less
        # the half of what KILL comes before the deadline; later it is less.
        self.assertLessEqual(left, 4.5 - 0.125)

    def test_a_run_that_is_stopped_is_overtaken_by_its_guard(self):
        process, pidfds, _ = self.stop_a_run()
        self.gone(pidfds)
        # Nobody else has done it.
        self.await_state(process.pid, "T")
        self.fake.say("remaining 0")
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(patience()), 124)

    def test_a_command_that_the_guard_has_killed_is_a_loss(self):
        # The lock is held: its heartbeats go on with the run.
        process, pidfds, _ = self.stop_a_run()
        self.gone(pidfds)
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.wait(patience()), 124)
        self.assertIn("its guard has killed the command",
                      process.stderr.read())

    def test_a_run_that_is_killed_does_not_leave_its_command_behind(self):
        process, pidfds = self.stubborn()
        process.kill()
        self.gone(pidfds)
        process.wait(patience())
        # TERM first: the command could clean up.
        self.assertEqual(process.stdout.readline(), "TERM\n")
        # The guard has gone too: nobody holds the other end.
        self.assertEqual(process.stdout.read(), "")

    def test_a_run_that_is_killed_before_its_guard_knows_runs_nothing(self):
        # The first is before the start, the second is for the guard.
        self.environment["ROWLOCK_FAKE_STALL"] = "2"
        process = self.start("run", "j", "echo", "ran")
        self.fake.expect("stalled")
        process.kill()
        process.wait(patience())
        # To the end: nobody of the group is left.
        self.assertEqual(process.stdout.read(), "")

    def test_a_hold_that_is_near_its_end_by_then_runs_nothing(self):
        self.environment["ROWLOCK_FAKE_NEAR"] = "2"
        # It would ignore what is sent to it.
        code, out, err = self.run_tool(
            "run", "j", "echo", "ran", preexec_fn=lambda: signal.signal(
                signal.SIGTERM, signal.SIG_IGN))
        self.assertEqual((code, out), (124, ""), err)

    def test_a_run_whose_guard_was_killed_runs_nothing(self):
        self.fake.answers["acquire"] = None
        process = self.start("run", "j", "echo", "ran")
        self.fake.expect("acquire")
        guard = int(subprocess.check_output(
            ["pgrep", "-P", str(process.pid)], timeout=patience()))
        pidfd = os.pidfd_open(guard)
        os.kill(guard, signal.SIGKILL)
        self.gone([pidfd])
        self.fake.say("reply 0")
        out, err = process.communicate(timeout=patience())
        self.assertEqual((process.returncode, out), (125, ""), err)
        self.assertIn("was killed: 'echo' is not started", err)

    def test_a_guard_that_is_killed_later_is_missed_once(self):
        process, pidfds = self.stubborn("-t", "100s")
        guard = self.await_guard(process)
        pidfd = os.pidfd_open(guard)
        os.kill(guard, signal.SIGKILL)
        self.gone([pidfd])
        self.see(process, "remaining 90000")
        self.see(process, "remaining 99000")
        self.fake.say("lose")
        self.gone(pidfds)
        _, err = process.communicate(timeout=patience())
        self.assertEqual(err.count("the guard's process was killed"), 1, err)

    def test_the_guard_has_a_name_of_its_own(self):
        process = self.start("run", "j", "sh", "-c", "echo; read x",
                             stdin=subprocess.PIPE)
        process.stdout.readline()
        guard = self.await_guard(process)
        with open(f"/proc/{guard}/comm", encoding="ascii") as comm:
            self.assertEqual(comm.read().rstrip(), "rowlock-guard")
        self.assertEqual(self.finish(process)[0], 1)

    def test_the_guard_lets_what_is_left_behind_live(self):
        path = self.fifo()
        process = self.start("run", "j", "bash", "-c",
                             f"(read x < {path}; echo lives) & echo $!")
        pidfd = os.pidfd_open(int(process.stdout.readline()))
        self.assertEqual(process.wait(patience()), 0)
        with open(path, "w", encoding="utf-8") as out:
            out.write("end\n")
        self.await_gone(pidfd)
        os.close(pidfd)
        self.assertEqual(process.stdout.read(), "lives\n")

    def test_a_lock_that_is_lost_before_the_start_runs_nothing(self):
        self.fake.answers["acquire"] = ["frozen 6000", "reply 0"]
        code, out, err = self.run_tool("run", "j", "echo", "ran")
        self.assertEqual((code, out), (124, ""))
        self.assertIn("before the command was started", err)
        self.fake.expect("client_free")


if __name__ == "__main__":
    harness.main()
