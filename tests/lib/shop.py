# SPDX-License-Identifier: MIT
"""A shop's database on the server of the tests, for programs in other languages that
commit under `rowlock run --guarded`."""

import os
import shutil
import subprocess

from option_file import option_file
from patience import patience
from tap import check

CLI = os.path.join(os.environ['ROWLOCK_BUILD'], 'tools', 'rowlock')
DSN = os.environ.get('ROWLOCK_TEST_DSN') or os.environ.get('ROWLOCK_DSN', '')
ENTRIES = dict(pair.strip().partition('=')[::2] for pair in DSN.split(';'))
CLIENT = shutil.which('mariadb') or shutil.which('mysql')


def why_not():
    """Why there is no server for them; None: there is one."""
    if not DSN:
        return 'no server: set ROWLOCK_TEST_DSN'
    if not CLIENT:
        return 'no client of the server here'
    if 'port' not in ENTRIES or any('ssl' in key for key in ENTRIES):
        return 'a server without TLS, by a port'
    return None


class Shop:
    """A directory with shop.cnf, and the name of a lock."""

    def __init__(self, directory, name):
        self.directory = directory
        self.name = f'test-{name}-{os.getpid()}'
        option_file(self.path('shop.cnf'), DSN)

    def path(self, name):
        return os.path.join(self.directory, name)

    def sql(self, text):
        done = subprocess.run(
            [CLIENT, f'--defaults-file={self.path("shop.cnf")}', '-N'],
            input=text, capture_output=True, text=True, check=False,
            timeout=patience())
        check(done.returncode == 0, done.stderr)
        return done.stdout.split()

    def run(self, command, before='', env=None):
        """Run it under the lock, behind the shell's words @before."""
        return subprocess.run(
            [CLI, 'run', '--guarded', self.name, '--', 'sh', '-c',
             before + 'exec "$@"', 'sh', *command], cwd=self.directory,
            env=dict(env or os.environ, ROWLOCK_DSN=DSN), capture_output=True,
            text=True, check=False, timeout=patience())

    def run_without_its_lock(self, command, env=None):
        """The same; the lock is another's by then, and its holder has not heard."""
        return self.run(command, f'{CLI} break {self.name}; ', env)
