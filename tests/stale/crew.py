# SPDX-License-Identifier: MIT
"""The processes that change registers, and those that disturb them."""

import os
import random
import selectors
import signal
import subprocess
import tempfile
import time

from cuts import Cuts
from judge import judge, told_by, truth_in

WORKERS = 12

# A worker stops itself; the driver lets it go on after so many TTLs.
STOPPED_TTLS = 1.5
# One round in so many, twice: after reading, after writing.
STOPS = 150
# And from outside, whatever it is at: about so many times a second.
CUTS = 0.5
# All that spoil do something after so many milliseconds at most, which are 20 in
# the mean: two of three times they break a lock.
SPOIL_MS = 40
# On a cluster a transaction takes so many times as long.
SLOWER = 3


class StaleError(Exception):
    """It cannot go on."""


class Worker:
    def __init__(self, command, dsn, stdin, stdout=subprocess.PIPE):
        self.command = command
        self.process = subprocess.Popen(
            command, stdin=stdin, stdout=stdout,
            stderr=subprocess.PIPE, env=dict(os.environ, ROWLOCK_DSN=dsn))

    def has_stopped(self):
        """True once each time that it has."""
        if self.process.returncode is not None:
            return False
        try:
            pid, status = os.waitpid(self.process.pid,
                                     os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return False
        if not pid:
            return False
        if os.WIFSTOPPED(status):
            return True
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return False

    def check(self):
        out, err = self.process.communicate()
        if self.process.returncode:
            raise StaleError(f'{" ".join(self.command[1:])}: ended with '
                             f'{self.process.returncode}: '
                             + err.decode(errors='replace').strip()[-400:])
        return (out or b'').decode()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()


def concerning(told, deeds):
    """Of what spoilers did, each (when, on which server, what): what may have met
    this transaction."""
    since, until, where, connection = map(
        told.number_in, ('from', 'until', 'own-at', 'connection'))
    for deed in deeds:
        when, port, what = deed
        if since is None or until is None or not since <= int(when) <= until:
            continue
        if what.startswith('KILL'):
            if (int(port), int(what.split()[-1])) == (where, connection):
                yield deed
        elif not what.startswith('broke') or \
                what == f'broke stale-{told.register}':
            yield deed


class Crew:
    """The workers of one form."""

    def __init__(self, run, form):
        self.run = run
        self.form = form
        self.told = {}      # id: Told
        self.rng = random.Random(f'{run.options.seed}/{form}')
        self.selector = selectors.DefaultSelector()
        self.workers = []
        self.sleepers = []  # (when, process)
        self.next_cut = time.monotonic() + 1
        self.rest = {}
        self.cuts = None
        self.deeds = tempfile.TemporaryFile()

    def play(self):
        options = self.run.options
        self.run.worker('set-up').check()
        spoilers = self._start_spoilers()
        if self.form in self.run.peers:
            self.cuts = Cuts(self.run.peers[self.form].port, WORKERS,
                             f'{options.seed}/{self.form}/cuts',
                             options.ttl_ms / 1000)
        began = time.monotonic()
        try:
            for number in range(1, WORKERS + 1):
                self._start(number, -(-options.rounds // WORKERS))
            while self.selector.get_map():
                self._step()
            for worker in self.workers:
                worker.check()
        finally:
            for worker in self.workers:
                worker.kill()
            seconds = time.monotonic() - began
            if self.cuts:
                self.cuts.close()
        # The end of their standard input is theirs.
        for spoiler in spoilers:
            spoiler.check()
        for dsn in self.run.dsns:
            self.run.worker('settle', dsn=dsn).check()
        truth = truth_in(self.run.worker('tell').check().splitlines())
        return self._explain(judge(self.told, truth, seconds))

    def _start_spoilers(self):
        """What they do they write down."""
        acts = ['spoil'] + ['hold-back'] * (len(self.run.dsns) > 1)
        nodes = len(self.run.dsns)
        pace = SPOIL_MS * (nodes * SLOWER if nodes > 1 else 1)
        return [self.run.worker(act, '--seed', self.run.options.seed + i,
                                '--pace-ms', pace, dsn=dsn, stdin=subprocess.PIPE,
                                stdout=self.deeds)
                for act in acts for i, dsn in enumerate(self.run.dsns)]

    def _explain(self, verdict):
        """With all that was done meanwhile to a transaction of which something
        wrong was told."""
        self.deeds.seek(0)
        deeds = [line.decode().strip().split(maxsplit=2)
                 for line in self.deeds]
        if self.run.options.log:
            self._log(deeds)
        for number, sentence in verdict.wrong.items():
            told = self.told[number]
            verdict.wrong[number] = '\n  '.join(
                [sentence, told.story]
                + [' '.join(deed) for deed in concerning(told, deeds)])
        return verdict

    def _log(self, deeds):
        with open(self.run.options.log, 'a', encoding='ascii') as log:
            for number, told in self.told.items():
                print(self.form, number, *told, file=log)
            for deed in deeds:
                print(self.form, *deed, file=log)

    def _start(self, number, rounds):
        dsns = self.run.dsns
        port = self.cuts.lines[number - 1].port if self.cuts else 0
        nodes = [word for dsn in dsns[1:] and dsns for word in ('--node', dsn)]
        worker = self.run.worker(
            'work', '--form', self.form, '--worker', number, '--rounds', rounds,
            '--peer', port, '--stops', STOPS, '--faults', *nodes,
            dsn=dsns[number % len(dsns)])
        self.workers.append(worker)
        os.set_blocking(worker.process.stdout.fileno(), False)
        self.selector.register(worker.process.stdout, selectors.EVENT_READ,
                               worker)

    def _step(self):
        for key, _ in self.selector.select(0.05):
            self._hear(key.fileobj)
        now = time.monotonic()
        for worker in self.workers:
            if worker.has_stopped():
                self._put_to_sleep(worker, now)
        if now > self.next_cut:
            self.next_cut = now + self.rng.uniform(0, 2 / CUTS)
            worker = self.rng.choice(self.workers)
            if worker.process.poll() is None:
                worker.process.send_signal(signal.SIGSTOP)
        for when, worker in list(self.sleepers):
            if when <= now:
                self.sleepers.remove((when, worker))
                worker.process.send_signal(signal.SIGCONT)
        self.run.progress.tell(
            f'{self.form}: {len(self.told)} of {self.run.options.rounds}')

    def _put_to_sleep(self, worker, now):
        ttl = self.run.options.ttl_ms / 1000
        self.sleepers.append((now + ttl * STOPPED_TTLS, worker))

    def _hear(self, pipe):
        said = pipe.read()
        if not said:
            self.selector.unregister(pipe)
            return
        said = self.rest.pop(pipe, b'') + said
        lines, _, rest = said.rpartition(b'\n')
        self.rest[pipe] = rest
        self.told.update(told_by(lines.decode().splitlines()))
