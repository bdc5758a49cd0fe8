# SPDX-License-Identifier: MIT
"""Rows that another account of the application has written by hand, as bad as the
tables let it: the real command shows them, waits beside them and removes them on a
real server (ROWLOCK_TEST_DSN). Whatever it makes of them, it ends by itself, and
steers no terminal.
"""
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import threading

import harness
from harness import ToolTest, patience
from option_file import option_file

CLI = os.environ.get("ROWLOCK_TOOL", "rowlock")
REAPERD = os.environ.get("ROWLOCK_REAPERD", "rowlock-reaperd")
DSN = os.environ.get("ROWLOCK_TEST_DSN", "")
CLIENT = shutil.which("mariadb") or shutil.which("mysql")

# Characters that steer: C0 and C1, from the right to the left, ends of lines; a
# byte of nothing in the middle; and as many bytes as there is room for.
STEERING = ("".join(map(chr, [*range(1, 32), *range(127, 160)]))
            + "\u202e\u2028\u2029\ufeff\u200d")
TEXTS = (STEERING, "a\0b", "'\"\\%_!;--{}\x1b[2J", "\U0001F512" * 255, "", None)
NAMES = ("name", "\x1b]0;x\x07\x9b31m", "a\0b", "%_!*?'\"\\", "\U0001F512" * 30,
         "blank ")
SLOTS = (0, 1, 1000, 2 ** 30, 2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 2 ** 32 - 1)
TIMES = ("0000-00-00", "1000-01-01", "9999-12-31 23:59:59.999999")
STEERS = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")

COMMANDS = ("list {p}*", "list --held {p}*", "list --all --wide {p}*",
            "list --probe {p}*", "show {n}", "show --probe {n}",
            "wait -v --timeout 1s {n}", "run -v --wait 1s {n} -- true",
            "run -v -s row --wait 1s {n} -- true",
            "run -v --read --wait 1s {n} -- true",
            "run -v --write --wait 1s {n} -- true",
            "run -v --permits 2 --wait 1s {n} -- true", "permits {n}",
            "elect -v --weight 3 --wait 1s {n} -- true", "break -v {n}",
            "reap -v --timeout 1s")


def text(value):
    return "NULL" if value is None else f"_utf8mb4 0x{value.encode().hex()}" \
        if value else "''"


class Foreign(ToolTest):

    def setUp(self):
        super().setUp()
        del self.environment["ROWLOCK_FAKE"]
        self.environment["ROWLOCK_DSN"] = DSN
        self.environment["LC_ALL"] = "C.UTF-8"
        self.prefix = f"test-foreign-{os.getpid()}-"
        self.ids = range(os.getpid() << 20, (os.getpid() << 20) + 1000)

    def tearDown(self):
        self.end_processes()
        self.sql(*(f"DELETE FROM {table} WHERE name LIKE '{self.prefix}%'"
                   for table in ("business_lock", "business_lease", "lock_token")),
                 f"DELETE FROM lease_session WHERE id BETWEEN {self.ids[0]} "
                 f"AND {self.ids[-1]}")
        super().tearDown()

    def sql(self, *statements):
        path = os.path.join(self.directory, "client.cnf")
        if not os.path.exists(path):
            option_file(path, DSN)
        subprocess.run([CLIENT, f"--defaults-file={path}"], check=True,
                       timeout=patience(), text=True,
                       input="SET sql_mode = '';" + ";".join(statements) + ";")

    def write(self):
        """The name of each, as far as it can be said on a command line."""
        rows = []
        numbers = iter(self.ids)
        for i, words in enumerate(TEXTS):
            session = next(numbers)
            rows.append(
                "INSERT INTO lease_session VALUES "
                f"({session}, {(0, 2 ** 32 - 1)[i % 2]}, '{TIMES[i % 3]}', "
                f"{2 ** 64 - 1}, {2 ** 64 - 1}, {text(words)}, {2 ** 32 - 1}, "
                f"{text(words)}, '{TIMES[i % 3]}')")
            name = text(self.prefix + NAMES[i])
            for j, slot in enumerate(SLOTS):
                ends = ("NULL", *(f"'{time}'" for time in TIMES))[j % 4]
                rows.append(
                    f"INSERT INTO business_lease VALUES ({name}, {slot}, "
                    f"{session}, {(0, 2 ** 64 - 1)[j % 2]}, "
                    f"'{TIMES[(i + j) % 3]}', {ends}, {text(words)}, "
                    f"{2 ** 32 - 1})")
            rows.append(f"INSERT INTO business_lock VALUES ({name}, "
                        f"{text(words)}, '{TIMES[i % 3]}')")
            for strategy in ("lease", "row"):
                rows.append(f"INSERT INTO lock_token VALUES ('{strategy}', {name}, "
                            f"{2 ** 53 - 1}, '{TIMES[i % 3]}', {2 ** 64 - 1})")
        self.sql(*rows)

    def looks_well(self, command, code, *said):
        for what in said:
            self.assertNotRegex(what, b"runtime error|Sanitizer", command)
            self.assertIsNone(STEERS.search(what), f"{command}: {what}")
        self.assertIn(code, range(126), f"{command}: {said}")

    def tell(self, *argv, tool=CLI):
        done = subprocess.run(
            [tool, *argv], check=False, capture_output=True,
            stdin=subprocess.DEVNULL, timeout=patience(), env=self.environment)
        self.looks_well(argv, done.returncode, done.stdout, done.stderr)
        return done.returncode, done.stdout

    def tell_terminal(self, *argv):
        """The same on a terminal, which gets its lines' ends from the tool."""
        master, slave = pty.openpty()
        process = self.start(*argv, tool=CLI, stdout=slave, stderr=slave,
                             text=False, errors=None)
        os.close(slave)
        shown = []

        def read():
            try:
                while chunk := os.read(master, 65536):
                    shown.append(chunk)
            except OSError:
                pass  # nobody writes there any more

        reader = threading.Thread(target=read)
        reader.start()
        code = process.wait(patience())
        reader.join()
        os.close(master)
        # The tool's own: ends of lines, colours, and to wipe the line of a wait.
        self.looks_well(argv, code, re.sub(rb"\r\n|\r|\x1b\[(K|\d*m)", b"\n",
                                           b"".join(shown)))

    def test_rows_of_ill_will_end_nothing(self):
        self.write()
        for name in NAMES:
            name = self.prefix + name.partition("\0")[0]
            for command in COMMANDS[:-2]:
                self.tell(*(word.format(p=self.prefix, n=name)
                            for word in command.split()))
            for command in ("list {p}*", "show {n}", "run --wait 2s {n} -- true"):
                self.tell_terminal(*(word.format(p=self.prefix, n=name)
                                     for word in command.split()))
            for argv in (["list", "--json", self.prefix + "*"],
                         ["show", "--json", name]):
                json.loads(self.tell(*argv)[1])
        for name in NAMES:
            for command in COMMANDS[-2:]:
                self.tell(*(word.format(n=self.prefix + name.partition("\0")[0])
                            for word in command.split()))
        self.tell("--once", tool=REAPERD)


if __name__ == "__main__":
    if not DSN or not CLIENT:
        print("1..0 # SKIP no ROWLOCK_TEST_DSN, or no client of the server")
        sys.exit(77)
    harness.main()
