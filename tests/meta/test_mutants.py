#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tools/mutants makes of mutants that are stale, and which it takes to be
touched. In a git checkout of its own, with a tree in which a seat and a door
are what can be broken, and nothing has to be compiled. Speaks TAP."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(ROOT / 'tests' / 'lib'), str(ROOT / 'tools' / 'lib')]

# pylint: disable=wrong-import-position
from mutants.files import Change  # noqa: E402
from mutants.worker import Outcome  # noqa: E402
from process import is_alive  # noqa: E402
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
[ -z "$PLAYED" ] || echo "${0##*/}" >>"$PLAYED"
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
            'TMPDIR': str(self.root.parent), 'PLAYED': '',
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

    def play(self, *words, **env):
        """The exit status of tools/mutants, and its lines."""
        done = subprocess.run(
            [sys.executable, self.root / 'tools' / 'mutants', '--jobs=1',
             *words],
            check=False, text=True, cwd=self.root.parent,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env={**self.env, **env})
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


# --------------------------------------------------------------- what is stale

@on_tree(GOOD | STALE)
def what_is_stale_is_listed_and_fails_no_run(tree):
    status, said = tree.play()
    check(status == 0, f'{status}: {said}')
    check(said[-7:-2] == TOLD, f'{said[-8:]}')
    check('renew' in said[-2] and 'delete' in said[-2], said[-2])
    check(said[-1] == '3 caught, 0 survived, 5 stale', said[-1])


@on_tree({'sold-twice': GOOD['sold-twice'], 'line-gone': STALE['line-gone'],
          'less-seats': SURVIVES, 'it-melts': MELTS})
def one_that_survives_or_does_not_build_fails_a_run(tree):
    status, said = tree.play('--test', 'seat')
    check((status, said[-1]) == (1, '1 caught, 1 survived, 1 stale'),
          f'{status}: {said}')
    check(any(line.startswith('SURVIVED: less-seats: ') for line in said),
          f'{said}')
    status, said = tree.play('--only', 'it-melts', '--only', 'sold-twice')
    check((status, said[-1]) == (
        1, '1 caught, 0 survived, 0 stale, 1 errors'), f'{status}: {said}')
    check('ERROR: it-melts: it does not build:' in said, f'{said}')


@on_tree({'sold-twice': GOOD['sold-twice']})
def one_whose_program_ends_before_its_case_is_played_again(tree):
    tree.env['PLAYED'] = str(tree.root.parent / 'played')
    # First on the tree as it is, then this way, then as it should.
    tree.write('tests/seat', SEAT.replace(
        'status=0\n', 'status=0\n[ "$(wc -l <"$PLAYED")" != 2 ] || exit 3\n',
        1))
    status, said = tree.play('--only', 'sold-twice')
    check((status, said[-1]) == (0, '1 caught, 0 survived, 0 stale'),
          f'{status}: {said}')


@on_tree(STALE)
def where_all_are_stale_nothing_was_played(tree):
    for names in (['line-gone'], ['test-gone', 'case-gone']):
        words = [word for name in names for word in ('--only', name)]
        status, said = tree.play(*words)
        check((status, said[-2:]) == (
            1, ['nothing was played: all of them are stale',
                f'0 caught, 0 survived, {len(names)} stale']),
              f'{status}: {said}')


@on_tree(GOOD | STALE)
def a_check_lists_what_is_stale_and_plays_nothing(tree):
    played = tree.root / 'played'
    status, said = tree.play('--check', PLAYED=str(played))
    check((status, said[:-2], said[-1]) == (1, TOLD, '8 mutants, 5 stale'),
          f'{status}: {said}')
    check(not played.exists(), 'a test was run')


@on_tree()
def a_check_without_a_stale_one_is_content(tree):
    status, said = tree.play('--check')
    check((status, said) == (0, ['3 mutants, 0 stale']), f'{status}: {said}')


