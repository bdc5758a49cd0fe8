# SPDX-License-Identifier: MIT
"""The command and the daemon against a real server (ROWLOCK_TEST_DSN)."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import harness
from harness import ToolTest, at_least, patience
from option_file import option_file

CLI = os.environ.get("ROWLOCK_TOOL", "rowlock")
REAPERD = os.environ.get("ROWLOCK_REAPERD", "rowlock-reaperd")
SANDBOX = os.environ.get("ROWLOCK_SANDBOX", "")
DSN = os.environ.get("ROWLOCK_TEST_DSN", "")
ADMIN_DSN = os.environ.get("ROWLOCK_TEST_ADMIN_DSN", "")


class ServerTest(ToolTest):
    """Names of this test begin with its prefix, and are removed at its end."""

    # For who counts: on which server the cases that follow ran.
    server = "given"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        print("# server:", cls.server, flush=True)

    def setUp(self):
        super().setUp()
        del self.environment["ROWLOCK_FAKE"]
        self.environment["ROWLOCK_DSN"] = DSN
        self.prefix = f"test-cli-{os.getpid()}-{self._testMethodName[5:25]}-"

    def tearDown(self):
        self.end_processes()
        like = self.prefix.replace("_", "\\_") + "%"
        self.sql(*(f"DELETE FROM {table} WHERE name LIKE '{like}'"
                   for table in ("business_lock", "lock_token", "job_run")))
        super().tearDown()

    def sql(self, *statements):
        """Where the server's own client is."""
        client = shutil.which("mariadb") or shutil.which("mysql")
        if client:
            path = os.path.join(self.directory, "client.cnf")
            option_file(path, DSN)
            subprocess.run([client, f"--defaults-file={path}"], check=True,
                           timeout=patience(), text=True,
                           input=";\n".join(statements) + ";\n")

    def name(self, tail):
        return self.prefix + tail

    def start(self, *argv, tool=CLI, **more):
        return super().start(*argv, tool=tool, **more)

    def list(self):
        code, out, err = self.run_tool("list", "--json", self.prefix + "*")
        self.assertEqual(code, 0, err)
        return json.loads(out)

    def holder(self, *argv, **more):
        """A run that holds until its stdin ends; its command's pidfd."""
        process = self.start("run", *argv, "--", "bash", "-c",
                             "echo $$; read x; exit 3", stdin=subprocess.PIPE,
                             **more)
        line = process.stdout.readline()
        if not line:
            self.fail(process.stderr.read())
        return process, os.pidfd_open(int(line))

    def gone(self, pidfd):
        self.await_gone(pidfd)
        os.close(pidfd)


