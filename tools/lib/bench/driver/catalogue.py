# SPDX-License-Identifier: MIT
"""Which workloads there are."""

from left import Reaped, Taken
from meanwhile import Meanwhile
from special import Dead, Grown, Many, Observed, Waiting
from workloads import (NO_MUTEX, OURS, WITH_ALONE, WITH_SETS, WITH_SHARED, TRANSFERS,
                       Pairs, Shared)

# Of what opens 256 connections, or is slow to end: what the bars need.
FEW = ('row', 'lease', 'raw-lease', 'redis', 'redis-aof')
# Of what is played in five sizes.
GROWN = tuple(name for name in NO_MUTEX if name != 'lease-token')
SIZES = (1, 4, 16, 64, 256)
MOST = tuple(name for name in NO_MUTEX
             if name not in ('lease-token', 'redis-aof'))


def usual(quick):
    return [
        # In many short turns all systems meet the same moods of the machine.
        Pairs('lone', 1, 1, 1, parts=5, systems=WITH_ALONE),
        Pairs('spread-64', 1, 64, 64, systems=WITH_SETS),
        Pairs('spread-256', 1, 256, 256, quick=FEW),
        Pairs('hot-threads', 1, 64, 1, systems=WITH_SHARED),
        Pairs('hot-processes', 16, 1, 1, quick=MOST),
        Shared('shared', 4, 16, 1, words=('--hold-us', 100), systems=OURS,
               shape='4 processes x 16 threads, 1 name, held for 100 us'),
        Pairs('guarded', 1, 1, 1, parts=5, systems=TRANSFERS),
        Pairs('guarded-64', 1, 64, 64, systems=TRANSFERS),
        Meanwhile(quick),
        Waiting(quick),
        Many(quick),
        Grown(),
        Taken(quick),
        Reaped(quick),
        Dead(quick),
        Observed(quick),
    ]


def growing(family, along, make, **more):
    """The same workload in each size; what it has more and more of."""
    for size in SIZES:
        workload = make(size)
        workload.__dict__.update(more)
        workload.name = f'{family}-{size}'
        workload.family, workload.size = family, size
        workload.along = along
        yield workload


def growth():
    return [
        *growing('spread', 'threads of one process, a name each',
                 lambda n: Pairs('', 1, n, n, systems=GROWN)),
        *growing('hot-threads', 'threads of one process, one name',
                 lambda n: Pairs('', 1, n, 1, systems=GROWN + ('mutex',))),
        *growing('hot-processes', 'processes, one name',
                 lambda n: Pairs('', n, 1, 1, systems=GROWN)),
        *growing('waiting', 'processes that wait for one name',
                 lambda n: Waiting(False, n), systems=OURS),
        *growing('many', 'threads of one process that take, keep and give '
                 'back 10,000 leases', lambda n: Many(True, n)),
    ]
