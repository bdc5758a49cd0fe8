# SPDX-License-Identifier: MIT
"""What the tests of this directory speak."""

import sys


def check(truth, words):
    if not truth:
        raise AssertionError(words)


class Tap:
    def __init__(self, count):
        print(f'1..{count}', flush=True)
        self.number = self.failed = 0

    def case(self, name, test, *arguments, skip=None):
        self.number += 1
        if skip:
            print(f'ok {self.number} - {name} # SKIP {skip}', flush=True)
            return
        try:
            test(*arguments)
            print(f'ok {self.number} - {name}', flush=True)
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.failed += 1
            # Where meson shows it of a test that failed.
            print(f'{name}: {type(error).__name__}: {error}', file=sys.stderr)
            print(f'not ok {self.number} - {name}', flush=True)


def words_of(test):
    return test.__name__.replace('_', ' ')
