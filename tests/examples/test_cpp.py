# SPDX-License-Identifier: MIT
"""test_cpp.py SOURCE BUILD LIBRARY: <rowlock/rowlock.hpp> by each compiler that is here.
Speaks TAP."""

import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))

# pylint: disable=wrong-import-position
from page import blocks  # noqa: E402
from patience import patience  # noqa: E402
from tap import Tap, check  # noqa: E402

DSN = os.environ.get('ROWLOCK_TEST_DSN') or os.environ.get('ROWLOCK_DSN', '')
WARNINGS = ['-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Werror']


def say(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          timeout=patience(), **more)
    check(done.returncode == 0, f'{command[0]}: {done.stdout}{done.stderr}')
    return done.stdout


def play(compiler, program, directory):
    source, build, library = sys.argv[1:]
    binary = os.path.join(directory, 'program')
    driver = say(['pkg-config', '--cflags', '--libs', 'libmariadb']).split()
    say([compiler, '-std=c++17', *WARNINGS, program, '-o', binary,
         f'-I{source}/include', f'-I{build}/include', library,
         f'-Wl,-rpath,{os.path.dirname(library)}', *driver])
    said = say([binary], env=dict(os.environ, ROWLOCK_DSN=DSN))
    check('not ok' not in said, said)


def why_not(compiler):
    if not DSN:
        return 'no server: set ROWLOCK_TEST_DSN'
    return None if shutil.which(compiler) else f'no {compiler}'


def main():
    tap = Tap(4)
    with tempfile.TemporaryDirectory(prefix='rowlock-test-') as directory:
        example = os.path.join(directory, 'example.cpp')
        with open(example, 'w', encoding='utf-8') as out:
            out.write(blocks('tools/man/rowlock_cpp.3.scd', '#include')[0])
        print('# server: given', flush=True)
        for compiler in ('g++', 'clang++'):
            for program, words in (
                    (os.path.join(HERE, 'holds.cpp'),
                     'a hold, its loss and its transaction are as promised'),
                    (example, 'the program of the manual runs')):
                tap.case(f'{compiler}: {words}', play, compiler, program,
                         directory, skip=why_not(compiler))
    return tap.status()


if __name__ == '__main__':
    sys.exit(main())
