# SPDX-License-Identifier: MIT
"""The workloads: what each does, on which systems, how it is counted."""

import contextlib
import json
import time

from figures import Figure, add_steps, percentile

OURS = ('row', 'lease')
LIBRARY = ('row', 'lease', 'lease-token')
RAW = ('raw-row', 'raw-lease')
PEERS = ('get_lock', 'redis', 'redis-aof', 'zookeeper')
NO_MUTEX = LIBRARY + RAW + PEERS
WITH_SHARED = LIBRARY + ('readers', 'semaphore') + RAW + PEERS + ('mutex',)
WITH_ALONE = LIBRARY + ('multilock', 'semaphore') + RAW + PEERS
TRANSFERS = ('transfer', 'transfer-guarded', 'transfer-release',
             'transfer-commit-release')
WITH_SETS = LIBRARY + ('multilock',) + RAW + PEERS
WARM_S = 0.3


def counted(n, one, more):
    return f'{n} {one if n == 1 else more}'


class Workload:
    """measure() makes one round's figures on one system."""

    name = ''
    family = ''     # a word for several in --only
    size = None     # which of it, if it is one that grows
    shape = ''      # for people
    systems = NO_MUTEX
    quick = None    # fewer systems, if there is little time
    rounds = 1000   # at most; quick: one
    parts = 1       # of a round, the systems in turn in each; quick: one

    def wanted(self, quick):
        return self.quick if quick and self.quick else self.systems

    def prepare(self, stage):
        """Once, before the first round."""

    def measure(self, stage, system):
        raise NotImplementedError


class Pairs(Workload):
    """Threads that acquire and release as fast as they can."""

    def __init__(self, name, processes, threads, names, shape='', **more):
        self.name = name
        self.family = name.partition('-')[0]
        self.processes = processes
        self.threads = threads
        self.names = names
        self.shape = shape or (
            f'{counted(processes, "process", "processes")} of '
            f'{counted(threads, "thread", "threads")}, '
            f'{counted(names, "name", "names")}')
        self.database = more.pop('database', 'rowlock')
        self.words = more.pop('words', ())
        self.alone = processes * threads == 1
        self.__dict__.update(more)

    def measure(self, stage, system):
        figure = Figure(self.name, system, self.processes, self.threads,
                        self.names)
        crew = [stage.client(system, 'pairs', '--threads', self.threads,
                             '--names', self.names, '--prefix',
                             f'bench-{self.name}-', *self.words,
                             database=self.database)
                for _ in range(self.processes)]
        for client in crew:
            client.hear_word('ready')
        with stage.apart(system, crew[0]) if self.alone \
                else contextlib.nullcontext():
            told = self._run(stage, system, figure, crew)
        for client in crew:
            client.end()
        self._fill(figure, told, stage.seconds)
        return [figure]

    def _run(self, stage, system, figure, crew):
        start = time.monotonic_ns() + int(WARM_S * 1e9)
        end = start + int(stage.seconds * 1e9)
        for client in crew:
            client.tell(f'go {start} {end}')
        self._count_server(stage, system, figure, start, end)
        return [json.loads(client.hear()) for client in crew]

    def _count_server(self, stage, system, figure, start, end):
        server = stage.server(system)
        sleep_until(start)
        began, before = time.monotonic(), server.statements()
        sleep_until((start + end) // 2)
        figure.more['connections'] = stage.connections(system)
        sleep_until(end)
        took, after = time.monotonic() - began, server.statements()
        if before is not None:
            figure.server_statements_per_s = (after - before) / took

    def _fill(self, figure, told, seconds):
        pairs = [n for client in told for n in client['pairs']]
        steps = {}
        for client in told:
            add_steps(steps, client['latency'])
        figure.pairs_per_s = sum(pairs) / seconds
        figure.p50_us = percentile(steps, 0.5)
        figure.p99_us = percentile(steps, 0.99)
        figure.max_us = max(client['max_ns'] for client in told) / 1000
        figure.rss_bytes = sum(client['rss'] for client in told)
        if len(pairs) > 1 and max(pairs):
            figure.fairness = min(pairs) / max(pairs)
        figure.more['cpu_us_per_pair'] = \
            sum(client['cpu_us'] for client in told) / max(1, sum(pairs))
        figure.more['holds'] = share(sum(c['pairs']) for c in told)
        figure.more['held'] = share(c['held_ns'] for c in told)


class Shared(Pairs):
    """What each process gets of a name that several have threads waiting
    for."""

    least_s = 2     # many turns of each

    def measure(self, stage, system):
        asked, stage.seconds = stage.seconds, max(stage.seconds, self.least_s)
        try:
            return super().measure(stage, system)
        finally:
            stage.seconds = asked

    def _fill(self, figure, told, seconds):
        super()._fill(figure, told, seconds)
        shares = figure.more['holds']
        if not any(shares):
            return  # no pair in so short a time
        figure.fairness = min(shares) / max(shares)
        for what in ('holds', 'held'):
            even = 1 / len(told)
            figure.more[f'{what}_off'] = \
                max(abs(one - even) for one in figure.more[what]) / even


def share(parts):
    parts = list(parts)
    return [part / max(1, sum(parts)) for part in parts]


def sleep_until(ns):
    time.sleep(max(0, ns - time.monotonic_ns()) / 1e9)
