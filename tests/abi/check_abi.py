#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that was built for the library of librowlock.abi runs with this one.

Usage: check_abi.py SOURCE_ROOT LIBRARY [--write]

librowlock.abi has the functions of the library, and the types that they name, as
abidw (abigail-tools) reads them from debug information; which changes do no harm is in
suppressions. Nothing has been released: --write renews the file. From 0.2.0 on
only an addition may do so.
"""
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'lib'))
# pylint: disable=wrong-import-position
from tap import Tap, check  # noqa: E402

KEPT = HERE / 'librowlock.abi'


def dump(root, library, path):
    """What is in the public headers only, and no place of this machine."""
    subprocess.run(['abidw', '--headers-dir', root / 'include', '--drop-private-types',
                    '--exported-interfaces-only', '--no-show-locs', '--short-locs',
                    '--no-comp-dir-path', '--no-corpus-path',
                    '--type-id-style', 'hash', '--out-file', path, library], check=True)


def still_runs(now):
    done = subprocess.run(['abidiff', '--no-added-syms', '--suppressions',
                           HERE / 'suppressions', KEPT, now], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(done.returncode == 0, f'{done.stdout}abidiff ended with {done.returncode}; '
          f'if it has to be: {" ".join(sys.argv)} --write')


def has_functions(now):
    """What is compared has them, and their types: debug information was there."""
    for words in ("<function-decl name='rowlock_acquire'",
                  "<class-decl name='rowlock_client_options' size-in-bits="):
        for path in (now, KEPT):
            check(words in path.read_text(encoding='utf-8'), f'no {words} in {path}')


def why_not():
    if not shutil.which('abidiff'):
        return 'no abidiff (Debian has it in abigail-tools)'
    if platform.machine() != 'x86_64':
        return f'librowlock.abi is of x86_64, not {platform.machine()}'
    return None


def is_other_format(now):
    formats = [re.search(r"<abi-corpus version='[\d.]+'", path.read_text(encoding='utf-8'))[0]
               for path in (now, KEPT)]
    return formats[0] != formats[1] and f'{KEPT.name} is of another abidw'


def main():
    root, library = pathlib.Path(sys.argv[1]), sys.argv[2]
    if sys.argv[3:] == ['--write']:
        dump(root, library, KEPT)
        return 0
    tap = Tap(2)
    with tempfile.TemporaryDirectory(prefix='rowlock-test-') as directory:
        now = pathlib.Path(directory) / KEPT.name
        skip = why_not()
        if not skip:
            dump(root, library, now)
            skip = is_other_format(now)
        tap.case('the interface of the library is read', has_functions, now, skip=skip)
        tap.case('a program that was built for tests/abi/librowlock.abi runs with it',
                 still_runs, now, skip=skip)
    return tap.status()


if __name__ == '__main__':
    sys.exit(main())