@on_tree({'sold-twice': GOOD['sold-twice']})
def what_a_test_leaves_behind_is_ended(tree):
    played = tree.root / 'played'
    # In nobody's session, and without an environment by which it is known.
    tree.write('tests/seat', SEAT.replace('exit', '''
(cd "$TMPDIR" && exec setsid env -i sleep 3600) &
echo $! >>"$PLAYED.left"
exit'''))
    status, said = tree.play(PLAYED=str(played))
    check(status == 0, f'{status}: {said}')
    left = pathlib.Path(f'{played}.left').read_text('utf-8').split()
    alive = [pid for pid in left if is_alive(pid)]
    for pid in alive:
        os.kill(int(pid), signal.SIGKILL)
    check(left and not alive, f'alive: {alive} of {left}')


def who_starts_a_server_is_waited_for_until_the_first_case():
    clean = Outcome()
    clean.heard('# it starts\n', 40)
    clean.heard('# it starts\n# it runs\n', 1)
    clean.heard('# it starts\n# it runs\nok 1 - first\n', 0)
    clean.heard('# it starts\n# it runs\nok 1 - first\nok 2 - next\n', 3)
    played = Outcome(clean, 'next')
    check(played.patience() > 40, f'{played.patience()} s of 40')
    played.heard('# it starts\n', 40)
    check(played.patience() > 40, 'the second silence may be the long one')
    played.heard('# it starts\nok 1 - first\n', 0)
    check(clean.quiet == {'first': 40, 'next': 3}, f'{clean.quiet}')
    check(3 < played.patience(), f'{played.patience()} s of 3')


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


# ------------------------------------------------------------- what is touched

@on_tree()
def a_mutant_is_touched_by_a_file_that_it_changes(tree):
    tree.append('src/door')
    is_touched = tree.touched()
    check(is_touched == {'left-open': 'src/door'}, f'{is_touched}')


@on_tree()
def a_mutant_is_touched_by_what_is_said_of_it_and_not_of_its_neighbours(tree):
    tree.write_mutants(GOOD | {
        'sold-twice': GOOD['sold-twice'].replace('broken', 'bad')})
    is_touched = tree.touched()
    check(is_touched == {'sold-twice': MUTANTS}, f'{is_touched}')


@on_tree()
def a_mutant_is_touched_by_the_test_that_catches_it(tree):
    for path, names in (('tests/hinge', ['left-open']),
                        ('tests/seat', ['kept-for-ever', 'sold-twice'])):
        tree.append(path, '#\n')
        is_touched = tree.touched()
        check(is_touched == dict.fromkeys(names, path), f'{is_touched}')
        tree.git('checkout', '-q', '.')


@on_tree()
def a_mutant_without_its_test_is_touched(tree):
    tree.write('meson.build', MESON.replace("test('door'", "test('gate'"))
    is_touched = tree.touched()
    check(is_touched == {'left-open': "there is no test 'door'"},
          f'{is_touched}')


@on_tree()
def commits_of_the_branch_count_and_those_of_others_do_not(tree):
    tree.append('src/door')
    tree.commit()
    tree.git('checkout', '-q', 'main')
    tree.append('src/seat')
    tree.commit()
    tree.git('checkout', '-q', 'work')
    is_touched = tree.touched()
    check(is_touched == {'left-open': 'src/door'}, f'{is_touched}')
    tree.append('src/door')
    tree.commit()
    check(list(tree.touched('HEAD~1')) == ['left-open'], 'HEAD~1')
    check(not tree.touched('HEAD'), 'HEAD')


@on_tree()
def what_is_not_committed_counts(tree):
    bad = {name: text.replace('broken', 'bad') for name, text in GOOD.items()}
    tree.write_mutants(GOOD | {'sold-twice': bad['sold-twice']})
    tree.git('add', '-A')
    tree.write_mutants(bad | {'left-open': GOOD['left-open']})
    tree.git('rm', '-q', 'src/door')
    is_touched = tree.touched()
    check(sorted(is_touched) == sorted(GOOD), f'{is_touched}')


@on_tree({'left-open': GOOD['left-open']})
def files_that_git_does_not_know_count_if_it_does_not_ignore_them(tree):
    for name in ('sold-twice', 'ignored-by-git'):
        tree.write_mutants({name: GOOD['sold-twice']},
                           f'tests/mutants/{name}.mutants')
    is_touched = tree.touched()
    check(list(is_touched) == ['sold-twice'], f'{is_touched}')


