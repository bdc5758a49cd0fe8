# SPDX-License-Identifier: MIT
"""The workloads that are about one event, or about a state: who waits, who
died, much that is held, tables that have grown."""

import time

from figures import Figure
from processes import BenchError, first_to_speak, patience
from workloads import OURS, Pairs, Workload, counted

LASTING = {'redis': ('--ttl-ms', 120000), 'redis-aof': ('--ttl-ms', 120000)}

# Numbers 0 to 999,999; MariaDB and MySQL know no other way in common.
MILLION = '''WITH RECURSIVE d (n) AS
(SELECT 0 UNION ALL SELECT n + 1 FROM d WHERE n < 9)
SELECT a.n * 100000 + b.n * 10000 + c.n * 1000 + e.n * 100 + f.n * 10 + g.n AS n
FROM d a, d b, d c, d e, d f, d g'''


def crew(stage, system, count, name, words):
    """Clients that are ready to take a name."""
    some = [stage.client(system, 'hold', '--prefix', f'bench-{name}-', *words)
            for _ in range(count)]
    for client in some:
        client.hear_word('ready')
    return some


def take(client):
    client.tell('take')
    return client.hear_word('held')[0]


class Waiting(Workload):
    """Processes that wait for a name that somebody keeps: what that costs the
    server, and how soon each has it when its turn comes."""

    name = 'waiting'
    systems = ('row', 'lease', 'raw-row', 'raw-lease', 'get_lock', 'redis',
               'redis-aof', 'zookeeper')
    quick = OURS
    rounds = 2

    def __init__(self, quick, processes=16):
        self.processes = processes
        self.window_s = 10 if quick else 30
        self.shape = (counted(processes, 'process', 'processes')
                      + f' waiting for a name held for {self.window_s} s; '
                      'latency: from its release to the next grant, one after '
                      'the other')

    def measure(self, stage, system):
        figure = Figure(self.name, system, self.processes)
        clients = crew(stage, system, self.processes + 1, self.name,
                       LASTING.get(system, ()))
        holder = clients.pop()
        take(holder)
        for client in clients:
            client.tell('take')
        # Until all of them wait, which nothing tells: one for a row stands in
        # line after two seconds.
        time.sleep(3)
        self._count(stage, system, figure)
        figure.more['singles'] = self._hand_over(holder, clients)
        return [figure]

    def _count(self, stage, system, figure):
        server = stage.server(system)
        beats = stage.beats(system)
        before = server.statements()
        time.sleep(self.window_s)
        after = server.statements()
        beats = stage.beats(system) - beats
        rate = (after - before - server.own - beats) / self.window_s
        figure.server_statements_per_s = max(0, rate)
        figure.more['per_waiter'] = max(0, rate) / self.processes

    def _hand_over(self, holder, clients):
        took = []
        while True:
            holder.tell('give')
            gave = holder.hear_word('gave')[0]
            holder.end()
            if not clients:
                return took
            holder = first_to_speak(clients)
            took.append((holder.hear_word('held')[0] - gave) / 1e9)
            clients.remove(holder)


class Observed(Workload):
    """Processes that are told who leads: what that costs the server."""

    name = 'observed'
    systems = ('observer',)
    rounds = 1
    processes = 8
    elections = 4   # of each

    def __init__(self, quick):
        # Each asks every 5 s.
        self.window_s = 10 if quick else 30
        self.shape = (f'{self.processes} processes that observe '
                      f'{self.elections} elections each, for {self.window_s} s')

    def measure(self, stage, system):
        figure = Figure(self.name, system, self.processes)
        clients = crew(stage, system, self.processes, self.name, ())
        for client in clients:
            take(client)
        server = stage.server(system)
        before = server.statements()
        time.sleep(self.window_s)
        rate = (server.statements() - before - server.own) / self.window_s
        figure.server_statements_per_s = max(0, rate)
        figure.more['per_watcher'] = \
            max(0, rate) / (self.processes * self.elections)
        for client in clients:
            client.tell('give')
            client.hear_word('gave')
            client.end()
        return [figure]


class Dead(Workload):
    """A holder is killed while others wait."""

    name = 'dead'
    systems = ('row', 'lease', 'raw-row', 'get_lock', 'redis', 'zookeeper')
    quick = OURS
    shape = ('a holder is killed while 8 processes wait; latency: until the '
             'next has it; TTL (idle bound, session) 2 s')
    ttl_ms = 2000
    words = ('--ttl-ms', ttl_ms)

    def __init__(self, quick):
        self.kills = 5 if quick else 4

    def measure(self, stage, system):
        figure = Figure(self.name, system, 9)
        waiters = crew(stage, system, 9, self.name, self.words)
        holder = waiters.pop()
        took = []
        take(holder)
        for client in waiters:
            client.tell('take')
        time.sleep(0.3)  # until all of them wait: nothing tells it
        while True:
            killed = time.monotonic_ns()
            holder.kill()
            holder = first_to_speak(waiters)
            took.append((holder.hear_word('held')[0] - killed) / 1e9)
            waiters.remove(holder)
            if len(took) == self.kills:
                break
            waiters += crew(stage, system, 1, self.name, self.words)
            waiters[-1].tell('take')
        for client in waiters + [holder]:
            client.kill()
        figure.more['singles'] = took
        return [figure]


