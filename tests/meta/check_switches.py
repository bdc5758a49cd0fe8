#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the command and the daemon say names their switches, nothing of C.

Usage: check_switches.py SOURCE_ROOT

Whatever the library says goes through tools/common/words.c. Each of its
messages that names a flag, a function or an option's field has to be in the
table there, or here, among those that no command line leads to.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / 'tests' / 'lib'))
# pylint: disable=wrong-import-position
from tap import tell_wrong  # noqa: E402

OF_C = re.compile(r'\bROWLOCK_(?!DSN\b)[A-Z_]+\b|\browlock_\w+\(\)|\b\w+_ms\b|'
                  r'\bclient option|(?<!-)\bdsn\b|\bis NULL\b|\bdefaults_\w+|'
                  r'\w+_connections\b|\bunverified_auth\b|\bbatch_size\b')

# What only a program can do wrong; the tools do it right, or look before.
OF_PROGRAMS = [
    "is NULL", "the struct's size is", "an option is set that",
    "array that is NULL", "name %zu is NULL",
    "client option program", "client options:", "client option %s is",
    "(or use ROWLOCK_OWNER_HANDLE)", "there is no such flag",
    "give ROWLOCK_GUARD_SQL_SIZE bytes", "give ROWLOCK_EXPORT_SIZE bytes", "rowlock_begin()",
    "rowlock_acquire_in_transaction()", "rowlock_acquire()", "rowlock_token()",
    "begin without ROWLOCK_EARLY_GUARD", "rowlock_rwlock_",
    "rowlock_multilock_", "rowlock_semaphore_", "rowlock_once_end()",
    "max_hold_ms must",
    "at_least_ms must", "delay_after_loss_ms must", "delay_after_loss_ms exclude",
    "max_hold_ms is below", "leave out at_least_ms",
    "leave out max_hold_ms", "leave out ROWLOCK_TOKEN_WITH_GRANT",
    "yield_ms must", "interval_ms is",
    "use ROWLOCK_LEASE", "or ROWLOCK_PERMITS_STORED", "client options",
    "make both with ROWLOCK_OWNER_THREAD", "ret_weight or ret_stood_ms",
    # Below the level that the tools ask for.
    "wait_connections",
]

LITERAL = r'"((?:[^"\\\n]|\\.)*)"'


def messages(path):
    """Its texts, each as it is put together from neighbouring literals."""
    text = re.sub(r'/\*.*?\*/', '', path.read_text(encoding='utf-8'),
                  flags=re.S)
    text = re.sub(r'^\s*#.*', '', text, flags=re.M)
    for match in re.finditer(rf'(?:{LITERAL}\s*(?:PRI\w+\s*)?)+', text):
        yield ''.join(re.findall(LITERAL, match.group(0)))


def table(root):
    """What words.c puts into other words, and what it makes of them."""
    text = (root / 'tools/common/words.c').read_text(encoding='utf-8')
    begin = text.index('table[] = {')
    return re.findall(rf'\{{\s*{LITERAL},\s*{LITERAL}\s*\}}',
                      text[begin:text.index('};', begin)])


def said(message, words):
    for in_c, in_shell in words:
        message = message.replace(in_c, in_shell)
    return message


def main():
    root = pathlib.Path(sys.argv[1])
    words = table(root)
    library = [(path.relative_to(root), message)
               for path in sorted((root / 'src').rglob('*.c'))
               for message in messages(path)]
    tools = [(path.relative_to(root), message)
             for path in sorted((root / 'tools').rglob('*.c'))
             if path.name != 'words.c' for message in messages(path)]
    checks = [
        ('what the library says names no flag or field once it is in the '
         "command line's words",
         [f'{path}: {message}' for path, message in library
          if ' ' in message and OF_C.search(said(message, words)) and
          not any(part in message for part in OF_PROGRAMS)]),
        ('what is in the table is said by the library',
         [in_c for in_c, _ in words
          if not any(in_c in message for _, message in library)]),
        ('what only programs are told is said by the library',
         [part for part in OF_PROGRAMS
          if not any(part in message for _, message in library)]),
        ('what the tools say names no flag or field of C',
         [f'{path}: {message}' for path, message in tools
          if ' ' in message and
          re.search(r'\bROWLOCK_(TLS|SINGLE|OBSERVE)\w+|\w+_ms\b',
                    message)]),
    ]
    return tell_wrong(checks)


if __name__ == '__main__':
    sys.exit(main())
