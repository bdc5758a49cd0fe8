# SPDX-License-Identifier: MIT
"""What must hold, and whether it does."""

import collections
import operator

Bar = collections.namedtuple('Bar', 'workload text compare limit figure unit')
Verdict = collections.namedtuple('Verdict', 'bar value holds')

WORDS = {operator.ge: '>=', operator.le: '<=', operator.lt: '<'}
OURS = ('row', 'lease')
PEERS = ('get_lock', 'redis', 'redis-aof', 'zookeeper')


def to_best_peer(workload, ours):
    def figure(results):
        ratios = [results.ratio(workload, ours, peer) for peer in PEERS]
        return min((one for one in ratios if one), default=None)
    return figure


def field(workload, system, name, factor=1):
    def figure(results):
        value = results.get(workload, system, name)
        return None if value is None else value * factor
    return figure


def at_least(workload, text, limit, figure, unit=''):
    return Bar(workload, text, operator.ge, limit, figure, unit)


def at_most(workload, text, limit, figure, unit=''):
    return Bar(workload, text, operator.le, limit, figure, unit)


def less_than(workload, text, limit, figure, unit=''):
    return Bar(workload, text, operator.lt, limit, figure, unit)


def compared(workload, ours, theirs, limit, of=None):
    text = f'{ours} : {theirs}' + (f' {of}' if of else '')
    return at_least(workload, text, limit, lambda results: results.ratio(
        workload, ours, theirs, of))


def sets_to_leases(workload):
    """A multi-lock of four names, to as many leases one by one."""
    def figure(results):
        ratio = results.ratio(workload, 'multilock', 'lease')
        return None if ratio is None else 4 * ratio
    return at_least(workload, 'multilock of 4 : 4 x lease', 0.8, figure)


def all_bars():
    bars = [
        sets_to_leases('lone'),
        sets_to_leases('spread-64'),
        compared('hot-threads', 'readers', 'lease', 5),
        compared('lone', 'semaphore', 'lease', 0.8),
        compared('hot-threads', 'semaphore', 'lease', 0.8, 'spread-64'),
        compared('lone', 'row', 'raw-row', 0.95),
        compared('lone', 'lease', 'raw-lease', 0.90),
        compared('lone', 'lease', 'redis-aof', 1),
        compared('lone', 'lease-token', 'raw-lease', 0.6),
        compared('spread-64', 'lease', 'raw-lease', 2.5),
        compared('spread-64', 'lease', 'redis-aof', 0.95),
        at_most('spread-64', 'lease connections, the keeper\'s two included', 6,
                field('spread-64', 'lease', 'connections')),
        compared('spread-256', 'lease', 'redis', 0.9),
        compared('hot-processes', 'row', 'get_lock', 0.95),
        compared('hot-processes', 'lease', 'raw-lease', 0.85, 'lone'),
    ]
    for workload in ('guarded', 'guarded-64'):
        bars.append(compared(workload, 'transfer-guarded', 'transfer', 0.97))
    bars.append(compared('guarded', 'transfer-commit-release',
                         'transfer-release', 1.3))
    for system in ('transfer-guarded', 'transfer-early'):
        bars += [
            at_least('guarded-meanwhile', f"{system} its client's pairs, to "
                     "those of one with none open", 0.95,
                     field('guarded-meanwhile', system, 'to_others')),
            at_least('guarded-meanwhile', f'{system} pairs of both, to those '
                     'before and after', 0.95,
                     field('guarded-meanwhile', system, 'to_closed')),
            at_most('guarded-meanwhile', f"{system} another client's longest "
                    'try', 10, field('guarded-meanwhile', system, 'longest_ms'),
                    ' ms'),
            at_most('guarded-meanwhile', f'{system} p99 of the tries while others '
                    'work, to that before and after', 2,
                    field('guarded-meanwhile', system, 'p99_to_closed')),
        ]
    bars += [
        less_than('waiting', f'{ours} statements per second and waiter', 0.2,
                  field('waiting', ours, 'per_waiter'))
        for ours in OURS]
    bars += [
        less_than('waiting', f'{ours} next holder, p99', 10,
                  field('waiting', ours, 'p99_us', 1e-3), ' ms')
        for ours in OURS]
    bars.append(at_most(
        'observed', 'statements per second and watcher', 0.2,
        field('observed', 'observer', 'per_watcher')))
    bars += [
        at_least('many-take', 'leases taken per second', 30000,
                 field('many-take', 'lease', 'pairs_per_s')),
        at_least('many-give-back', 'leases given back per second', 30000,
                 field('many-give-back', 'lease', 'pairs_per_s')),
        at_most('many', 'statements per beat', 1,
                field('many', 'lease', 'per_beat')),
        at_most('many', 'memory of the client per hold', 400,
                field('many', 'lease', 'bytes_per_hold'), ' bytes'),
        at_most('dead', 'row next holder, p99', 50,
                field('dead', 'row', 'p99_us', 1e-3), ' ms'),
        at_most('dead', 'lease next holder, p99', 2100,
                field('dead', 'lease', 'p99_us', 1e-3), ' ms'),
    ]
    bars += [
        at_most('taken', 'slower than names that are free, times', 3,
                field('taken', 'lease', 'slower_than_free')),
        at_most('taken', "a stranger's p99 to that beside free names", 2,
                field('taken', 'lease', 'p99_to_free')),
        at_most('reaped', 'all of it', 60,
                field('reaped', 'lease', 'took_s'), ' s'),
        at_most('reaped', "a stranger's p50 to that alone", 1.1,
                field('reaped', 'lease', 'to_alone')),
    ]
    bars += [at_most('grown', f'{ours} p50 to that of an empty table', 1.2,
                     field('grown', ours, 'to_empty')) for ours in OURS]
    for ours in OURS:
        bars += [
            at_least('hot-threads', f'{ours} : best peer', 5,
                     to_best_peer('hot-threads', ours)),
            compared('hot-threads', ours, 'mutex', 0.5),
            at_least('hot-processes', f'{ours} fairness', 0.8,
                     field('hot-processes', ours, 'fairness')),
            compared('hot-processes', ours, 'zookeeper', 10),
        ]
        for what, text in (('holds', 'shares of the holds'),
                           ('held', 'shares of the time')):
            bars.append(at_most(
                'shared', f'{ours} {text}, off a quarter by at most', 20,
                field('shared', ours, f'{what}_off', 100), ' %'))
    return bars


def judge(results):
    """Verdicts on those whose workloads were measured."""
    verdicts = []
    played = results.workloads()
    for bar in all_bars():
        value = bar.figure(results)
        if value is not None:
            verdicts.append(Verdict(bar, value,
                                    bar.compare(value, bar.limit)))
    return sorted(verdicts, key=lambda v: played.index(v.bar.workload))


def lines(verdicts):
    if not verdicts:
        return []
    held = sum(verdict.holds for verdict in verdicts)
    result = [f'What must hold: {held} of {len(verdicts)} do']
    for bar, value, holds in verdicts:
        shown = f'{value:,.0f}' if value >= 1000 else f'{value:.3g}'
        result.append(
            f'  {"holds         " if holds else "does not hold "} '
            f'{bar.workload:14} {bar.text}: {shown}{bar.unit} '
            f'({WORDS[bar.compare]} {bar.limit:,g}{bar.unit})')
    return result
