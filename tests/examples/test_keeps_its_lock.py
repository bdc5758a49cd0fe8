# SPDX-License-Identifier: MIT
"""The daemons of the manual, in C and in Python, as they stand there: each executes
itself anew, and keeps its lock, which another one waits for. Speaks TAP."""

import os
import select
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))

# pylint: disable=wrong-import-position
from page import blocks  # noqa: E402
from patience import patience  # noqa: E402
from tap import Tap, check  # noqa: E402

DSN = os.environ.get('ROWLOCK_TEST_DSN') or os.environ.get('ROWLOCK_DSN', '')

RESTARTS = 10


class Daemon:
    """One process, however often it executes itself."""

    def __init__(self, *program):
        tools = os.path.join(os.environ.get('ROWLOCK_BUILD', 'build'), 'tools')
        self.process = subprocess.Popen(
            program, stdout=subprocess.PIPE, text=True,
            env=dict(os.environ, ROWLOCK_DSN=DSN,
                     PATH=tools + ':' + os.environ['PATH']))

    def expect(self, word):
        line = self.process.stdout.readline()
        check(line == word + '\n', repr(line))

    def send(self, number):
        self.process.send_signal(number)

    def has_said(self):
        return select.select([self.process.stdout], [], [], 0)[0]

    def finish(self):
        self.send(signal.SIGTERM)
        check(self.process.wait(patience()) == 0, self.process.returncode)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def children(pid):
    with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as out:
        return out.read().split()


def restarts(*program):
    daemons = [Daemon(*program)]
    try:
        daemons.append(Daemon(*program))
        # Either may be the first.
        ready = select.select([daemon.process.stdout for daemon in daemons], [], [],
                              patience())[0]
        daemons.sort(key=lambda daemon: daemon.process.stdout not in ready)
        daemon, rival = daemons
        daemon.expect('acquired')
        for _ in range(RESTARTS):
            daemon.send(signal.SIGHUP)
            daemon.expect('adopted')
            check(not rival.has_said(), 'the rival has it')
            check(len(children(daemon.process.pid)) <= 1,
                  'a process of the time before is left')
        daemon.finish()
        rival.expect('acquired')
        rival.finish()
    finally:
        for daemon in daemons:
            daemon.kill()


def main():
    if not DSN:
        print('1..0 # SKIP no server: set ROWLOCK_TEST_DSN')
        return 0
    print('# server: given')
    tap = Tap(2)
    tap.case('a daemon that executes itself keeps its lock', restarts, sys.argv[1])
    with tempfile.NamedTemporaryFile('w', suffix='.py', encoding='utf-8') as out:
        out.write(blocks('tools/man/rowlock-hold.7.scd', 'import json')[0])
        out.flush()
        tap.case('one in another language keeps it by rowlock hold', restarts,
                 sys.executable, out.name)
    return tap.status()


if __name__ == '__main__':
    sys.exit(main())
