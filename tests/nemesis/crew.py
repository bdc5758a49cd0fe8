# SPDX-License-Identifier: MIT
"""The processes: those with locks, which are tests/stress' workers, and those
that write under one, which are tests/stale's. One of each per place."""

import os
import subprocess
import time

from stale.judge import judge, told_by, truth_in

from .server import ServerError


class Crew:
    """Places 1 to n; a process that is killed is replaced by one with a
    number of its own."""

    what = 'process'

    def __init__(self, program, directory, record, dsn, words, inside,
                 before):
        self.program = program
        self.directory = directory
        self.record = record
        self.dsn = dsn        # of a place
        self.words = words    # for all workers
        self.inside = inside  # of a place: words before a command
        self.before = before  # called with place and number of a newcomer
        self.last = 0
        self.members = {}     # place: (number, process)
        self.unwell = []      # what ended as it should not

    def launch(self, place, *more):
        self.last += 1
        self.before(place, self.last)
        environment = dict(os.environ, ROWLOCK_TEST_DSN=self.dsn(place))
        with open(self._errors(self.last), 'wb') as stderr:
            process = subprocess.Popen(
                self.inside(place) + [
                    self.program, '--dir', self.directory, '--number',
                    str(self.last), *self.words, *more],
                stdin=subprocess.DEVNULL, stderr=stderr, env=environment)
        return self.last, process

    def _errors(self, number):
        return os.path.join(self.directory, f'stderr-{number}')

    def _record_kill(self, number):
        self.record.instant('kill', number)

    def start(self, place):
        self.members[place] = self.launch(place)

    def number(self, place):
        return self.members[place][0]

    def kill(self, place):
        number, process = self.members[place]
        self._record_kill(number)
        process.kill()
        process.wait()
        self.start(place)

    def signal(self, place, number):
        self.members[place][1].send_signal(number)

    def tell_all(self, signal_number):
        for _, process in self.members.values():
            process.send_signal(signal_number)

    def finish(self, patience_s):
        """All come to an end by themselves, as they were told."""
        until = time.monotonic() + patience_s
        for number, process in self.members.values():
            self._await(number, process, until, patience_s)
        self.members = {}

    def _await(self, number, process, until, patience_s):
        try:
            status = process.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.unwell.append(f'{self.what} {number} does not come to its end in '
                               f'{patience_s:.0f} s')
            self._record_kill(number)
            process.kill()
            process.wait()
            return
        if status:
            self.unwell.append(f'{self.what} {number} ended with {status}: '
                               + self._said(number))

    def _said(self, number):
        with open(self._errors(number), encoding='utf-8',
                  errors='replace') as said:
            return said.read()[-400:].strip()

    def abort(self):
        for _, process in self.members.values():
            process.kill()
            process.wait()
        self.members = {}


class Writers(Crew):
    """Those that read a register, write it, and commit, under a lock, half of
    them releasing it by that commit. What they are told of each commit they say
    into a file; the checker of histories knows nothing of them."""

    what = 'writer'
    FORMS = ('commit', 'commit_release')

    def __init__(self, *what, registers, **more):
        super().__init__(*what, **more)
        self.registers = registers
        self.words = ['--registers', str(registers), *self.words]

    def names(self):
        """Of their locks."""
        return [f'stale-{number}' for number in range(self.registers)]

    def launch(self, place, *more):
        self.last += 1
        with open(self._told(self.last), 'wb') as told, \
             open(self._errors(self.last), 'wb') as stderr:
            process = subprocess.Popen(
                self._command(place, 'work', '--form',
                              self.FORMS[self.last % 2], '--worker',
                              str(self.last), '--rounds', '0', *more),
                stdin=subprocess.DEVNULL, stdout=told, stderr=stderr,
                env=dict(os.environ, ROWLOCK_DSN=self.dsn(place)))
        return self.last, process

    def _command(self, place, act, *more):
        return self.inside(place) + [self.program, '--act', act, '--direct',
                                     *self.words, *more]

    def _told(self, number):
        return os.path.join(self.directory, f'told-{number}')

    def _errors(self, number):
        return os.path.join(self.directory, f'writer-stderr-{number}')

    def _record_kill(self, number):
        self.record.faults['kill'] += 1

    def _ask(self, server, act):
        """As root, when nothing disturbs it."""
        done = subprocess.run(
            self._command(0, act), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
            env=dict(os.environ, ROWLOCK_DSN=server.root_dsn()))
        if done.returncode:
            raise ServerError(f'{act}: {done.stderr.strip()}')
        return done.stdout

    def set_up(self, server):
        """Registers that were never written, which the clients may write."""
        self._ask(server, 'set-up')
        server.sql(';'.join(
            f'GRANT SELECT, INSERT, UPDATE ON {table} TO rowlock_app'
            for table in ('stale_register', 'stale_write')))

    def verdict(self, server):
        """What all were told, held against what is there."""
        told = {}
        for number in range(1, self.last + 1):
            with open(self._told(number), encoding='ascii') as said:
                told.update(told_by(said))
        return judge(told, truth_in(self._ask(server, 'tell').splitlines()), 0)
