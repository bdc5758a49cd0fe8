# SPDX-License-Identifier: MIT
"""What the workloads play on: the systems, their servers, their clients."""

import collections
import contextlib
import os
import subprocess

import servers
from processes import (BenchError, Client, keep_on, kill_clients, run,
                       stop_daemons, which)

System = collections.namedtuple('System', 'name client server against')

# In the order in which they are shown. "Against": which of our two strategies
# it is compared with.
SYSTEMS = {system.name: system for system in (
    System('row', 'row', 'database', 'row'),
    System('lease', 'lease', 'database', 'lease'),
    System('lease-token', 'lease-token', 'database', 'lease'),
    System('multilock', 'multilock', 'database', 'lease'),
    System('readers', 'readers', 'database', 'lease'),
    System('semaphore', 'semaphore', 'database', 'lease'),
    System('observer', 'observer', 'database', 'lease'),
    System('raw-row', 'raw-row', 'database', 'row'),
    System('raw-lease', 'raw-lease', 'database', 'lease'),
    System('get_lock', 'get_lock', 'database', 'row'),
    System('redis', 'redis', 'redis', 'lease'),
    System('redis-aof', 'redis', 'redis-aof', 'lease'),
    System('zookeeper', 'zookeeper', 'zookeeper', 'lease'),
    System('mutex', 'mutex', 'none', 'lease'),
    System('transfer', 'transfer', 'database', 'lease'),
    System('transfer-guarded', 'transfer-guarded', 'database', 'lease'),
    System('transfer-early', 'transfer-early', 'database', 'lease'),
    System('transfer-release', 'transfer-release', 'database', 'lease'),
    System('transfer-commit-release', 'transfer-commit-release', 'database',
           'lease'),
)}

DATABASES = {'mariadb': servers.MariaDB, 'mysql': servers.MySQL}
SERVERS = {
    'redis': servers.Redis,
    'redis-aof': servers.RedisAof,
    'zookeeper': servers.ZooKeeper,
    'none': servers.NoServer,
}


class Stage:
    def __init__(self, options, root, work):
        self.options = options
        self.root = root
        self.work = work
        self.seconds = options.seconds
        self.quick = options.quick
        self.program = os.path.join(options.build, 'tests', 'bench',
                                    'bench-client')
        if not os.access(self.program, os.X_OK):
            raise BenchError(f'there is no {self.program}; build first')
        self.built = run(self.program, '--list').split()
        self.kinds = {**SERVERS, 'database': DATABASES[options.server]}
        self.servers = {}
        self.ports = {}     # where clients find them
        self.delays = []
        self.shapes = {}    # of the workloads, for people
        self.left_out = {}

    def why_not(self, name):
        """Why this system cannot be had here; None if it can."""
        system = SYSTEMS[name]
        if system.client not in self.built:
            return "its client's library is not installed"
        if system.server == 'database' and self.options.server == 'mysql':
            return None if servers.find_mysqld() else (
                "there is no MySQL's mysqld on this machine (ROWLOCK_MYSQLD "
                'may name one)')
        program = {'redis': 'redis-server', 'redis-aof': 'redis-server',
                   'zookeeper': 'java',
                   'database': 'mariadbd'}.get(system.server)
        if program and not which(program):
            return f'there is no {program} on this machine'
        if name == 'zookeeper' and not os.path.exists(servers.ZooKeeper.JAR):
            return f'there is no {servers.ZooKeeper.JAR} on this machine'
        return None

    def start(self, names, progress):
        """The servers of these systems; returns those that can be had."""
        able = []
        for name in names:
            why = self.why_not(name)
            if why:
                self.left_out[name] = why
                continue
            kind = SYSTEMS[name].server
            if kind not in self.servers:
                progress(f'starting the server of {name}')
                self._start(kind)
            able.append(name)
        return able

    def _start(self, kind):
        server = self.servers[kind] = self.kinds[kind](self.root, self.work)
        self.ports[kind] = server.port
        if not self.options.delay_ms or not server.port:
            return
        delay = subprocess.Popen(
            [os.path.join(os.path.dirname(self.program), 'bench-delay'),
             f'{self.options.delay_ms * 500:.0f}', str(server.port)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            start_new_session=True)
        self.delays.append(delay)
        self.ports[kind] = int(delay.stdout.readline())

    def server(self, name):
        return self.servers[SYSTEMS[name].server]

    @contextlib.contextmanager
    def apart(self, system, client):
        """A client with one thread and its server, each on a core of its own:
        left to themselves they share one or not, for seconds, and are up to
        three times as fast if they do."""
        cores = sorted(os.sched_getaffinity(0))
        pid = self.server(system).pid
        if len(cores) < 2 or not pid:
            yield
            return
        keep_on(client.process.pid, cores[:1])
        keep_on(pid, cores[1:2])
        try:
            yield
        finally:
            keep_on(pid, cores)

    def database(self):
        return self.servers['database']

    def connections(self, name):
        """How many of the database's are the clients'; None elsewhere."""
        if SYSTEMS[name].server != 'database':
            return None
        return self.database().status('Threads_connected') - 1

    def beats(self, name):
        """How many all sessions have had; each is a statement."""
        if SYSTEMS[name].server != 'database':
            return 0
        return int(self.database().counter.ask(
            'SELECT COALESCE(SUM(beat), 0) FROM rowlock.lease_session')[0])

    def client(self, name, act, *words, database='rowlock'):
        system = SYSTEMS[name]
        server = self.servers[system.server]
        port = self.ports[system.server]
        return Client([self.program, '--system', system.client, '--act', act,
                       *server.words(port), *words],
                      self.work, server.environment(port, database))

    def close(self):
        kill_clients()
        for delay in self.delays:
            delay.kill()
            delay.wait()
            delay.stdout.close()
        for server in self.servers.values():
            # One that has died cannot keep the others alive.
            with contextlib.suppress(OSError, BenchError):
                server.stop()
        stop_daemons()
