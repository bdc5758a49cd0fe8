#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""That tools/bench refuses what it cannot do before it does anything, never
takes nothing for a success, and leaves nothing behind, however it is ended.
Speaks TAP."""

import contextlib
import io
import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
from unittest import mock

HERE = os.path.dirname(os.path.realpath(__file__))
DRIVER_DIR = os.path.join(HERE, '..', '..', 'tools', 'lib', 'bench', 'driver')
sys.path.insert(0, DRIVER_DIR)
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
os.environ['PATH'] += ':/usr/sbin:/sbin'

# pylint: disable=wrong-import-position
import servers  # noqa: E402
from figures import Figure, Place, Results  # noqa: E402
from options import parse  # noqa: E402
from page import blocks  # noqa: E402
from patience import patience  # noqa: E402
from peers import why_not  # noqa: E402
from processes import (Daemon, heed_signals, held_back,  # noqa: E402
                       interrupt, undisturbed)
from special import Grown  # noqa: E402
from stage import Stage  # noqa: E402
from tap import check, run_all  # noqa: E402
from workloads import Pairs, Shared  # noqa: E402

BUILD = os.environ['ROWLOCK_BUILD']
DRIVER = [sys.executable, '-B', os.path.join(DRIVER_DIR, 'main.py'),
          '--build', BUILD]


def systems_here():
    """Those of three with a server each, or none, that are played."""
    stage = Stage(types.SimpleNamespace(
        build=BUILD, seconds=1, quick=True, server='mariadb'), '', '')
    return [name for name in ('lease', 'redis', 'mutex')
            if not why_not(stage, name)]


SYSTEMS = systems_here()
# Enough of it that it does not end by itself meanwhile.
LONG = ('--rounds', '30', '--seconds', '0.05', '--only',
        ','.join(('hot-threads', *SYSTEMS)))
SHORT = ('--rounds', '1', '--seconds', '0.05', '--only', 'hot-threads,mutex')
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def refused(words):
    """What is said then; empty if it is not refused."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parse(words.split())
    except SystemExit as end:
        check(end.code == 2, f'{words}: exit status {end.code}')
        return said.getvalue()
    return ''


def numbers_that_measure_nothing_are_refused():
    for words in ('--rounds 0', '--rounds -1', '--rounds 1.5', '--rounds x',
                  '--seconds 0', '--seconds -1', '--seconds nan',
                  '--seconds inf', '--seconds 1e300', '--delay-ms -3',
                  '--delay-ms nan', '--delay-ms inf'):
        said = refused(words)
        check("' is not a " in said, f'{words}: {said}')
    some = parse('--rounds 3 --seconds 0.05 --delay-ms 0.5'.split())
    check((some.rounds, some.seconds, some.delay_ms) == (3, 0.05, 0.5),
          f'{some}')
    check(parse([]).rounds == 5 and parse([]).seconds == 2, 'other defaults')
    check(parse(['--quick']).rounds == 1, 'not one short round')


def words_that_leave_nothing_are_refused():
    for words, why in (
            ('--only nosuch', "there is no 'nosuch'; workloads: lone"),
            ('--only lone --growth', "there is no 'lone'; workloads: spread-1"),
            ('--only ,', 'it names nothing'),
            ('--only many,redis', 'many is played on lease only'),
            ('--only grown,many,redis', 'grown is played on row lease only'),
            ('--quick --only hot-processes,lease-token',
             'hot-processes is played with --quick on row lease raw-row')):
        said = refused(words)
        check(why in said, f'{words}: {said}')
    check(not refused('--only hot-processes,lease-token'), 'it can be done')


def what_the_page_shows_can_be_done():
    for line in blocks('docs/performance.md', 'tools/bench '):
        # The words for a directory would make it.
        said = refused(line.removeprefix('tools/bench').replace('--svg charts', ''))
        check(not said, f'{line}: {said}')


def what_has_nothing_to_do_is_left_out():
    some = parse('--only lone,many,redis,mutex'.split())
    check([workload.name for workload in some.workloads] == ['lone'],
          f'{some.workloads}')
    check(some.systems == ['redis'], f'{some.systems}')
    check(set(some.idle) == {'many', 'mutex'}, f'{some.idle}')
    some = parse('--only many'.split())
    check((some.systems, some.idle) == (['lease'], {}), f'{some}')


def each_that_can_grow_does():
    some = parse('--growth'.split()).workloads
    sizes = {}
    for workload in some:
        sizes.setdefault(workload.family, []).append(workload.size)
    check(list(sizes) == ['spread', 'hot-threads', 'hot-processes', 'waiting',
                          'many'], f'{list(sizes)}')
    check(all(those == [1, 4, 16, 64, 256] for those in sizes.values()),
          f'{sizes}')
    some = parse('--growth --only hot-processes,many-4'.split()).workloads
    check([workload.name for workload in some] == [
        *(f'hot-processes-{size}' for size in (1, 4, 16, 64, 256)), 'many-4'],
        f'{[workload.name for workload in some]}')


