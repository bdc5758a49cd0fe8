# SPDX-License-Identifier: MIT
"""The processes with locks: tests/stress' workers, one per place."""

import os
import signal
import subprocess
import time


class Crew:
    """Places 1 to n; a process that is killed is replaced by one with a
    number of its own."""

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
        path = os.path.join(self.directory, f'stderr-{self.last}')
        with open(path, 'wb') as stderr:
            process = subprocess.Popen(
                self.inside(place) + [
                    self.program, '--dir', self.directory, '--number',
                    str(self.last), *self.words, *more],
                stdin=subprocess.DEVNULL, stderr=stderr, env=environment)
        return self.last, process

    def start(self, place):
        self.members[place] = self.launch(place)

    def number(self, place):
        return self.members[place][0]

    def kill(self, place):
        number, process = self.members[place]
        self.record.instant('kill', number)
        process.kill()
        process.wait()
        self.start(place)

    def signal(self, place, number):
        self.members[place][1].send_signal(number)

    def finish(self, patience_s):
        """Let all come to an end by themselves."""
        for _, process in self.members.values():
            process.send_signal(signal.SIGTERM)
        until = time.monotonic() + patience_s
        for number, process in self.members.values():
            self._await(number, process, until, patience_s)
        self.members = {}

    def _await(self, number, process, until, patience_s):
        try:
            status = process.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.unwell.append(f'process {number} does not come to its end in '
                               f'{patience_s:.0f} s')
            self.record.instant('kill', number)
            process.kill()
            process.wait()
            return
        if status:
            self.unwell.append(f'process {number} ended with {status}: '
                               + self._said(number))

    def _said(self, number):
        path = os.path.join(self.directory, f'stderr-{number}')
        with open(path, encoding='utf-8', errors='replace') as said:
            return said.read()[-400:].strip()

    def abort(self):
        for _, process in self.members.values():
            process.kill()
            process.wait()
        self.members = {}
