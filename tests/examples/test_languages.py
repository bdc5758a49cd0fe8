# SPDX-License-Identifier: MIT
"""The programs of the manual that are not in C, as they stand there, under
rowlock run --guarded: what they write is there, or, if the lock was broken
before they commit, is not. Speaks TAP."""

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
from tap import Tap, check  # noqa: E402

MANUAL = 'tools/man/rowlock_mysql.3.scd'
PROGRAMS = {'python': blocks(MANUAL, 'import os'), 'php': blocks(MANUAL, r'<\?php')}


def python():
    """One that has PyMySQL: Debian's, or that of the PATH."""
    for path in ('/usr/bin/python3', shutil.which('python3')):
        if path and os.access(path, os.X_OK) and subprocess.run(
                [path, '-c', 'import pymysql'], capture_output=True,
                check=False).returncode == 0:
            return path
    return None


def php():
    path = shutil.which('php')
    if path and subprocess.run(
            [path, '-r', 'exit(class_exists("mysqli") ? 0 : 1);'],
            capture_output=True, check=False).returncode == 0:
        return path
    return None


class Shop(shops.Shop):
    """Two accounts, and the programs."""

    def __init__(self, directory):
        super().__init__(directory, 'languages')
        for kind, (text,) in PROGRAMS.items():
            with open(self.path(kind), 'w', encoding='utf-8') as out:
                out.write(text)

    def set_up(self):
        self.sql('CREATE TABLE IF NOT EXISTS shop_account (id INT PRIMARY KEY, '
                 'balance INT NOT NULL) ENGINE=InnoDB; '
                 'REPLACE INTO shop_account VALUES (1, 100), (2, 0);')

    def balances(self):
        return self.sql('SELECT balance FROM shop_account ORDER BY id;')


def it_commits(shop, interpreter, kind):
    shop.set_up()
    done = shop.run([interpreter, kind])
    check(done.returncode == 0, f'{done.returncode}: {done.stderr}')
    check(shop.balances() == ['90', '10'], f'{shop.balances()}')


def it_does_not_commit_without_its_lock(shop, interpreter, kind):
    shop.set_up()
    done = shop.run_without_its_lock([interpreter, kind])
    check(done.returncode != 0, f'it ended well: {done.stdout}')
    check(shop.balances() == ['100', '0'], f'{shop.balances()}')


def why_not(interpreter):
    return shops.why_not() or (
        None if interpreter else 'no such language, or no driver, here')


def main():
    tap = Tap(4)
    with tempfile.TemporaryDirectory(prefix='rowlock-test-') as directory:
        shop = Shop(directory)
        print('# server: given', flush=True)
        for kind, find in (('python', python), ('php', php)):
            interpreter = find()
            for test, words in (
                    (it_commits, 'commits'),
                    (it_does_not_commit_without_its_lock,
                     'does not commit without its lock')):
                tap.case(f'{kind} {words}', test, shop, interpreter, kind,
                         skip=why_not(interpreter))
        if not shops.why_not():
            shop.sql('DROP TABLE IF EXISTS shop_account;')
    return tap.status()


if __name__ == '__main__':
    sys.exit(main())
