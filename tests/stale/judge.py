# SPDX-License-Identifier: MIT
"""What was told, held against what was committed."""

import collections

Verdict = collections.namedtuple(
    'Verdict', 'told committed lost acknowledged_lost wrong refused broken '
    'unknown acknowledged seconds')


def told_by(lines):
    """What workers have said: {id: (register, end)}."""
    words = (line.split() for line in lines)
    return {int(number): (int(register), end) for register, number, end in words}


def truth_in(lines):
    """What is there, as a worker tells it: the registers' last writes, and each
    that was committed."""
    last, writes = {}, {}
    for line in lines:
        what, register, number, follows = line.split()
        if what == 'last':
            last[int(register)] = int(number)
        else:
            writes[int(number)] = (int(register), int(follows))
    return last, writes


def judge(told, truth, seconds):
    """A write that was committed, and that none of those that are left follows,
    was overwritten by somebody who had not seen it: it is lost."""
    last, writes = truth
    kept = set()
    for number in last.values():
        while number in writes and number not in kept:
            kept.add(number)
            number = writes[number][1]
    lost = set(writes) - kept
    ends = collections.Counter(end for _, end in told.values())
    wrong = [f"write {number} of register {register} was told '{end}', and is "
             + ('there' if number in writes else 'not there')
             for number, (register, end) in told.items()
             if (end == 'c') != (number in writes) and end != 'u']
    return Verdict(len(told), len(writes), len(lost),
                   sum(told.get(number, (0, ''))[1] == 'c' for number in lost),
                   wrong, ends['s'], ends['b'], ends['u'], ends['c'],
                   seconds)
