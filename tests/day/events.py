# SPDX-License-Identifier: MIT
"""What happens to a server in a year, and what a program that ends may say of it."""

import contextlib
import os
import re
import subprocess
import time

TABLES = 'business_lock', 'business_lease', 'lease_session', 'lock_token'
ACCOUNTS = 'rowlock_app', 'rowlock_reaper'


class Server:
    """A private one, made by tools/sandbox; programs reach it by option files, as
    the accounts of sql/grants.sql."""

    def __init__(self, root, directory):
        self.sandbox = os.path.join(root, 'tools', 'sandbox')
        self.dir = directory
        self.do('start', f'--owner={os.getpid()}')
        for account in ACCOUNTS:
            with open(f'{directory}/{account.removeprefix("rowlock_")}.cnf',
                      encoding='utf-8') as file:
                self._write(account, re.search('(?m)^password=(.*)',
                                               file.read())[1])
        self.secret = 0

    def do(self, command, *more):
        subprocess.run([self.sandbox, command, f'--dir={self.dir}', *more],
                       check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)

    def options(self, account):
        return f'--defaults-file={self.dir}/{account}.cnf'

    def _write(self, account, password):
        with open(os.path.join(self.dir, 'port'), encoding='ascii') as file:
            port = int(file.read())
        path = f'{self.dir}/{account}.cnf'
        with open(path + '.new', 'w', encoding='utf-8') as file:
            os.fchmod(file.fileno(), 0o600)
            print(f'[rowlock]\nhost=127.0.0.1\nport={port}\nuser={account}\n'
                  f'password={password}\ndatabase=rowlock', file=file)
        os.rename(path + '.new', path)

    def client(self, *words, **more):
        return subprocess.Popen(
            ['mariadb', self.options('root'), '--protocol=SOCKET', '--batch', '--unbuffered',
             '--skip-column-names', '--database=rowlock', *words],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def sql(self, text, force=False):
        """Rows, as lists of words. @force: an error of a statement does no harm."""
        while True:
            client = self.client(*(['--force'] if force else []), '-e', text,
                                 stdin=subprocess.DEVNULL)
            out, err = client.communicate()
            if not client.returncode or force:
                return [line.split('\t') for line in out.splitlines()]
            # Another has the place that a full server keeps for root.
            if 'Too many connections' not in err:
                raise RuntimeError(f'{text}: {err.strip()}')
            time.sleep(0.1)

    @contextlib.contextmanager
    def session(self, text):
        """For as long as this lasts a connection has done @text."""
        client = self.client(stdin=subprocess.PIPE)
        client.stdin.write(text + ';\nSELECT 1;\n')
        client.stdin.flush()
        client.stdout.readline()
        try:
            yield
        finally:
            client.communicate()

    def cut_all(self, before=''):
        ids = self.sql("SELECT id FROM information_schema.processlist"
                       " WHERE user LIKE 'rowlock%'")
        self.sql(before + ' '.join(f'KILL {words[0]};' for words in ids),
                 force=True)

    def connections(self):
        return int(self.sql("SELECT COUNT(*) FROM information_schema.processlist"
                            " WHERE user LIKE 'rowlock%'")[0][0])

    def rotate(self, pause):
        """The accounts get another password; the option files know it later."""
        self.secret += 1
        word = f'rotated{self.secret}'
        for account in ACCOUNTS:
            self.sql(f"ALTER USER {account}@'%' IDENTIFIED BY '{word}'")
        self.cut_all()
        time.sleep(pause)
        for account in ACCOUNTS:
            self._write(account, word)


# Each event returns when it is over. Lots say how long it lasts.

def restart(server, lots):
    server.sql('SHUTDOWN')
    time.sleep(lots.uniform(0, 3))
    server.do('restart')


def crash(server, lots):
    server.do('kill')
    time.sleep(lots.uniform(0, 2))
    server.do('restart')


def stall(server, lots):
    server.do('freeze')
    time.sleep(lots.uniform(0.5, 4))
    server.do('thaw')


def optimize(server, _lots):
    server.sql(f"OPTIMIZE TABLE {', '.join(TABLES)}")


def rebuild(server, _lots):
    for table in TABLES:
        server.sql(f'ALTER TABLE {table} ENGINE=InnoDB, FORCE')


def swap(server, lots):
    server.sql('RENAME TABLE business_lease TO business_lease_away')
    time.sleep(lots.uniform(0, 0.4))
    server.sql('RENAME TABLE business_lease_away TO business_lease')


def backup(server, lots):
    with server.session('FLUSH TABLES WITH READ LOCK'):
        time.sleep(lots.uniform(0.5, 3))


def dump(server, lots):
    with server.session('START TRANSACTION WITH CONSISTENT SNAPSHOT'):
        time.sleep(lots.uniform(1, 5))


def read_only(server, lots):
    server.sql('SET GLOBAL read_only = 1')
    time.sleep(lots.uniform(0.5, 3))
    server.sql('SET GLOBAL read_only = 0')


def cut(server, _lots):
    server.cut_all()


def rotate(server, lots):
    server.rotate(lots.uniform(0.2, 3))


def lock_account(server, lots):
    server.sql("ALTER USER rowlock_app@'%' ACCOUNT LOCK")
    server.cut_all()
    time.sleep(lots.uniform(0.5, 3))
    server.sql("ALTER USER rowlock_app@'%' ACCOUNT UNLOCK")


def full(server, lots):
    most = server.sql('SELECT @@max_connections')[0][0]
    server.cut_all('SET GLOBAL max_connections = 10;')
    time.sleep(lots.uniform(0.5, 3))
    server.sql(f'SET GLOBAL max_connections = {most}')


GONE = (r"Lost connection|gone away|Can't connect|no answer|was silent|"
        r'reset by peer|shutdown|closed|ended the connection|not reached|'
        r'Connection was killed|is away|heartbeat|connection')

# The words for each, one of which is in a message of a program that it ended.
EVENTS = {
    restart: GONE,
    crash: GONE,
    stall: GONE,
    optimize: r'DDL|metadata|table|not known',
    rebuild: r'DDL|metadata|table|not known',
    swap: r"business_lease|doesn't exist",
    backup: r'lock wait|read lock|table|not known|no answer',
    dump: r'metadata|table',
    read_only: r'read.only',
    cut: GONE,
    rotate: r'Access denied|' + GONE,
    lock_account: r'locked|Access denied|' + GONE,
    full: r'Too many connections|' + GONE,
}
