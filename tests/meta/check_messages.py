#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every message of the tools is in messages.txt, with what it tells.

Usage: check_messages.py SOURCE_ROOT [--print]

messages.txt says how a row reads. The messages are taken from the sources, in
their order: what is given to report() and to those that call it for others. What a row promises is
looked for in the arguments of the call: an expression that is a name, one that
is a server, one that is the library's text. --print writes the rows as the
sources have them, with what is there to be seen, for who adds some.
"""
import difflib
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / 'tests' / 'lib'))
# pylint: disable=wrong-import-position
from tap import tell_wrong  # noqa: E402

LITERAL = r'"((?:[^"\\\n]|\\.)*)"'
JOINED = rf'(?:{LITERAL}\s*(?:PRIu64\s*)?)+'

# Who says something, and which of the arguments is the format.
FORMAT_AT = {'report': 1, 'report_event': 3, 'command_misused': 1, 'report_for_now': 1,
             'notify_status': 0, 'fail': 2, 'snprintf': 2, 'refuse': 0,
             'say': 0, 'die': 1}
# What is put together here is said elsewhere.
ROOMS = re.compile(r'message$|^ret_text')

NAME = re.compile(r'(^|->|\.)names?(\[0\])?$')
SERVER = re.compile(r'(->|\.|^)(server|where)$|^rowlock_client_server\(')
LIBRARY = re.compile(r'(^|\.|->)error(->|\.)message$|^reason$')

OF_C = re.compile(r'\b\w+\(\)|\w_ms\b|\bROWLOCK_(?!(?:DSN|HELD|ADOPT)\b)|\bNULL\b|\w_fd\b|'
                  r'\b(eventfd|signalfd|timerfd|pthread\w*|errno)\b')

C = ['tools/cli', 'tools/common', 'tools/migrate', 'tools/reaper']
# Whoever writes to stderr by other ways, and how often: the usage of `rowlock`
# alone, and the question for a password. All else goes by outbox.c.
OTHER_WAYS = {'tools/cli/main.c': 1, 'tools/migrate/main.c': 2}

REASONS = ('-usage', '-here', '-done', '-many', '-self', '-part')
SAYS = ('yes', 'lib', 'call') + REASONS


class Message:
    """A text, and what its call shows that it tells."""

    def __init__(self, path, text, name, server, library, caller):
        self.path, self.text = path, text.strip()
        self.name, self.server, self.library = name, server, library
        self.by_caller = caller

    def row(self):
        told = 'lib' if self.library else None
        usage = '-usage' if self.by_caller else None
        cells = ('yes', 'yes' if self.name else told or usage or '?',
                 'yes' if self.server else told or usage or '?',
                 told or ('call' if self.by_caller else '?'))
        return ''.join(f'{cell:<7}' for cell in cells) + self.text


def parts(text, at):
    """The arguments of the call whose parenthesis is before @at."""
    depth, start, found, quoted = 1, at, [], False
    while depth:
        c = text[at]
        if quoted:
            at += c == '\\'
            quoted = c != '"'
        elif c == '"':
            quoted = True
        elif c in '([{':
            depth += 1
        elif c in ')]}':
            depth -= 1
        if not quoted and (depth == 0 or (depth == 1 and c == ',')):
            found.append(' '.join(text[start:at].split()))
            start = at + 1
        at += 1
    return found


def literals(argument):
    for match in re.finditer(JOINED, argument):
        yield re.sub(rf'{LITERAL}\s*(PRIu64)?\s*',
                     lambda part: part[1] + ('u' if part[2] else ''), match[0])


def is_text(word, literal):
    """No title, and no mark between others."""
    if word == 'snprintf':
        return ' ' in literal and re.search(r'\w', literal)
    return re.search(r'\w', literal.replace('\\n', ''))


def of_c(root):
    for directory in C:
        for path in sorted((root / directory).rglob('*.c')):
            text = re.sub(r'/\*.*?\*/', '', path.read_text(encoding='utf-8'),
                          flags=re.S)
            yield from of_calls(str(path.relative_to(root)), text)


def of_calls(path, text):
    calls = rf'(?<![\w>.])({"|".join(FORMAT_AT)})\('
    for match in re.finditer(calls, text):
        arguments = parts(text, match.end())
        word, at = match[1], FORMAT_AT[match[1]]
        if len(arguments) <= at or (word == 'snprintf' and
                                    not ROOMS.search(arguments[0])):
            continue
        rest = arguments[at + 1:]
        formats = [literal for literal in literals(arguments[at])
                   if is_text(word, literal)]
        pieces = [literal for argument in rest for literal in literals(argument)
                  if ' ' in literal.strip()]
        for literal in formats + pieces:
            yield Message(path, literal, any(map(NAME.search, rest)),
                          any(map(SERVER.search, rest)),
                          any(map(LIBRARY.search, rest)),
                          word == 'command_misused')


def rows(root):
    """Of the table: path, cells, text with its mark."""
    path = None
    for line in (root / 'tests/meta/messages.txt').read_text(
            'utf-8').splitlines():
        if not line or line.startswith('#'):
            continue
        if not line.startswith(' '):
            path = line
            continue
        *cells, text = line.split(None, 4)
        yield path, cells, text


def promise(cells, text, message):
    """What a row says, and its message does not, or the other way round."""
    what, name, server, following = cells
    wrong = [f"'{cell}' is no cell" for cell in cells if cell not in SAYS]
    for title, cell, shown in (('name', name, message.name),
                               ('server', server, message.server)):
        if (cell == 'yes') != shown:
            wrong.append(f'{title} is {cell}, and the call has '
                         + ('one' if shown else 'none'))
    for title, cell in zip(('what', 'name', 'server', 'next'), cells):
        if cell == 'lib' and not message.library:
            wrong.append(f"{title} is lib, and no text of the library's is "
                         'in it')
    if following == 'call' and not message.by_caller:
        wrong.append("next is call, and it is not command_misused()'s")
    before, mark, behind = text.partition('|')
    if (following == 'yes') != bool(mark):
        wrong.append(f'next is {following}, and there is '
                     + ('a mark' if mark else 'no mark') + ' |')
    if mark and len(re.findall(r'[\w%-]+', behind)) < 2:
        wrong.append('behind the mark there are no two words')
    if mark and not before.strip():
        wrong.append('before the mark nothing has happened')
    if what == '-part' and any(cell != '-part' for cell in cells):
        wrong.append('a part is no message: all of its cells are -part')
    return wrong


def ways(root):
    """Files that write to stderr by ways that are not looked at."""
    by = re.compile(r'\bstderr\b|\b(?:write|dprintf)\(STDERR_FILENO|'
                    r'\bperror\(|\bv?(?:err|warn)x?\(|\bsyslog\(')
    for directory in C:
        for path in sorted((root / directory).rglob('*.c')):
            text = re.sub(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', '',
                          path.read_text('utf-8'), flags=re.S)
            name = str(path.relative_to(root))
            count = len(by.findall(text))
            if count != OTHER_WAYS.get(name, 0):
                yield f'{name}: {count} times'


def main():
    root = pathlib.Path(sys.argv[1])
    messages = list(of_c(root))
    if '--print' in sys.argv:
        path = None
        for message in messages:
            if message.path != path:
                path = message.path
                print(f'\n{path}')
            print('  ' + message.row())
        return
    table = list(rows(root))
    said = [f'{m.path}: {m.text}' for m in messages]
    listed = [f'{path}: {text.replace("|", "")}' for path, _, text in table]
    # One that is missing must not make all rows behind it look wrong.
    pairs = [(table[i + k], messages[j + k])
             for i, j, size in difflib.SequenceMatcher(
                 None, listed, said, False).get_matching_blocks()
             for k in range(size)]
    seen = {id(message) for _, message in pairs}
    kept = {id(row) for row, _ in pairs}
    checks = [
        ('every message of the tools has a row',
         [f'{m.path}: {m.text}' for m in messages if id(m) not in seen]),
        ('every row has its message, in the order of the sources',
         [f'{row[0]}: {row[2]}' for row in table if id(row) not in kept]),
        ('a message tells what its row says',
         [f'{path}: {text}: {wrong}'
          for (path, cells, text), message in pairs
          for wrong in promise(cells, text, message)]),
        ('no message names anything of C',
         [f'{m.path}: {m.text}' for m in messages if OF_C.search(m.text)]),
        ('nothing is written to stderr by other ways', list(ways(root))),
    ]
    return tell_wrong(checks)


if __name__ == '__main__':
    sys.exit(main())
