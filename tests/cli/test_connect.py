# SPDX-License-Identifier: MIT
"""Another host: docs/connect.md, each line as it stands there, with a server of its
own on an address of this machine that is not local in name, and a CA of its own; and
README's first lock, on that server's host. Without such an address, or without a server's
programs, the cases are skipped.

Only places are others: /etc, where the installed files are, the server's name and
port, and who restarts it.
"""
import getpass
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import harness
from harness import MIGRATE, ToolTest, patience, waiting
from page import ROOT, blocks
from test_tls import address_of_this_host

CLI = os.environ.get("ROWLOCK_TOOL", "rowlock")
REAPERD = os.environ.get("ROWLOCK_REAPERD", "rowlock-reaperd")
PAGE = blocks("docs/connect.md", "# on (the server|each host|one host)\n")
NEEDED = ("mariadbd", "mariadb-install-db", "mariadb", "openssl")
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"


class Server:
    """A MariaDB without TLS, until it is given a certificate."""

    def __init__(self, address):
        self.directory = tempfile.mkdtemp(prefix="rowlock-connect-")
        self.address = address
        with socket.create_server((address, 0)) as probe:
            self.port = probe.getsockname()[1]
        self.socket = os.path.join(self.directory, "sock")
        self.process = None
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", "--skip-test-db", "--force",
             "--skip-name-resolve", "--auth-root-authentication-method=normal",
             f"--datadir={self.directory}/data", f"--user={getpass.getuser()}"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "PATH": PATH})
        with open(self.root_file, "w", encoding="utf-8") as out:
            out.write(f"[client]\nuser=root\nsocket={self.socket}\n")

    @property
    def root_file(self):
        return os.path.join(self.directory, "root.cnf")

    def start(self, option_file=None):
        if option_file:
            with open(self.root_file, "a", encoding="utf-8") as out:
                out.write(f"!include {option_file}\n")
        defaults = (f"--defaults-file={option_file}" if option_file
                    else "--no-defaults")
        with open(os.path.join(self.directory, "log"), "w",
                  encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["mariadbd", defaults, f"--user={getpass.getuser()}",
                 f"--datadir={self.directory}/data", f"--socket={self.socket}",
                 f"--port={self.port}", f"--pid-file={self.directory}/pid",
                 *([] if option_file else [f"--bind-address={self.address}"])],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "PATH": PATH})
        for _ in waiting():
            if self.says("DO 0"):
                return
            if self.process.poll() is not None:
                break
        with open(os.path.join(self.directory, "log"),
                  encoding="utf-8") as log:
            raise AssertionError("the server did not start: " + log.read())

    def says(self, sql):
        return subprocess.run(["mariadb", f"--defaults-file={self.root_file}"],
                              input=sql, text=True, check=False,
                              stderr=subprocess.DEVNULL).returncode == 0

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(patience())

    def remove(self):
        self.stop()
        shutil.rmtree(self.directory)


