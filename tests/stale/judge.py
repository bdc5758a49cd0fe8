# SPDX-License-Identifier: MIT
"""What was told, held against what was committed."""

import collections
import re

Verdict = collections.namedtuple(
    'Verdict', 'told committed lost acknowledged_lost wrong refused broken '
    'unknown acknowledged seconds')

# A hold that is said to be lost, and its row is there.
DENIED = 'd'


class Told(collections.namedtuple('Told', 'register end story',
                                  defaults=[''])):
    """What a worker was told of a write, and what was done to it meanwhile."""

    def number_in(self, word):
        """Of the story: from=, until=, own-at=, connection=."""
        found = re.search(rf'\b{word}=(\d+)', self.story)
        return int(found[1]) if found else None


def told_by(lines):
    """What workers have said: {id: Told}."""
    words = (line.split(maxsplit=3) for line in lines)
    return {int(number): Told(int(register), *more)
            for register, number, *more in words}


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


def _in_words(number, told, writes):
    sentence = f"write {number} of register {told.register} was told " \
        f"'{told.end}', and is "
    if number not in writes:
        return sentence + 'not there'
    after = [other for other, (_, follows) in writes.items()
             if follows == number]
    return sentence + f'there: follows {writes[number][1]}, followed by ' \
        f'{after or "none"}'


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
    ends = collections.Counter(each.end for each in told.values())
    wrong = {number: _in_words(number, each, writes)
             for number, each in told.items()
             if each.end == DENIED
             or (each.end == 'c') != (number in writes) and each.end != 'u'}
    return Verdict(len(told), len(writes), len(lost),
                   sum(number in told and told[number].end == 'c'
                       for number in lost),
                   wrong, ends['s'], ends['b'], ends['u'], ends['c'],
                   seconds)