class Run(ServerTest):
    def test_of_ten_at_once_exactly_one_runs(self):
        for strategy in ("lease", "row"):
            path = self.fifo(strategy)
            ran = os.path.join(self.directory, f"ran-{strategy}")
            all_of_them = [
                self.start("run", "-n", "-s", strategy, self.name("ten"), "--",
                           "sh", "-c", f"echo $$ >>{ran}; read x <{path}",
                           stdout=subprocess.DEVNULL) for _ in range(10)]
            # Nine end while the one goes on.
            codes = set()
            waiting = list(all_of_them)
            while len(waiting) > 1:
                pid, status = os.waitpid(-1, 0)
                for process in waiting:
                    if process.pid == pid:
                        process.returncode = os.waitstatus_to_exitcode(status)
                        codes.add(process.returncode)
                        waiting.remove(process)
                        break
            self.assertEqual(codes, {1})
            with open(path, "w", encoding="utf-8") as out:
                out.write("end\n")
            self.assertEqual(waiting[0].wait(patience()), 0)
            with open(ran, encoding="utf-8") as lines:
                self.assertEqual(len(lines.readlines()), 1)

    def test_several_names_are_held_together(self):
        names = [self.name(word) for word in ("a", "b", "c")]
        holder, pidfd = self.holder("--also", names[2], names[0])
        entries = self.list()
        self.assertEqual([entry["name"] for entry in entries],
                         [names[0], names[2]])
        self.assertEqual(len({entry["attempt"] for entry in entries}), 1)
        self.assertEqual(self.run_tool("run", "-n", names[1], "--also",
                                       names[2], "true")[0], 1)
        self.assertEqual(len(self.list()), 2)
        code, out, err = self.run_tool("run", "-n", names[1], "env")
        self.assertEqual(code, 0, err)
        # With one of them the others are lost.
        self.assertEqual(self.run_tool("break", names[2])[0], 0)
        self.assertEqual(holder.wait(patience()), 124)
        self.gone(pidfd)
        code, out, err = self.run_tool("run", names[0], "--also", names[2],
                                       "-c", "echo \"$ROWLOCK_TOKENS\"")
        self.assertEqual(code, 0, err)
        tokens = [line.split(" ", 1) for line in out.splitlines()]
        self.assertEqual([name for _, name in tokens], [names[0], names[2]])
        self.assertTrue(all(int(token) > 0 for token, _ in tokens))

    def test_a_script_commits_under_its_guard_only(self):
        client = shutil.which("mariadb") or shutil.which("mysql")
        if not client:
            self.skipTest("no client of the server here")
        path = os.path.join(self.directory, "script.cnf")
        option_file(path, DSN)
        table = "test_cli_guarded_%d" % os.getpid()
        name = self.name("batch")

        def run(script):
            done = subprocess.run(
                [client, f"--defaults-file={path}", "-N"], text=True,
                input=script, capture_output=True, timeout=patience(),
                check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout.split()

        def batch(more):
            return self.run_tool(
                "run", "--guarded", name, "-c",
                "{ echo 'SET autocommit = 0;'; "
                f"echo 'UPDATE {table} SET n = n + 1;'; {more} "
                "echo \"$ROWLOCK_GUARD_SQL; COMMIT;\"; } | "
                f"{client} --defaults-file={path}")

        run(f"CREATE TABLE {table} (n INT) ENGINE=InnoDB; "
            f"INSERT INTO {table} VALUES (0);")
        try:
            code, _, err = batch("")
            self.assertEqual(code, 0, err)
            self.assertEqual(run(f"SELECT n FROM {table};"), ["1"])
            # It is broken, and the script does not know.
            code, _, err = batch(f"{CLI} break {name} >/dev/null;")
            self.assertIn(code, (1, 124), err)
            self.assertEqual(run(f"SELECT n FROM {table};"), ["1"])
        finally:
            run(f"DROP TABLE {table};")

    def test_the_preferred_host_leads_when_it_is_back(self):
        name = self.name("crown")
        command = "echo $ROWLOCK_TOKEN; exec sleep 1000"

        def candidate(weight):
            return self.start("elect", f"--weight={weight}", "--pause=1ms",
                              "--preempt-after=1ms", name, "sh", "-c", command)

        other = candidate(1)
        terms = [int(other.stdout.readline())]
        preferred = candidate(5)
        terms.append(int(preferred.stdout.readline()))
        # It fails, and the other leads again.
        preferred.terminate()
        preferred.wait(patience())
        terms.append(int(other.stdout.readline()))
        other.terminate()
        _, _, err = self.finish(other)
        self.assertEqual(err.count("a candidate of weight 5 waits"), 1)
        self.assertEqual(terms, sorted(terms))

    def test_many_read_or_one_writes(self):
        name = self.name("shared")
        readers = [self.holder("--read", name) for _ in range(2)]
        self.assertEqual([entry["kind"] for entry in self.list()],
                         ["reader", "reader"])
        self.assertEqual(self.run_tool("run", "-n", "--write", name,
                                       "true")[0], 1)
        self.assertEqual(self.run_tool("run", "-n", "--read", name,
                                       "true")[0], 0)
        for reader, pidfd in readers:
            reader.stdin.close()
            self.assertEqual(reader.wait(patience()), 3)
            self.gone(pidfd)
        writer, pidfd = self.holder("--write", name)
        self.assertEqual([entry["kind"] for entry in self.list()], ["writer"])
        self.assertEqual(self.run_tool("run", "-n", "--read", name,
                                       "true")[0], 1)
        # A lock of that name is another one.
        self.assertEqual(self.run_tool("run", "-n", name, "true")[0], 0)
        writer.stdin.close()
        self.assertEqual(writer.wait(patience()), 3)
        self.gone(pidfd)

    def test_as_many_run_as_there_are_permits(self):
        name = self.name("permits")
        holders = [self.holder("--permits=2", name) for _ in range(2)]
        self.assertEqual(self.run_tool("run", "-n", "--permits=2", name,
                                       "true")[0], 1)
        code, _, err = self.run_tool("run", "--permits=3", name, "true")
        self.assertEqual(code, 125)
        self.assertIn("has 2 permits", err)
        self.assertEqual([entry["kind"] for entry in self.list()],
                         ["permit", "permit"])
        self.assertEqual(self.run_tool("permits", name)[1].split(),
                         ["name:", name, "permits:", "2", "used:", "2"])
        self.assertEqual(self.run_tool("permits", name, "3"), (0, "", ""))
        self.assertEqual(self.run_tool("run", "-n", "--permits=stored", name,
                                       "true")[0], 0)
        self.assertEqual(self.run_tool("permits", name, "2"), (0, "", ""))
        for holder, pidfd in holders:
            holder.stdin.close()
            self.assertEqual(holder.wait(patience()), 3)
            self.gone(pidfd)
        self.assertEqual(self.run_tool("run", "--permits=2", "--take=2", name,
                                       "true")[0], 0)
        self.assertEqual(self.run_tool("permits", name + "-none")[0], 1)

    def test_ten_that_wait_run_one_after_the_other(self):
        for strategy in ("lease", "row"):
            log = os.path.join(self.directory, f"log-{strategy}")
            together = [
                self.start("run", "-w", at_least(120), "-s", strategy,
                           self.name("turn"), "--", "sh", "-c",
                           f"echo in $ROWLOCK_TOKEN >>{log}; "
                           f"echo out $ROWLOCK_TOKEN >>{log}")
                for _ in range(10)]
            for process in together:
                code, _, err = self.finish(process)
                self.assertEqual(code, 0, err)
            with open(log, encoding="utf-8") as lines:
                words = [line.split() for line in lines]
            self.assertEqual([w[0] for w in words], ["in", "out"] * 10)
            tokens = [int(w[1]) for w in words]
            self.assertEqual(tokens[::2], tokens[1::2])
            self.assertEqual(tokens[::2], sorted(set(tokens)))

    def broken(self, strategy, dsn):
        name = self.name("broken")
        process, pidfd = self.holder("-t", at_least(3), "-s", strategy, name)
        environment = dict(self.environment, ROWLOCK_DSN=dsn)
        code, _, err = self.run_tool("break", "-v", "-s", strategy, name,
                                     env=environment)
        self.assertEqual(code, 0, err)
        self.assertEqual(err.count("rowlock: broke "), 1, err)
        self.gone(pidfd)
        self.assertEqual(process.wait(patience()), 124)
        self.assertEqual(self.run_tool("run", "-n", "-s", strategy, name,
                                       "true")[0], 0)

    def test_a_lease_that_is_broken_ends_its_command_with_124(self):
        self.broken("lease", DSN)

    def test_after_a_kill_the_command_is_gone_and_the_name_free_in_a_ttl(self):
        for strategy, ttl in (("lease", 1), ("row", 2)):
            name = self.name("killed")
            process, pidfd = self.holder("-t", at_least(ttl), "-s",
                                         strategy, name)
            process.kill()
            process.wait(patience())
            self.gone(pidfd)
            self.assertEqual(self.run_tool("wait", "-s", strategy, "-w",
                                           at_least(120), name), (0, "", ""))
            # No daemon runs: the try itself removes what is dead.
            code, _, err = self.run_tool("run", "-nv", "-s", strategy, name,
                                         "true")
            self.assertEqual(code, 0, err)

    def test_a_signal_while_waiting_leaves_nothing_behind(self):
        for strategy in ("lease", "row"):
            name = self.name("cancel")
            holder, pidfd = self.holder("-s", strategy, name)
            waiter = self.start("run", "-v", "-s", strategy, name, "true")
            self.await_signals(waiter)
            waiter.terminate()
            self.assertEqual(waiter.wait(patience()), -15)
            holder.stdin.close()
            holder.stdin = None
            self.assertEqual(holder.wait(patience()), 3)
            self.gone(pidfd)
            self.assertEqual(self.run_tool("run", "-n", "-s", strategy, name,
                                           "true")[0], 0)

    def test_the_command_gets_no_connection_of_ours(self):
        for strategy in ("lease", "row"):
            _, out, _ = self.run_tool("run", "-s", strategy, self.name("fds"),
                                      "ls", "-l", "/proc/self/fd")
            self.assertNotIn("socket", out)
            self.assertNotIn("anon_inode", out)
            self.assertEqual(len(out.splitlines()), 5, out)

    def test_names_and_infos_that_are_refused_say_why(self):
        for argv in (["run", "x" * 101, "true"], ["run", "blank ", "true"],
                     ["run", "", "true"], ["run", "a\nb", "true"],
                     ["run", "-t", "25h", self.name("x"), "true"],
                     ["run", "-t", "900ms", self.name("x"), "true"],
                     ["run", "--info", "x" * 256, self.name("x"), "true"],
                     ["break", "x" * 101], ["break", "blank "]):
            code, out, err = self.run_tool(*argv)
            self.assertEqual((code, out), (125, ""), argv)
            self.assertGreater(len(err), 20)
            if not argv[1].startswith("-"):
                self.assertRegex(err, r" on \S+ \(M.* blank at the end\n$")
        self.assertEqual(self.list(), [])

    def test_a_wrong_password_is_125_and_not_shown(self):
        self.environment["ROWLOCK_DSN"] = re.sub(
            ";password=[^;]*", ";password=sEcReT", DSN)
        code, _, err = self.run_tool("run", self.name("x"), "true")
        self.assertEqual(code, 125)
        self.assertNotIn("sEcReT", err)


class People(ServerTest):
    def test_what_is_held_is_listed_and_shown(self):
        name = self.name('"\\\u00e4')
        holder, pidfd = self.holder("--info", 'say "hi"', name)
        entry, = self.list()
        self.assertEqual(entry["name"], name)
        self.assertEqual(entry["info"], 'say "hi"')
        self.assertEqual(entry["state"], "held")
        self.assertEqual(entry["pid"], holder.pid)
        self.assertEqual(entry["program"], "rowlock run bash")
        self.assertGreater(entry["token"], 0)
        self.assertGreater(entry["remaining_ms"], 0)
        code, out, err = self.run_tool("show", name)
        self.assertEqual(code, 0, err)
        self.assertIn(f"pid:        {holder.pid}\n", out)
        self.assertEqual(self.run_tool("wait", "-w0.1", name)[0], 1)
        self.assertEqual(self.run_tool("show", self.name("none"))[0], 1)
        self.assertEqual(self.run_tool("break", self.name("none"))[0], 1)
        holder.stdin.close()
        holder.stdin = None
        self.assertEqual(holder.wait(patience()), 3)
        self.gone(pidfd)
        self.assertEqual(self.run_tool("wait", name)[0], 0)
        self.assertEqual(self.list(), [])

    def test_a_probe_sees_whether_a_row_is_locked(self):
        name = self.name("row")
        holder, pidfd = self.holder("-s", "row", name)
        for state, want in (("held", 1), ("free", 0)):
            _, out, _ = self.run_tool("list", "-jps", "row", name)
            self.assertEqual(json.loads(out)[0]["state"], state)
            self.assertEqual(self.run_tool("wait", "-w", "0", "-s", "row",
                                           name)[0], want)
            if want:
                holder.stdin.close()
                holder.stdin = None
                self.assertEqual(holder.wait(patience()), 3)
        self.gone(pidfd)

    @unittest.skipUnless(ADMIN_DSN, "no ROWLOCK_TEST_ADMIN_DSN")
    def test_who_holds_a_row_is_listed_to_an_account_that_may_see_it(self):
        name = self.name("it's a \\ row")
        holder, pidfd = self.holder("-s", "row", name)
        os.close(pidfd)
        self.assertEqual(self.list()[0]["state"], "unknown")
        self.environment["ROWLOCK_DSN"] = ADMIN_DSN
        # MariaDB tells of it when somebody waits, and from a copy, which it
        # makes anew only when nobody has looked for 100 ms.
        waiter = self.start("run", "-s", "row", name, "true")
        for waited in harness.waiting():
            time.sleep(0.2)
            row, = self.list()
            if row["state"] == "held":
                break
        self.assertEqual(row["state"], "held", f"after {waited} s")
        self.assertGreater(row["connection"], 0)
        self.assertGreaterEqual(row["held_ms"], 0)
        self.assertTrue(row["host"])
        self.assertIsNotNone(row["acquired_at"])
        holder.communicate(timeout=patience())
        self.assertEqual(waiter.wait(patience()), 0)
        for waited in harness.waiting():
            time.sleep(0.2)
            if self.list()[0]["state"] != "held":
                return
        self.fail(f"still told as held after {waited} s")

    def test_option_files_with_and_without_a_suffix_lead_to_the_server(self):
        del self.environment["ROWLOCK_DSN"]
        path = os.path.join(self.directory, "my.cnf")
        option_file(path, DSN, "rowlock")
        code, _, err = self.run_tool("list", f"--defaults-file={path}")
        self.assertEqual(code, 0, err)
        with open(path, encoding="utf-8") as out:
            text = out.read().replace("[rowlock]", "[rowlock_main]")
        with open(path, "w", encoding="utf-8") as out:
            out.write("[rowlock]\nuser=nobody-at-all\n" + text)
        code, _, err = self.run_tool("list", f"--defaults-file={path}",
                                     "--defaults-group-suffix=_main")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.run_tool("list", f"--defaults-file={path}")[0],
                         125)

    def test_the_password_may_stay_in_the_option_file(self):
        path = os.path.join(self.directory, "my.cnf")
        words = DSN.split(";")
        where = [word for word in words
                 if word.split("=")[0] in ("host", "port", "socket")]
        option_file(path, ";".join(w for w in words if w not in where),
                    "rowlock")
        del self.environment["ROWLOCK_DSN"]
        for tool, argv in ((CLI, ["list"]), (REAPERD, ["--once"])):
            code, _, err = self.run_tool(
                *argv, f"--defaults-file={path}",
                f"--dsn={';'.join(where)};connect-timeout=5", tool=tool)
            self.assertEqual(code, 0, err)

    def test_of_several_hosts_the_first_that_answers_is_taken(self):
        host = re.search(r"host=([0-9.]+);", DSN)
        port = re.search(r"port=(\d+);", DSN)
        if not host or not port:
            self.skipTest("the server given is not at an address and a port")
        both = f"127.0.0.1:1,{host[1]}:{port[1]}"
        code, _, err = self.run_tool("list", f"--dsn=host={both}")
        self.assertEqual(code, 0, err)


