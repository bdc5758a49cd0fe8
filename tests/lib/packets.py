# SPDX-License-Identifier: MIT
"""Packets of MySQL's protocol, on a socket."""
import struct


class Gone(Exception):
    """The other side has ended the connection."""


def packet(number, payload):
    return struct.pack("<I", len(payload))[:3] + bytes([number % 256]) + payload


def read(peer, size):
    data = b""
    while len(data) < size:
        more = peer.recv(size - len(data))
        if not more:
            raise Gone
        data += more
    return data


def receive(peer):
    """One, and not a byte of what may follow it at once: its number, and what
    is in it."""
    head = read(peer, 4)
    return head[3], read(peer, int.from_bytes(head[:3], "little"))
