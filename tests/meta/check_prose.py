#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Phrasing in comments and pages that an English reader stumbles over.

Usage: check_prose.py SOURCE_ROOT [--write | --show FILE...]

prose.txt beside this has how many findings a file has today. That number may
only fall: a file with more findings fails, one with fewer wants its new number
written (--write, which raises none), and a file that is not there has none.
Questions are left alone.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / 'tests' / 'lib'))
# pylint: disable=wrong-import-position
from tap import tell_wrong  # noqa: E402

TREES = ('docs', 'src', 'include', 'tools', 'sql', 'tests')
KINDS = ('.c', '.h', '.py', '.sh', '.md', '.scd')
# What it says of phrasing has that phrasing; a history is not rewritten.
NOT = ('tests/meta/check_prose.py', 'CHANGELOG.md')

START = r'(?:^|(?<=[.:;!?] )|(?<=\) ))'
RULES = [
    ('name the thing ("a waiter that")', START + r'Who(?:ever|se)?\s[^.?!:;]*[.:;]'),
    ('name the thing behind the preposition',
     r'\b(?:by|for|of|from|to|with|than|against|behind|among) who\b'),
    ('a thread, a program is "it"', r'\b(?:he|his|him|himself)\b'),
    ('say how long, how many', r'\bso (?:long|many|much|often|few)\b(?! (?:as|that)\b)'),
    ('begin with the subject, not "What"', START + r'What\s[^.?!]*?[.]'),
    ('begin with the subject, not "Of"', START + r'Of (?!course)[a-z][^.?!]*[.]'),
    ('"is available", "can be got"', r'\b(?:be|is|are|was|were|been) had\b'),
    ('say what happens to it', r'\b(?:becomes?|became) of\b'),
    ('"returns 1 if ..."',
     r'\b(?:[01]|NULL|true|false): (?:he|it|there|that|they) '
     r'(?:is|was|has|had|does|did|may|must|can|cannot|will|goes|leads)\b'),
]


def blank(match):
    return re.sub(r'[^\n]', ' ', match.group(0))


def parts(path, text):
    """(offset, text) of each comment, or of a page without its code."""
    if path.suffix in ('.md', '.scd'):
        text = re.sub(r'```.*?```', blank, text, flags=re.S)
        return [(0, re.sub(r'`[^`\n]*`', blank, text))]
    if path.suffix in ('.c', '.h'):
        code = re.sub(r'"(?:\\.|[^"\\\n])*"', lambda m: '"' * len(m.group(0)), text)
        return [(m.start(), text[m.start():m.end()])
                for m in re.finditer(r'/\*.*?\*/|//[^\n]*', code, flags=re.S)]
    return [(m.start(), m.group(0))
            for m in re.finditer(r'(?:^[ \t]*#[^!].*\n)+', text, flags=re.M)]


def paragraphs(path):
    """(line, paragraph) of what is read by people."""
    text = path.read_text(encoding='utf-8', errors='replace')
    for at, part in parts(path, text):
        line = text.count('\n', 0, at) + 1
        lines = [re.sub(r'^\s*(?:/\*+|\*/|\*(?= |$)|//|#)?|\*+/$', '', one).strip()
                 for one in part.split('\n')]
        words, begin = [], line
        for number, one in enumerate(lines + [''], line):
            if one and not one.startswith('|'):
                begin = begin if words else number
                words.append(one)
            elif words:
                yield begin, ' '.join(words)
                words = []


def is_question(text):
    end = re.match(r'[^.?!]*([.?!])', text)
    return end and end.group(1) == '?'


def findings(path):
    for line, text in paragraphs(path):
        for rule, pattern in RULES:
            for match in re.finditer(pattern, text):
                rest = text[match.start():]
                if not (rest.startswith(('Who', 'What')) and is_question(rest)):
                    yield f'{line}: {rule}: {rest[:60]}'


def files(root):
    tops = [path for path in root.iterdir() if path.is_file()]
    for tree in TREES:
        tops += (root / tree).rglob('*')
    for path in sorted(tops):
        name = str(path.relative_to(root))
        if path.is_file() and path.suffix in KINDS and name not in NOT:
            yield name, path


def main():
    root = pathlib.Path(sys.argv[1])
    if sys.argv[2:3] == ['--show']:
        for name in sys.argv[3:]:
            for words in findings(pathlib.Path(name)):
                print(f'{name}:{words}')
        return 0
    table = root / 'tests/meta/prose.txt'
    rows = (line.split() for line in table.read_text(encoding='utf-8').splitlines()
            if line and not line.startswith('#'))
    known = {name: int(number) for number, name in rows}
    found = {name: list(findings(path)) for name, path in files(root)}
    if sys.argv[2:3] == ['--write']:
        now = {name: min(len(words), known.get(name, 0)) for name, words in found.items()}
        table.write_text('# Findings of check_prose.py by file; they may only fall.\n'
                         + ''.join(f'{n} {name}\n' for name, n in sorted(now.items()) if n),
                         encoding='utf-8')
        return 0
    return tell_wrong([
        ('no file has more of it than it had', [
            f'{name}:{words}' for name, all_words in found.items()
            if len(all_words) > known.get(name, 0) for words in all_words]),
        ('what has become less is written down (check_prose.py --write)', [
            f'{name}: {len(found.get(name, []))}, not {number}'
            for name, number in known.items() if len(found.get(name, [])) < number]),
    ])


if __name__ == '__main__':
    sys.exit(main())
