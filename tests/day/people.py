# SPDX-License-Identifier: MIT
"""Those who work meanwhile: jobs, waiters, candidates, a daemon. Each job says by
flock(1) whether another of its name runs: the kernel knows it, whatever rowlock
believes."""

import collections
import os
import signal
import subprocess
import threading
import time

TWICE = 77  # of flock: another job of this name runs

End = collections.namedtuple('End', 'when began status words said')


class Crew:
    """What programs share: where they are, their server, and what they ended with."""

    def __init__(self, tools, server, directory):
        self.tools = tools
        self.server = server
        self.dir = directory
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.ends = []
        self.running = set()
        # The option files alone say where the server is.
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(('ROWLOCK_', 'MYSQL_'))}

    def command(self, name, seconds):
        path = os.path.join(self.dir, name.replace('/', '-') + '.flock')
        return ['flock', '-n', '-E', str(TWICE), path, 'sleep', f'{seconds:.2f}']

    def start(self, program, *words, account='rowlock_app'):
        return subprocess.Popen(
            [os.path.join(self.tools, program), *words[:1],
             self.server.options(account), *words[1:]],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, errors='replace',
            env=self.environment)

    def await_end(self, process):
        """Until it ends, and note how; end it when all is over."""
        began = time.monotonic()
        with self.lock:
            self.running.add(process)
        said = process.communicate()[1]
        end = End(time.monotonic(), began, process.returncode, process.args[1:],
                  said.strip())
        with self.lock:
            self.running.discard(process)
            self.ends.append(end)
        return end

    def finish(self):
        self.over.set()
        with self.lock:
            for process in self.running:
                process.send_signal(signal.SIGTERM)


class Jobs(threading.Thread):
    """One host's crontab: a job of a name drawn by lot, again and again."""

    def __init__(self, crew, lots, names, wait):
        super().__init__(daemon=True)
        self.crew, self.lots, self.names, self.wait = crew, lots, names, wait

    def run(self):
        while not self.crew.over.is_set():
            name = self.lots.choice(self.names)
            strategy = name.partition('/')[0]
            seconds = self.lots.choice((0.02, 0.2, 1, 4))
            self.crew.await_end(self.crew.start(
                'rowlock', 'run', '-s', strategy, '-w', self.wait,
                '--retry-connect=2m', name, '--',
                *self.crew.command(name, seconds)))
            self.crew.over.wait(self.lots.uniform(0, 1))


class Standing(threading.Thread):
    """A program that nothing may end: a candidate, or the daemon."""

    def __init__(self, crew, *words, account='rowlock_app'):
        super().__init__(daemon=True)
        self.crew = crew
        self.words = words
        self.process = crew.start(*words, account=account)
        self.seen = []  # resident KiB and descriptors, from time to time
        self.end = None

    def run(self):
        self.end = self.crew.await_end(self.process)

    def look(self):
        try:
            with open(f'/proc/{self.process.pid}/statm', encoding='ascii') as file:
                pages = int(file.read().split()[1])
            count = len(os.listdir(f'/proc/{self.process.pid}/fd'))
        except (OSError, IndexError):
            return
        self.seen.append((pages * os.sysconf('SC_PAGESIZE') // 1024, count))

    def growth(self):
        """By how much the last third exceeds the second: KiB and descriptors. The
        first third is for what is made once."""
        third = len(self.seen) // 3
        if not third:
            return 0, 0
        most = [[max(column) for column in zip(*part)]
                for part in (self.seen[third:2 * third], self.seen[2 * third:])]
        return most[1][0] - most[0][0], most[1][1] - most[0][1]
