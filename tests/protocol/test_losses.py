# SPDX-License-Identifier: MIT
"""Holds by rowlock hold --json (ROWLOCK_TEST_HOLDS, or 8, for each fault) that are killed,
stopped, killed with their guard, or cut off from the server, while another process waits for
their name. Each time the program is told of the loss before the other one has it. Speaks
TAP."""

import concurrent.futures
import json
import math
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))

# pylint: disable=wrong-import-position
import shop as shops  # noqa: E402
from patience import patience  # noqa: E402
from tap import Tap, check  # noqa: E402

HOLDS = int(os.environ.get('ROWLOCK_TEST_HOLDS', 0)) or 8
AT_ONCE = max(8, min(64, HOLDS // 32))  # each has two processes of rowlock, and a guard
ADDRESS = (shops.ENTRIES.get('host'), int(shops.ENTRIES.get('port', 0)))


class Relay(threading.Thread):
    """The way of one client to the server. Once it is cut, nothing gets through, and
    nobody is told."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        self.ended, self.end = socket.socketpair()
        self.selector = selectors.DefaultSelector()
        for each in (self.listener, self.ended):
            self.selector.register(each, selectors.EVENT_READ)
        self.is_cut = False
        self.start()

    def pair(self):
        near = self.listener.accept()[0]
        far = socket.create_connection(ADDRESS)
        for end, other in ((near, far), (far, near)):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.selector.register(end, selectors.EVENT_READ, other)

    def carry(self, end, other):
        try:
            data = end.recv(65536)
            if data and not self.is_cut:
                other.sendall(data)
        except OSError:
            data = b''
        if not data:
            self.selector.unregister(end)
            try:
                other.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # it has ended as well

    def run(self):
        while not self.is_cut:
            for key, _ in self.selector.select():
                if key.fileobj is self.listener:
                    self.pair()
                elif key.data:
                    self.carry(key.fileobj, key.data)

    def close(self):
        self.is_cut = True
        self.end.close()
        self.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()


class Holder:
    """A hold, and when it was told of, and of its end."""

    def __init__(self, name, dsn, ttl):
        self.process = subprocess.Popen(
            [shops.CLI, 'hold', '--json', '-t', f'{ttl}s', name],
            env=dict(os.environ, ROWLOCK_DSN=dsn), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.held_at = self.lost_at = None
        self.last = 'the end of the output'
        self.held, self.over = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            told = json.loads(line)
            if told['event'] == 'held':
                self.held_at = time.monotonic()
                self.held.set()
            elif self.lost_at is None:
                self.lost_at = time.monotonic()
                self.last = f'{told["event"]}: {told.get("reason")}'
        if self.lost_at is None:
            self.lost_at = time.monotonic()
        self.over.set()
        self.held.set()

    def is_held(self, seconds):
        """Until it is, or has ended without."""
        return self.held.wait(seconds) and self.held_at is not None

    def guard(self):
        path = f'/proc/{self.process.pid}/task/{self.process.pid}/children'
        with open(path, encoding='ascii') as children:
            return int(children.read().split()[0])

    def close(self):
        self.process.stdin.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
        self.process.wait(patience())
        self.thread.join(patience())
        self.process.stdout.close()


def kill(holder, _):
    holder.process.kill()


def stop(holder, _):
    holder.process.send_signal(signal.SIGSTOP)


def kill_with_its_guard(holder, _):
    guard = holder.guard()
    holder.process.kill()
    os.kill(guard, signal.SIGKILL)


def cut(_, relay):
    relay.is_cut = True


# How each is told; a guard may be quicker than the one who kills it.
FAULTS = {kill: ('lost: killed',), stop: ('lost: stopped',),
          kill_with_its_guard: ('the end of the output', 'lost: killed'),
          cut: ('lost: silence',)}


def through(relay):
    """The connection string, by the relay."""
    entries = dict(shops.ENTRIES, host='127.0.0.1', port=relay.port)
    return ';'.join(f'{key}={value}' for key, value in entries.items())


def play(number, fault, ttl):
    """What is wrong, if anything."""
    name = f'test-losses-{os.getpid()}-{number}'
    relay = Relay()
    holder = Holder(name, through(relay), ttl)
    wrong = ''
    if not holder.is_held(patience()):
        wrong = f'not held: {holder.last}'
    other = Holder(name, shops.DSN, ttl)
    fault(holder, relay)
    if not (other.is_held(patience() + 3 * ttl) and
            holder.over.wait(patience())):
        wrong = wrong or 'no end'
    elif not wrong and holder.lost_at > other.held_at:
        wrong = f'told {holder.lost_at - other.held_at:.3f} s behind the next grant'
    elif not wrong and holder.last not in FAULTS[fault]:
        wrong = holder.last
    holder.close()
    other.close()
    relay.close()
    return wrong and f'{name}, {fault.__name__}: {wrong}'


def the_loss_is_told_before_another_has_it(fault):
    # A holder needs some of a busy machine's time to be told.
    ttl = math.ceil(3 * patience() / 60)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        told = pool.map(lambda number: play(number, fault, ttl), range(HOLDS))
        wrong = [what for what in told if what]
    check(not wrong, '; '.join(wrong))


def the_line_names_the_row_that_is_shown():
    name = f'test-losses-{os.getpid()}'
    env = dict(os.environ, ROWLOCK_DSN=shops.DSN)
    hold = subprocess.Popen([shops.CLI, 'hold', '--json', name], env=env, text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    held = json.loads(hold.stdout.readline())
    shown, = json.loads(subprocess.run(
        [shops.CLI, 'show', '--json', '-s', 'lease', name], env=env, text=True,
        capture_output=True, check=False, timeout=patience()).stdout)
    released = json.loads(hold.communicate('release\n')[0])
    check(shown['attempt'] and all(held[key] == shown[key] for key in (
        'name', 'strategy', 'token', 'attempt')), f'{held}, {shown}')
    check(released['certain'] and hold.returncode == 0, f'{released}')


def main():
    tap = Tap(len(FAULTS) + 1)
    print('# server: given', flush=True)
    for fault, words in (
            (kill, 'one that is killed is told of before another has its name'),
            (stop, 'one that is stopped is told of before another has its name'),
            (kill_with_its_guard, 'so is one whose guard is killed as well'),
            (cut, 'one that is cut off is told of before another has its name')):
        tap.case(words, the_loss_is_told_before_another_has_it, fault,
                 skip=shops.why_not())
    tap.case('the line names the row that is shown',
             the_line_names_the_row_that_is_shown, skip=shops.why_not())
    return tap.status()


if __name__ == '__main__':
    sys.exit(main())
