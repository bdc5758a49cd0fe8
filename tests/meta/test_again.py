#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tools/check makes of programs that fail: once more, by themselves,
unsteady or failed; and what .ci/run and tools/proof make of steps. On a small
tree that has tools/check and tools/lib of this one, and programs that fail as
they are told. Speaks TAP."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / 'tests' / 'lib'))

# pylint: disable=wrong-import-position
from patience import patience  # noqa: E402
from process import is_alive  # noqa: E402
from tap import check, run_all  # noqa: E402

# Fails as often as its file of that name says, counts its runs, and keeps its
# server's name. Where it is told to hang it starts two processes first, which are
# in nobody's session: one has what it was given in its environment, one just works
# there.
PROGRAM = '''#!/bin/sh
if [ -e "$1.hangs" ]; then
	setsid sleep 3600 &
	one=$!
	(cd "$TMPDIR" && exec setsid env -i sleep 3600) &
	: >"$TMPDIR/left"
	echo "$$ $one $!" >"$1.hangs"
	sleep 3600
fi
echo "$ROWLOCK_TEST_DSN" >"$1.server"
runs=$(cat "$1.runs" 2>/dev/null || echo 0)
echo $((runs + 1)) >"$1.runs"
echo 1..2
echo ok 1 - it begins
if [ "$runs" -lt "$(cat "$1.fails")" ]; then
	echo not ok 2 - a seat is sold once
	echo "# sold twice to $1"
	exit 1
fi
echo ok 2 - a seat is sold once
'''
MESON = '''project('again')
program = find_program('program')
foreach name : ['a', 'b', 'c', 'd']
  test(name, program, args: meson.current_source_dir() / name,
    suite: name in ['a', 'b'] ? 'db' : 'meta', protocol: 'tap',
    is_parallel: name != 'd')
endforeach
'''
SANDBOX = '''#!/bin/sh
case $1 in
start)
	case $2 in */alone) [ ! -e refused ] || exit 1 ;; esac
	mkdir -p "${2#--dir=}" ;;
stop) rm -rf "${2#--dir=}" ;;
dsn) for word; do :; done; echo "host=${word#--dir=}" ;;
esac
'''
# Three steps of a run, as .ci/run and tools/proof have them: what they say, and
# how they end, is in files of their names.
STEPS = '''#!/bin/sh
set -u
root=$PWD
. tools/lib/setup.sh
. tools/lib/steps.sh
STEPS='one two three'
work=$PWD/work logs=$PWD/work
mkdir work
step_one() { cat one; }
step_two() { cat two; return 3; }
step_three() { cat three; }
before_step() { :; }
after_step() { :; }
known "$@"
play_all "$@"
conclude "$@"
'''

