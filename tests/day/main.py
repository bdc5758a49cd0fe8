#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A day in production: jobs, waiters, candidates, and the daemon go on while their
server is restarted, backed up, rebuilt, frozen, filled, and gets other passwords,
drawn by lot from a seed.

It must hold: no two jobs of one name run at once; no candidate and no daemon ends;
each program that ends by itself has a reason that was there; nothing grows, neither
memory nor descriptors nor connections; at the end no row is left."""

import argparse
import collections
import os
import random
import re
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, 'tests'), os.path.join(ROOT, 'tests', 'lib')]
sys.dont_write_bytecode = True

# pylint: disable=wrong-import-position
from day import events  # noqa: E402
from day.people import TWICE, Crew, Jobs, Standing  # noqa: E402
from progress import Progress  # noqa: E402

NAMES = [f'{strategy}/{name}' for strategy in ('lease', 'row')
         for name in ('mail', 'report', 'import')]
# An event is felt for longer than it lasts: what waits has patience.
FELT_S = 60
QUIET_S = 6
LEAST_KIB = 2048
SHOWN = 20


def say(text):
    print(f'day: {text}', flush=True)


def programs(crew, lots, hosts, waiters):
    """All of them, running."""
    standing = [Standing(crew, 'rowlock', 'elect', '-s', strategy, '--pause=1s',
                         f'{strategy}/leader', '--',
                         *crew.command(f'{strategy}/leader', 20))
                for strategy in ('lease', 'row') for _ in range(2)]
    standing.append(Standing(crew, 'rowlock-reaperd', '--interval=2s',
                             account='rowlock_reaper'))
    jobs = [Jobs(crew, random.Random(lots.random()), NAMES, '1m')
            for _ in range(hosts)]
    jobs += [Jobs(crew, random.Random(lots.random()),
                  [f'{strategy}/queue'], '1h')
             for number in range(waiters)
             for strategy in (('lease', 'row')[number % 2],)]
    for person in standing + jobs:
        person.start()
    return standing, jobs


class Day:
    def __init__(self, options):
        self.options = options
        self.lots = random.Random(options.seed)
        self.progress = Progress()
        self.happened = []  # (began, ended, event)
        self.connections = []
        self.wrong = []

    def play(self, server, crew, standing):
        began = time.monotonic()
        until = began + self.options.minutes * 60
        while time.monotonic() < until:
            event = self.lots.choice(list(events.EVENTS))
            at = time.monotonic()
            event(server, self.lots)
            self.happened.append((at, time.monotonic(), event))
            if self.options.verbose:
                say(f'{at - began:6.1f} {event.__name__}')
            self.progress.tell(f'day: {(at - began) / 60:.1f} of '
                               f'{self.options.minutes:g} minutes, '
                               f'{len(self.happened)} events, '
                               f'{len(crew.ends)} ends')
            time.sleep(self.lots.uniform(1, 2 * QUIET_S))
            for person in standing:
                person.look()
            self.connections.append(server.connections())
        self.progress.clear()

    # ------------------------------------------------------------- judgement

    def reasons(self, end):
        """The words for what happened in the time of @end."""
        return '|'.join({events.EVENTS[event]
                         for at, ended, event in self.happened
                         if at <= end.when and ended + FELT_S >= end.began})

    def judge_end(self, end, finished):
        what = ' '.join(end.words[2:]) + f': {end.status}: {end.said[-400:]}'
        if end.status == TWICE:
            self.wrong.append(f'two jobs of one name at once: {what}')
        elif end.status in (0, 1) or end.when >= finished:
            return
        elif not re.search(self.reasons(end) or '$^', end.said, re.I):
            self.wrong.append(f'no true reason: {what}')

    def judge_growth(self, standing):
        for person in standing:
            kib, descriptors = person.growth()
            if kib > LEAST_KIB or descriptors > 2:
                self.wrong.append(f'{" ".join(person.words[:2])} grew by {kib} '
                                  f'KiB and {descriptors} descriptors')
        third = len(self.connections) // 3
        if third and max(self.connections[2 * third:]) > \
                1.3 * max(self.connections[third:2 * third]):
            self.wrong.append(f'connections grew: {self.connections}')

    def judge_rest(self, server):
        """The rows of who ended while the server was away are the reaper's."""
        until = time.monotonic() + 60
        while True:
            left = server.sql('SELECT name FROM business_lease UNION ALL'
                              " SELECT CONCAT('session of ', program)"
                              ' FROM lease_session')
            if not left:
                return
            if time.monotonic() > until:
                self.wrong.append(f'rows are left: {left}')
                return
            time.sleep(0.2)


def summary(crew):
    """What the programs that failed have said, by how many of them."""
    said = collections.Counter()
    for end in crew.ends:
        if end.status in (124, 125):
            said[re.sub(r"[0-9][0-9.:]*|'(lease|row)/[a-z]*'", '#',
                        end.said.splitlines()[-1] if end.said else '')] += 1
    return [f'{number:4} {words[:300]}' for words, number in said.most_common()]


def count(crew):
    statuses = collections.Counter(
        (end.words[0], end.status) for end in crew.ends)
    return ', '.join(f'{word} {status}: {number}' for (word, status), number
                     in sorted(statuses.items(), key=str))


def run(options):
    day = Day(options)
    with tempfile.TemporaryDirectory(prefix='rowlock-day-') as work:
        os.environ['ROWLOCK_BUILD'] = options.build
        server = events.Server(ROOT, os.path.join(work, 'server'))
        try:
            crew = Crew(os.path.join(options.build, 'tools'), server, work)
            standing, jobs = programs(crew, day.lots, options.hosts,
                                      options.waiters)
            day.play(server, crew, standing)
            finished = time.monotonic()
            for person in standing:
                if person.end:
                    day.wrong.append(f'{person.end.words} ended: '
                                     f'{person.end.said[-400:]}')
            daemon = standing.pop()
            with crew.lock:
                crew.running.discard(daemon.process)
            crew.finish()
            for person in jobs + standing:
                person.join()
            day.judge_rest(server)
            daemon.process.terminate()
            daemon.join()
            for end in crew.ends:
                day.judge_end(end, finished)
            day.judge_growth([*standing, daemon])
        finally:
            server.do('stop')
    for line in summary(crew) if options.verbose else []:
        say(line)
    for wrong in day.wrong[:SHOWN]:
        say(wrong)
    say(f'{len(day.happened)} events, {len(crew.ends)} ends ({count(crew)}), '
        f'{len(day.wrong)} wrong')
    return 1 if day.wrong else 0


def main():
    parser = argparse.ArgumentParser(prog='day', description=__doc__.split('.')[0])
    parser.add_argument('--minutes', type=float, default=60)
    parser.add_argument('--seed', type=int, default=random.randrange(1 << 30))
    parser.add_argument('--hosts', type=int, default=12)
    parser.add_argument('--waiters', type=int, default=38)
    parser.add_argument('--build', default=os.environ.get('ROWLOCK_BUILD', 'build'))
    parser.add_argument('--verbose', action='store_true', help='say each event')
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    say(f'seed {options.seed}')
    return run(options)


if __name__ == '__main__':
    sys.exit(main())
