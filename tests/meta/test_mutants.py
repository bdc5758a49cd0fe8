#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tools/mutants makes of mutants that are stale, which it takes to be
touched, and how it ends. In a git checkout of its own, with a tree in which a seat and a door
are what can be broken, and nothing has to be compiled. Speaks TAP."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(ROOT / 'tests' / 'lib'), str(ROOT / 'tools' / 'lib')]

# pylint: disable=wrong-import-position
from mutants.files import Change  # noqa: E402
from tap import check, run_all  # noqa: E402

MESON = '''project('small')
seat = find_program('tests/seat')
hinge = custom_target('hinge', input: 'tests/hinge', output: 'hinge',
  depend_files: 'src/door', command: [find_program('tests/forge'), '@INPUT@',
  '@OUTPUT@'])
test('seat', seat, suite: 'unit', protocol: 'tap')
test('door', find_program('tests/door'), depends: hinge, suite: 'unit',
  protocol: 'tap')
'''
# A test says the lines of a file that it wants, and the sentences for them.
HEAD = '''#!/bin/sh
status=0
wants()
{
	grep -qx "$2" "${0%/*}/../src/$1" || { printf 'not '; status=1; }
	echo "ok - $(echo "$3" | tr '_\n' '  ' | sed 's/ $//')"
}
'''
SEAT = HEAD + '''wants seat 'sold once' 'a seat is sold once'
wants seat 'kept 9 minutes' "a seat is"" not
kept for ever"
exit $status
'''
DOOR = HEAD + '''wants door 'it is shut' a_door_is_shut
exit $status
'''
FORGE = '''#!/bin/sh
! grep melted "${0%/*}/../src/door" && cp "$1" "$2"
'''
FILES = {
    'meson.build': MESON,
    'src/seat': 'there are 50\nsold once\nkept 9 minutes\n',
    'src/door': 'a nail\nit is shut\na nail\n',
    'tests/seat': SEAT,
    'tests/door': DOOR,
    'tests/forge': FORGE,
    'tests/hinge': 'oil\n',
    '.gitignore': 'ignored*\n',
}


def mutant(caught, change):
    return f' | broken | {caught} | none\n{change}'


# By name, what is said of three that are caught, and of those in which something
# is wrong.
GOOD = {
    'sold-twice': mutant('seat: a seat is sold once',
                         'in src/seat\n\tonce => twice\n'),
    'kept-for-ever': mutant('seat: a seat is not kept for ever',
                            'in src/seat\n\tonce kept 9 minutes => once\n'),
    'left-open': mutant('door: a door is shut',
                        ' a nail\n-it is shut\n+it is open\n'),
}
STALE = {
    'line-gone': mutant('seat: a seat is sold once',
                        'in src/seat\n\tnever => twice\n'),
    'line-twice': mutant('door: a door is shut', '-a nail\n+a screw\n'),
    'file-gone': mutant('door: a door is shut',
                        'in src/window\n\tglass => wood\n'),
    'test-gone': mutant('window: a window is clean', '\tshut => open\n'),
    'case-gone': mutant('seat: a seat is blue',
                        'in src/seat\n\tonce => twice\n'),
}
REASONS = {
    'line-gone': 'src/seat: its text is there 0 times, not once',
    'line-twice': 'src/door: its text is there 2 times, not once',
    'file-gone': 'src/window: there is no such file',
    'test-gone': "there is no test 'window'",
    'case-gone': "there is no case 'a seat is blue' in test seat",
}
TOLD = [f'STALE: {name}: {why}' for name, why in sorted(REASONS.items())]
SURVIVES = mutant('seat: a seat is sold once', 'in src/seat\n\t50 => 49\n')
MELTS = mutant('door: a door is shut', '\tit is shut => melted\n')


MUTANTS = 'tests/mutants/src.mutants'


