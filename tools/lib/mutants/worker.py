# SPDX-License-Identifier: MIT
"""A worker's tree, build and server, and how a test goes there."""

import os
import re
import shutil
import signal
import subprocess
import threading
import time

from mutants.files import ROOT, Wrong
from mutants.suite import tests_of
from patience import load

# The files that a build and its tests read.
TREE = ('docs', 'include', 'meson.build', 'meson_options.txt', 'sql', 'src',
        'tests', 'tools', 'README.md', 'LICENSE', 'CONTRIBUTING.md', 'CHANGELOG.md')
# Rings whose tests need no server, or start their own.
NO_SERVER = {'unit', 'cli', 'meta', 'sim'}
# cmocka adds its reason to the name of a case whose fixture failed as well.
CASE = re.compile(r'^(not )?ok\b *\d* *(?:- )?(# SKIP )?(.*?)'
                  r'(?: Could not run test:.*)?( +# SKIP.*)?$',
                  re.M | re.I)

stopping = threading.Event()


class Listener:
    """Hears what a command says: here, nothing of interest."""

    def heard(self, text, quiet):
        """All that it has said, after so many seconds without a word."""

    def has_enough(self):
        return False

    def patience(self):
        """How many seconds it may be silent from now on."""
        return 900


def run(command, log, listener, **more):
    """The exit status; None if the rest was not waited for."""
    with open(log, 'wb') as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.STDOUT, start_new_session=True, **more)
    size, said = 0, time.monotonic()
    while True:
        try:
            process.wait(0.02)
        except subprocess.TimeoutExpired:
            pass
        now = time.monotonic()
        # Before it is read: what comes meanwhile is news the next time.
        grown = log.stat().st_size
        if grown != size:
            listener.heard(read(log), now - said)
            size, said = grown, now
        if process.returncode is not None:
            return process.returncode
        if (stopping.is_set() or listener.has_enough() or
                now - said > listener.patience()):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None


def tidy(directory):
    """End what was started for this directory, however it hides, and remove
    it."""
    done = subprocess.run([ROOT / 'tools' / 'lib' / 'tidy', directory],
                          check=False, text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, start_new_session=True)
    if done.returncode:
        raise Wrong(f'tidy {directory} failed: {done.stderr.strip()}')


def verdicts(text):
    """The cases of a test program that speaks TAP: True, False, or None for one
    that was skipped."""
    return {case: None if skip or skipped else not bad
            for bad, skip, case, skipped in CASE.findall(text)}


def read(path):
    return path.read_text(encoding='utf-8', errors='replace')


def tail(path, lines=12):
    return '\n'.join(read(path).splitlines()[-lines:])


class Outcome(Listener):
    """How a test goes: its cases and their verdicts. A test without cases has
    one: that the words of @case are not in what it says. Without @case any that
    fails is enough where it is known how it goes."""

    def __init__(self, clean=None, case=None):
        self.clean = clean  # how it goes on the tree as it is
        self.case = case    # the one whose failure is enough
        self.said = ''
        self.status = None  # None: it hung, or that one has failed
        self.cases = {}
        self.quiet = {}     # the longest silence before each verdict
        self.silence = 0    # and so far, since the last one
        self.began = time.monotonic()
        self.seconds = 0

    def heard(self, text, quiet):
        self.said = text
        # Output without a verdict (of the server that it starts) ends a
        # silence, but not the time before the next case.
        self.silence = max(self.silence, quiet)
        found = verdicts(text)
        new = [case for case in found if case not in self.quiet]
        self.quiet.update(dict.fromkeys(new, self.silence))
        self.cases.update(found)
        if new:
            self.silence = 0
        self.seconds = time.monotonic() - self.began

    def has_cases(self):
        return bool((self.clean or self).cases)

    def has_enough(self):
        if not self.case:
            return bool(self.clean and self.failed())
        if not self.has_cases():
            return self.case in self.said
        return self.cases.get(self.case) is False

    def knows(self, case):
        """Does this case pass?"""
        if not self.has_cases():
            return case not in self.said
        return self.cases.get(case) is True

    def failed(self):
        return [case for case, good in self.cases.items() if good is False]

    def passed(self):
        return [case for case, good in self.cases.items() if good]

    def under_way(self):
        """The first case without a verdict."""
        for case in self.clean.passed():
            if case not in self.cases:
                return case
        return None

    def patience(self):
        if not self.clean:
            return 300
        # Far more than it takes: a busy machine is no catch, and it may be
        # busier than it was then.
        if not self.has_cases():
            return load() * (30 + 5 * self.clean.seconds)
        return load() * (5 + 5 * self.clean.quiet.get(self.under_way(), 1))


