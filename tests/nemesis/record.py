# SPDX-License-Identifier: MIT
"""The nemesis' own history: process 0 of a run (tests/checker/history.h)."""

import collections
import contextlib
import os
import time


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Record:
    """Appends to DIR/process-0.history; counts faults by kind."""

    def __init__(self, directory):
        path = os.path.join(directory, 'process-0.history')
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.faults = collections.Counter()

    def close(self):
        os.close(self.fd)

    def write(self, at, event, **keys):
        words = [f'{at} 0.0 {event}']
        words += [f'{key}={value}' for key, value in keys.items()]
        os.write(self.fd, (' '.join(words) + '\n').encode())

    def instant(self, kind, target):
        """A fault without duration: said right before it is done."""
        self.faults[kind] += 1
        self.write(now(), 'fault', kind=kind, target=target)

    @contextlib.contextmanager
    def fault(self, kind, target, **keys):
        """Around injection and healing: what happens within is excused."""
        self.faults[kind] += 1
        self.write(now(), 'fault', kind=kind, target=target, **keys)
        try:
            yield
        finally:
            self.write(now(), 'heal', kind=kind, target=target)

    @contextlib.contextmanager
    def silence(self, target):
        """Within it no answer of the server gets through, for sure."""
        self.write(now(), 'fault', kind='silence', target=target)
        try:
            yield
        finally:
            self.write(now(), 'heal', kind='silence', target=target)
