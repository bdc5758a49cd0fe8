# SPDX-License-Identifier: MIT
"""Which workloads there are."""

from special import Dead, Grown, Many, Waiting
from workloads import NO_MUTEX, OURS, Pairs, Shared


def usual(quick):
    return [
        Pairs('lone', 1, 1, 1),
        Pairs('spread-64', 1, 64, 64),
        Pairs('spread-256', 1, 256, 256),
        Pairs('hot-threads', 1, 64, 1, systems=NO_MUTEX + ('mutex',)),
        Pairs('hot-processes', 16, 1, 1),
        Shared('shared', 4, 16, 1, words=('--hold-us', 100), systems=OURS,
               shape='4 processes x 16 threads, 1 name, held for 100 us'),
        Waiting(quick),
        Many(quick),
        Grown(),
        Dead(quick),
    ]


def growth():
    return [Pairs(f'growth-{n}', 1, n, n, systems=(
        'row', 'lease', 'raw-row', 'raw-lease', 'get_lock', 'redis',
        'redis-aof', 'zookeeper')) for n in (1, 4, 16, 64, 256)]
