# SPDX-License-Identifier: MIT
"""Processes of ours: servers that are started and ended, clients that are told
what to do by lines and answer by lines."""

import contextlib
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..', '..', '..', 'tests', 'lib'))

# pylint: disable=wrong-import-position
from patience import load  # noqa: E402


def patience(seconds=120):
    """How long something may stay away before it is called hung, where it would
    be so many seconds with nothing else to do: it grows with the load."""
    return seconds * load()


class BenchError(Exception):
    """Something did not run as it must; no figure comes of it."""


# Those by which people, their shells and a terminal that is closed end us.
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    held = False    # it has to wait
    came = False    # and one does


def interrupt(*_):
    """The first one is heard. Those that follow find us cleaning up, here or
    where a server was just being started."""
    if Interruption.held:
        Interruption.came = True
        return
    for number in ENDS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def heed_signals():
    """What we were started to ignore stays ignored: nohup's SIGHUP, and SIGINT
    in the background of a script."""
    for number in ENDS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)


@contextlib.contextmanager
def held_back():
    """An interruption comes at the end of this: a process that was started in
    it is known by then to who has to end it."""
    Interruption.held = True
    try:
        yield
    finally:
        Interruption.held = False
        if Interruption.came:
            Interruption.came = False
            interrupt()


@contextlib.contextmanager
def undisturbed():
    """Nobody interrupts the cleaning up."""
    old = [(number, signal.signal(number, signal.SIG_IGN)) for number in ENDS]
    try:
        yield
    finally:
        for number, handler in old:
            signal.signal(number, handler)


def run(*words, **more):
    """Run a command to its end; BenchError with what it said if it fails. Who
    is interrupted meanwhile lets it clean up."""
    process = None
    try:
        with held_back():
            process = subprocess.Popen(
                [str(word) for word in words], text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, start_new_session=True, **more)
        said, _ = process.communicate()
    except BaseException:
        if process:
            process.terminate()
            process.communicate()
        raise
    if process.returncode:
        raise BenchError(f'{os.path.basename(str(words[0]))}: '
                         + '\n'.join(said.strip().splitlines()[-15:]))
    return said


def which(program):
    return shutil.which(program, path=os.environ['PATH'] + ':/usr/sbin:/sbin')


def free_port():
    """A port that nobody has just now, below the range from which the kernel
    gives ports to clients: one of those could be taken before it is used."""
    while True:
        port = random.randrange(10000, 32000)
        with socket.socket() as some, contextlib.suppress(OSError):
            some.bind(('127.0.0.1', port))
            return port


def keep_on(pid, cores):
    """Keep a process on these cores, and what it starts from now on."""
    for task in os.listdir(f'/proc/{pid}/task'):
        # A thread may have ended meanwhile.
        with contextlib.suppress(OSError):
            os.sched_setaffinity(int(task), cores)


class Daemon:
    """A server in the foreground of a process of ours."""

    alive = set()

    def __init__(self, words, log):
        self.log = log
        with open(log, 'ab') as out, held_back():
            self.process = subprocess.Popen(
                [str(word) for word in words], stdin=subprocess.DEVNULL,
                stdout=out, stderr=out, start_new_session=True)
            Daemon.alive.add(self)

    def await_answer(self, answers):
        """Until answers() is true."""
        began = time.monotonic()
        while True:
            took = time.monotonic() - began
            if self.process.poll() is None:
                with contextlib.suppress(OSError, BenchError):
                    if answers():
                        return
            if self.process.poll() is not None or took > patience():
                how = ('runs, and does not answer'
                       if self.process.returncode is None
                       else f'ended with {self.process.returncode}')
                raise BenchError(f'{self.process.args[0]} did not start in '
                                 f'{took:.0f} s: it {how}: '
                                 + self.last_words())
            time.sleep(0.05)

    def last_words(self):
        with open(self.log, encoding='utf-8', errors='replace') as log:
            return ''.join(log.readlines()[-10:])

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        Daemon.alive.discard(self)


class Client:
    """One bench-client. Its lines come one by one."""

    alive = set()

    def __init__(self, words, work, environment):
        self.errors = tempfile.TemporaryFile(dir=work)
        self.process = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.errors, bufsize=0,
            start_new_session=True, env={**os.environ, **environment})
        self.buffer = b''
        Client.alive.add(self)

    def fileno(self):
        return self.process.stdout.fileno()

    def tell(self, line):
        try:
            self.process.stdin.write(line.encode() + b'\n')
        except BrokenPipeError:
            self._died()

    def hear(self, seconds=120):
        """The next line."""
        began = time.monotonic()
        while b'\n' not in self.buffer:
            if not select.select([self], [], [], 1)[0]:
                took = time.monotonic() - began
                if took < patience(seconds):
                    continue
                raise BenchError('a client does not answer after '
                                 f'{took:.0f} s: ' + self._words())
            more = os.read(self.fileno(), 1 << 16)
            if not more:
                self._died()
            self.buffer += more
        line, _, self.buffer = self.buffer.partition(b'\n')
        return line.decode()

    def hear_word(self, word, seconds=120):
        """The numbers after the word that has to come now."""
        line = self.hear(seconds).split()
        if line[0] != word:
            raise BenchError(f"a client said '{line[0]}', not '{word}'")
        return [int(number) for number in line[1:]]

    def _words(self):
        return ' '.join(self.process.args)

    def _died(self):
        self.process.wait()
        self.errors.seek(0)
        said = self.errors.read().decode(errors='replace').strip()
        raise BenchError(said or 'a client ended with '
                         f'{self.process.returncode}: {self._words()}')

    def kill(self):
        self.process.kill()
        self._forget()

    def end(self):
        """Nothing more will be told."""
        self.process.stdin.close()
        try:
            self.process.wait(patience())
        except subprocess.TimeoutExpired as error:
            raise BenchError(f'a client does not end in {error.timeout:.0f} s: '
                             f'{self._words()}') from error
        if self.process.returncode:
            self._died()
        self._forget()

    def _forget(self):
        Client.alive.discard(self)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.errors):
            with contextlib.suppress(OSError):
                pipe.close()


def first_to_speak(clients):
    """Whoever of them has something to say."""
    seconds = patience()
    heard = [client for client in clients if b'\n' in client.buffer] \
        or select.select(clients, [], [], seconds)[0]
    if not heard:
        raise BenchError(f'none of {len(clients)} clients answers after '
                         f'{seconds:.0f} s')
    return heard[0]


def kill_clients():
    for client in list(Client.alive):
        client.kill()


def stop_daemons():
    """Those of servers that were interrupted while they were made as well."""
    for daemon in list(Daemon.alive):
        daemon.stop()
