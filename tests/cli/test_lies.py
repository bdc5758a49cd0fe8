# SPDX-License-Identifier: MIT
"""A server that has let us in, and lies in well-formed answers: more rows than
were asked for, without a value in them, or with the outermost numbers. The real
command by way of a relay to a real MariaDB (ROWLOCK_TEST_DSN). What it makes of
them is its own affair; but no lie ends it.
"""
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading

import harness
from harness import ToolTest, patience
from packets import Gone, packet, receive

CLI = os.environ.get("ROWLOCK_TOOL", "rowlock")
DSN = os.environ.get("ROWLOCK_TEST_DSN", "")

CLIENT_COMPRESS, CLIENT_SSL = 0x20, 0x800
COM_QUIT, COM_QUERY, COM_PREPARE, COM_EXECUTE, COM_CLOSE = 1, 3, 0x16, 0x17, 0x19
OK, END, ERROR = 0, 254, 255
MORE_RESULTS = 8
# Bytes of a number, by type.
NUMBERS = {1: 1, 2: 2, 3: 4, 8: 8, 9: 4, 13: 2}
TEXT = 253
MOST_ROWS = 600
PAGE = 256  # as the library asks for
LISTED = b" l.info, "  # what a list asks for, and not the probe

COMMANDS = ("run --wait 1s {} -- true", "run --strategy row --wait 1s {} -- true",
            "run --read --wait 1s {} -- true", "run --write --wait 1s {} -- true",
            "run --permits 3 --wait 1s {} -- true", "show {}", "list --probe {}",
            "break {}", "reap --timeout 1s", "elect --weight 3 --wait 1s {} -- true")


def types_of(definitions):
    """The type is behind six texts, and seven bytes of the numbers."""
    types = []
    for definition in definitions:
        at = 0
        for _ in range(6):
            at += 1 + definition[at]
        types.append(definition[at + 7])
    return types