class Worker:
    """A tree, a build, and a server while a test needs one."""

    def __init__(self, directory):
        self.directory = directory
        self.tree = directory / 'tree'
        self.build = directory / 'build'
        self.tmp = directory / 'tmp'
        self.log = directory / 'log'
        self.tests = {}

    def make(self):
        self.tree.mkdir(parents=True)
        for name in TREE:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.tree / name, symlinks=True,
                                ignore=shutil.ignore_patterns('__pycache__'))
            elif (ROOT / name).is_file():
                shutil.copy2(ROOT / name, self.tree / name)
        if run(['meson', 'setup', self.build, self.tree], self.log,
               Listener()):
            raise Wrong('meson setup failed:\n' + tail(self.log))
        self.tests = tests_of(self.build, self.tree)

    def compile(self, names):
        """False if there was something to build, and nothing had changed."""
        files = {file for name in names for file in self.tests[name]['files']}
        # It makes the tables of the sandbox.
        if any(self.needs_server(self.tests[name]) for name in names):
            files.add('tools/rowlock-migrate')
        if files and run(['ninja', '-C', self.build, '-j1', *sorted(files)],
                         self.log, Listener()):
            raise Wrong('it does not build:\n' + tail(self.log))
        return not files or 'ninja: no work to do' not in read(self.log)

    def sandbox(self, word):
        command = [ROOT / 'tools' / 'sandbox', word,
                   f'--dir={self.directory / "sandbox"}']
        if word == 'dsn --root':
            command[1:2] = ['dsn', '--root']
        elif word == 'start':
            command.append(f'--owner={os.getpid()}')
        done = subprocess.run(command, check=False, text=True,
                              env=dict(os.environ, ROWLOCK_BUILD=self.build),
                              stdin=subprocess.DEVNULL, capture_output=True,
                              start_new_session=True)
        if done.returncode:
            raise Wrong(f'sandbox {word} failed: {done.stderr.strip()}')
        return done.stdout.strip()

    def environment(self, test):
        env = dict(os.environ, TMPDIR=str(self.tmp), **test['env'])
        env['PATH'] += ':/usr/sbin:/sbin'
        for key in ('ROWLOCK_DSN', 'ROWLOCK_TEST_DSN', 'ROWLOCK_TEST_LOT'):
            env.pop(key, None)
        if self.needs_server(test):
            self.sandbox('start')
            env['ROWLOCK_TEST_DSN'] = self.sandbox('dsn')
            env['ROWLOCK_TEST_ADMIN_DSN'] = self.sandbox('dsn --root')
        return env

    @staticmethod
    def needs_server(test):
        return not NO_SERVER & {suite.split(':')[-1]
                                for suite in test['suite']}

    def test(self, name, *more, clean=None, case=None):
        """How a test goes, with more arguments; up to the failure of @case."""
        test = self.tests[name]
        self.tmp.mkdir()
        try:
            env = self.environment(test)
            outcome = Outcome(clean, case)
            outcome.status = run(test['cmd'] + list(more), self.log, outcome,
                                 cwd=test['workdir'] or self.build, env=env)
        finally:
            tidy(self.tmp)
            if self.needs_server(test):
                self.sandbox('stop')
        return outcome