def heed():
    """As at a terminal: what was ignored when a shell began, as SIGHUP under
    nohup, it can never trap."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class Tree:
    """With a program for each of a, b, c, d, of which d wants the server to
    itself; @fails says how often."""

    def __init__(self, directory, **fails):
        self.root = pathlib.Path(directory)
        (self.root / 'tools').mkdir()
        shutil.copy(ROOT / 'tools' / 'check', self.root / 'tools')
        shutil.copytree(ROOT / 'tools' / 'lib', self.root / 'tools' / 'lib')
        self.write('tools/sandbox', SANDBOX)
        self.write('program', PROGRAM)
        self.write('meson.build', MESON)
        for name in 'abcd':
            self.write(f'{name}.fails', str(fails.get(name, 0)))

    def write(self, path, text):
        (self.root / path).write_text(text, encoding='utf-8')
        (self.root / path).chmod(0o755)

    def runs(self):
        """How often each was run: '1211', say."""
        return ''.join((self.root / f'{name}.runs').read_text().strip()
                       if (self.root / f'{name}.runs').exists() else '0'
                       for name in 'abcd')

    def servers(self):
        """Of each, the server that it had."""
        return [(self.root / f'{name}.server').read_text() for name in 'abcd']

    def start(self, *words, output=subprocess.DEVNULL):
        """tools/check."""
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(('ROWLOCK_', 'MESON'))}
        return subprocess.Popen(
            [self.root / 'tools' / 'check', *words], text=True,
            stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, cwd=self.root,
            env={**env, 'TMPDIR': str(self.root)}, preexec_fn=heed)

    def play(self, *words):
        """Returns its exit status, and its last lines."""
        process = self.start(*words, output=subprocess.PIPE)
        said, _ = process.communicate()
        return process.returncode, said.splitlines()


def played(words, **fails):
    """Returns exit status, output, and how often each program ran."""
    with tempfile.TemporaryDirectory() as directory:
        tree = Tree(directory, **fails)
        status, said = tree.play(*words)
        return status, said, tree.runs()


def programs_that_fail_are_run_again():
    for words, fails, status, runs, unsteady, last in (
            (['--again'], {'b': 1}, 0, '1211', 1, '8 passed, 0 failed'),
            (['--again', '--suite', 'db', '-t', '2', 'a', 'b'], {'b': 1}, 0,
             '1200', 1, '4 passed, 0 failed'),
            (['--again'], {'a': 1, 'b': 1, 'd': 2}, 1, '2212', 2,
             '7 passed, 1 failed'),
            (['--again'], dict.fromkeys('abcd', 1), 1, '1111', 0,
             '4 passed, 4 failed'),
            ([], {'b': 1}, 1, '1111', 0, '7 passed, 1 failed')):
        done = played(words, **fails)
        told = [line for line in done[1] if line.startswith('unsteady: ')]
        check((done[0], done[2], len(told), done[1][-1]) == (
            status, runs, unsteady, f'{last}, 0 skipped'), f'{words}: {done}')
    check(played(['--suite', 'nosuch'])[0] != 0, 'nothing to run')


def a_program_has_a_server_to_itself():
    with tempfile.TemporaryDirectory() as directory:
        tree = Tree(directory)
        tree.play()
        one, *others, last = tree.servers()
        check(others == [one, one] and last.startswith('host=')
              and last != one, f'{tree.servers()}')
        tree.play('a', 'd')
        one, *_, last = tree.servers()
        check(last == one, f'asked for: {tree.servers()}')


def that_it_has_none_is_hidden_by_no_second_run():
    with tempfile.TemporaryDirectory() as directory:
        tree = Tree(directory, b=1)
        (tree.root / 'refused').touch()
        status, said = tree.play('--again')
        check(status != 0 and 'did not run' in said[-1], f'{said}')


def await_so(words, what, *arguments):
    """Look until it is so. Only a hang gets to the end of this."""
    since = time.monotonic()
    while not what(*arguments):
        check(time.monotonic() - since < patience(),
              f'waited in vain: {words}')
        time.sleep(0.02)


def ended_by(number):
    """tools/check while a test hangs; what it leaves, and how it ended."""
    with tempfile.TemporaryDirectory() as directory:
        tree = Tree(directory)
        hangs = tree.root / 'b.hangs'
        hangs.touch()
        process = tree.start()
        await_so('b hangs', lambda: hangs.read_text() or process.poll())
        await_so('the work is there', lambda: list(tree.root.glob('tmp.*')))
        process.send_signal(number)
        status = process.wait()
        for pid in hangs.read_text().split():
            await_so(f'{pid} ends', lambda pid=pid: not is_alive(pid))
        await_so('the directory goes',
                 lambda: not list(tree.root.glob('tmp.*')))
        return status


def nothing_is_left_however_it_is_ended():
    for number, wanted in ((signal.SIGTERM, 143), (signal.SIGHUP, 129),
                           (signal.SIGKILL, -signal.SIGKILL)):
        status = ended_by(number)
        check(status == wanted, f'{number!r}: exit status {status}')


def steps(*words, **said):
    """Returns exit status and output of these steps, which say so."""
    with tempfile.TemporaryDirectory() as directory:
        tree = Tree(directory)
        tree.write('steps', STEPS)
        for name, text in said.items():
            tree.write(name, text)
        done = subprocess.run([tree.root / 'steps', *words], check=False,
                              text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, cwd=directory)
        return done.returncode, done.stdout.splitlines()


def what_is_no_path_from_the_root_on_is_refused():
    # Not by running it: what it believes it kills.
    path = str(ROOT / 'tools' / 'lib' / 'tidy')
    spec = importlib.util.spec_from_loader(
        'tidy', importlib.machinery.SourceFileLoader('tidy', path))
    tidy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tidy)
    for word in ('', 'some', './some', '/tmp/..', '/tmp/../tmp', '/tmp/./a'):
        check(not tidy.is_place(word), word)
    check(tidy.is_place('/tmp/tmp.a1'), 'a place')


def words_that_proof_does_not_know_are_refused():
    for words in ('nosuch', 'tls 3', 'all tls', 'steady 0', 'steady 1000',
                  '7', 'steady 3 4', 'steady -1', 'fuzz 0'):
        done = subprocess.run(
            [ROOT / 'tools' / 'proof', *words.split()], check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        check(done.returncode == 1 and done.stderr.startswith('proof: ')
              and not done.stdout, f'{words}: {done}')


def a_step_costs_the_same_wherever_it_is_told():
    said = subprocess.run([ROOT / 'tools' / 'proof'], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    here = dict(re.findall(r'^(\w+) +(\d+) min ', said, re.M))
    there = {}
    for steps_, minutes in re.findall(r'^\| (`[\w`, ]+`) \| (\d+)[^|]*\|',
                                      (ROOT / 'CONTRIBUTING.md').read_text(
                                          'utf-8'), re.M):
        there.update(dict.fromkeys(re.findall(r'\w+', steps_), minutes))
    check(here and here == there, f'proof: {here}; CONTRIBUTING.md: {there}')


def many_runs_name_what_failed_in_one():
    logs = []
    with tempfile.TemporaryDirectory() as directory:
        tree = Tree(directory, b=1, c=2)
        for number in range(3):
            tree.play()
            logs.append(tree.root / f'{number}.json')
            shutil.copy(tree.root / 'build/meson-logs/testlog.json', logs[-1])
        done = subprocess.run(
            [ROOT / 'tools' / 'lib' / 'count-tests', '--steady', *logs],
            check=False, text=True, stdout=subprocess.PIPE)
        said = done.stdout.splitlines()
    check(done.returncode == 1, f'{done}')
    check(said[0] == '2 of 3  c: a seat is sold once'
          and said[1].startswith('    2 x sold twice to '), f'{said}')
    check(said[2] == '1 of 3  b: a seat is sold once', f'{said}')
    check(said[-1] == 'counts: 3 runs of 8 cases, 2 of them unsteady',
          f'{said}')


# Two cases of the ring on the fake library.
HARNESS = '''
import sys
sys.path.insert(0, sys.argv[1])
import unittest
import harness

class Shop(unittest.TestCase):
    def test_it_opens(self):
        pass

    def test_a_seat_is_sold_once(self):
        self.assertEqual(["17", "17"], ["17"], "sold twice")

suite = unittest.defaultTestLoader.loadTestsFromTestCase(Shop)
suite.run(harness.TapResult(2))
'''


def a_case_of_python_is_told_with_what_is_wrong():
    done = subprocess.run([sys.executable, '-c', HARNESS,
                           ROOT / 'tests' / 'cli'], check=False, text=True,
                          capture_output=True)
    with tempfile.TemporaryDirectory() as directory:
        log = pathlib.Path(directory) / 'log.json'
        log.write_text(json.dumps({
            'name': 'cli / shop', 'result': 'FAIL', 'stdout': done.stdout,
            'stderr': done.stderr}), 'utf-8')
        counted = subprocess.run(
            [ROOT / 'tools' / 'lib' / 'count-tests', log], check=False,
            text=True, stdout=subprocess.PIPE)
    check(counted.stdout.splitlines() == [
        'shop:', '  not ok: a seat is sold once',
        "    a seat is sold once: AssertionError: Lists differ: "
        "['17', '17'] != ['17']",
        '1 passed, 1 failed, 0 skipped'], f'{counted.stdout}{done}')


def three_unsteady_programs_pass_and_four_do_not():
    some = 'unsteady: a (x: y)\nunsteady: b (x: y)\n'
    one = 'unsteady: c (x: y)\n'
    status, said = steps('one', 'three', one=some, three=one)
    check(status == 0, f'{said}')
    check(said[-4:-1] == (some + one).splitlines(), f'{said}')
    status, said = steps('one', 'three', one=some, three=some)
    check(status == 1 and 'FAILED: (4 unsteady programs)' in said[-1],
          f'{said}')


def steps_go_on_after_one_that_failed():
    status, said = steps('one', 'two', 'three',
                         one='9 passed, 0 failed, 1 skipped',
                         two='6 passed, 2 failed, 0 skipped', three='good\n')
    check(status == 1, f'{said}')
    check(said[-2].startswith('steps: FAILED: two; '), f'{said}')
    check(said[-1] == '15 passed, 2 failed, 1 skipped', f'{said}')
    check(steps('one', 'four', one='')[1] == [
        "steps: no step 'four'; there are: one two three"], 'no step')


TESTS = (
    programs_that_fail_are_run_again,
    a_program_has_a_server_to_itself,
    that_it_has_none_is_hidden_by_no_second_run,
    steps_go_on_after_one_that_failed,
    nothing_is_left_however_it_is_ended,
    what_is_no_path_from_the_root_on_is_refused,
    words_that_proof_does_not_know_are_refused,
    a_step_costs_the_same_wherever_it_is_told,
    many_runs_name_what_failed_in_one,
    a_case_of_python_is_told_with_what_is_wrong,
    three_unsteady_programs_pass_and_four_do_not,
)


if __name__ == '__main__':
    sys.exit(run_all(TESTS))