def what_cannot_be_written_is_refused_first():
    with tempfile.TemporaryDirectory() as work:
        file = os.path.join(work, 'file')
        with open(file, 'w', encoding='utf-8'):
            pass
        for words in (f'--json {work}', f'--json {work}/nope/x',
                      f'--json {file}/x', f'--svg {file}', f'--svg {file}/x'):
            said = refused(words)
            check('cannot write to' in said, f'{words}: {said}')
        check(os.listdir(work) == ['file'], 'something was made')
        check(not refused(f'--svg {work}/new/charts'), 'refused')
        check(os.path.isdir(f'{work}/new/charts'), 'no directory')


def a_file_is_kept_until_there_are_figures():
    results = Results()
    results.add(Figure('w', 's'))
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, 'figures.json')
        Place(path).close()
        check(not os.path.exists(path), 'an empty file stays')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('old ' * 1000)
        Place(path).close()
        check(os.path.getsize(path) == 4000, 'the old figures are gone')
        place = Place(path)
        place.write(results)
        place.close()
        with open(path, encoding='utf-8') as file:
            check(json.load(file) == results.json(), 'not the figures')


def no_pair_in_so_short_a_time_is_no_fault():
    figure = Figure('shared', 'row')
    told = {'pairs': [0, 0], 'latency': [], 'max_ns': 0, 'rss': 1, 'cpu_us': 0,
            'held_ns': 0}
    Shared('shared', 2, 2, 1)._fill(  # pylint: disable=protected-access
        figure, [told, told], 0.01)
    check((figure.pairs_per_s, figure.fairness) == (0, None), f'{figure}')
    with mock.patch.object(Pairs, 'measure', return_value=[figure]):
        check(Grown().measure(None, 'row') == [figure], 'not measured')


def run(*words, **more):
    return subprocess.run([*DRIVER, *words], stdin=subprocess.DEVNULL,
                          text=True, check=False, **more)


def nothing_measured_is_a_failure():
    with tempfile.TemporaryDirectory() as work:
        mysqld = os.path.join(work, 'mysqld')
        with open(mysqld, 'w', encoding='ascii') as file:
            file.write('#!/bin/sh\necho MariaDB\n')
        os.chmod(mysqld, 0o700)
        path = os.path.join(work, 'figures.json')
        done = run('--strict', '--server', 'mysql', '--only', 'lone,lease',
                   '--json', path, stdout=subprocess.PIPE,
                   env={**os.environ, 'ROWLOCK_MYSQLD': mysqld,
                        'TMPDIR': work})
        check(done.returncode == 2, f'{done}')
        check('nothing to measure: lease: ' in done.stdout
              and 'ROWLOCK_MYSQLD' in done.stdout, done.stdout)
        check(os.listdir(work) == ['mysqld'], f'left: {os.listdir(work)}')


def strict_has_to_judge_something():
    for words, status in (((), 0), (('--strict',), 1)):
        done = run(*SHORT, *words, stdout=subprocess.PIPE)
        check(done.returncode == status, f'{done}')
        check(('FAILED: --strict' in done.stdout) == bool(status),
              done.stdout)


def figures_are_written_also_if_nobody_reads():
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, 'figures.json')
        with open('/dev/full', 'w', encoding='ascii') as full:
            done = run(*SHORT, '--json', path, stdout=full,
                       stderr=subprocess.PIPE)
        check(done.returncode == 1 and 'Traceback' not in done.stderr,
              f'{done}')
        with open(path, encoding='utf-8') as file:
            check(len(json.load(file)) == 1, 'no figures')


@contextlib.contextmanager
def signals_kept():
    old = [(number, signal.getsignal(number)) for number in ENDS]
    try:
        yield
    finally:
        for number, handler in old:
            signal.signal(number, handler)


def no_signal_disturbs_the_cleaning_up():
    heard = []
    with signals_kept():
        for number in ENDS:
            signal.signal(number, lambda number, _: heard.append(number))
        with undisturbed():
            for number in ENDS:
                os.kill(os.getpid(), number)
        check(not heard, f'heard {heard}')
        for number in ENDS:
            os.kill(os.getpid(), number)
        check(heard == list(ENDS), f'heard {heard} after it')


def only_the_first_signal_interrupts():
    heard = 0
    with signals_kept():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # as nohup may
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        heed_signals()
        check([signal.getsignal(number) for number in ENDS]
              == [signal.SIG_IGN, interrupt, interrupt], 'not as they were')
        for number in (signal.SIGHUP, *ENDS):
            try:
                os.kill(os.getpid(), number)
            except KeyboardInterrupt:
                heard += 1
    check(heard == 1, f'{heard} were heard')


def a_start_is_known_before_it_is_interrupted():
    known = ended = False
    with signals_kept():
        heed_signals()
        signal.signal(signal.SIGTERM, interrupt)
        try:
            with held_back():
                os.kill(os.getpid(), signal.SIGTERM)
                known = True
            ended = True
        except KeyboardInterrupt:
            pass
    check(known and not ended, f'known {known}, not interrupted {ended}')


def a_server_that_nobody_knows_yet_is_stopped():
    with tempfile.TemporaryDirectory() as work:
        stage = Stage(types.SimpleNamespace(
            build=BUILD, seconds=1, quick=True, server='mariadb'), '', work)
        daemon = Daemon(['sleep', 60], os.path.join(work, 'log'))
        stage.close()
        running = daemon.process.poll() is None
        daemon.stop()
    check(not running, 'it runs on')


