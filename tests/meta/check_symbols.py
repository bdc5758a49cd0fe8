#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exported, listed and declared are the same names.

Usage: check_symbols.py SOURCE_ROOT LIBRARY
"""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / 'tests' / 'lib'))
# pylint: disable=wrong-import-position
from tap import tell_wrong  # noqa: E402


def exported(library):
    out = subprocess.run(['nm', '-D', '--defined-only', library], check=True,
                         capture_output=True, text=True).stdout
    names = {line.split()[-1].split('@')[0] for line in out.splitlines()
             if line.split()[-2] != 'A'}
    return {name for name in names if not name.startswith('__')}


def listed(root):
    text = (root / 'src' / 'rowlock.sym').read_text(encoding='utf-8')
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
    text = re.sub(r'#.*', '', text)
    text = re.sub(r'local\s*:\s*\*\s*;', '', text)
    return set(re.findall(r'\browlock_[a-z0-9_]+(?=\s*;)', text))


def packaged(root):
    """What Debian's package promises to programs."""
    path = root / 'tools' / 'packaging' / 'debian' / 'librowlock0.symbols'
    return set(re.findall(r'^ (\w+)@ROWLOCK_0 ', path.read_text(encoding='utf-8'),
                          re.M)) - {'ROWLOCK_0'}


def declared(root):
    names = set()
    for header in (root / 'include').rglob('*.h'):
        text = re.sub(r'/\*.*?\*/', '', header.read_text(encoding='utf-8'),
                      flags=re.S)
        text = re.sub(r'^\s*#.*', '', text, flags=re.M)
        for match in re.finditer(r'\bROWLOCK_API\b([^;{]*?)\(', text):
            names.add(re.findall(r'\w+', match.group(1))[-1])
    return names


def main():
    root, library = pathlib.Path(sys.argv[1]), sys.argv[2]
    out, sym, header = exported(library), listed(root), declared(root)
    debian = packaged(root)
    checks = [
        ('what is exported is in src/rowlock.sym', out - sym),
        ('what is in src/rowlock.sym is exported', sym - out),
        ('what is exported is declared in a public header', out - header),
        ('what is declared in a public header is exported', header - out),
        ('what is exported is in tools/packaging/debian/librowlock0.symbols',
         out - debian),
        ('what is in tools/packaging/debian/librowlock0.symbols is exported',
         debian - out),
        ('there are names at all', set() if len(out) > 10 else {'too few'}),
    ]
    return tell_wrong([(sentence, sorted(wrong)) for sentence, wrong in checks])


if __name__ == '__main__':
    sys.exit(main())