class Tree:
    """A checkout whose branch 'main' has the files above and @mutants; another
    branch is checked out."""

    def __init__(self, directory, mutants=None):
        self.root = pathlib.Path(directory).resolve() / 'tree'
        self.env = {
            key: value for key, value in os.environ.items()
            if not key.startswith(('ROWLOCK_', 'MESON', 'GIT_'))}
        self.env |= {
            'TMPDIR': str(self.root.parent),
            'HOME': str(self.root.parent), 'GIT_CONFIG_NOSYSTEM': '1',
            'GIT_CEILING_DIRECTORIES': str(self.root.parent)}
        lib = pathlib.Path('tools', 'lib', 'mutants')
        shutil.copytree(ROOT / lib, self.root / lib)
        (self.root / 'tests' / 'lib').mkdir(parents=True)
        for name in ('tools/lib/tidy', 'tools/mutants',
                     'tests/lib/patience.py'):
            shutil.copy(ROOT / name, self.root / name)
        for path, text in FILES.items():
            self.write(path, text)
        self.write_mutants(GOOD if mutants is None else mutants)
        self.git('init', '-q')
        self.git('symbolic-ref', 'HEAD', 'refs/heads/main')
        self.commit()
        self.git('checkout', '-q', '-b', 'work')

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')
        path.chmod(0o755)

    def write_mutants(self, mutants, path=MUTANTS):
        self.write(path, '# src/door\n' + ''.join(
            name + text for name, text in mutants.items()))

    def append(self, path, line='more\n'):
        self.write(path, (self.root / path).read_text('utf-8') + line)

    def git(self, *words):
        subprocess.run(
            ['git', '-c', 'user.name=A', '-c', 'user.email=a@b', *words],
            check=True, cwd=self.root, env=self.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def commit(self):
        self.git('add', '-A')
        self.git('commit', '-q', '-m', 'all')

    def play(self, *words):
        """The exit status of tools/mutants, and its lines."""
        done = subprocess.run(
            [sys.executable, self.root / 'tools' / 'mutants', '--jobs=1',
             *words],
            check=False, text=True, cwd=self.root.parent,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=self.env)
        return done.returncode, done.stdout.splitlines()

    def touched(self, *words):
        """Those that are, by name, with the reason of each."""
        status, said = self.play('--list', '--touched', *words)
        check(status == 0, f'{status}: {said}')
        names = [line.split()[0] for line in said[1:-1] if line[0] != ' ']
        whys = [line.strip().partition('touched: ') for line in said]
        return dict(zip(names, [why for no, _, why in whys if why and not no]))


def on_tree(mutants=None):
    """For a test that is given such a tree."""
    def wrap(test):
        def run():
            with tempfile.TemporaryDirectory() as directory:
                test(Tree(directory, mutants))
        run.__name__ = test.__name__
        return run
    return wrap


@on_tree(GOOD | STALE)
def what_is_stale_is_listed_and_fails_no_run(tree):
    status, said = tree.play()
    check(status == 0, f'{status}: {said}')
    check(said[-7:-2] == TOLD, f'{said[-8:]}')
    check('renew' in said[-2] and 'delete' in said[-2], said[-2])
    check(said[-1] == '3 caught, 0 survived, 5 stale', said[-1])
    status, said = tree.play('--check')
    check((status, said[:-2], said[-1]) == (1, TOLD, '8 mutants, 5 stale'),
          f'{status}: {said}')


@on_tree({'sold-twice': GOOD['sold-twice'], 'line-gone': STALE['line-gone'],
          'less-seats': SURVIVES, 'it-melts': MELTS})
def one_that_survives_or_does_not_build_fails_a_run(tree):
    for words, told in (
            (['--test', 'seat'], '1 caught, 1 survived, 1 stale'),
            (['--only', 'it-melts', '--only', 'sold-twice'],
             '1 caught, 0 survived, 0 stale, 1 errors'),
            (['--only', 'line-gone'], '0 caught, 0 survived, 1 stale')):
        status, said = tree.play(*words)
        check((status, said[-1]) == (1, told), f'{status}: {said}')


@on_tree(GOOD | {'line-gone': STALE['line-gone'], 'it-melts': MELTS})
def a_program_is_played_against_all(tree):
    status, said = tree.play('--against', 'door')
    told = [' '.join(line.split()) for line in said]
    check((status, said[-1]) == (
        0, 'door catches 1 of 5 mutants, 1 stale, 1 errors') and
        'left-open caught: a door is shut' in told and
        'it-melts ERROR: it does not build:' in told, f'{status}: {said}')
    status, said = tree.play('--against', 'seat', '--file', 'src/do*')
    check((status, said[-1]) == (0, 'seat catches 0 of 2 mutants'),
          f'{status}: {said}')
    is_refused(tree.play('--against', 'gate'), "no test 'gate'")


def a_change_is_made_where_its_text_is():
    text = 'if (a)\n\tb();\n\nc(a, d);\n'
    for was, new, whole, made in (
            ('if (a) b();', '', False, '\nc(a, d);\n'),
            ('a, d', 'd', False, 'if (a)\n\tb();\n\nc(d);\n'),
            ('\tb();\n', '', True, 'if (a)\n\nc(a, d);\n'),
            ('c(a, d);\n', 'e;\n', True, 'if (a)\n\tb();\n\ne;\n')):
        got = Change('file', was, new, whole).made_in(text)
        check(got == made, f'{was}: {got!r}')


@on_tree()
def the_traps_are_listed_with_their_mutants(tree):
    tree.write_mutants(GOOD | {
        'left-open': GOOD['left-open'].replace('none', 'a thief | empty')})
    status, said = tree.play('--traps')
    check((status, said) == (0, [
        'a thief', '    left-open', 'none', '    kept-for-ever',
        '    sold-twice', '2 traps, 3 mutants']), f'{status}: {said}')


@on_tree()
def a_mutant_is_touched_by_what_has_to_do_with_it(tree):
    seat = ['kept-for-ever', 'sold-twice']
    for path, text, names, why in (
            ('src/door', 'a nail\nit is shut\n', ['left-open'], 'src/door'),
            ('tests/hinge', 'rust\n', ['left-open'], 'tests/hinge'),
            ('tests/seat', SEAT + '#', seat, 'tests/seat'),
            ('tests/forge', FORGE + '#', [], ''),
            ('meson.build', MESON.replace("test('door'", "test('gate'"),
             ['left-open'], "there is no test 'door'")):
        tree.write(path, text)
        is_touched = tree.touched()
        check(is_touched == dict.fromkeys(names, why), f'{is_touched}')
        tree.git('checkout', '-q', '.')
    tree.write_mutants(GOOD | {
        'sold-twice': GOOD['sold-twice'].replace('broken', 'bad')})
    is_touched = tree.touched()
    check(is_touched == {'sold-twice': MUTANTS}, f'{is_touched}')


@on_tree()
def commits_of_the_branch_count_and_those_of_others_do_not(tree):
    tree.append('src/door')
    tree.commit()
    tree.git('checkout', '-q', 'main')
    tree.append('src/seat')
    tree.commit()
    tree.git('checkout', '-q', 'work')
    check(tree.touched() == {'left-open': 'src/door'}, 'since main')
    check(not tree.touched('HEAD'), 'HEAD')
    status, said = tree.play('--touched', '--check')
    check((status, said[-1]) == (0, '1 mutants, 0 stale'), f'{status}: {said}')


# --------------------------------------------------------------- what is wrong

def is_refused(done, *words):
    status, said = done
    check(status == 2 and len(said) == 1 and said[0].startswith('mutants: '),
          f'{status}: {said}')
    for word in words:
        check(word in said[0], f'{word}: {said}')


@on_tree()
def what_is_no_commit_and_no_checkout_is_refused(tree):
    is_refused(tree.play('--touched', 'nosuch'), "no commit 'nosuch'")
    tree.git('branch', '-q', '-D', 'main')
    is_refused(tree.play('--touched', '--check'), 'no branch main',
               '--touched HEAD~3')
    shutil.rmtree(tree.root / '.git')
    is_refused(tree.play('--touched'), 'no checkout', '--only')


@on_tree()
def a_mutant_that_there_is_not_is_refused(tree):
    is_refused(tree.play('--only', 'nosuch'), "'nosuch'", '--list')
    is_refused(tree.play('--test', 'nosuch'), '--list')
    for text, why in ((' | broken | seat: it is sold\n\t1 => 2\n', 'TRAP'),
                      (' | broken | seat | none\n\t1 => 2\n', 'catches odd'),
                      (mutant('a: b', ''), 'no change'),
                      (mutant('a: b', '\t1 2\n'), 'OLD => NEW')):
        tree.write_mutants({'odd': text})
        is_refused(tree.play('--list'), 'src.mutants', why)
    tree.write_mutants(GOOD, 'tests/mutants/twice.mutants')
    tree.write_mutants(GOOD)
    is_refused(tree.play('--list'), 'twice.mutants', 'two sold-twice')


TESTS = (
    what_is_stale_is_listed_and_fails_no_run,
    one_that_survives_or_does_not_build_fails_a_run,
    a_program_is_played_against_all,
    a_change_is_made_where_its_text_is,
    the_traps_are_listed_with_their_mutants,
    a_mutant_is_touched_by_what_has_to_do_with_it,
    commits_of_the_branch_count_and_those_of_others_do_not,
    what_is_no_commit_and_no_checkout_is_refused,
    a_mutant_that_there_is_not_is_refused,
)


def main():
    if not shutil.which('git'):
        print('1..0 # SKIP there is no git')
        return 0
    return run_all(TESTS)


if __name__ == '__main__':
    sys.exit(main())
