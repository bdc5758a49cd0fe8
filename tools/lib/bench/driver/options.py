# SPDX-License-Identifier: MIT
"""The command line. What it asks for and nobody can do is told here, before
anything is started: a run takes half an hour."""

import argparse
import os

import catalogue
import charts
from figures import Place
from stage import SYSTEMS

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), '..', '..',
                                     '..', '..'))


def number(kind, least, most, words):
    """A type for argparse."""
    def convert(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        # nan is in no range.
        if value is None or not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"'{text}' is not {words} from {least} to {most}")
        return value
    return convert


def known_words(parser, text, workloads):
    words = [word for word in text.split(',') if word]
    if not words:
        parser.error('--only: it names nothing; leave it out to measure '
                     'everything')
    known = {workload.name for workload in workloads}
    families = {workload.family for workload in workloads} - known - {''}
    for word in words:
        if word not in known | families | set(SYSTEMS):
            parser.error(
                f"--only: there is no '{word}'; workloads: "
                f"{' '.join(workload.name for workload in workloads)}; "
                f"systems: {' '.join(SYSTEMS)}")
    return set(words)


def choose(parser, options):
    """The workloads and systems that --only leaves, and why some that it names
    have nothing to do."""
    options.workloads = catalogue.growth() if options.growth \
        else catalogue.usual(options.quick)
    options.systems, options.idle = list(SYSTEMS), {}
    if options.only is None:
        return
    words = known_words(parser, options.only, options.workloads)
    some = [workload for workload in options.workloads
            if {workload.name, workload.family} & words] \
        or options.workloads
    systems = [name for name in SYSTEMS if name in words] or list(SYSTEMS)
    quick = ' with --quick' if options.quick else ''
    wanted = {workload.name: workload.wanted(options.quick)
              for workload in some}
    options.workloads = [workload for workload in some
                         if set(wanted[workload.name]) & set(systems)]
    if not options.workloads:
        parser.error('--only: there is nothing to measure: ' + '; '.join(
            f"{name} is played{quick} on {' '.join(on)} only"
            for name, on in wanted.items()))
    options.systems = [name for name in systems if any(
        name in on for on in wanted.values())]
    for name in wanted.keys() & words - {w.name for w in options.workloads}:
        options.idle[name] = f'it is not played{quick} on what --only names'
    for name in set(systems) & words - set(options.systems):
        options.idle[name] = f'nothing that --only names is played{quick} on it'


def open_places(parser, options):
    """So that no figure is lost to a path that cannot be written."""
    for word, take in (('svg', charts.try_directory), ('json', Place)):
        path = getattr(options, word)
        if path is not None:
            try:
                setattr(options, word, take(path))
            except OSError as error:
                parser.error(f"--{word}: cannot write to '{path}': "
                             f'{error.strerror}')


def parse(words=None):
    parser = argparse.ArgumentParser(
        prog='bench', description='How fast: this library, the bare '
        'statements, GET_LOCK, Redis and ZooKeeper, side by side.',
        epilog='Exit status: 0 all of it ran, 1 something failed to (or, with '
        '--strict, a bar does not hold, or none could be judged), 2 it could '
        'not be done, and nothing was measured, 130 interrupted. What the '
        'workloads and systems are: tools/lib/bench/README.md.')
    parser.add_argument('--quick', action='store_true',
                        help='one short round, under 90 seconds in all')
    parser.add_argument('--only', metavar='WORDS',
                        help='workloads and systems, separated by commas')
    parser.add_argument('--json', metavar='FILE',
                        help='write all figures there')
    parser.add_argument('--svg', metavar='DIR',
                        help='draw charts there (needs gnuplot)')
    parser.add_argument('--rounds', metavar='N', help='(5; quick: 1)',
                        type=number(int, 1, 1000, 'a whole number'))
    parser.add_argument('--seconds', metavar='S',
                        type=number(float, 0.01, 3600, 'a number'),
                        help='how long each measurement counts (2; quick: '
                        '0.3)')
    parser.add_argument('--strict', action='store_true',
                        help='a bar that does not hold is a failure, and that '
                        'there is none to judge')
    parser.add_argument('--growth', action='store_true',
                        help='instead: each workload with 1, 4, 16, 64 and '
                        '256 threads or processes')
    parser.add_argument('--server', choices=('mariadb', 'mysql'),
                        default='mariadb', help='which database (mariadb)')
    parser.add_argument('--delay-ms', default=0, metavar='N',
                        type=number(float, 0, 1000, 'a number'),
                        help='add this to every round trip')
    parser.add_argument('--build', metavar='DIR', help='the build directory '
                        '(ROWLOCK_BUILD, or build-bench)',
                        default=os.environ.get('ROWLOCK_BUILD')
                        or os.path.join(ROOT, 'build-bench'))
    parser.add_argument('--check-words', action='store_true',
                        help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.rounds is None:
        options.rounds = 1 if options.quick else 5
    if options.seconds is None:
        options.seconds = 0.3 if options.quick else 2
    choose(parser, options)
    open_places(parser, options)
    return options
