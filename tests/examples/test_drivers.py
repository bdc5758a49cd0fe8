# SPDX-License-Identifier: MIT
"""The guard as text, by the drivers that Debian packages, in the ways in which it
can be said by them: without its lock nothing is committed, whatever the program
makes of errors; and with it no way that is said to work fails. Speaks TAP."""

import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))

# pylint: disable=wrong-import-position
import shop as shops  # noqa: E402
from tap import Tap, check  # noqa: E402

SHOP = {f'SHOP_{key.upper()}': shops.ENTRIES.get(key, '')
        for key in ('host', 'port', 'user', 'password', 'database')}
JAR = '/usr/share/java/mariadb-java-client.jar'
GOPATH = '/usr/share/gocode'
GO_DRIVER = GOPATH + '/src/github.com/go-sql-driver/mysql'

# What a program is run by, and how the driver is known to be there; the driver:
# its ways. One with a '!' need not work with the lock either: the program looks at
# no result, or passes over errors, or the driver refuses what PREPARE is (pyodbc) or
# a '@' (tdbc), for which there is `--guarded=call`.
ONE_BY_ONE, TEXT = 'one by one', 'one text and its results'
DRIVERS = (
    ('/usr/bin/python3', 'driver.py', '-c import {}', {
        'pymysql': (ONE_BY_ONE, TEXT, 'one text and no result',
                    '!errors passed over'),
        'MySQLdb': (ONE_BY_ONE, TEXT, '!one text and no result',
                    '!errors passed over'),
        'aiomysql': (ONE_BY_ONE, TEXT),
        'pyodbc': ('!' + ONE_BY_ONE, '!' + TEXT, '!one text and no result')}),
    ('php', 'driver.php', '-r exit(extension_loaded("{}")?0:1);', {
        'pdo': ('exec', 'query', 'prepared, and forgotten',
                'prepared by the server, one by one', ONE_BY_ONE,
                '!errors passed over'),
        'mysqli': (ONE_BY_ONE, TEXT, '!one text and no result')}),
    ('perl', 'driver.pl', '-e use DBD::{}', {
        'mysql': ('do', 'prepared, and finished', ONE_BY_ONE,
                  '!errors passed over'),
        'MariaDB': ('do', 'prepared, and finished', ONE_BY_ONE,
                    '!errors passed over')}),
    ('ruby', 'driver.rb', '-e require "{}"', {'mysql2': (ONE_BY_ONE, TEXT)}),
    ('node', 'driver.js', '-e require("{}")', {'mysql': (ONE_BY_ONE, TEXT)}),
    ('lua5.1', 'driver.lua', '-e require "{}.mysql"', {
        'luasql': (ONE_BY_ONE, '!errors passed over')}),
    ('tclsh', 'driver.tcl', None, {
        'tdbc': ('!' + ONE_BY_ONE,), 'mysqltcl': (ONE_BY_ONE,)}),
    ('java', 'Driver.java', None, {
        'mariadb': (ONE_BY_ONE, 'one text', 'prepared, one by one')}),
    ('go', 'driver.go', None, {'mysql': (ONE_BY_ONE, 'one text')}),
    ('sh', None, None, {
        'client': ('', '!--force', '--reconnect', '!--force --reconnect')}),
)
PACKAGES = {'tdbc': 'package require tdbc::mysql',
            'mysqltcl': 'package require mysqltcl'}


def environment():
    return dict(os.environ, **SHOP, GOPATH=GOPATH,
                GO111MODULE='off', NODE_PATH='/usr/share/nodejs',
                GOCACHE=os.path.join(tempfile.gettempdir(), 'rowlock-go'))


def command_of(interpreter, program, driver, way):
    if interpreter == 'sh':
        account = ' '.join(f'-{letter}"$SHOP_{key}"' for letter, key in (
            ('h', 'HOST'), ('P', 'PORT'), ('u', 'USER'), ('p', 'PASSWORD')))
        return ['sh', '-c', '{ echo "SET autocommit = 0; UPDATE shop SET '
                'balance = balance - 10 WHERE id = 1;"; printf '
                '"%s; COMMIT;\\n" "$ROWLOCK_GUARD_SQL"; } | '
                f'{shops.CLIENT} --no-defaults {way} {account} "$SHOP_DATABASE"']
    path = os.path.join(HERE, 'drivers', program)
    if interpreter == 'java':
        return ['java', '-cp', JAR, path, driver, way]
    if interpreter == 'go':
        return ['go', 'run', path, driver, way]
    return [interpreter, path, driver, way]


def why_not(interpreter, there, driver):
    if shops.why_not():
        return shops.why_not()
    if not shutil.which(interpreter):
        return 'no such language here'
    if interpreter == 'java':
        here = os.path.exists(JAR) and shutil.which('javac')
    elif interpreter == 'go':
        here = os.path.isdir(GO_DRIVER)
    elif interpreter == 'tclsh':
        here = not subprocess.run(['tclsh'], input=PACKAGES[driver], text=True,
                                  capture_output=True, check=False).stderr
    elif there:
        words = there.format('pdo_mysql' if driver == 'pdo' else driver)
        here = subprocess.run(
            [interpreter, *words.split(' ', 1)], capture_output=True,
            env=environment(), check=False).returncode == 0
    else:
        here = True
    return None if here else 'no such driver here'


class Shop(shops.Shop):
    def set_up(self):
        self.sql('CREATE TABLE IF NOT EXISTS shop (id INT PRIMARY KEY, balance '
                 'INT NOT NULL) ENGINE=InnoDB; REPLACE INTO shop VALUES '
                 '(1, 100);')

    def balance(self):
        return self.sql('SELECT balance FROM shop;')


def it_is_guarded(shop, command, works):
    shop.set_up()
    if works:
        done = shop.run(command, env=environment())
        check(done.returncode == 0, f'{done.returncode}: {done.stderr}')
        check(shop.balance() == ['90'], f'{shop.balance()}')
        shop.set_up()
    shop.run_without_its_lock(command, env=environment())
    check(shop.balance() == ['100'], 'it has committed without its lock')


def main():
    cases = [(interpreter, program, there, driver, way)
             for interpreter, program, there, drivers in DRIVERS
             for driver, ways in drivers.items() for way in ways]
    tap = Tap(len(cases))
    with tempfile.TemporaryDirectory(prefix='rowlock-test-') as directory:
        shop = Shop(directory, 'drivers')
        print('# server: given', flush=True)
        for interpreter, program, there, driver, way in cases:
            plain = way.lstrip('!')
            tap.case(f'{os.path.basename(interpreter)}, {driver}: '
                     f'{plain or "statements that are piped in"}',
                     it_is_guarded, shop,
                     command_of(interpreter, program, driver, plain),
                     plain == way,
                     skip=why_not(interpreter, there, driver))
        if not shops.why_not():
            shop.sql('DROP TABLE IF EXISTS shop;')
    return tap.status()


if __name__ == '__main__':
    sys.exit(main())
