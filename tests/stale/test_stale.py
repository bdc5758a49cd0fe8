# SPDX-License-Identifier: MIT
"""A short run of tools/stale, and that its judge sees what is wrong. Speaks
TAP."""

import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
os.environ['PATH'] += ':/usr/sbin:/sbin'

# pylint: disable=wrong-import-position
from judge import judge  # noqa: E402
from tap import Tap, check, words_of  # noqa: E402

STALE = os.path.join(os.environ['ROWLOCK_SOURCE'], 'tools', 'stale')
ROUNDS = 240
GUARDED = ('commit', 'commit_release')


def what_somebody_has_not_seen_is_lost():
    # 3 follows 1, as 2 did.
    writes = {1: (0, 0), 2: (0, 1), 3: (0, 1), 4: (1, 0)}
    told = {number: (0, 'c') for number in writes}
    verdict = judge(told, ({0: 3, 1: 4}, writes), 1)
    check(verdict.lost == verdict.acknowledged_lost == 1, f'{verdict}')
    check(verdict.wrong == [], f'{verdict}')
    told[2] = (0, 'u')
    verdict = judge(told, ({0: 3, 1: 4}, writes), 1)
    check((verdict.lost, verdict.acknowledged_lost) == (1, 0), f'{verdict}')


def what_was_told_is_held_against_what_is_there():
    writes = {1: (0, 0), 2: (0, 1)}
    for end, wrong in (('c', 1), ('n', 0), ('s', 0), ('b', 0), ('u', 0)):
        told = {1: (0, 'c'), 2: (0, 'c'), 3: (0, end)}
        verdict = judge(told, ({0: 2}, writes), 1)
        check(len(verdict.wrong) == wrong, f'{end}, not there: {verdict}')
    for end, wrong in (('c', 0), ('n', 1), ('s', 1), ('b', 1), ('u', 0)):
        verdict = judge({1: (0, 'c'), 2: (0, end)}, ({0: 2}, writes), 1)
        check(len(verdict.wrong) == wrong, f'{end}, there: {verdict}')


def given():
    """A server where nobody else has connections of the same account."""
    dsn = os.environ.get('ROWLOCK_DSN')
    return ('--dsn', dsn) if os.environ.get('ROWLOCK_TEST_ALONE') else ()


def run(*words):
    done = subprocess.run([sys.executable, '-B', STALE, *words],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def no_stale_holder_commits_and_all_are_told_the_truth():
    status, said = run('--rounds', str(ROUNDS), '--only', ','.join(GUARDED),
                       *given())
    check(status == 0, said)
    for form in GUARDED:
        row = re.search(rf'^  {form} +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) ', said,
                        re.M)
        check(row, said)
        told, committed, lost, acknowledged, wrong = map(int, row.groups())
        check(told >= ROUNDS and committed > ROUNDS / 4, said)
        check(lost == acknowledged == wrong == 0, said)


def what_cannot_be_done_is_said():
    for words, text in (
            (('--only', 'hope'), "no form 'hope'"),
            (('--build', '/nonexistent'), 'build first'),
            (('--rounds', '0'), 'at least 1')):
        status, said = run(*words)
        check(status == 2 and text in said, f'{words}: {status}: {said}')


def main():
    tests = (what_somebody_has_not_seen_is_lost,
             what_was_told_is_held_against_what_is_there,
             what_cannot_be_done_is_said)
    tap = Tap(len(tests) + 1)
    for test in tests:
        tap.case(words_of(test), test)
    if shutil.which('mariadbd') and not given():
        print('# server: own, ' + subprocess.run(
            ['mariadbd', '--version'], capture_output=True, text=True,
            check=True).stdout.strip())
    test = no_stale_holder_commits_and_all_are_told_the_truth
    tap.case(words_of(test), test,
             skip=None if given() or shutil.which('mariadbd') else 'no mariadbd here')
    return tap.status()


if __name__ == '__main__':
    sys.exit(main())
