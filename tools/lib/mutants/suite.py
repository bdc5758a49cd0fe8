# SPDX-License-Identifier: MIT
"""Which tests there are, what each is made of, and which cases it has: as
meson says, and as their sources say."""

import json
import os
import pathlib
import re
import subprocess
import tempfile

from mutants.files import ROOT, Stale, Wrong, changed_files


def sources_of(test, programs, build, root):
    """The files of the tree that a test is made of: the sources of its
    programs, without those of their libraries, and its scripts."""
    words = [source for program in programs
             for part in program['target_sources']
             for source in part.get('sources', [])] + test['cmd']
    paths = {os.path.realpath(os.path.join(build, word)) for word in words}
    return sorted(os.path.relpath(path, root) for path in paths
                  if path.startswith(f'{root}{os.sep}') and
                  os.path.isfile(path))


def tests_of(build, root):
    """What meson knows of each test in a build of @root, by name; and its
    files: 'files' are to be built, 'sources' are in the tree."""
    info = build / 'meson-info'
    targets = {target['id']: target for target in
               json.loads((info / 'intro-targets.json').read_bytes())}
    tests = {}
    for test in json.loads((info / 'intro-tests.json').read_bytes()):
        programs = [targets[target] for target in test['depends']]
        test['files'] = [os.path.relpath(file, build) for program in programs
                         for file in program['filename']]
        test['sources'] = sources_of(test, programs, build, root)
        tests[test['name']] = test
    return tests


def tests_of_tree():
    """The same of the tree as it is, with nothing built."""
    with tempfile.TemporaryDirectory(prefix='rowlock-mutants-') as directory:
        build = os.path.join(os.path.realpath(directory), 'build')
        try:
            done = subprocess.run(
                ['meson', 'setup', build, ROOT], check=False, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT)
        except FileNotFoundError as error:
            raise Wrong('meson, which says what tests there are, is not '
                        'installed') from error
        if done.returncode:
            last = '\n'.join(done.stdout.splitlines()[-12:])
            raise Wrong(f'meson setup, which says what tests there are, '
                        f'failed:\n{last}')
        return tests_of(pathlib.Path(build), ROOT)


# -------------------------------------------------------------------- cases

def letters(text):
    return re.sub('[^a-z]', '', text.lower())


def may_have_case(test, case):
    """Do the sources of the test say the words of the case: as they stand, as
    a function's name, or in several strings? What stands before a ':', numbers
    and brackets may be put in by the program. Of a test without sources in the
    tree nothing is known."""
    texts = [letters((ROOT / file).read_text('utf-8', 'replace'))
             for file in test['sources']]
    words = [letters(part)
             for part in re.split('[0-9()]', case.rpartition(': ')[2])]
    return not texts or all(any(word in text for text in texts)
                            for word in words)


def why_stale(mutant, tests):
    """What a mutant names that is not there any more; '' if all of it is."""
    try:
        changed_files(mutant, ROOT)
    except Stale as stale:
        return str(stale)
    if mutant.test not in tests:
        return no_test(mutant.test)
    if not may_have_case(tests[mutant.test], mutant.case):
        return no_case(mutant)
    return ''


def no_test(name):
    return f"there is no test '{name}'"


def no_case(mutant):
    return f"there is no case '{mutant.case}' in test {mutant.test}"
