# SPDX-License-Identifier: MIT
"""The workloads about what dead clients left behind: how soon others have those
names, how soon a reaper has removed them, and what that costs a stranger."""

import json
import os
import re
import statistics
import subprocess
import threading
import time

from figures import Figure, add_steps, percentile
from processes import BenchError
from special import MILLION
from workloads import WARM_S, Workload

# Of the leases of one dead client.
EACH = 300


def leave_behind(stage, prefix, count):
    """Leases named PREFIX0, PREFIX1, ... of clients that died a minute ago."""
    server = stage.database()
    for text in (
            'INSERT INTO lease_session (id, ttl, expires_at, started_at) '
            'SELECT n + 1, 6000, UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE, '
            f'UTC_TIMESTAMP(6) FROM ({MILLION}) m '
            f'WHERE n < {-(-count // EACH)} ORDER BY n',
            'INSERT INTO business_lease '
            '(name, slot, session, attempt, acquired_at) '
            f"SELECT CONCAT('{prefix}', n), 0, n DIV {EACH} + 1, n + 1, "
            f'UTC_TIMESTAMP(6) FROM ({MILLION}) m WHERE n < {count} ORDER BY 1',
            # Written out now, not while others are measured.
            'FLUSH TABLES lease_session, business_lease FOR EXPORT; '
            'UNLOCK TABLES'):
        server.sql(text)


class Stranger:
    """A client of one thread and a name of its own: how long its pairs take in
    windows of time. Windows of two strangers do not meet."""

    def __init__(self, stage, system, name):
        self.stage = stage
        self.words = (system, 'pairs', '--prefix', f'bench-{name}-stranger-')
        self.steps = {}
        self.p50s_us = []

    def begin(self):
        self.client = self.stage.client(*self.words)
        self.client.hear_word('ready')
        self.start = time.monotonic_ns() + int(WARM_S * 1e9)
        self.end = self.start + int(self.stage.seconds * 1e9)
        self.client.tell(f'go {self.start} {self.end}')

    def finish(self, counts=lambda: True):
        """Returns whether the window counted."""
        told = json.loads(self.client.hear(120 + self.stage.seconds))
        self.client.end()
        if not counts() or not told['latency']:
            return False
        add_steps(self.steps, told['latency'])
        self.p50s_us.append(percentile(dict(told['latency']), 0.5))
        return True

    def window(self):
        self.begin()
        self.finish()

    def p50_us(self):
        return statistics.median(self.p50s_us) if self.p50s_us else None

    def p99_us(self):
        return percentile(self.steps, 0.99) if self.steps else None


def rowlock(stage):
    """The command."""
    return os.path.join(stage.options.build, 'tools', 'rowlock')


class Reap:
    """`rowlock reap`, once."""

    def __init__(self, stage):
        self.took = None
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [rowlock(stage), 'reap'],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
            env={**os.environ, **stage.database().environment(
                stage.ports['database'], 'rowlock')})
        # It ends while we wait for another.
        self.waiter = threading.Thread(target=self._await_end)
        self.waiter.start()

    def _await_end(self):
        self.process.wait()
        self.took = time.monotonic() - self.began

    def goes_on(self):
        return self.took is None

    def end(self, count):
        """Returns how long it took, in seconds."""
        self.waiter.join()
        said = self.process.stdout.read()
        swept = re.search(r'swept (\d+) leases', said)
        if self.process.returncode or not swept or int(swept[1]) < count:
            raise BenchError('rowlock reap ended with '
                             f'{self.process.returncode}: {said.strip()}')
        return self.took

    def kill(self):
        self.process.kill()
        self.waiter.join()
        self.process.stdout.close()


class Reaped(Workload):
    """One pass of a reaper over very much."""

    name = 'reaped'
    systems = ('lease',)
    rounds = 1

    def __init__(self, quick):
        self.count = 30000 if quick else 300000
        self.shape = (f'{self.count:,} leases of dead clients are removed by '
                      'one `rowlock reap`; pairs: of 1 thread, 1 name '
                      'meanwhile')

    def measure(self, stage, system):
        alone = Stranger(stage, system, self.name)
        beside = Stranger(stage, system, self.name)
        for _ in range(2):
            alone.window()
        leave_behind(stage, 'bench-reaped-', self.count)
        took, pairs_per_s = self._reap(stage, beside)
        for _ in range(2):
            alone.window()
        figure = Figure(self.name, system, pairs_per_s=pairs_per_s,
                        p50_us=beside.p50_us(), p99_us=beside.p99_us())
        figure.more['took_s'] = took
        figure.more['leases_per_s'] = self.count / took
        if beside.p50s_us and alone.p50s_us:
            figure.more['to_alone'] = beside.p50_us() / alone.p50_us()
        return [figure]

    def _reap(self, stage, stranger):
        """Returns how long it took, in seconds, and the stranger's pairs per
        second."""
        reap = Reap(stage)
        try:
            windows = 0
            while reap.goes_on():
                stranger.begin()
                windows += stranger.finish(reap.goes_on)
            took = reap.end(self.count)
        finally:
            reap.kill()
        pairs = sum(stranger.steps.values())
        return took, pairs / windows / stage.seconds if windows else None


class Taken(Workload):
    """Threads that take names which dead clients have, and as many that are
    free."""

    name = 'taken'
    systems = ('lease',)
    rounds = 3
    threads = 32

    def __init__(self, quick):
        self.count = 10000 if quick else 100000
        self.shape = (f'{self.count:,} names of dead clients, taken by '
                      f'{self.threads} threads of one process; latency: of '
                      'another process of 1 thread, 1 name meanwhile')

    def measure(self, stage, system):
        free, beside_free = self._take(stage, system, 'bench-taken-free-')
        leave_behind(stage, 'bench-taken-dead-', self.count)
        dead, beside = self._take(stage, system, 'bench-taken-dead-')
        figure = Figure(self.name, system, 1, self.threads, self.count,
                        pairs_per_s=dead, p50_us=beside.p50_us(),
                        p99_us=beside.p99_us())
        figure.more['slower_than_free'] = free / dead
        if beside.p50s_us and beside_free.p50s_us:
            figure.more['p99_to_free'] = beside.p99_us() / beside_free.p99_us()
        return [figure]

    def _take(self, stage, system, prefix):
        """Returns how many a second, and the stranger."""
        client = stage.client(system, 'many', '--threads', self.threads,
                              '--count', self.count, '--prefix', prefix)
        client.hear_word('ready')
        stranger = Stranger(stage, system, self.name)
        stranger.begin()
        began = time.monotonic_ns()
        client.tell('take')
        took = client.hear_word('took', 600)[0]
        # A window of which half was quiet says nothing.
        stranger.finish(lambda: took > (stranger.end - began) * 0.8)
        client.tell('give')
        client.hear_word('gave', 600)
        client.end()
        return 1e9 * self.count / took, stranger
