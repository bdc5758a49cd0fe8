# SPDX-License-Identifier: MIT
"""Which workloads there are."""

from special import Dead, Grown, Many, Waiting
from workloads import NO_MUTEX, OURS, Pairs, Shared

# Of what opens 256 connections, or is slow to end: what the bars need.
FEW = ('row', 'lease', 'raw-lease', 'redis', 'redis-aof')
MOST = tuple(name for name in NO_MUTEX
             if name not in ('lease-token', 'redis-aof'))


def usual(quick):
    return [
        # In many short turns all systems meet the same moods of the machine.
        Pairs('lone', 1, 1, 1, parts=5),
        Pairs('spread-64', 1, 64, 64),
        Pairs('spread-256', 1, 256, 256, quick=FEW),
        Pairs('hot-threads', 1, 64, 1, systems=NO_MUTEX + ('mutex',)),
        Pairs('hot-processes', 16, 1, 1, quick=MOST),
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
