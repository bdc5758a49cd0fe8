# SPDX-License-Identifier: MIT
"""The leader of the manual, as it stands there, on three hosts: one is killed,
another stopped for longer than its TTL; another goes on each time, in a later
term, and whoever was stopped sends nothing in its old one. Speaks TAP."""

import os
import re
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))

# pylint: disable=wrong-import-position
from patience import patience  # noqa: E402
from tap import Tap, check  # noqa: E402

DSN = os.environ.get('ROWLOCK_TEST_DSN') or os.environ.get('ROWLOCK_DSN', '')


class Host:
    """One of those that run the program."""

    def __init__(self, program):
        environment = dict(os.environ, ROWLOCK_DSN=DSN)
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=environment, text=True)

    def write(self, letter):
        self.process.stdin.write(letter + '\n')
        self.process.stdin.flush()

    def read(self, letter):
        """The term in which it was sent."""
        line = self.process.stdout.readline()
        sent = re.fullmatch(r'in term (\d+): (.*)\n', line)
        check(sent and sent.group(2) == letter, repr(line))
        return int(sent.group(1))

    def finish(self):
        self.process.stdin.close()
        check(self.process.wait(patience()) == 0, self.process.returncode)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def fails_over(hosts):
    first, second, third = hosts
    first.write('one')
    terms = [first.read('one')]
    second.write('two')
    first.process.kill()
    terms.append(second.read('two'))
    second.process.send_signal(signal.SIGSTOP)
    third.write('three')
    terms.append(third.read('three'))
    second.process.send_signal(signal.SIGCONT)
    second.write('four')
    third.finish()
    terms.append(second.read('four'))
    second.finish()
    check(terms == sorted(set(terms)), terms)


def main():
    if not DSN:
        print('1..0 # SKIP no server: set ROWLOCK_TEST_DSN')
        return 0
    print('# server: given')
    hosts = [Host(sys.argv[1]) for _ in range(3)]
    tap = Tap(1)
    try:
        tap.case('another leads when the leader of the manual fails', fails_over,
                 hosts)
    finally:
        for host in hosts:
            host.kill()
    return tap.status()


if __name__ == '__main__':
    sys.exit(main())