@on_tree()
def where_nothing_is_touched_that_is_told(tree):
    def told(*words):
        status, said = tree.play('--touched', *words)
        check(status == 0 and said[0].startswith('nothing touched: ') and
              ' main ' in said[0], f'{status}: {said}')
        return said[1:]
    check(not told(), 'a run says more')
    tree.append('tests/forge', '#\n')
    check(not told('--list'), 'a list says more')
    check(told('--check') == ['0 mutants, 0 stale'], 'a check')


@on_tree(GOOD | STALE)
def a_run_of_the_touched_plays_no_others(tree):
    tree.append('src/door')
    played = tree.root / 'ignored'
    status, said = tree.play('--touched', PLAYED=str(played))
    check((status, said[-1]) == (0, '1 caught, 0 survived, 2 stale'),
          f'{status}: {said}')
    check(said[0].startswith('3 of 8 mutants '), said[0])
    check(set(played.read_text('utf-8').split()) == {'door'}, 'others')


@on_tree(GOOD | STALE)
def the_touched_may_be_chosen_from_and_checked(tree):
    tree.append('src/seat')
    is_touched = tree.touched('main', '--test', 'seat', '--only', 'sold-twice',
                              '--only', 'left-open')
    check(list(is_touched) == ['sold-twice'], f'{is_touched}')
    status, said = tree.play('--touched', '--check')
    check((status, said[-1]) == (1, '5 mutants, 3 stale'), f'{status}: {said}')


# --------------------------------------------------------------- what is wrong

def is_refused(done, *words):
    status, said = done
    check(status == 2 and len(said) == 1 and said[0].startswith('mutants: '),
          f'{status}: {said}')
    for word in words:
        check(word in said[0], f'{word}: {said}')


@on_tree()
def a_commit_that_there_is_not_is_refused(tree):
    tree.append('src/seat')
    is_refused(tree.play('--touched', 'nosuch'), "no commit 'nosuch'")
    tree.git('checkout', '-q', '--orphan', 'island')
    tree.commit()
    is_refused(tree.play('--touched'), 'in common')
    tree.git('branch', '-q', '-D', 'main')
    is_refused(tree.play('--touched', '--check'), 'no branch main',
               '--touched HEAD~3')


@on_tree()
def what_is_no_checkout_is_refused(tree):
    is_refused(tree.play('--touched', PATH=str(tree.root)), 'not installed')
    (tree.root / '.git').rename(tree.root.parent / '.git')
    is_refused(tree.play('--touched', GIT_CEILING_DIRECTORIES=''),
               'no checkout', '--only')
    shutil.rmtree(tree.root.parent / '.git')
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
    one_whose_program_ends_before_its_case_is_played_again,
    where_all_are_stale_nothing_was_played,
    a_check_lists_what_is_stale_and_plays_nothing,
    a_check_without_a_stale_one_is_content,
    what_a_test_leaves_behind_is_ended,
    who_starts_a_server_is_waited_for_until_the_first_case,
    a_change_is_made_where_its_text_is,
    the_traps_are_listed_with_their_mutants,
    a_mutant_is_touched_by_a_file_that_it_changes,
    a_mutant_is_touched_by_what_is_said_of_it_and_not_of_its_neighbours,
    a_mutant_is_touched_by_the_test_that_catches_it,
    a_mutant_without_its_test_is_touched,
    commits_of_the_branch_count_and_those_of_others_do_not,
    what_is_not_committed_counts,
    files_that_git_does_not_know_count_if_it_does_not_ignore_them,
    where_nothing_is_touched_that_is_told,
    a_run_of_the_touched_plays_no_others,
    the_touched_may_be_chosen_from_and_checked,
    a_commit_that_there_is_not_is_refused,
    what_is_no_checkout_is_refused,
    a_mutant_that_there_is_not_is_refused,
)


def main():
    if not shutil.which('git'):
        print('1..0 # SKIP there is no git')
        return 0
    return run_all(TESTS)


if __name__ == '__main__':
    sys.exit(main())