class Reaper(ServerTest):
    def leave_a_lease(self):
        name = self.name("dead")
        process, pidfd = self.holder("-t", at_least(1), name)
        process.kill()
        process.wait(patience())
        self.gone(pidfd)
        return name

    def test_the_daemon_removes_what_a_dead_client_left(self):
        for more in ([], ["--observe-beats"]):
            name = self.leave_a_lease()
            daemon = self.start("-i", "100ms", *more, tool=REAPERD)
            said = ""
            while name not in said:
                line = daemon.stderr.readline()
                self.assertTrue(line, "the daemon ended: " + said)
                said += line
            self.assertEqual(self.list(), [])
            daemon.terminate()
            self.assertEqual(daemon.wait(patience()), 0)

    def test_a_live_lease_is_left_alone(self):
        holder, pidfd = self.holder("-t", at_least(1),
                                    self.name("live"))
        daemon = self.start("-i", "100ms", tool=REAPERD)
        dead = self.leave_a_lease()
        said = ""
        while dead not in said:
            said += daemon.stderr.readline()
        entry, = self.list()
        self.assertEqual((entry["name"], entry["state"]),
                         (self.name("live"), "held"))
        holder.stdin.close()
        holder.stdin = None
        self.assertEqual(holder.wait(patience()), 3)
        self.gone(pidfd)

    def test_once_is_one_pass(self):
        name = self.leave_a_lease()
        self.assertEqual(self.run_tool("wait", "-w", at_least(120), name)[0], 0)
        code, _, err = self.run_tool("--once", tool=REAPERD)
        self.assertEqual(code, 0, err)
        self.assertEqual(self.list(), [])


