# SPDX-License-Identifier: MIT
"""A private MariaDB that can be killed, frozen, filled up and set wrong.

Made by tools/sandbox (data, accounts, tables); run by us from then on, in the
server's place of the network, as root on a small disk in memory of its own.
"""

import glob
import os
import shutil
import signal
import subprocess
import time

from patience import load

from . import network

DISK_MB = 512
START_S = 60
FAKETIME = '/usr/lib/*/faketime/libfaketimeMT.so.1'


def at_most(seconds):
    """So many of a machine with nothing else to do: more with the load."""
    return seconds * load()


class ServerError(Exception):
    """The server does not do what it must; the run cannot go on."""


def find_faketime():
    found = glob.glob(FAKETIME)
    return found[0] if found else None


class Server:
    def __init__(self, root, work, net):
        self.sandbox = [os.path.join(root, 'tools', 'sandbox')]
        self.net = net
        self.process = None
        self.disk = os.path.join(work, 'disk')
        self.dir = os.path.join(self.disk, 'sandbox')
        self.clock_file = os.path.join(work, 'clock')
        self.has_disk = False
        os.mkdir(self.disk)
        try:
            self._make()
        except BaseException:
            self.close()
            raise

    def _make(self):
        if os.geteuid() == 0:
            mounted = network.run('mount', '-t', 'tmpfs', '-o',
                                  f'size={DISK_MB}m,mode=0700', 'nemesis',
                                  self.disk, check=False)
            self.has_disk = mounted.returncode == 0
        self.set_clock('+0')
        said = network.run(*self.sandbox, 'start', f'--dir={self.dir}',
                           f'--owner={os.getpid()}', check=False)
        if said.returncode:
            raise ServerError(f'no private server: {said.stdout}')
        with open(os.path.join(self.dir, 'port'), encoding='ascii') as port:
            self.port = int(port.read())
        network.run(*self.sandbox, 'kill', f'--dir={self.dir}')

    def close(self):
        self.kill()
        network.run(*self.sandbox, 'stop', f'--dir={self.dir}', check=False)
        if self.has_disk:
            network.run('umount', self.disk, check=False)

    def _environment(self, faked):
        environment = dict(os.environ)
        if faked:
            environment.update(LD_PRELOAD=find_faketime(),
                               FAKETIME_TIMESTAMP_FILE=self.clock_file,
                               FAKETIME_CACHE_DURATION='1',
                               FAKETIME_DONT_FAKE_MONOTONIC='1')
        return environment

    def start(self, faked=False):
        """Start it, or start it again on the same data; wait until it
        answers."""
        self.faked = faked
        with open(os.path.join(self.dir, 'log'), 'a', encoding='utf-8') as log:
            self.process = subprocess.Popen(
                self.net.inside(0) + [
                    'mariadbd', '--no-defaults', '--user=' + _user(),
                    f'--datadir={self.dir}/data', f'--socket={self.dir}/sock',
                    f'--port={self.port}', f'--tmpdir={self.dir}/tmp',
                    f'--pid-file={self.dir}/server.pid', '--skip-name-resolve',
                    '--max-connections=2000', '--extra-max-connections=10',
                    f'--extra-port={self.port + 2}', '--bind-address='
                    + ('0.0.0.0' if self.net.names else '127.0.0.1')],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, env=self._environment(faked))
        # So that "sandbox stop" ends it if we cannot.
        with open(os.path.join(self.dir, 'pid'), 'w', encoding='ascii') as pid:
            print(self.process.pid, file=pid)
        self.await_answer()

    def await_answer(self):
        began = time.monotonic()
        while True:
            if self.process.poll() is not None:
                raise ServerError('the server ended while it started: '
                                  + self.last_words())
            try:
                self.sql('DO 0')
                return
            except ServerError:
                if time.monotonic() - began > at_most(START_S):
                    raise
                time.sleep(0.05)

    def last_words(self):
        with open(os.path.join(self.dir, 'log'), encoding='utf-8',
                  errors='replace') as log:
            return ''.join(log.readlines()[-10:])

    def sql(self, text, timeout=30, whatever=False):
        """Run statements as root, who gets in by a door of his own also when
        the server is full; returns rows as lists of words. Whatever: errors
        of statements do no harm."""
        try:
            done = subprocess.run(
                self.net.inside(0) + [
                    'mariadb', f'--defaults-file={self.dir}/root.cnf',
                    '--protocol=TCP', '--host=127.0.0.1',
                    f'--port={self.port + 2}', '--batch',
                    '--skip-column-names', '--database=rowlock',
                    *(['--force'] if whatever else []), '-e', text],
                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=at_most(timeout), check=False)
        except subprocess.TimeoutExpired as error:
            raise ServerError(f'no answer after {error.timeout:.0f} s to: '
                              f'{text}') from error
        if done.returncode and not whatever:
            raise ServerError(done.stderr.strip())
        return [line.split('\t') for line in done.stdout.splitlines()]

    def _account(self, name):
        words = {}
        with open(os.path.join(self.dir, f'{name}.cnf'),
                  encoding='utf-8') as cnf:
            for line in cnf:
                key, _, value = line.strip().partition('=')
                words[key] = value
        return (f'user={words["user"]};password={words["password"]};'
                'database=rowlock')

    def dsn(self, place, port=None):
        return (f'host={self.net.address(place)};port={port or self.port};'
                + self._account('app'))

    def root_dsn(self):
        """In the server's own place."""
        return f'host=127.0.0.1;port={self.port + 2};' + self._account('root')

    def connections(self):
        """The ids of the clients' connections."""
        rows = self.sql("SELECT id FROM information_schema.processlist "
                        "WHERE user = 'rowlock_app'")
        return [int(row[0]) for row in rows]

    def kill(self):
        """SIGKILL, and wait for its end."""
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        for left in glob.glob(f'/dev/shm/*faketime*_{self.process.pid}'):
            os.unlink(left)
        self.process = None

    def freeze(self):
        """SIGSTOP; returns when all of its threads stand still."""
        self.process.send_signal(signal.SIGSTOP)
        while any(_state(path) not in 'TZX' for path in
                  glob.glob(f'/proc/{self.process.pid}/task/*/stat')):
            time.sleep(0.001)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def set_clock(self, offset):
        """Let the server's clock be off by this; it looks once a second."""
        with open(self.clock_file + '.new', 'w', encoding='ascii') as file:
            print(offset, file=file)
        os.rename(self.clock_file + '.new', self.clock_file)

    def fill_disk(self):
        path = os.path.join(self.disk, 'filler')
        free = shutil.disk_usage(self.disk).free
        with open(path, 'wb') as file:
            try:
                os.posix_fallocate(file.fileno(), 0, free)
            except OSError:
                _fill(file)

    def empty_disk(self):
        os.unlink(os.path.join(self.disk, 'filler'))


def _fill(file):
    block = bytes(1 << 20)
    try:
        while file.write(block):
            file.flush()
    except OSError:
        pass  # full, as wanted


def _user():
    return subprocess.run(['id', '-un'], capture_output=True, text=True,
                          check=True).stdout.strip()


def _state(path):
    try:
        with open(path, encoding='ascii', errors='replace') as stat:
            return stat.read().rpartition(')')[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return 'T'  # this thread has ended
