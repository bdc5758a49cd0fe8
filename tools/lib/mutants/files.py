# SPDX-License-Identifier: MIT
"""The files of mutants: what they say, and what they make of the tree."""

import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
MUTANTS = ROOT / 'tests' / 'mutants'
HEAD = ('breaks', 'trap', 'caught')
MAY = ('with',)  # what a head may have besides


class Wrong(Exception):
    """Something that makes a mutant, or the whole run, say nothing."""


class Stale(Wrong):
    """What a mutant names has changed since: it breaks nothing any more."""


@dataclasses.dataclass
class Mutant:
    name: str    # that of its file
    breaks: str  # what is wrong with it
    trap: str    # the promise or the trap that this is about
    test: str    # in meson's words
    case: str    # the sentence of the case that must fail
    run: tuple   # the test and more arguments for it
    hunks: list  # of (file, text there, text instead)


def read_head(path, lines):
    head = {}
    for line in lines:
        key, colon, value = line.partition(':')
        if colon and key in HEAD + MAY:
            last = key
            head[key] = value.strip()
        elif line.startswith(' ') and head:
            head[last] += ' ' + line.strip()
        else:
            raise Wrong(f'{path.name}: not a line of a head: {line}')
    for key in HEAD:
        if not head.get(key):
            raise Wrong(f"{path.name}: the head has no '{key}:'")
    return head


def read_hunks(path, lines):
    hunks = []
    for line in lines:
        if line.startswith('in '):
            hunks.append((line[3:].strip(), [], []))
            continue
        if not hunks or line[:1] not in (' ', '-', '+', ''):
            raise Wrong(f'{path.name}: not a line of a change: {line}')
        if line[:1] != '+':
            hunks[-1][1].append(line[1:])
        if line[:1] != '-':
            hunks[-1][2].append(line[1:])
    for _, was, _ in hunks:
        while was and not was[-1]:  # blank lines between two hunks
            was.pop()
    if not hunks:
        raise Wrong(f'{path.name}: there is no change')
    return [(file, '\n'.join(was) + '\n',
             '\n'.join(new).rstrip('\n') + '\n' if new else '')
            for file, was, new in hunks]


def read_mutant(path):
    text = path.read_text(encoding='utf-8')
    top, _, change = text.partition('\n\n')
    head = read_head(path, top.splitlines())
    test, _, case = head['caught'].partition(': ')
    if not case:
        raise Wrong(f"{path.name}: 'caught:' is not TEST: CASE")
    return Mutant(path.stem, head['breaks'], head['trap'], test, case,
                  (test, *head.get('with', '').split()),
                  read_hunks(path, change.splitlines()))


def read_mutants(only, tests):
    """Those of these names that tests of such names catch; or all."""
    mutants = [read_mutant(path) for path in sorted(MUTANTS.glob('*.mutant'))]
    known = {mutant.name for mutant in mutants}
    for name in only:
        if name not in known:
            raise Wrong(f"there is no mutant '{name}'; --list shows them")
    chosen = [m for m in mutants if (not only or m.name in only) and
              (not tests or m.test.startswith(tuple(tests)))]
    if not chosen:
        raise Wrong('there is no such mutant; --list shows them')
    return chosen


def changed_files(mutant, tree):
    """What the mutant's files in @tree say with its change in them; Stale if
    it does not fit."""
    texts = {}
    for file, was, new in mutant.hunks:
        path = tree / file
        if not path.is_file():
            raise Stale(f'{file}: there is no such file')
        text = '\n' + texts.get(file, path.read_text(encoding='utf-8'))
        found = text.count('\n' + was)
        if found != 1:
            raise Stale(f'{file}: its text is there {found} times, not once')
        texts[file] = text.replace('\n' + was, '\n' + new)[1:]
    return texts
