#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The driver of tools/bench: plays every workload on every system in turn,
round by round, and says what was measured."""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import bars
import catalogue
import charts
import report
from figures import Results
from processes import BenchError, kill_clients, undisturbed
from stage import SYSTEMS, Stage
from workloads import counted

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..',
                                     '..'))


def say(text=''):
    print(f'bench: {text}' if text else '', flush=True)


class Progress:
    """One line that is written over, on a terminal only."""

    def __init__(self):
        self.shown = sys.stdout.isatty()
        self.began = time.monotonic()

    def __call__(self, text):
        if self.shown:
            took = time.monotonic() - self.began
            print(f'\r\033[K{took:4.0f} s  {text}', end='', flush=True)

    def clear(self):
        if self.shown:
            print('\r\033[K', end='', flush=True)


class Run:
    def __init__(self, options):
        self.options = options
        self.progress = Progress()
        self.results = Results()
        self.failures = []
        self.began = time.monotonic()
        self.work = tempfile.mkdtemp(prefix='rowlock-bench-')
        self.stage = None
        self.machine, self.footnote = [], ''

    def play(self):
        self.stage = Stage(self.options, ROOT, self.work)
        busy = report.busy_cores()
        able = self.stage.start(self.options.systems, self.progress)
        self.machine = report.machine(self.stage, busy)
        self.footnote = report.footnote(self.stage)
        for workload in self.options.workloads:
            workload.prepare(self.stage)
        steps = list(self._steps(able))
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
        with undisturbed():
            self.progress('ending the servers')
            if self.stage:
                self.stage.close()
            self.progress.clear()
            shutil.rmtree(self.work, ignore_errors=True)

    def tell(self):
        """Returns whether all bars hold."""
        shapes = {**self.stage.shapes, **{
            workload.name: workload.shape
            for workload in self.options.workloads}}
        for line in self.machine:
            say(line)
        for line in report.table(self.results, shapes):
            print(line)
        print()
        verdicts = bars.judge(self.results)
        for line in bars.lines(verdicts):
            print(line)
        for name, why in self.stage.left_out.items():
            say(f'left out: {name}: {why}')
        for failure in self.failures:
            say(f'FAILED: {failure}')
        self._write(shapes)
        say(f'{time.monotonic() - self.began:.0f} s, '
            + counted(self.options.rounds, 'round', 'rounds')
            + f' of {self.options.seconds:g} s, medians')
        return all(verdict.holds for verdict in verdicts)

    def _write(self, shapes):
        if self.options.json:
            with open(self.options.json, 'w', encoding='utf-8') as file:
                json.dump(self.results.json(), file, indent=1)
                file.write('\n')
        if self.options.svg:
            try:
                charts.draw(self.results, self.options.svg, shapes,
                            self.footnote)
            except BenchError as error:
                self.failures.append(str(error))
                say(f'FAILED: {error}')


def chosen(words, growth, quick):
    """The workloads and systems that --only leaves."""
    workloads = catalogue.growth() if growth else catalogue.usual(quick)
    known = {workload.name for workload in workloads}
    families = {name.partition('-')[0] for name in known} - known
    for word in words:
        if word not in known | families | set(SYSTEMS):
            raise SystemExit(
                f"bench: --only: there is no '{word}'; workloads: "
                f"{' '.join(workload.name for workload in workloads)}; "
                f"systems: {' '.join(SYSTEMS)}")
    some = [workload for workload in workloads
            if {workload.name, workload.name.partition('-')[0]} & set(words)]
    systems = [name for name in SYSTEMS if name in words]
    return some or workloads, systems or list(SYSTEMS)


def parse():
    parser = argparse.ArgumentParser(
        prog='bench', description='How fast: this library, the bare '
        'statements, GET_LOCK, Redis and ZooKeeper, side by side.',
        epilog='Exit status: 0 all of it ran, 1 something failed to (or, with '
        '--strict, a bar does not hold), 2 it could not be done, 130 '
        'interrupted. What the workloads and systems are: '
        'tests/bench/README.md.')
    parser.add_argument('--quick', action='store_true',
                        help='one short round, under 90 seconds in all')
    parser.add_argument('--only', metavar='WORDS', default='',
                        help='workloads and systems, separated by commas')
    parser.add_argument('--json', metavar='FILE',
                        help='write all figures there')
    parser.add_argument('--svg', metavar='DIR',
                        help='draw charts there (needs gnuplot)')
    parser.add_argument('--rounds', type=int, metavar='N', help='(5)')
    parser.add_argument('--seconds', type=float, metavar='S',
                        help='how long each measurement counts (2)')
    parser.add_argument('--strict', action='store_true',
                        help='a bar that does not hold is a failure')
    parser.add_argument('--growth', action='store_true',
                        help='instead: 1, 4, 16, 64 and 256 threads')
    parser.add_argument('--server', choices=('mariadb', 'mysql'),
                        default='mariadb', help='which database (mariadb)')
    parser.add_argument('--delay-ms', type=float, default=0, metavar='N',
                        help='add this to every round trip')
    parser.add_argument('--build', metavar='DIR', help='the build directory '
                        '(ROWLOCK_BUILD, or build-bench)',
                        default=os.environ.get('ROWLOCK_BUILD')
                        or os.path.join(ROOT, 'build-bench'))
    parser.add_argument('--check-words', action='store_true',
                        help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 5)
    options.seconds = options.seconds or (0.3 if options.quick else 2)
    options.workloads, options.systems = chosen(
        [word for word in options.only.split(',') if word], options.growth,
        options.quick)
    return options


def main():
    os.environ['PATH'] += ':/usr/sbin:/sbin'
    options = parse()
    if options.check_words:
        print(options.build)
        return 0
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    run = Run(options)
    try:
        run.play()
    except KeyboardInterrupt:
        run.close()
        if run.results.rounds:
            say('interrupted; what was measured until then:')
            run.tell()
        return 130
    except (BenchError, OSError, subprocess.SubprocessError) as error:
        run.close()
        say(str(error))
        return 2
    except BaseException:
        run.close()
        raise
    run.close()
    good = run.tell()
    return 1 if run.failures or (options.strict and not good) else 0


if __name__ == '__main__':
    sys.exit(main())
