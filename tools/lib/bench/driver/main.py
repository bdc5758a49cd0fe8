#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The driver of tools/bench: plays every workload on every system in turn,
round by round, and says what was measured."""

import os
import shutil
import subprocess
import sys
import tempfile
import time

import bars
import charts
import report
from figures import Results
from options import ROOT, parse
from processes import BenchError, heed_signals, kill_clients, undisturbed
from progress import Progress
from stage import Stage
from workloads import counted


def say(text=''):
    print(f'bench: {text}' if text else '', flush=True)


class Timed(Progress):
    """With the seconds since it began."""

    def __init__(self):
        super().__init__()
        self.began = time.monotonic()

    def __call__(self, text):
        took = time.monotonic() - self.began
        self.tell(f'{took:4.0f} s  {text}')


class Run:
    def __init__(self, options):
        self.options = options
        self.progress = Timed()
        self.results = Results()
        self.failures = []
        self.began = time.monotonic()
        self.work = self.stage = None
        self.machine, self.footnote = [], ''

    def play(self):
        if self.options.svg:
            charts.need_gnuplot()
        self.work = tempfile.mkdtemp(prefix='rowlock-bench-')
        self.stage = Stage(self.options, ROOT, self.work)
        busy = report.busy_cores()
        able = self.stage.start(self.options.systems, self.progress)
        steps = list(self._steps(able))
        if not steps:
            raise BenchError('there is nothing to measure: ' + '; '.join(
                f'{name}: {why}' for name, why in self.stage.left_out.items())
                + '; install what is missing, or name others with --only')
        self.machine = report.machine(self.stage, busy)
        self.footnote = report.footnote(self.stage)
        for workload in dict.fromkeys(step[2] for step in steps):
            workload.prepare(self.stage)
        for done, (number, part, workload, system) in enumerate(steps, 1):
            self.progress(f'[{done}/{len(steps)}] round {number + 1} of '
                          f'{self.options.rounds}: {workload.name} on '
                          f'{system}')
            parts = self._parts(workload)
            self.stage.seconds = self.options.seconds / parts
            self._measure(workload, system, number * parts + part)

    def _parts(self, workload):
        return 1 if self.options.quick else workload.parts

    def _steps(self, able):
        """Round by round, part by part, system by system."""
        for number in range(self.options.rounds):
            for workload in self.options.workloads:
                if number >= workload.rounds:
                    continue
                for part in range(self._parts(workload)):
                    for system in workload.wanted(self.options.quick):
                        if system in able:
                            yield number, part, workload, system

    def _measure(self, workload, system, number):
        try:
            for figure in workload.measure(self.stage, system):
                figure.round = number
                self.results.add(figure)
        except (BenchError, OSError) as error:
            kill_clients()
            self.failures.append(f'{workload.name} on {system}: {error}')

    def close(self):
        """What somebody waits for who reads no more comes first: the end of the
        servers, then the figures, then words."""
        with undisturbed():
            if self.stage:
                self.stage.close()
            if self.work:
                shutil.rmtree(self.work, ignore_errors=True)
            self._write()
            self.progress.clear()

    def tell(self):
        """Returns the verdicts on the bars."""
        shapes = {**self.stage.shapes, **{
            workload.name: workload.shape
            for workload in self.options.workloads}}
        self._draw(shapes)
        for line in self.machine:
            say(line)
        for line in report.table(self.results, shapes):
            print(line)
        print()
        verdicts = bars.judge(self.results)
        for line in bars.lines(verdicts):
            print(line)
        for name, why in {**self.stage.left_out, **self.options.idle}.items():
            say(f'left out: {name}: {why}')
        for failure in self.failures:
            say(f'FAILED: {failure}')
        say(f'{time.monotonic() - self.began:.0f} s, '
            + counted(self.options.rounds, 'round', 'rounds')
            + f' of {self.options.seconds:g} s, medians')
        return verdicts

    def _write(self):
        place = self.options.json
        if not place:
            return
        try:
            if self.results.rounds:
                place.write(self.results)
            place.close()
        except OSError as error:
            self.failures.append(f'--json: {place.path}: {error.strerror}')

    def _draw(self, shapes):
        if self.options.svg:
            try:
                charts.draw(self.results, self.options.svg,
                            self.options.workloads, shapes, self.footnote)
            except (BenchError, OSError) as error:
                self.failures.append(str(error))


def play(run):
    """To the end, the servers' too. Returns the exit status so far, and why it
    could not be done, if so. Says nothing."""
    try:
        try:
            run.play()
        finally:
            run.close()
    except KeyboardInterrupt:
        return 130, ''
    except (BenchError, OSError, subprocess.SubprocessError) as error:
        return 2, str(error)
    return 0, ''


def conclude(run, status, why):
    """Says what came of it. Returns the exit status."""
    if status == 2:
        say(why)
    elif status == 130 and run.results.rounds:
        say('interrupted; what was measured until then:')
        run.tell()
    if status:
        return status
    verdicts = run.tell()
    if not run.options.strict:
        return 1 if run.failures else 0
    if not verdicts:
        say('FAILED: --strict: of what was measured nothing has to clear a '
            'bar; let --only name more')
    good = verdicts and all(verdict.holds for verdict in verdicts)
    return 1 if run.failures or not good else 0


def forget(stream):
    """What it still has in its buffer must go somewhere: Python ends with 120
    if that cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def main():
    os.environ['PATH'] += ':/usr/sbin:/sbin'
    options = parse()
    if options.check_words:
        if options.json:
            options.json.close()
        print(options.build)
        return 0
    heed_signals()
    run = Run(options)
    status, why = play(run)
    try:
        return conclude(run, status, why)
    except OSError as error:
        # Nobody can read it: the terminal is gone, the disk is full.
        forget(sys.stdout)
        try:
            print(f'bench: {error.strerror}: the figures could not be printed',
                  file=sys.stderr, flush=True)
        except OSError:
            forget(sys.stderr)
        return status or 1


if __name__ == '__main__':
    sys.exit(main())
