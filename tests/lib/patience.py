# SPDX-License-Identifier: MIT
"""How long an event may stay away before a test is called hung: patience.h, for
the tests in Python. Whoever changes one changes the other."""

import os


def slowness():
    """How many times more patience a slow build (valgrind, sanitizers) needs."""
    return 4 if os.environ.get('ROWLOCK_TEST_SLOW', '0') not in ('', '0') else 1


def load():
    """How many want to run for each processor, as of the last minute or now,
    whichever is more: a load that begins is in no mean yet. At least 1, 64 at
    most."""
    try:
        with open('/proc/loadavg', encoding='ascii') as file:
            mean, _, _, now = file.read().split()[:4]
    except OSError:
        return 1
    running = max(float(mean), int(now.partition('/')[0]))
    return min(max(1, running / (os.cpu_count() or 1)), 64)


def patience():
    """In seconds: a minute on a machine with nothing else to do. Ask again each
    time: the load may grow meanwhile."""
    return 60 * slowness() * load()
