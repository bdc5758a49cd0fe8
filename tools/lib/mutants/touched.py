# SPDX-License-Identifier: MIT
"""Which mutants have to do with what has changed since a commit."""

import os
import subprocess

from mutants.files import MUTANTS, ROOT, Wrong, mutants_in
from mutants.suite import no_test, tests_of_tree

DEFAULT = 'main'


def git(*words):
    """Its exit status, what it says, and its complaint."""
    try:
        done = subprocess.run(['git', *words], cwd=ROOT, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True)
    except FileNotFoundError as error:
        raise Wrong('--touched asks git, which is not installed; choose '
                    'mutants by --only or --test') from error
    return (done.returncode, os.fsdecode(done.stdout),
            os.fsdecode(done.stderr).strip())


def files_of(*words):
    status, said, complaint = git(*words)
    if status:
        raise Wrong(f'git {words[0]} failed: {complaint}')
    return set(filter(None, said.split('\0')))


def need_checkout():
    status, above, complaint = git('rev-parse', '--show-prefix')
    if status or above.strip():
        raise Wrong(f'--touched asks git what has changed, and {ROOT} is no '
                    'checkout of its own '
                    f'({complaint or "but a directory of another"}); '
                    'choose mutants by --only or --test')


def known_base(base):
    """@base, or what stands for it."""
    name = base or DEFAULT
    status, _, _ = git('rev-parse', '--verify', '--quiet',
                       name + '^{commit}')
    if status and base:
        raise Wrong(f"--touched: there is no commit '{base}'; git branch and "
                    'git log show which there are')
    if status:
        raise Wrong(f'--touched: there is no branch {DEFAULT} here; say since '
                    'which commit, as in --touched origin/main or '
                    '--touched HEAD~3')
    return name


def parting(base):
    """The commit at which HEAD and @base parted."""
    status, said, _ = git('merge-base', base, 'HEAD')
    if status:
        raise Wrong(f"--touched: '{base}' and HEAD have no commit in common; "
                    'name another one, or fetch the rest of a shallow clone')
    return said.strip()


def changed_since(commit):
    """Files that commits have changed since, those with changes that are in
    none, and those that git neither knows nor ignores."""
    return (
        files_of('diff', '--name-only', '--no-renames', '-z', commit, '--') |
        files_of('ls-files', '--others', '--exclude-standard', '-z'))


def said_then(commit, files):
    """The mutants of those of @files that tests/mutants had at @commit, by
    name; without those that cannot be read any more."""
    then = {}
    for file in sorted(files):
        if (ROOT / file).parent != MUTANTS or not file.endswith('.mutants'):
            continue
        _, text, _ = git('show', f'{commit}:{file}')
        try:
            then.update((mutant.name, mutant)
                        for mutant in mutants_in(text, file))
        except Wrong:
            pass
    return then


def why_touched(mutant, files, tests, then):
    """One of @files that the mutant has to do with; '' if there is none."""
    if mutant.test not in tests:
        return no_test(mutant.test)
    home = (MUTANTS / mutant.home).relative_to(ROOT).as_posix()
    if home in files and then.get(mutant.name) != mutant:
        return home
    for file in (*(change.file for change in mutant.changes),
                 *tests[mutant.test]['sources']):
        if file in files:
            return file
    return ''


def touched(mutants, base):
    """Since when, in words, and why, by the names of those that are."""
    need_checkout()
    base = known_base(base)
    commit = parting(base)
    files = changed_since(commit)
    tests = tests_of_tree() if files else {}
    then = said_then(commit, files)
    reasons = {mutant.name: why_touched(mutant, files, tests, then)
               for mutant in mutants if files}
    return (f'{base} ({commit[:12]})',
            {name: why for name, why in reasons.items() if why})
