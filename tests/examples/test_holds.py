# SPDX-License-Identifier: MIT
"""The programs of docs/languages.md, as they stand there, which hold their lock by
rowlock hold --json: the transfers commit, or, if the lock was broken before, do not; the
job runs, or is told of another one, or of its loss. Speaks TAP."""

import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))

# pylint: disable=wrong-import-position
import shop as shops  # noqa: E402
from page import blocks  # noqa: E402
from patience import patience  # noqa: E402
from tap import Tap, check  # noqa: E402

PAGE = 'docs/languages.md'
JARS = ('/usr/share/java/mariadb-java-client.jar', '/usr/share/java/gson.jar')
GOPATH = '/usr/share/gocode'
E = shops.ENTRIES

# The language: the first words of its program, its file, its command, and what has to be
# there: a test of the driver.
LANGUAGES = {
    'python': ('import json\nimport subprocess\nimport pymysql', 'transfer.py',
               ['/usr/bin/python3'], ['-c', 'import pymysql']),
    'perl': ('use strict', 'transfer.pl', ['perl'],
             ['-e', 'use DBD::MariaDB; use JSON::PP']),
    'php': (r'<\?php', 'transfer.php', ['php'],
            ['-r', 'exit(class_exists("mysqli") ? 0 : 1);']),
    'ruby': ("require 'json'", 'transfer.rb', ['ruby'],
             ['-e', 'require "mysql2"']),
    'go': ('package main', 'transfer.go', ['go', 'run'],
           ['list', 'github.com/go-sql-driver/mysql']),
    'java': ('import com.google', 'Transfer.java',
             ['java', '-cp', ':'.join(JARS)], None),
}
SHOP_OF = {
    'go': '{user}:{password}@tcp({host}:{port})/{database}?autocommit=0',
    'java': 'jdbc:mariadb://{host}:{port}/{database}?user={user}'
            '&password={password}',
}

# In the place of rowlock: the lock is gone, and its holder has not heard.
BREAKS = '''#!/bin/sh
{cli} "$@" | {{
	IFS= read -r line
	{cli} break account/1 >&2
	printf '%s\\n' "$line"
	exec cat
}}
'''


def environment(language=None, *first_in_path):
    """With our rowlock, or what takes its place, in the PATH."""
    path = ':'.join([*first_in_path, os.path.dirname(shops.CLI),
                     os.environ['PATH']])
    more = {'SHOP': SHOP_OF[language].format(**E)} if language in SHOP_OF else {}
    return dict(os.environ, PATH=path, ROWLOCK_DSN=shops.DSN, GOPATH=GOPATH,
                GO111MODULE='off', GOCACHE=os.path.join(
                    tempfile.gettempdir(), 'rowlock-go'), **more)


def why_not(language):
    if shops.why_not():
        return shops.why_not()
    command, driver = LANGUAGES[language][2:]
    if not shutil.which(command[0]):
        return f'no {language}'
    if language == 'java':
        here = all(os.path.exists(jar) for jar in JARS) and shutil.which('javac')
    else:
        here = subprocess.run([command[0], *driver], capture_output=True,
                              env=environment(), check=False).returncode == 0
    return None if here else f'no driver for {language}'


class Shop(shops.Shop):
    """Two accounts, and the programs."""

    def __init__(self, directory):
        super().__init__(directory, 'holds')
        for begin, name, _, _ in LANGUAGES.values():
            (text,) = blocks(PAGE, begin)
            self.write(name, text)
        (text,) = blocks(PAGE, 'import json\nimport subprocess\nimport sys')
        self.write('job.py', text)
        os.mkdir(self.path('breaks'))
        self.write('breaks/rowlock', BREAKS.format(cli=shops.CLI))
        os.chmod(self.path('breaks/rowlock'), 0o755)

    def write(self, name, text):
        with open(self.path(name), 'w', encoding='utf-8') as out:
            out.write(text)

    def set_up(self):
        self.sql('CREATE TABLE IF NOT EXISTS shop_account (id INT PRIMARY KEY, '
                 'balance INT NOT NULL) ENGINE=InnoDB; '
                 'REPLACE INTO shop_account VALUES (1, 100), (2, 0);')

    def balances(self):
        return self.sql('SELECT balance FROM shop_account ORDER BY id;')

    def play(self, command, env):
        return subprocess.run(command, cwd=self.directory, env=env,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, timeout=patience())

    def transfer(self, language, *first_in_path):
        self.set_up()
        _, name, command, _ = LANGUAGES[language]
        return self.play([*command, name], environment(language, *first_in_path))

    def job(self, steps, *first_in_path):
        self.write('job_steps.py', steps)
        return self.play([sys.executable, '-B', 'job.py'],
                         environment(None, *first_in_path))


def it_commits_and_releases(shop, language):
    for _ in range(2):  # the second has to get the lock
        done = shop.transfer(language)
        check(done.returncode == 0, f'{done.returncode}: {done.stderr}')
        check(shop.balances() == ['90', '10'], f'{shop.balances()}')


def it_does_not_commit_without_its_lock(shop, language):
    done = shop.transfer(language, shop.path('breaks'))
    check(done.returncode != 0, f'it ended well: {done.stdout}')
    check(shop.balances() == ['100', '0'],
          f'{shop.balances()}: it has committed')


def the_job_runs(shop):
    done = shop.job('STEPS = [lambda token: print(token > 0)] * 2\n')
    check((done.returncode, done.stdout) == (0, 'True\nTrue\n'), f'{done}')


def the_job_leaves_it_to_another_host(shop):
    inner = (f'{sys.executable} -B job.py')
    shop.write('job_steps.py', 'STEPS = [lambda token: print("it ran")]\n')
    done = shop.play(['rowlock', 'run', 'nightly', '-c',
                      f'env -u ROWLOCK_HELD {inner}'], environment())
    check((done.returncode, done.stdout) == (0, ''), f'{done}')


def the_job_stops_when_it_is_told(shop):
    # The first step kills the process that holds, and waits until that is known.
    done = shop.job('import __main__\n'
                    'def end(token):\n'
                    '    __main__.hold.kill()\n'
                    '    __main__.lost.wait()\n'
                    'STEPS = [end, lambda token: print("it went on")]\n')
    check(done.returncode == 1 and done.stdout == '', f'{done}')
    check('the lock is lost' in done.stderr, f'{done}')


def main():
    jobs = (the_job_runs, the_job_leaves_it_to_another_host,
            the_job_stops_when_it_is_told)
    tap = Tap(2 * len(LANGUAGES) + len(jobs))
    with tempfile.TemporaryDirectory(prefix='rowlock-test-') as directory:
        shop = Shop(directory)
        print('# server: given', flush=True)
        for language in LANGUAGES:
            reason = why_not(language)
            for test, words in (
                    (it_commits_and_releases, 'commits, and releases'),
                    (it_does_not_commit_without_its_lock,
                     'does not commit without its lock')):
                tap.case(f'{language} {words}', test, shop, language, skip=reason)
        for test in jobs:
            tap.case(test.__name__.replace('_', ' '), test, shop,
                     skip=shops.why_not())
        if not shops.why_not():
            shop.sql('DROP TABLE IF EXISTS shop_account;')
    return tap.status()


if __name__ == '__main__':
    sys.exit(main())