@unittest.skipUnless(SANDBOX and shutil.which("mariadbd"), "no mariadbd here")
class OwnServer(ServerTest):
    @classmethod
    def setUpClass(cls):
        version = subprocess.run(["mariadbd", "--version"], check=True,
                                 text=True, stdout=subprocess.PIPE)
        cls.server = f"own, {version.stdout.strip()}"
        super().setUpClass()

    def sandbox(self, *words):
        return subprocess.run([SANDBOX, *words, f"--dir={self.place}/sb"],
                              check=True, timeout=patience(), text=True,
                              stdout=subprocess.PIPE).stdout.strip()

    def setUp(self):
        super().setUp()
        self.place = tempfile.mkdtemp(prefix="rowlock-cli-")
        self.addCleanup(shutil.rmtree, self.place)
        self.sandbox("start", f"--owner={os.getpid()}")
        self.addCleanup(self.sandbox, "stop")
        self.environment["ROWLOCK_DSN"] = self.sandbox("dsn")

    def test_a_row_that_is_broken_ends_its_command_with_124(self):
        # Other accounts may not look whose connection it is.
        Run.broken(self, "row", self.sandbox("dsn", "--root"))

    def test_an_account_that_may_not_break_a_row_is_told_what_to_type(self):
        self.environment["ROWLOCK_DSN"] = self.sandbox("dsn", "--app")
        _, pidfd = self.holder("-s", "row", self.name("mine"))
        code, _, err = self.run_tool("break", "-s", "row", self.name("mine"))
        os.close(pidfd)
        self.assertEqual(code, 125)
        self.assertIn(f"rowlock: break '{self.name('mine')}' (row): which "
                      "connection of ", err)
        self.assertIn("holds it this account is not told", err)

    def test_without_a_server_the_command_ends_before_the_deadline(self):
        process, pidfd = self.holder("-t", at_least(2),
                                     self.name("away"))
        row, row_pidfd = self.holder("-s", "row", self.name("away"))
        self.sandbox("kill")
        for run, fd in ((process, pidfd), (row, row_pidfd)):
            self.gone(fd)
            self.assertEqual(run.wait(patience()), 124)
        self.assertIn("about to be lost", process.stderr.read())
        self.assertIn("was lost", row.stderr.read())

    def test_a_loss_is_reported_with_the_error_of_the_heartbeats(self):
        process, pidfd = self.holder("-t", at_least(2), self.name("locked"))
        subprocess.run(
            ["mariadb", f"--defaults-file={self.place}/sb/root.cnf", "-e",
             "ALTER USER rowlock ACCOUNT LOCK; KILL CONNECTION USER rowlock"],
            check=True, timeout=patience())
        self.gone(pidfd)
        self.assertEqual(process.wait(patience()), 124)
        err = process.stderr.read()
        self.assertRegex(err, "heartbeat failed, leases are lost in [0-9]+ ms "
                         "unless one succeeds: .*account is locked")
        self.assertRegex(err, r"lost \(no heartbeat succeeded in time; the last: "
                         ".*account is locked")

    def test_a_lease_lives_through_a_restart_and_the_daemon_too(self):
        holder, pidfd = self.holder("-t", "60", self.name("lives"))
        daemon = self.start("-i", "100ms", tool=REAPERD)
        self.sandbox("kill")
        said = ""
        while "trying again" not in said:
            said += daemon.stderr.readline()
        self.sandbox("restart")
        while "the server is back" not in said:
            said += daemon.stderr.readline()
        self.assertEqual(self.list()[0]["state"], "held")
        holder.stdin.close()
        holder.stdin = None
        code, _, err = self.finish(holder)
        self.assertEqual(code, 3, err)
        self.gone(pidfd)
        daemon.terminate()
        self.assertEqual(daemon.wait(patience()), 0)


if __name__ == "__main__":
    if not DSN:
        print("1..0 # SKIP no ROWLOCK_TEST_DSN")
        sys.exit(77)
    harness.main()