class Connect(ToolTest):
    @classmethod
    def setUpClass(cls):
        address = address_of_this_host()
        lacking = [name for name in NEEDED if not shutil.which(name, path=PATH)]
        if not address or lacking:
            raise unittest.SkipTest(
                f"not here: {', '.join(lacking) or 'an address for others'}")
        cls.server = Server(address)
        cls.addClassCleanup(cls.server.remove)

    def setUp(self):
        super().setUp()
        self.addCleanup(self.server.stop)
        self.passwords = {}
        del self.environment["ROWLOCK_FAKE"]
        os.remove(os.path.join(self.directory, ".my.cnf"))
        self.environment["PATH"] = f"{self.directory}/bin:{PATH}"
        for place in ("bin", "server", "mysql/mariadb.conf.d", "ssl"):
            os.makedirs(os.path.join(self.directory, place))
        self.script("bin/sudo", 'exec "$@"')
        self.script("server/chown", ":")
        self.script("server/mariadb", f'exec {shutil.which("mariadb")} '
                    f'--defaults-file={self.server.root_file} "$@"')
        for name, tool in (("rowlock", CLI), ("rowlock-migrate", MIGRATE)):
            os.symlink(os.path.abspath(tool),
                       os.path.join(self.directory, "bin", name))

    def script(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)

    def moved(self, block):
        """A block of the page, for this place."""
        server = self.server
        for here, there in (
                (r"/etc/(mysql|ssl)\b", rf"{self.directory}/\1"),
                (r"/usr/share/rowlock/sql", f"{ROOT}/sql"),
                (r"DNS:db1\b", f"IP:{server.address}"),
                (r"bind-address = \*", f"bind-address = {server.address}"),
                (r"^host = db1$",
                 f"host = {server.address}\nport = {server.port}"),
                (r"\bCHANGE_ME_APP\b", self.passwords.get("app", ""))):
            block = re.sub(here, there, block, flags=re.M)
        return block

    def read_passwords(self):
        with open(f"{self.directory}/mysql/accounts.sql", encoding="utf-8") as file:
            self.passwords = dict(re.findall(
                r"'rowlock_(\w+)'@'%'\n\tIDENTIFIED BY '(\w+)'", file.read()))

    def shell(self, text, **more):
        code, out, err = self.run_tool(
            "-euc", text, tool="/bin/sh", cwd=f"{self.directory}/mysql", **more)
        self.assertEqual(code, 0, f"{text}\n{out}{err}")
        return out

    def on_the_server(self, block):
        environment = {**self.environment, "PATH":
                       f"{self.directory}/server:{PATH}"}
        before, restart, after = block.partition("systemctl restart mariadb\n")
        self.shell(before, env=environment)
        if restart:
            self.server.stop()
            self.server.start(
                f"{self.directory}/mysql/mariadb.conf.d/90-tls.cnf")
            self.shell(after, env=environment)

    def on_each_host(self, block):
        """With a terminal, where the password is typed."""
        terminal, other_end = pty.openpty()
        if " -p\n" in block:
            os.write(terminal, f"{self.passwords['migrate']}\n".encode())
        try:
            return self.shell(block, stdin=other_end)
        finally:
            os.close(other_end)
            os.close(terminal)

    def test_the_first_lock_of_README_is_held(self):
        self.server.start()
        with open(f"{self.directory}/.my.cnf", "w", encoding="utf-8") as file:
            file.write(f"[client]\nuser=root\nsocket={self.server.socket}\n")
        block, = blocks("README.md", "sudo mariadb")
        self.assertTrue(self.shell(block).endswith("it runs\n"))

    def test_each_line_of_the_page_leads_to_a_server_on_another_host(self):
        self.server.start()
        # Nobody may come from there yet, which the server says before TLS.
        code, _, err = self.run_tool(
            "list", f"--dsn=host={self.server.address};"
            f"port={self.server.port};user=a;database=app", tool=CLI)
        self.assertEqual(code, 125)
        self.assertIn("is not allowed to connect", err)
        self.assertIn("check user, password and the host", err)
        own = os.path.join(self.directory, ".my.cnf")
        with open(own, "w", encoding="utf-8") as file:
            file.write("[mysql]\nprompt = mine")
        said = ""
        for block in PAGE:
            # The option file has a password that a block before has made.
            play = (self.on_the_server if block.startswith("# on the server")
                    else self.on_each_host)
            said += play(self.moved(block)) or ""
            if ">accounts.sql" in block:
                self.read_passwords()
        self.assertIn("it runs\n", said)
        # Its own lines stay, and nobody else reads it.
        with open(own, encoding="utf-8") as file:
            self.assertTrue(file.read().startswith("[mysql]\nprompt = mine\n"))
        self.assertEqual(os.stat(own).st_mode & 0o777, 0o600)
        # One of the passwords tells nothing of the others.
        parts = [{word[i:i + 8] for i in range(len(word) - 7)}
                 for word in self.passwords.values()]
        self.assertEqual(len(set().union(*parts)), sum(map(len, parts)))
        self.assertEqual(len(parts), 4)
        self.assertFalse(os.path.exists(f"{self.directory}/mysql/accounts.sql"))
        code, _, err = self.run_tool("--once", tool=REAPERD)
        self.assertEqual(code, 0, err)
        code, _, err = self.run_tool("list", "--dsn=host=127.0.0.1;port=1",
                                     tool=CLI)
        self.assertEqual(code, 125)
        self.assertIn("127.0.0.1:1", err)

    def test_where_no_server_listens_all_programs_ask_for_its_bind_address(self):
        """As Debian's does, which listens for its own host only."""
        self.environment["ROWLOCK_DSN"] = (
            f"host={self.server.address};port={self.server.port};"
            "user=a;database=app")
        for tool, argv, code in ((CLI, ["list"], 125), (REAPERD, ["--once"], 1),
                                 (MIGRATE, [], 2)):
            with self.subTest(tool):
                got, _, err = self.run_tool(*argv, tool=tool)
                self.assertEqual(got, code, err)
                self.assertIn(self.server.address, err)
                self.assertIn("(bind-address)?", err)

    def test_without_a_certificate_all_programs_say_the_same(self):
        self.server.start()
        self.assertTrue(self.server.says(
            "CREATE DATABASE IF NOT EXISTS clear; GRANT ALL ON clear.* TO "
            "'clear'@'%' IDENTIFIED BY 'secret17'"))
        self.environment["ROWLOCK_DSN"] = (
            f"host={self.server.address};port={self.server.port};"
            "user=clear;password=secret17;database=clear")
        for tool, argv, code in ((CLI, ["list"], 125), (REAPERD, ["--once"], 1),
                                 (MIGRATE, [], 2)):
            with self.subTest(tool):
                got, _, err = self.run_tool(*argv, tool=tool)
                self.assertEqual(got, code, err)
                self.assertIn("rowlock-connect(7)", err)
                self.assertIn("--tls-unverified", err)
                self.assertNotIn("ROWLOCK_TLS", err)
        for tool, argv in ((MIGRATE, []), (CLI, ["list"]),
                           (REAPERD, ["--once"])):
            with self.subTest(tool):
                got, _, err = self.run_tool(*argv, "--tls-unverified",
                                            tool=tool)
                self.assertEqual(got, 0, err)


if __name__ == "__main__":
    harness.main()