def row_of(types, number, _text):
    """The same number in each column that is one; NULL elsewhere, or, where the
    number is None, everywhere."""
    nulls, values = bytearray((len(types) + 9) // 8), b""
    for i, kind in enumerate(types):
        if kind in NUMBERS and number is not None:
            size = NUMBERS[kind]
            values += (number % (1 << 8 * size)).to_bytes(size, "little")
        else:
            nulls[(i + 2) // 8] |= 1 << (i + 2) % 8
    return b"\0" + bytes(nulls) + values


def text_row_of(types, number, text):
    """The same in an answer to a text, with @text, if there is one, as each of
    those."""
    row = b""
    for kind in types:
        if kind in NUMBERS and number is not None:
            value = b"%d" % (number % (1 << 8 * NUMBERS[kind]))
            row += bytes([len(value)]) + value
        elif kind == TEXT and text:
            row += bytes([len(text)]) + text
        else:
            row += b"\xfb"
    return row


class Talk(threading.Thread):
    """Of one client with the server."""

    def __init__(self, liar, client):
        super().__init__(daemon=True)
        self.liar = liar
        self.client = client
        self.server = socket.create_connection(liar.upstream)
        for peer in (self.client, self.server):
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.asked = b""
        self.honest = set()  # statements that are answered as they are

    def run(self):
        try:
            self.log_in()
            while True:
                self.answer(*receive(self.client))
        except (Gone, OSError):
            pass
        finally:
            self.client.close()
            self.server.close()

    def pass_on(self):
        number, payload = receive(self.server)
        self.client.sendall(packet(number, payload))
        return payload

    def log_in(self):
        number, greeting = receive(self.server)
        greeting = bytearray(greeting)
        at = greeting.index(0, 1) + 1 + 13
        can = struct.unpack_from("<H", greeting, at)[0]
        struct.pack_into("<H", greeting, at, can & ~(CLIENT_COMPRESS | CLIENT_SSL))
        greeting[at + 14:at + 18] = bytes(4)  # MariaDB's own
        self.client.sendall(packet(number, bytes(greeting)))
        said = b"\1"
        while said[0] not in (OK, ERROR):
            self.server.sendall(packet(*receive(self.client)))
            said = self.pass_on()

    def answer(self, number, question):
        self.server.sendall(packet(number, question))
        kind = question[0]
        if kind == COM_PREPARE:
            self.prepare(not self.liar.lies_about(question[1:]))
        elif kind == COM_EXECUTE:
            self.execute(struct.unpack_from("<I", question, 1)[0])
        elif kind == COM_QUERY and self.liar.lies_about(question[1:]):
            self.lie(text_row_of)
        elif kind == COM_QUERY:
            while self.result() & MORE_RESULTS:
                pass
        elif kind not in (COM_QUIT, COM_CLOSE):
            self.pass_on()

    def prepare(self, honest):
        said = self.pass_on()
        if said[0] != OK:
            return
        number, columns, parameters = struct.unpack_from("<IHH", said, 1)
        if honest:
            self.honest.add(number)
        for count in (parameters, columns):
            for _ in range(count + 1 if count else 0):
                self.pass_on()

    def result(self):
        """As it is; returns the status."""
        said = self.pass_on()
        if said[0] == ERROR:
            return 0
        if said[0] == OK:
            return struct.unpack_from("<H", said, len(said) - 4)[0] \
                if len(said) == 7 else self.status_of(said)
        ends = 0
        while ends < 2:
            said = self.pass_on()
            if said[0] == ERROR:
                return 0
            ends += said[0] == END and len(said) < 9
        return struct.unpack_from("<H", said, 3)[0]

    @staticmethod
    def status_of(said):
        at = 1
        for _ in range(2):
            at += {252: 3, 253: 4, 254: 9}.get(said[at], 1)
        return struct.unpack_from("<H", said, at)[0]

    def execute(self, statement):
        if statement in self.honest:
            self.result()
        else:
            self.lie(row_of)

    def lie(self, row):
        said = self.pass_on()
        if said[0] in (OK, ERROR):
            return
        types = types_of([self.pass_on() for _ in range(said[0])])
        self.pass_on()
        number, said = receive(self.server)
        begin = number
        while said[0] != ERROR and not (said[0] == END and len(said) < 9):
            number, said = receive(self.server)
        told = row(types, self.liar.number, self.liar.text)
        rows = b"".join(packet(begin + i, told) for i in range(self.liar.rows))
        self.client.sendall(rows + packet(begin + self.liar.rows, said))


class Liar:
    """Serves each client in a thread. It lies to what is asked about @about in
    our tables, prepared or as one text, and never of the schema."""

    def __init__(self, upstream, rows, number, about, text):
        self.upstream, self.rows, self.number = upstream, rows, number
        self.about, self.text = about, text
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            Talk(self, client).start()

    def lies_about(self, question):
        return (re.search(b"business_|lease_session|lock_", question)
                and b"_schema" not in question and b"; " not in question
                and self.about in question)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Lies(ToolTest):

    def setUp(self):
        super().setUp()
        del self.environment["ROWLOCK_FAKE"]
        self.name = f"test-lies-{os.getpid()}"

    def lie(self, rows, number, about=b"", text=b""):
        port = int(re.search(r"port=(\d+)", DSN).group(1))
        liar = Liar(("127.0.0.1", port), rows, number, about, text)
        self.addCleanup(liar.close)
        self.environment["ROWLOCK_DSN"] = re.sub(
            r"port=\d+", f"port={liar.port}", DSN)
        return f"127.0.0.1:{liar.port}"

    def tell(self, command):
        """Returns code, stdout, stderr."""
        done = subprocess.run(
            [CLI, *command.format(self.name).split()], check=False,
            capture_output=True, stdin=subprocess.DEVNULL,
            timeout=patience(), env=self.environment)
        said = done.stderr.decode("latin-1")
        self.assertIn(done.returncode, range(126), f"{command}: {said}")
        self.assertNotRegex(said, "runtime error|Sanitizer", command)
        return done.returncode, done.stdout.decode("latin-1"), said

    def no_lie_ends_it(self, rows, number, but=None):
        self.lie(rows, number)
        for command in COMMANDS:
            if not but or not command.startswith(but):
                self.tell(command)

    def test_rows_of_nothing_that_were_not_asked_for_end_nothing(self):
        # A list has no end then; see below.
        self.no_lie_ends_it(MOST_ROWS, None, but="list")

    def test_the_smallest_number_ends_nothing(self):
        self.no_lie_ends_it(1, -2 ** 63)

    def test_the_largest_numbers_end_nothing(self):
        self.no_lie_ends_it(1, 2 ** 63 - 1)
        self.no_lie_ends_it(1, 2 ** 64 - 1)

    def test_no_rows_end_nothing(self):
        self.no_lie_ends_it(0, None)


    # Each page is full, so that there is always one more.

    def test_show_keeps_no_more_than_it_has_room_for(self):
        server = self.lie(PAGE, 7, LISTED, b"x" * 200)
        for options in ("--json", "--probe --strategy row"):
            code, out, said = self.tell(f"show {options} {{}}")
            self.assertEqual((code, out), (125, ""), said)
            self.assertIn(f"{server} (", said)
            self.assertIn("more than are kept (16 MiB)", said)

    def test_list_without_an_end_is_shown_as_it_is_read(self):
        self.lie(PAGE, 7, LISTED)
        for options in ("", "--json", "--probe --strategy row"):
            process = self.start("list", *options.split(), tool=CLI)
            for _ in range(20 * PAGE):
                self.assertTrue(process.stdout.readline())
            process.stdout.close()
            # Nobody reads it any more.
            self.assertEqual(process.wait(patience()), -signal.SIGPIPE)

    def test_wait_ends_in_its_time(self):
        self.lie(PAGE, 2 ** 63 - 1, b" LIMIT ")
        code, _, said = self.tell("wait -v --timeout 1s {}")
        self.assertEqual(code, 1, said)
        self.assertIn("and by at least", said)
        # Of candidates, who are in nobody's way.
        self.lie(PAGE, 2 ** 30, b" LIMIT ")
        code, _, said = self.tell("wait -v --timeout 1s {}")
        self.assertEqual(code, 1, said)
        self.assertIn("more than could be looked at", said)

    def test_bytes_that_are_no_text_steer_no_terminal(self):
        self.lie(1, 2 ** 63 - 1, LISTED, b"\x1b]0;\x07\x9b31m\xff\xc2\0\xf0\x9f")
        for command in ("list", "list --wide", "list --json", "show {}",
                        "show --json {}", "wait -v --timeout 1ms {}",
                        "run -v -s row --info why {} -- true"):
            _, *said = self.tell(command)
            for what in said:
                self.assertNotRegex(what, "[\x00-\x08\x0b-\x1f\x7f-\x9f]")

    def test_who_waits_with_words_ends_in_his_time(self):
        name = self.name
        holder = self.start("run", name, "--", "cat", tool=CLI,
                            stdin=subprocess.PIPE, env={
                                **self.environment, "ROWLOCK_DSN": DSN})
        self.await_held(name)
        self.lie(PAGE, 7, b" LIMIT ")
        code, _, said = self.tell("run -v --wait 2s {} -- true")
        self.assertEqual(code, 1, said)
        holder.stdin.close()
        self.assertEqual(holder.wait(patience()), 0)

    def await_held(self, name):
        environment = {**self.environment, "ROWLOCK_DSN": DSN}
        for _ in harness.waiting():
            done = subprocess.run([CLI, "list", "--json", name], check=True,
                                  capture_output=True, timeout=patience(),
                                  env=environment)
            if b"\"held\"" in done.stdout:
                return
        self.fail("nobody holds it")

    def test_info_of_a_row_is_read_once(self):
        self.lie(PAGE, 7, b" LIMIT ")
        code, _, said = self.tell("run -s row --info why {} -- true")
        self.assertEqual(code, 0, said)
        self.assertEqual(said.count("--info: under row"), 1, said)

    def test_pass_of_a_reaper_ends_in_its_time(self):
        server = self.lie(PAGE, 7, b" LIMIT ")
        code, _, said = self.tell("reap --timeout 1s")
        self.assertEqual(code, 0, said)
        self.assertIn(f"there may be more on {server}", said)


def can_be_played():
    port = re.search(r"host=127\.0\.0\.1;.*port=(\d+)", DSN)
    if not port:
        return False
    with socket.create_connection(("127.0.0.1", int(port.group(1)))) as peer:
        return b"MariaDB" in receive(peer)[1]


if __name__ == "__main__":
    if not can_be_played():
        print("1..0 # SKIP no MariaDB on loopback (ROWLOCK_TEST_DSN)")
        sys.exit(77)
    harness.main()
