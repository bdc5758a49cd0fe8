# SPDX-License-Identifier: MIT
"""Who has got the port of a server that is down: greets, asks whoever logs in
for the password, lets all in, and answers without an end.

What it was told is in `heard`, as it was meant: TLS and RSA are taken off, by a
key that everybody knows.
"""
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
# pylint: disable=wrong-import-position
from packets import Gone, packet, receive  # noqa: E402

PEM = os.path.join(HERE, '..', 'cli', 'tls', 'somebody-else.pem')
KEY = os.path.join(HERE, 'false-key.pem')

SALT = b'saltsaltsaltsaltsalt'
CLIENT_SSL = 0x800
# Protocol 4.1, transactions, plugins, a database, several results.
CAPABLE = 1 | 8 | 0x200 | 0x2000 | 0x8000 | 0x20000 | 0x80000

OK = b'\0\0\0\2\0\0\0'
MORE = b'\0\0\0\x0a\0\0\0'
EOF_PACKET = b'\xfe\0\0\2\0'
PROGRESS = b'\xff\xff\xff\1\1\1\0\0\0'
CLEAR, DIALOG, OLD = 'mysql_clear_password', 'dialog', 'mysql_old_password'
CACHING, SHA256 = 'caching_sha2_password', 'sha256_password'


def text(value):
    return bytes([len(value)]) + value


def column(name=b'c'):
    return (text(b'def') + text(b'') * 3 + text(name) + text(name) +
            b'\x0c' + struct.pack('<HIBHB2x', 45, 1000, 253, 0, 0))


def public_key():
    return subprocess.run(['openssl', 'pkey', '-in', KEY, '-pubout'], check=True,
                          capture_output=True).stdout


def decrypt(secret):
    """The password, or nothing: it was for another key."""
    done = subprocess.run(['openssl', 'pkeyutl', '-decrypt', '-inkey', KEY,
                           '-pkeyopt', 'rsa_padding_mode:oaep'], input=secret,
                          capture_output=True, check=False)
    return bytes(c ^ SALT[i % len(SALT)] for i, c in enumerate(done.stdout))


class Talk:
    """With one client."""

    def __init__(self, server, peer):
        self.server, self.peer, self.number = server, peer, 0

    def send(self, *payloads):
        out = b''
        for payload in payloads:
            out += packet(self.number, payload)
            self.number += 1
        self.peer.sendall(out)

    def receive(self):
        number, said = receive(self.peer)
        self.number = number + 1
        return said

    def hear(self):
        said = self.receive()
        self.server.heard += said + b'\n'
        self.server.answers += 1
        return said

    def greet(self):
        can = CAPABLE | (CLIENT_SSL if self.server.tls else 0)
        self.send(b'\x0a' + self.server.version + b'\0' + struct.pack(
            '<I8sxHBHHB10x', 7, SALT[:8], can & 0xffff, 45, 2, can >> 16, 21) +
            SALT[8:] + b'\0' + self.server.greets.encode() + b'\0')
        said = self.receive()
        flags = struct.unpack('<I', said[:4])[0]
        if flags & CLIENT_SSL and self.server.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(PEM)
            self.peer = context.wrap_socket(self.peer, server_side=True)
            said = self.receive()
        self.server.logins += 1
        self.server.heard += said + b'\n'

    def ask_for_the_password(self):
        asks = self.server.asks
        if asks == OLD and self.server.briefly:
            self.send(b'\xfe')
        elif asks == DIALOG:
            self.send(b'\xfe' + asks.encode() + b'\0\x04Password: ')
        elif asks:
            self.send(b'\xfe' + asks.encode() + b'\0' + SALT + b'\0')
        else:
            return
        said = self.hear()
        if asks == CACHING and self.server.knows:
            self.send(b'\1\3')
            return
        if asks == CACHING:
            self.send(b'\1\4')
            said = self.hear()
        if said in (b'\1', b'\2') and asks in (CACHING, SHA256):
            self.send(b'\1' + public_key())
            said = self.hear()
        if len(said) == 256:
            self.server.heard += decrypt(said) + b'\n'

    def let_time_pass(self):
        """For a sleep that waits for this."""
        if self.server.clock:
            os.close(os.open(self.server.clock, os.O_WRONLY))

    def converse(self):
        if self.server.deaf:
            self.let_time_pass()
            self.receive()
        self.greet()
        self.ask_for_the_password()
        if not self.server.lets_in:
            self.send(b'\xff\x15\x04#28000' + self.server.denies)
            return
        self.send(OK)
        while True:
            self.answer(self.receive())

    def answer(self, question):
        words = question[1:]
        if question[:1] == b'\1':
            raise Gone
        if self.server.deaf_after and self.server.deaf_after in words:
            self.server.deaf = True
        if self.server.floods_at and self.server.floods_at in words:
            self.flood(self.server.flood)
        if words.startswith(b"SELECT 'begun'"):
            self.send(b'\1', column(), EOF_PACKET, text(b'begun'), EOF_PACKET)
        elif not words.lstrip().startswith((b'SELECT', b'SHOW')) or b' INTO @' in words:
            self.send(OK)
        elif words.startswith(b"SELECT 'server'"):
            row = [b'server', b'db', b'host', b'3306', b'10.11']
            self.send(bytes([len(row)]), *[column() for _ in row], EOF_PACKET,
                      b''.join(map(text, row)), EOF_PACKET)
        else:
            self.send(b'\1', column(), EOF_PACKET, EOF_PACKET)

    def flood(self, kind):
        """Until the client has gone."""
        if kind in self.server.timeless:
            threading.Thread(target=self.let_time_pass, daemon=True).start()
        if kind == 'silence':
            self.receive()
        if kind == 'file':
            self.send(b'\xfb' + self.server.wants.encode())
            self.hear()
            raise Gone
        if kind in ('rows', 'wide'):
            self.send(b'\1', column(), EOF_PACKET)
        if kind == 'wide':
            again = b'x' * 65536
            self.peer.sendall(b'\xff\xff\xff' + bytes([self.number]))
        else:
            payload = {'rows': text(b'x' * 200), 'results': MORE,
                       'progress': PROGRESS}[kind]
            again = b''.join(
                struct.pack('<I', len(payload))[:3] +
                bytes([(self.number + i) % 256]) + payload
                for i in range(4096))
        while True:
            self.peer.sendall(again)


class FalseServer:
    """Serves one client after the other, each in a thread."""

    def __init__(self, address='127.0.0.1', path=None, **manners):
        self.talk = Talk
        self.asks = None  # the plugin by which the password is asked for
        self.briefly = False
        self.knows = False  # the hash is enough
        self.greets = 'mysql_native_password'
        self.version = b'10.11.0-MariaDB'
        self.tls = False
        self.lets_in = False
        self.denies = b'Access denied'
        self.floods_at = None  # a part of a statement
        self.flood = None
        self.timeless = ()  # floods that end in time only
        self.clock = None  # a fifo
        self.deaf = False  # does not even greet
        self.deaf_after = None  # a part of a statement
        self.wants = None  # a file
        self.heard = b''
        self.logins = self.answers = 0  # to its questions
        self.__dict__.update(manners)
        if path:
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(path)
            self.listener.listen()
        else:
            self.listener = socket.create_server((address, 0))
            self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(peer,),
                             daemon=True).start()

    def _talk(self, peer):
        talk = self.talk(self, peer)
        try:
            talk.converse()
        except (OSError, Gone):
            pass  # the client has gone
        finally:
            talk.peer.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
