# SPDX-License-Identifier: MIT
"""A test on a server of its own, which it may change; the account is the
application's."""
import os
import re
import shutil
import subprocess
import tempfile

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

    def sql(self, *statements):
        return subprocess.run(
            ["mariadb", f"--defaults-file={self.place}/sb/root.cnf", "-N", "rowlock"],
            input=";".join(statements), check=True, text=True, timeout=patience(),
            stdout=subprocess.PIPE).stdout

    def changed(self, do, undo):
        self.sql(do)
        self.addCleanup(self.sql, undo)

    def setUp(self):
        super().setUp()
        del self.environment["ROWLOCK_FAKE"]
        self.environment["ROWLOCK_DSN"] = self.dsn
