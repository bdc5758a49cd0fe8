# SPDX-License-Identifier: MIT
"""What is misspelt must not lead to another server: the real programs, the
real library, and a server that only notes whether anybody came. It stands in
the place of the local one, where Connector/C would go without a word.
"""
import os
import socket
import threading
import unittest

import harness
from harness import ToolTest

CLI = os.environ.get("ROWLOCK_TOOL", "rowlock")
REAPERD = os.environ.get("ROWLOCK_REAPERD", "rowlock-reaperd")


class Misspelt(ToolTest):
    def setUp(self):
        super().setUp()
        del self.environment["ROWLOCK_FAKE"]
        for key in ("MARIADB_HOME", "MYSQL_HOME"):
            self.environment.pop(key, None)
        self.environment["HOME"] = self.directory
        self.path = os.path.join(self.directory, "local.sock")
        self.listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(self.listener.close)
        self.listener.bind(self.path)
        self.listener.listen()
        self.listener.setblocking(False)
        self.done = os.path.join(self.directory, "done")

    def refused(self, says, *options, daemon=78):
        """Both programs, without the command, and nobody came."""
        for tool, code, argv in (
                (CLI, 125, ["run", *options, "job", "touch", self.done]),
                (CLI, 125, ["list", *options]),
                (REAPERD, daemon, ["--once", *options])):
            got, out, err = self.run_tool(*argv, tool=tool)
            self.assertEqual((got, out), (code, ""), err)
            self.assertIn(says, err)
            self.assertNotIn("hunter2", err)
            self.assertFalse(os.path.exists(self.done))
            with self.assertRaises(BlockingIOError):
                self.listener.accept()

    def option_file(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def test_a_misspelt_key_in_the_environment_leads_nowhere(self):
        for entry, says in (
                ("hots=db1", "unknown key 'hots': did you mean 'host'?"),
                ("port=abc", "'port' is 'abc'"),
                ("garbage", "unknown key 'garbage'"),
                ("protocol=pipe", "'protocol' is 'pipe'"),
                ("host=", "'host' is ''; leave it out"),
                ("user=a;user=b", "'user' is there twice")):
            with self.subTest(entry):
                self.environment["ROWLOCK_DSN"] = (
                    f"socket={self.path};password=hunter2;database=d;{entry}")
                self.refused(says)

    def test_a_misspelt_key_on_the_command_line_leads_nowhere(self):
        self.refused("unknown key 'hots'",
                     f"--dsn=socket={self.path};hots=db1;database=d")
        self.refused("did you mean 'socket'?",
                     f"--dsn=unix_socket={self.path}")

    def test_a_misspelt_key_in_an_option_file_leads_nowhere(self):
        text = (f"[client]\nsocket={self.path}\npassword=hunter2\nhots=any\n"
                "[rowlock]\nhots=db1\n")
        path = self.option_file("some.cnf", text)
        self.refused("some.cnf:6: group [rowlock]: unknown key 'hots'",
                     f"--defaults-file={path}")
        self.option_file(".my.cnf", text)
        self.refused(".my.cnf:6: group [rowlock]: unknown key 'hots'")
        self.option_file(".my.cnf", f"[client]\nsocket={self.path}\nport=abc\n")
        self.refused(".my.cnf:3: group [client]: 'port' is 'abc'")

    def test_what_is_wrong_is_told_with_its_source(self):
        path = self.option_file("a.cnf", "[rowlock_s]\nhots=a\n")
        self.environment["ROWLOCK_DSN"] = "hots=a"
        self.refused("ROWLOCK_DSN: unknown key 'hots'")
        self.environment["ROWLOCK_DSN"] = f"socket={self.path}"
        self.refused("--dsn: unknown key 'hots'", "--dsn=hots=a")
        self.refused("a.cnf:2: group [rowlock_s]: unknown key 'hots'",
                     f"--defaults-file={path}", "--defaults-group-suffix=_s")
        self.refused("cannot read '/nonexistent'",
                     "--defaults-file=/nonexistent")
        self.environment["ROWLOCK_DSN"] = ""
        self.refused("ROWLOCK_DSN is empty")

    def test_no_configuration_at_all_is_told_as_that(self):
        path = self.option_file("b.cnf", "[client]\nsocket=/nonexistent\n")
        self.refused("no server is named, neither by --dsn nor by ROWLOCK_DSN "
                     "nor in an option file: write [rowlock]",
                     f"--defaults-file={path}")
        # What was told is not hidden.
        self.refused("/nonexistent", "--dsn=socket=/nonexistent", daemon=1)

    def test_what_is_well_spelt_is_connected(self):
        self.environment["ROWLOCK_DSN"] = f"socket={self.path};user=app"
        self.listener.setblocking(True)
        came = threading.Event()

        def receive():
            self.listener.accept()[0].close()
            came.set()

        threading.Thread(target=receive, daemon=True).start()
        code, _, _ = self.run_tool("list", tool=CLI)
        self.assertEqual(code, 125)
        self.assertTrue(came.is_set())


if __name__ == "__main__":
    harness.main()
