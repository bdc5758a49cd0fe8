# SPDX-License-Identifier: MIT
"""What was told, held against what was committed."""

import collections

Verdict = collections.namedtuple(
    'Verdict', 'told committed lost acknowledged_lost wrong refused broken '
    'unknown acknowledged seconds')


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
