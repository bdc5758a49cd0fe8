# SPDX-License-Identifier: MIT
"""The servers, private ones all: how each is started and ended, what it is
called, how many statements it has had, and what a client has to be told."""

import contextlib
import os
import re
import socket
import subprocess

from processes import (BenchError, Daemon, free_port, patience, run,
                       which)


class Counter:
    """A mariadb client that stays connected, to ask while others work: a new
    one would cost what is being measured."""

    def __init__(self, words):
        self.process = subprocess.Popen(
            words + ['--batch', '--skip-column-names', '--unbuffered'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True)

    def ask(self, text):
        """The one line that this statement answers, as words."""
        self.process.stdin.write(text + ';\n')
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise BenchError(f'the database has no answer to: {text}')
        return line.rstrip('\n').split('\t')

    def close(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Database:
    """What MariaDB and MySQL have in common."""

    own = 1  # of what statements() says, asked before and after something

    def prepare(self):
        self.counter = Counter(self._client())
        self._check_durable()

    def sql(self, text, database='rowlock'):
        """Run statements as root; the rows as lists of words."""
        said = run(*self._client(), '--batch', '--skip-column-names',
                   f'--database={database}', '-e', text)
        return [line.split('\t') for line in said.splitlines()]

    def status(self, name):
        return int(self.counter.ask(f"SHOW GLOBAL STATUS LIKE '{name}'")[1])

    def statements(self):
        """Those that the server was sent by clients; pings are none. This
        question is one."""
        return self.status('Questions')

    def version(self):
        return f'{self.kind} {self.counter.ask("SELECT VERSION()")[0]}'

    def _check_durable(self):
        """A grant that is not on disk would be a faster one."""
        log = self.counter.ask("SHOW GLOBAL VARIABLES LIKE 'log_bin'")[1]
        for name in ('innodb_flush_log_at_trx_commit', 'innodb_doublewrite',
                     *(('sync_binlog',) if log == 'ON' else ())):
            value = self.counter.ask(f"SHOW GLOBAL VARIABLES LIKE '{name}'")[1]
            if value not in ('1', 'ON'):
                raise BenchError(f'{self.kind} has {name} = {value}: its '
                                 'commits are not durable')

    def migrate(self, database):
        run(os.path.join(os.environ['ROWLOCK_BUILD'], 'tools',
                         'rowlock-migrate'), '--no-defaults',
            env={**os.environ, 'ROWLOCK_DSN': self.dsn(database, 'root')})

    def second_database(self, name):
        """Another one with the same tables, for the same account."""
        self.sql(f'CREATE DATABASE {name}')
        self.sql(f"GRANT ALL ON {name}.* TO 'rowlock'@'%'")
        self.migrate(name)

    def words(self, port):
        del port
        return []

    def environment(self, port, database):
        """The password is not for everybody who looks at the processes."""
        return {'ROWLOCK_DSN': self.dsn(database, port=port)}


class MariaDB(Database):
    kind = 'MariaDB'

    def __init__(self, root, work):
        self.root = root
        self.dir = os.path.join(work, 'sandbox')
        self.dsns = {}
        try:
            self._sandbox('start', f'--owner={os.getpid()}')
            with open(os.path.join(self.dir, 'port'),
                      encoding='ascii') as port:
                self.port = int(port.read())
            self.prepare()
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self):
        return int(re.search(r'process (\d+)', self._sandbox('status'))[1])

    def _sandbox(self, *words):
        return run(os.path.join(self.root, 'tools', 'sandbox'), *words,
                   f'--dir={self.dir}')

    def _client(self):
        return ['mariadb', f'--defaults-file={self.dir}/root.cnf']

    def dsn(self, database='rowlock', account='rowlock', port=None):
        if account not in self.dsns:
            words = ('--root',) if account == 'root' else ()
            self.dsns[account] = self._sandbox('dsn', *words).strip()
        dsn = self.dsns[account]
        return re.sub(r'port=\d+', f'port={port or self.port}',
                      dsn.replace('database=rowlock', f'database={database}'))

    def stop(self):
        if hasattr(self, 'counter'):
            self.counter.close()
        self._sandbox('stop')


def find_mysqld():
    """MySQL's, which ROWLOCK_MYSQLD may name; None if there is none. Debian's
    MariaDB has a program of the same name."""
    program = os.environ.get('ROWLOCK_MYSQLD') or which('mysqld')
    if not program or 'MariaDB' in run(program, '--version'):
        return None
    return program


class Ours:
    """A server that is a daemon of ours."""

    @property
    def pid(self):
        return self.daemon.process.pid


class MySQL(Ours, Database):
    """With its defaults: a binary log, flushed at each commit."""

    kind = 'MySQL'

    def __init__(self, root, work):
        self.root = root
        self.dir = os.path.join(work, 'mysql')
        os.mkdir(self.dir)
        self.port = free_port()
        self.password = os.urandom(16).hex()
        user = run('id', '-un').strip()
        common = [find_mysqld(), '--no-defaults', f'--user={user}',
                  f'--datadir={self.dir}/data']
        run(*common, '--initialize-insecure')
        self.daemon = Daemon(
            common + [f'--port={self.port}', f'--socket={self.dir}/sock',
                      '--bind-address=127.0.0.1', '--mysqlx=OFF',
                      '--max-connections=2000', '--skip-name-resolve',
                      f'--pid-file={self.dir}/pid'],
            os.path.join(self.dir, 'log'))
        try:
            self.daemon.await_answer(lambda: [self.sql('DO 0', 'mysql')])
            self._accounts()
            self.prepare()
        except BaseException:
            self.stop()
            raise

    def _client(self):
        return ['mariadb', '--no-defaults', '--user=root',
                f'--socket={self.dir}/sock']

    def _accounts(self):
        self.sql('CREATE DATABASE rowlock; '
                 f"CREATE USER 'rowlock'@'%' IDENTIFIED BY '{self.password}', "
                 f"'root'@'127.0.0.1' IDENTIFIED BY '{self.password}'; "
                 "GRANT ALL ON rowlock.* TO 'rowlock'@'%'; "
                 "GRANT ALL ON *.* TO 'root'@'127.0.0.1'", 'mysql')
        self.migrate('rowlock')

    def dsn(self, database='rowlock', account='rowlock', port=None):
        # By its key, which the first login of an account needs where there is
        # no TLS.
        return (f'host=127.0.0.1;port={port or self.port};user={account};'
                f'server-public-key={self.dir}/data/public_key.pem;'
                f'password={self.password};database={database}')

    def stop(self):
        if hasattr(self, 'counter'):
            self.counter.close()
        self.daemon.stop()


class Redis(Ours):
    """With no persistence, or with an append-only file that is flushed before
    each answer."""

    own = 2  # INFO and QUIT

    def __init__(self, root, work, aof=False):
        del root
        self.aof = aof
        self.dir = os.path.join(work, 'redis-aof' if aof else 'redis')
        os.mkdir(self.dir)
        self.port = free_port()
        self.daemon = Daemon(
            ['redis-server', '--port', self.port, '--bind', '127.0.0.1',
             '--save', '', '--dir', self.dir, '--appendonly',
             'yes' if aof else 'no', '--appendfsync', 'always'],
            os.path.join(self.dir, 'log'))
        try:
            self.daemon.await_answer(self.statements)
        except BaseException:
            self.stop()
            raise

    def _info(self, word):
        said = ask_port(self.port, b'INFO\r\nQUIT\r\n')
        return re.search(rf'^{word}:(.*?)\r?$', said, re.MULTILINE)[1]

    def statements(self):
        return int(self._info('total_commands_processed'))

    def version(self):
        return f'Redis {self._info("redis_version")}'

    def words(self, port):
        return ['--redis', str(port)]

    def environment(self, port, database):
        del port, database
        return {}

    def stop(self):
        self.daemon.stop()


class RedisAof(Redis):
    def __init__(self, root, work):
        super().__init__(root, work, aof=True)


class ZooKeeper(Ours):
    """One server, which flushes its log before each answer, as it does by
    itself. Ticks are short so that sessions may be (workload dead)."""

    own = 1
    JAR = '/usr/share/java/zookeeper.jar'

    def __init__(self, root, work):
        del root
        self.dir = os.path.join(work, 'zookeeper')
        os.mkdir(self.dir)
        self.port = free_port()
        config = os.path.join(self.dir, 'zoo.cfg')
        with open(config, 'w', encoding='ascii') as file:
            file.write(f'tickTime=500\ndataDir={self.dir}\n'
                       f'clientPort={self.port}\n'
                       'clientPortAddress=127.0.0.1\nmaxClientCnxns=0\n'
                       'admin.enableServer=false\n'
                       'maxSessionTimeout=120000\n'
                       '4lw.commands.whitelist=srvr\n')
        self.daemon = Daemon(
            ['java', '-Xmx512m', '-cp', self.JAR,
             'org.apache.zookeeper.server.quorum.QuorumPeerMain', config],
            os.path.join(self.dir, 'log'))
        try:
            # One that asks while it starts may never have an answer.
            self.daemon.await_answer(lambda: 'Received' in self._srvr(1))
        except BaseException:
            self.stop()
            raise

    def _srvr(self, seconds=None):
        return ask_port(self.port, b'srvr', seconds)

    def statements(self):
        return int(re.search(r'^Received: (\d+)', self._srvr(),
                             re.MULTILINE)[1])

    def version(self):
        return 'ZooKeeper ' + re.search(r'version: ([\d.]+)', self._srvr())[1]

    def words(self, port):
        return ['--zookeeper', str(port)]

    def environment(self, port, database):
        del port, database
        return {}

    def stop(self):
        self.daemon.stop()


class NoServer:
    """For what needs none."""

    own = 0
    port = 0
    pid = None

    def __init__(self, root, work):
        del root, work

    def statements(self):
        return None

    def words(self, port):
        del port
        return []

    def environment(self, port, database):
        del port, database
        return {}

    def stop(self):
        pass


def ask_port(port, question, seconds=None):
    """All that a server says to this until it closes the connection."""
    seconds = seconds or patience()
    said = b''
    try:
        with socket.create_connection(('127.0.0.1', port),
                                      seconds) as some:
            some.sendall(question)
            while more := some.recv(1 << 16):
                said += more
    except TimeoutError as error:
        raise BenchError(f'waited {seconds:.0f} s for the server at port '
                         f'{port} to answer {question!r}; it has said '
                         f'{said!r}') from error
    return said.decode(errors='replace')
