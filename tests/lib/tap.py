# SPDX-License-Identifier: MIT
"""What the test programs in Python speak: TAP, a line as each case ends. Why a
case failed goes to standard error, where meson shows it."""

import sys


def check(truth, words):
    if not truth:
        raise AssertionError(words)


class Tap:
    def __init__(self, count):
        print(f'1..{count}', flush=True)
        self.number = self.failed = 0

    def tell(self, name, passed, skip=None):
        """That a case has ended; @skip is why it was not played."""
        self.number += 1
        self.failed += not passed
        word = 'ok' if passed else 'not ok'
        note = f' # SKIP {skip}' if skip else ''
        print(f'{word} {self.number} - {name}{note}', flush=True)

    def case(self, name, test, *arguments, skip=None):
        passed = True
        try:
            if not skip:
                test(*arguments)
        except Exception as error:  # pylint: disable=broad-exception-caught
            passed = False
            print(f'{name}: {type(error).__name__}: {error}', file=sys.stderr,
                  flush=True)
        self.tell(name, passed, skip)

    def status(self):
        """The exit status of the program."""
        return 1 if self.failed else 0


def words_of(test):
    return test.__name__.replace('_', ' ')


def run_all(tests):
    """All of them; returns the exit status of the program."""
    tap = Tap(len(tests))
    for test in tests:
        tap.case(words_of(test), test)
    return tap.status()


def tell_wrong(checks):
    """Of each sentence what contradicts it, as comments: it holds if nothing does.
    Returns the exit status of the program."""
    tap = Tap(len(checks))
    for sentence, wrong in checks:
        tap.tell(sentence, not wrong)
        for words in wrong:
            print('#', words)
    return tap.status()