class Terminal:
    """One in which the driver runs."""

    def __init__(self, work, *words):
        self.said = b''
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ['TMPDIR'] = work
            # It would hide what is left in a buffer at the end.
            os.environ.pop('PYTHONUNBUFFERED', None)
            # Also if we are run by nohup.
            for number in ENDS:
                signal.signal(number, signal.SIG_DFL)
            os.execv(DRIVER[0], [*DRIVER, *words])

    def read(self, seconds):
        """Returns whether something came."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            more = os.read(self.fd, 1 << 16)
        except OSError:  # nobody has it open any more
            more = b''
        self.said += more
        return bool(more)

    def await_words(self, words):
        while words not in self.said:
            wait = patience()
            check(self.read(wait),
                  f'waited {wait:.0f} s for {words}: {self.said}')

    def close(self):
        os.close(self.fd)

    def status(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def end_impatiently(self):
        """By all signals, until it ends; returns its exit status."""
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                os.kill(self.pid, number)
            self.read(0.01)


def processes_in(work):
    """Those that work there, {number: command}."""
    found = {}
    for pid in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError):  # ended meanwhile, or not ours
            with open(f'/proc/{pid}/cmdline', encoding='utf-8',
                      errors='replace') as file:
                words = file.read().replace('\0', ' ')
            if os.readlink(f'/proc/{pid}/cwd').startswith(work) \
                    or f'{work}/rowlock-bench-' in words:
                found[int(pid)] = words
    return found


@contextlib.contextmanager
def place_to_be_left_clean():
    with tempfile.TemporaryDirectory(prefix='rowlock-test-') as work:
        try:
            yield work
        finally:
            left = processes_in(work)
            for pid in left:
                os.kill(pid, signal.SIGKILL)
        check(not left, f'still running: {list(left.values())}')
        check(not os.listdir(work), f'left: {os.listdir(work)}')


def answer_the_second(listener, came):
    """Of two who ask. The first one waits all the time."""
    listener.settimeout(patience() / 4)
    with contextlib.suppress(TimeoutError):
        with listener.accept()[0], listener.accept()[0] as second:
            came.set()
            # What is closed with words that were not read is reset.
            second.recv(100)
            second.sendall(b'Received: 1')


def a_zookeeper_that_leaves_a_question_unanswered_is_asked_again():
    came = threading.Event()
    with tempfile.TemporaryDirectory() as work, \
            socket.create_server(('127.0.0.1', 0)) as listener, \
            mock.patch.object(servers, 'free_port',
                              lambda: listener.getsockname()[1]), \
            mock.patch.object(servers, 'Daemon',
                              lambda _, log: Daemon(['sleep', '60'], log)):
        thread = threading.Thread(target=answer_the_second,
                                  args=(listener, came), daemon=True)
        thread.start()
        servers.ZooKeeper(None, work).stop()
        thread.join()
    check(came.is_set(), 'nobody asked a second time')


def a_terminal_that_is_closed_ends_all():
    with tempfile.TemporaryDirectory() as keep, \
            place_to_be_left_clean() as work:
        path = os.path.join(keep, 'figures.json')
        terminal = Terminal(work, *LONG, '--json', path)
        terminal.await_words(b'[4/')
        terminal.close()
        status = terminal.status()
        with contextlib.suppress(OSError, ValueError):
            with open(path, encoding='utf-8') as file:
                status = status, len(json.load(file))
    check(status == (130, len(SYSTEMS)), f'exit status, figures: {status}')


def impatience_while(words):
    with place_to_be_left_clean() as work:
        terminal = Terminal(work, *LONG)
        terminal.await_words(words)
        status = terminal.end_impatiently()
        terminal.close()
    check(status == 130, f'exit status {status}: {terminal.said}')


def impatience_while_it_measures_ends_all():
    impatience_while(b'[2/')


def impatience_while_it_starts_ends_all():
    impatience_while(b'starting the server of')


TESTS = (
    numbers_that_measure_nothing_are_refused,
    words_that_leave_nothing_are_refused,
    what_the_page_shows_can_be_done,
    what_has_nothing_to_do_is_left_out,
    each_that_can_grow_does,
    what_cannot_be_written_is_refused_first,
    a_file_is_kept_until_there_are_figures,
    no_pair_in_so_short_a_time_is_no_fault,
    nothing_measured_is_a_failure,
    strict_has_to_judge_something,
    figures_are_written_also_if_nobody_reads,
    no_signal_disturbs_the_cleaning_up,
    only_the_first_signal_interrupts,
    a_start_is_known_before_it_is_interrupted,
    a_server_that_nobody_knows_yet_is_stopped,
    a_zookeeper_that_leaves_a_question_unanswered_is_asked_again,
    a_terminal_that_is_closed_ends_all,
    impatience_while_it_measures_ends_all,
    impatience_while_it_starts_ends_all,
)


if __name__ == '__main__':
    sys.exit(run_all(TESTS))
