# SPDX-License-Identifier: MIT
"""A server of a few lines: it greets, lets everybody in, and a Talk of the
test's own answers."""
import os
import socket
import struct
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
# pylint: disable=wrong-import-position
from packets import Gone, packet, receive  # noqa: E402

SALT = b'saltsaltsaltsaltsalt'
# Protocol 4.1, transactions, plugins, a database, several results.
CAPABLE = 1 | 8 | 0x200 | 0x2000 | 0x8000 | 0x20000 | 0x80000

OK = b'\0\0\0\2\0\0\0'
EOF_PACKET = b'\xfe\0\0\2\0'


def text(value):
    return bytes([len(value)]) + value


def column(name=b'c'):
    return (text(b'def') + text(b'') * 3 + text(name) + text(name) +
            b'\x0c' + struct.pack('<HIBHB2x', 45, 1000, 253, 0, 0))


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

    def converse(self):
        self.send(b'\x0a' + self.server.version + b'\0' + struct.pack(
            '<I8sxHBHHB10x', 7, SALT[:8], CAPABLE & 0xffff, 45, 2, CAPABLE >> 16,
            21) + SALT[8:] + b'\0mysql_native_password\0')
        self.receive()
        self.send(OK)
        while True:
            self.answer(self.receive())

    def answer(self, question):
        raise NotImplementedError


class FalseServer:
    """Serves clients, each in a thread."""

    def __init__(self, talk, version, **manners):
        self.talk, self.version = talk, version
        self.__dict__.update(manners)
        self.listener = socket.create_server(('127.0.0.1', 0))
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
        try:
            self.talk(self, peer).converse()
        except (OSError, Gone):
            pass  # the client has gone
        finally:
            peer.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
