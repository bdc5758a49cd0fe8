#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each room links with the rooms below it, and with nothing above.

Takes the command that links a room from the build itself, and gives it one
object more: a call of a function of the room above must not link, one of a
function of the room itself must.

Usage: test_walls.py SOURCE_ROOT BUILD_ROOT COMPILER...
"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT, BUILD = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
COMPILER = sys.argv[3:]
sys.path.insert(0, str(ROOT / 'tests' / 'lib'))
# pylint: disable=wrong-import-position
from tap import check, run_all  # noqa: E402


def rooms():
    """In their order, as src/meson.build has them."""
    text = (ROOT / 'src' / 'meson.build').read_text(encoding='utf-8')
    return re.findall(r"'(\w+)'", re.search(r'^rooms = \[(.*?)\]', text,
                                            re.M | re.S).group(1))


def run(command):
    return subprocess.run(command, cwd=BUILD, capture_output=True, text=True,
                          check=False)


def link_command(room):
    target = f'src/libwall-{room}.so'
    done = run(['ninja', '-t', 'commands', '-s', target])
    check(done.returncode == 0, f'{target} is no target: {done.stderr}')
    return shlex.split(done.stdout), target


def functions(room):
    """Those that the room has for others."""
    done = run(['nm', '--defined-only', f'src/librowlock-{room}.a'])
    archive = re.findall(r' T ((?:rlk|rowlock)_\w+)$', done.stdout, re.M)
    if archive:
        return archive
    # A thin archive names its objects relative to itself.
    objects = sorted((BUILD / 'src' / f'librowlock-{room}.a.p').glob('*.o'))
    done = run(['nm', '--defined-only', *map(str, objects)])
    return re.findall(r' T ((?:rlk|rowlock)_\w+)$', done.stdout, re.M)


def link(room, function, directory):
    """Link the room with one call of @function more."""
    source = pathlib.Path(directory) / 'call.c'
    source.write_text(f'int {function}(void);\n'
                      'int call_of_the_test(void);\n'
                      f'int call_of_the_test(void) {{ return {function}(); }}\n',
                      encoding='utf-8')
    made = run([*COMPILER, '-w', '-fno-builtin', '-fPIC', '-c', str(source),
                '-o', str(source.with_suffix('.o'))])
    check(made.returncode == 0, made.stderr)
    command, target = link_command(room)
    check(command.count(target) == 1, f'not a command that links: {command}')
    at = command.index(target)
    command[at:at + 1] = [f'{directory}/wall.so', str(source.with_suffix('.o'))]
    return run(command)


def every_room_has_a_wall():
    folders = {path.parent.name for path in (ROOT / 'src').glob('*/*.c')}
    check(folders == set(rooms()), f'{folders ^ set(rooms())}')
    for room in rooms():
        link_command(room)


def a_room_links_with_those_below_it():
    with tempfile.TemporaryDirectory() as directory:
        for room in rooms():
            done = link(room, functions(room)[0], directory)
            check(done.returncode == 0, f'{room}: {done.stderr}')


def a_call_of_the_room_above_does_not_link():
    with tempfile.TemporaryDirectory() as directory:
        for room, above in zip(rooms(), rooms()[1:]):
            function = functions(above)[0]
            done = link(room, function, directory)
            check(done.returncode != 0, f'{room} calls {function} of {above}')
            check(re.search(f'undefined (reference|symbol).*{function}',
                            done.stderr), f'{room}: {done.stderr}')


if __name__ == '__main__':
    sys.exit(run_all([every_room_has_a_wall, a_room_links_with_those_below_it,
                      a_call_of_the_room_above_does_not_link]))
