# SPDX-License-Identifier: MIT
"""Who is at the other end: the real command against a server of a few lines
that greets, speaks TLS with a certificate for another name, and notes whether
it was told who logs in. It listens on an address of this host that is not
local in name; without one the cases are skipped.

tls/somebody-else.pem is a key that everybody knows, with a certificate that it
has signed itself, for somebody-else.invalid; that of tls/expired.pem ended in 2021.
"""
import fcntl
import os
import signal
import socket
import ssl
import struct
import threading

import harness
from harness import ToolTest, at_least, patience
from packets import packet

CLI = os.environ.get("ROWLOCK_TOOL", "rowlock")
PEM, EXPIRED = (os.path.join(os.path.dirname(os.path.abspath(__file__)), "tls", name)
                for name in ("somebody-else.pem", "expired.pem"))
SIOCGIFADDR = 0x8915

CLIENT_SSL = 0x800
# What a MariaDB 10.11 says that it can, in part: protocol 4.1, TLS, plugins.
CAPABLE = 1 | 8 | 0x200 | CLIENT_SSL | 0x2000 | 0x8000 | 0x80000


def address_of_this_host():
    """One that other hosts could use, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(probe, SIOCGIFADDR,
                                     struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue
            address = socket.inet_ntoa(answer[20:24])
            if not address.startswith("127."):
                return address
    return None


def read(peer, size):
    data = b""
    while len(data) < size and (more := peer.recv(size - len(data))):
        data += more
    return data


def read_packet(peer):
    """One, and not a byte of the TLS that may follow it at once."""
    head = read(peer, 4)
    return head + read(peer, int.from_bytes(head[:3], "little"))


def greeting(capable):
    return packet(0, b"\x0a10.11.0-MariaDB\0" + struct.pack(
        "<I8sxHBHHB10x", 7, b"saltsalt", capable & 0xffff, 45, 2, capable >> 16, 21)
        + b"saltsaltsalt\0mysql_native_password\0")


GREETING = greeting(CAPABLE)


CLEAR = [b"\xfemysql_clear_password\0"]
# The hash is not enough: under TLS Connector/C would send the password itself.
UNKNOWN = [b"\xfecaching_sha2_password\0" + b"saltsalt" * 2 + b"salt\0",
           b"\1\4"]
DENIED = b"\xff\x15\x04#28000Access denied"


class Impostor:
    """Serves one client after the other."""

    def __init__(self, address):
        self.asks = []  # before it denies access
        self.greeting = GREETING
        self.denies = DENIED
        self.listener = socket.create_server((address, 0))
        self.port = self.listener.getsockname()[1]
        self.heard = b""  # all that came behind the greeting, as it was meant
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(PEM)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            with peer:
                peer.settimeout(patience())
                try:
                    self._talk(peer)
                except OSError:
                    pass  # it has seen the certificate, and gone

    def _talk(self, peer):
        peer.sendall(self.greeting)
        wish = read_packet(peer)
        if len(wish) < 8 or not struct.unpack("<I", wish[4:8])[0] & CLIENT_SSL:
            self.heard += wish
            return
        with self.context.wrap_socket(peer, server_side=True) as secured:
            self.heard += read_packet(secured)
            number = 3
            for question in self.asks:
                secured.sendall(packet(number, question))
                self.heard += read_packet(secured)
                number += 2
            secured.sendall(packet(number, self.denies))

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(patience())  # it has the socket's number in its hand
        self.listener.close()


class Tls(ToolTest):

    def setUp(self):
        super().setUp()
        del self.environment["ROWLOCK_FAKE"]
        self.address = address = address_of_this_host()
        if not address:
            self.skipTest("this host has no address but local ones")
        # The client hangs up when it likes.
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        self.impostor = Impostor(address)
        self.addCleanup(self.impostor.close)
        self.dsn = (f"host={address};port={self.impostor.port};"
                    "user=nobody17;password=secret17;database=rowlock")

    def list_with(self, dsn, *options):
        self.environment["ROWLOCK_DSN"] = dsn
        return self.run_tool("list", *options)

    def run_tool(self, *argv, **more):
        return super().run_tool(*argv, tool=CLI, **more)

    def test_a_certificate_that_nobody_vouches_for_is_refused(self):
        code, _, err = self.list_with(self.dsn)
        self.assertEqual(code, 125, err)
        self.assertNotIn(b"nobody17", self.impostor.heard)

    def test_a_certificate_for_another_name_is_refused(self):
        code, _, err = self.list_with(f"{self.dsn};ssl_ca={PEM}")
        self.assertEqual(code, 125, err)
        self.assertNotIn(b"nobody17", self.impostor.heard)
        self.assertIn("it is for DNS:somebody-else.invalid, and not for "
                      f"'{self.address}': ", err)
        self.assertIn(", or give --tls-unverified and leave out ssl-ca "
                      "(ROWLOCK_DSN)", err)

    def test_the_line_that_asks_for_tls_is_named(self):
        file = os.path.join(self.directory, "my.cnf")
        with open(file, "w", encoding="utf-8") as text:
            text.write(f"[rowlock]\nssl-enforce\nssl-ca={PEM}\n")
        unverified = f"--defaults-file={file}", "--tls-unverified"
        self.impostor.context.load_cert_chain(EXPIRED)
        err = self.list_with(self.dsn, *unverified)[2]
        self.assertIn("it expired on 2021-01-01: renew it, or leave out ssl-ca "
                      f"({file}:3: group [rowlock])\n", err)
        self.assertEqual(err.count("--tls-unverified"), 0, err)
        self.impostor.greeting = greeting(CAPABLE & ~CLIENT_SSL)
        err = self.list_with(self.dsn, *unverified)[2]
        self.assertIn(f"it has no TLS, which is asked for by ssl-ca ({file}:3: group "
                      f"[rowlock]), ssl-enforce ({file}:2: group [rowlock]); give the "
                      "server a certificate (rowlock-connect(7) says how), or leave "
                      "that out\n", err)
        err = self.list_with(self.dsn, unverified[0])[2]
        self.assertIn("or give --tls-unverified and leave that out\n", err)

    def test_a_file_that_cannot_be_read_is_named_with_its_key(self):
        missing = os.path.join(self.directory, "ca.pem")
        for key in ("ssl-ca", "ssl-cert"):
            with self.subTest(key):
                code, _, err = self.list_with(f"{self.dsn};{key}={missing}")
                self.assertEqual(code, 125, err)
                self.assertIn(f"cannot read '{missing}' ({key}): No such file",
                              err)
                self.assertNotIn("--tls-unverified", err)

    def test_a_host_that_does_not_answer_leaves_time_for_the_next(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as silent:
            # Its queue is full: the kernel drops what comes next.
            with socket.create_connection(silent.getsockname()):
                code, _, err = self.list_with(
                    self.dsn.replace(
                        "host=", f"host=127.0.0.1:{silent.getsockname()[1]},"),
                    f"--connect-timeout={at_least(4, most=60)}")
        self.assertEqual(code, 125, err)
        self.assertIn("certificate", err)  # so the next one was asked

    def test_a_host_that_does_not_greet_leaves_time_for_the_next(self):
        # The kernel takes the connections; their server hangs.
        with socket.create_server(("127.0.0.1", 0)) as one, \
                socket.create_server(("127.0.0.1", 0)) as two:
            first, second = (f"127.0.0.1:{each.getsockname()[1]}"
                             for each in (one, two))
            code, _, err = self.list_with(
                self.dsn.replace("host=", f"host={first},"),
                f"--connect-timeout={at_least(4, most=60)}")
            self.assertEqual(code, 125, err)
            self.assertIn("certificate", err)  # so the next one was asked
            # The last one has all of the time that is left.
            code, _, err = self.list_with(
                f"host={first},{second};user=u;database=test",
                "--connect-timeout=1s")
            self.assertEqual(code, 125, err)
            self.assertIn(f"connect to {first},{second}:3306: no answer in "
                          "time", err)

    def test_who_says_so_is_told_to_anybody(self):
        code, _, err = self.list_with(f"{self.dsn};ssl_enforce=1",
                                      "--tls-unverified")
        self.assertEqual(code, 125, err)
        self.assertIn(b"nobody17", self.impostor.heard, err)
        self.assertNotIn(b"secret17", self.impostor.heard)

    def ask_for_the_password(self, questions, *options):
        self.impostor.asks = questions
        code, _, err = self.list_with(f"{self.dsn};ssl_enforce=1",
                                      "--tls-unverified", *options)
        self.assertEqual(code, 125, err)
        self.assertIn(b"nobody17", self.impostor.heard, err)
        return err

    def test_nobody_is_told_the_password(self):
        err = self.ask_for_the_password(CLEAR)
        self.assertIn("mysql_clear_password", err)
        self.assertNotIn(b"secret17", self.impostor.heard)

    def test_no_terminal_is_steered_by_what_is_said(self):
        """By 0x9b, alone or as U+009B; in a letter it is a part of that."""
        self.impostor.denies = (b"\xff\x15\x04#28000a\x9b31mb\xc2\x9b31m"
                                b"\xc3\x9b\xe6\xbc\xa2")
        err = self.ask_for_the_password([])
        self.assertIn("a\\x9b31mb\\u{009b}31m\u00db\u6f22", err)

    def test_who_does_not_know_the_account_is_told_a_hash(self):
        err = self.ask_for_the_password(UNKNOWN)
        self.assertIn("caching_sha2_password", err)
        self.assertNotIn(b"secret17", self.impostor.heard)

    def test_who_says_so_is_told_the_password(self):
        self.ask_for_the_password(CLEAR,
                                  "--unverified-auth=mysql_clear_password")
        self.assertIn(b"secret17", self.impostor.heard)
        self.ask_for_the_password(
            UNKNOWN, "--unverified-auth=parsec,caching_sha2_password")
        self.assertEqual(self.impostor.heard.count(b"secret17"), 2)


if __name__ == "__main__":
    harness.main()
