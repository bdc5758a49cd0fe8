# SPDX-License-Identifier: MIT
"""The files of mutants: what they say, and what they make of the tree."""

import dataclasses
import fnmatch
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
MUTANTS = ROOT / 'tests' / 'mutants'


class Wrong(Exception):
    """Something that makes a mutant, or the whole run, say nothing."""


class Stale(Wrong):
    """What a mutant names has changed since: it breaks nothing any more."""


@dataclasses.dataclass
class Change:
    file: str
    was: str
    new: str
    whole: bool  # whole lines, or a piece of the text

    def found(self, text):
        """Where the text has it: (from, to), for each place."""
        if self.whole:
            return [(match.start(), match.end()) for match in
                    re.finditer('(?m)^' + re.escape(self.was), text)]
        words = map(re.escape, self.was.split())
        return [match.span() for match in
                re.finditer(r'\s+'.join(words), text)]

    def made_in(self, text):
        found = self.found(text)
        if len(found) != 1:
            raise Stale(f'{self.file}: its text is there {len(found)} times, '
                        'not once')
        before, after = text[:found[0][0]], text[found[0][1]:]
        if not self.new and not self.whole:
            # A line of which nothing is left goes.
            left, (right, _, rest) = (before.rpartition('\n')[2],
                                      after.partition('\n'))
            if not (left + right).strip():
                return before.removesuffix(left) + rest
        return before + self.new + after


@dataclasses.dataclass
class Mutant:
    name: str
    breaks: str    # what is wrong with it
    trap: str      # the promise or the trap that this is about
    harm: str      # what comes of it, if the trap does not say so
    test: str      # in meson's words
    case: str      # the sentence of the case that must fail
    run: tuple     # the test and more arguments for it
    changes: list
    home: str = dataclasses.field(compare=False)  # the file that says all this


def read_head(line, home, where):
    """NAME | BREAKS | TEST [ARGUMENT]...: CASE | TRAP [| HARM]"""
    name, *rest = (part.strip() for part in line.split(' | '))
    if len(rest) not in (3, 4) or not all((name, *rest)):
        raise Wrong(f'{where}: not NAME | BREAKS | TEST: CASE | TRAP: {line}')
    breaks, caught, trap, *harm = rest
    tests, _, case = caught.partition(': ')
    if not case:
        raise Wrong(f'{where}: what catches {name} is not TEST: CASE')
    run = tuple(tests.split())
    return Mutant(name, breaks, trap, ''.join(harm), run[0], case, run, [],
                  home)


class Reader:
    """Reads a file line by line."""

    def __init__(self, home):
        self.home = home
        self.mutants = []
        self.heading = ''  # the file that the mutants below it change
        self.file = ''     # the file of the next change
        self.lines = []    # of a change of whole lines

    def end_change(self):
        if self.lines:
            was, new = (''.join(line[1:] + '\n' for line in self.lines
                                if line[0] != other) for other in '+-')
            self.mutants[-1].changes.append(
                Change(self.file, was, new, True))
        self.lines = []

    def read_change(self, line, where):
        if not self.mutants:
            raise Wrong(f'{where}: a change of no mutant: {line}')
        if line[0] in ' -+':
            self.lines.append(line)
            return
        was, arrow, new = line.strip().partition(' =>')
        if not arrow:
            raise Wrong(f'{where}: not OLD => NEW: {line}')
        self.mutants[-1].changes.append(
            Change(self.file, was, new.strip(), False))

    def read(self, line, where):
        if line[0] not in ' -+':
            self.end_change()
        if line[0] in ' -+\t':
            self.read_change(line, where)
        elif line.startswith('# '):
            self.heading = line[2:].strip()
        elif line.startswith('in '):
            self.file = line[3:].strip()
        elif not self.heading:
            raise Wrong(f'{where}: a mutant before the first line # FILE')
        else:
            self.file = self.heading
            self.mutants.append(read_head(line, self.home, where))


def mutants_in(text, name):
    """Those of a file, in its order."""
    reader = Reader(name)
    for number, line in enumerate(text.splitlines(), 1):
        if line:
            reader.read(line, f'{name}:{number}')
    reader.end_change()
    for mutant in reader.mutants:
        if not mutant.changes:
            raise Wrong(f'{name}: {mutant.name} has no change')
    return reader.mutants


def read_all():
    """Every mutant, by its name."""
    mutants = {}
    for path in sorted(MUTANTS.glob('*.mutants')):
        for mutant in mutants_in(path.read_text(encoding='utf-8'), path.name):
            if mutant.name in mutants:
                raise Wrong(f'{path.name}: there are two {mutant.name}')
            mutants[mutant.name] = mutant
    return dict(sorted(mutants.items()))


def read_mutants(only, tests, files):
    """Those of these names that tests of such names catch, and that change
    such files; or all."""
    mutants = read_all()
    for name in only:
        if name not in mutants:
            raise Wrong(f"there is no mutant '{name}'; --list shows them")
    chosen = [m for m in mutants.values() if (not only or m.name in only) and
              (not tests or m.test.startswith(tuple(tests))) and
              (not files or any(fnmatch.fnmatch(change.file, glob)
                                for change in m.changes for glob in files))]
    if not chosen:
        raise Wrong('there is no such mutant; --list shows them')
    return chosen


def changed_files(mutant, tree):
    """What the mutant's files in @tree say with its change in them; Stale if
    it does not fit."""
    texts = {}
    for change in mutant.changes:
        path = tree / change.file
        if not path.is_file():
            raise Stale(f'{change.file}: there is no such file')
        text = texts.get(change.file) or path.read_text(encoding='utf-8')
        texts[change.file] = change.made_in(text)
    return texts