class Many(Workload):
    """One process takes very many leases, keeps them, gives them back."""

    name = 'many'
    systems = ('lease',)
    rounds = 3
    ttl_ms = 3000

    def __init__(self, quick, threads=256):
        self.threads = threads
        self.count = 10000 if quick else 100000
        self.beats = 2 if quick else 5
        self.shape = (f'{self.count:,} leases, taken, kept and given back by '
                      + counted(threads, 'thread', 'threads')
                      + '; statements per second: while they are kept, a beat '
                      'each second')

    def measure(self, stage, system):
        client = stage.client(system, 'many', '--threads', self.threads,
                              '--count', self.count, '--ttl-ms', self.ttl_ms,
                              '--prefix', 'bench-many-')
        client.hear_word('ready')
        client.tell('take')
        took, before, after = client.hear_word('took', 600)
        per_beat, rate = self._keep(stage)
        client.tell('give')
        gave, = client.hear_word('gave', 600)
        client.end()
        figures = [Figure(f'{self.name}{word}', system, 1, self.threads,
                          self.count, pairs_per_s=1e9 * self.count / ns)
                   for word, ns in (('', took + gave), ('-take', took),
                                    ('-give-back', gave))]
        for figure, shape in zip(figures[1:], ('taken', 'given back')):
            stage.shapes[figure.workload] = f'leases {shape} per second'
        figures[0].rss_bytes = after
        figures[0].server_statements_per_s = rate
        figures[0].more.update(per_beat=per_beat, bytes_per_hold=(
            after - before) / self.count)
        return figures

    def _keep(self, stage):
        """Statements from one beat to a later one, less our own."""
        server = stage.database()
        self._await_beats(stage, 1)
        began, before = time.monotonic(), server.statements()
        asked = self._await_beats(stage, self.beats)
        took, after = time.monotonic() - began, server.statements()
        others = after - before - server.own - asked
        return others / self.beats, others / took

    def _await_beats(self, stage, count):
        """Returns how often it asked."""
        before = now = stage.beats('lease')
        asked = 1
        began = time.monotonic()
        while now < before + count:
            took = time.monotonic() - began
            if took > patience():
                raise BenchError(f'the client has beaten {now - before} times '
                                 f'in {took:.0f} s, not {count}')
            time.sleep(0.02)
            now = stage.beats('lease')
            asked += 1
        return asked


class Grown(Pairs):
    """As lone, in a database where much has been locked, and much is held;
    measured next to an empty one in the same round."""

    database = 'rowlock_grown'

    def __init__(self):
        super().__init__('grown', 1, 1, 1, database=self.database, shape=(
            '1 thread, 1 name; 1,000,000 rows in business_lock, 100,000 other '
            'leases held'), systems=OURS, parts=5)
        self.empty = Pairs('grown', 1, 1, 1)

    def prepare(self, stage):
        server = stage.database()
        server.second_database(self.database)
        # One after the other, so that a page is written once.
        for text in (
                "INSERT INTO business_lock (name) "
                f"SELECT CONCAT('grown-', LPAD(n, 6, '0')) FROM ({MILLION}) m "
                'ORDER BY n',
                'INSERT INTO lease_session (id, ttl, expires_at, started_at) '
                'VALUES (1, 86400000, UTC_TIMESTAMP(6) + INTERVAL 1 DAY, '
                'UTC_TIMESTAMP(6))',
                'INSERT INTO business_lease '
                '(name, slot, session, attempt, acquired_at) '
                "SELECT CONCAT('grown-', LPAD(n, 6, '0')), 0, 1, n, "
                f'UTC_TIMESTAMP(6) FROM ({MILLION}) m WHERE n < 100000 '
                'ORDER BY n',
                # Written out now, not while others are measured.
                'FLUSH TABLES business_lock, business_lease FOR EXPORT; '
                'UNLOCK TABLES'):
            server.sql(text, self.database)

    def measure(self, stage, system):
        empty, = self.empty.measure(stage, system)
        figure, = super().measure(stage, system)
        if figure.p50_us and empty.p50_us:
            figure.more['to_empty'] = figure.p50_us / empty.p50_us
        return [figure]
