# SPDX-License-Identifier: MIT
"""A long list, on a server of the test's own: shown as it is read.

The reader takes a line at a time, through a pipe that has room for a few: so
`rowlock list` cannot be further than what was taken, and a page. A name that is
made when the first line is there has to be in the list then, as the server is
still to be asked for the page where it stands.
"""
import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile

import harness
from harness import ToolTest, patience

CLI = os.environ.get("ROWLOCK_TOOL", "rowlock")
SANDBOX = os.environ.get("ROWLOCK_SANDBOX", "")
MANY = 20000
FEW = "lease-00*"  # 999 of them
PAGE = 256
PIPE = 4096
# Of which each entry that is kept would take a good part of one.
GROWTH_KB = 1024


def is_sanitized():
    """It keeps what was freed, for a while, or watches every byte."""
    with open(CLI, "rb") as tool:
        return re.search(rb"__[at]san_init", tool.read())


class LongList(ToolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.place = tempfile.mkdtemp(prefix="rowlock-cli-")
        cls.addClassCleanup(shutil.rmtree, cls.place)
        cls.sandbox("start", f"--owner={os.getpid()}")
        cls.addClassCleanup(cls.sandbox, "stop")
        cls.sql("INSERT INTO lease_session (id, ttl, expires_at, started_at) "
                "VALUES (1, 30000, UTC_TIMESTAMP(6) + INTERVAL 1 DAY, "
                "UTC_TIMESTAMP(6))")
        cls.lease(f"CONCAT('lease-', LPAD(seq, 5, 0)), 0, 1, seq, "
                  f"UTC_TIMESTAMP(6) FROM seq_1_to_{MANY}")

    @classmethod
    def sandbox(cls, *words, text=None):
        return subprocess.run(
            [SANDBOX, words[0], f"--dir={cls.place}/sb", *words[1:]],
            check=True, timeout=patience(), text=True, input=text,
            stdout=subprocess.PIPE).stdout

    @classmethod
    def sql(cls, text):
        return cls.sandbox("shell", "--root", "--", "--batch",
                           "--skip-column-names", "rowlock", text=text + ";")

    @classmethod
    def lease(cls, row):
        cls.sql("INSERT INTO business_lease (name, slot, session, attempt, "
                f"acquired_at) SELECT {row}")

    def questions(self):
        """SELECTs of all connections: nobody is here but us."""
        return int(self.sql("SHOW GLOBAL STATUS LIKE 'Com_select'")
                   .split()[1])

    def setUp(self):
        super().setUp()
        del self.environment["ROWLOCK_FAKE"]
        self.environment["ROWLOCK_DSN"] = self.sandbox("dsn").strip()

    def begin(self, *argv):
        """A list of which the first name is there; its lines, one at a time."""
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE)
        process = self.start("list", "-s", "lease", *argv, tool=CLI,
                             stdout=writer)
        os.close(writer)
        lines = os.fdopen(reader, encoding="utf-8")
        self.addCleanup(lines.close)
        lines.readline()  # the titles; or the bracket
        self.assertIn("lease-00001", lines.readline())
        return process, lines

    @staticmethod
    def take(lines, count):
        for _ in range(count):
            lines.readline()

    @staticmethod
    def peak_kb(process):
        """Of its memory so far; it waits for its reader, and lives."""
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmHWM:\s*(\d+) kB", status.read())[1])

    def test_the_first_line_is_there_before_the_last_is_asked_for(self):
        for number, argv in enumerate(([], ["--json"])):
            with self.subTest(argv):
                before = self.questions()
                process, lines = self.begin(*argv)
                name = f"made-{number}-meanwhile"
                self.lease(f"'{name}', 0, 1, {MANY + 1 + number}, "
                           "UTC_TIMESTAMP(6)")
                rest = [line for line in lines.readlines() if line != "]\n"]
                self.assertEqual(self.finish(process)[0], 0)
                self.assertIn(name, rest[-1])
                self.assertEqual(len(rest), MANY + number)
                # Page by page, and not much else.
                pages = (MANY + number + 1) // PAGE + 1
                self.assertIn(self.questions() - before,
                              range(pages, 2 * pages))

    def test_a_long_list_takes_no_more_memory_than_a_short_one(self):
        if is_sanitized():
            self.skipTest("a sanitizer's memory is not the tool's")
        few, lines = self.begin(FEW)
        self.take(lines, 600)
        short = self.peak_kb(few)
        lines.read()
        many, lines = self.begin()
        self.take(lines, MANY - 500)
        self.assertLess(self.peak_kb(many), short + GROWTH_KB)
        lines.read()
        for process in (few, many):
            self.assertEqual(self.finish(process)[0], 0)


if __name__ == "__main__":
    if not (SANDBOX and shutil.which("mariadbd")):
        print("1..0 # SKIP no mariadbd here")
        sys.exit(77)
    harness.main()
