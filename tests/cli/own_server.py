# SPDX-License-Identifier: MIT
"""A test on a server of its own, which it may change; the account is the
application's."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import harness
from harness import ToolTest, patience

SANDBOX = os.environ.get("ROWLOCK_SANDBOX", "")


class OwnServer(ToolTest):
    place = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        version = subprocess.run(["mariadbd", "--version"], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        print(f"# server: own, {version.strip()}", flush=True)
        cls.place = tempfile.mkdtemp(prefix="rowlock-cli-")
        cls.sandbox("start", f"--owner={os.getpid()}")
        cls.dsn = cls.sandbox("dsn", "--app")
        cls.port = int(re.search("port=([0-9]+)", cls.dsn)[1])

    @classmethod
    def tearDownClass(cls):
        cls.sandbox("stop")
        shutil.rmtree(cls.place)
        super().tearDownClass()

    @classmethod
    def sandbox(cls, *words):
        return subprocess.run([SANDBOX, *words, f"--dir={cls.place}/sb"], check=True,
                              timeout=patience(), text=True,
                              stdout=subprocess.PIPE).stdout.strip()

    def client(self, *options):
        """The command of the server's administrator."""
        return ["mariadb", f"--defaults-file={self.place}/sb/root.cnf", "-N", *options,
                "rowlock"]

    def sql(self, *statements):
        return subprocess.run(
            self.client(), input=";".join(statements), check=True, text=True,
            timeout=patience(), stdout=subprocess.PIPE).stdout

    def changed(self, do, undo):
        self.sql(do)
        self.addCleanup(self.sql, undo)

    def setUp(self):
        super().setUp()
        del self.environment["ROWLOCK_FAKE"]
        self.environment["ROWLOCK_DSN"] = self.dsn


class OwnTables(OwnServer):
    """Each case begins with empty ones."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.sql, "DELETE FROM business_lease",
                        "DELETE FROM lease_session", "DELETE FROM business_lock")


def main():
    """harness.main(), where there is a server to start."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if not shutil.which("mariadbd"):
        print("1..0 # SKIP no mariadbd")
        sys.exit(77)
    harness.main()
