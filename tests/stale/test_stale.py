# SPDX-License-Identifier: MIT
"""A short run of tools/stale, and that its judge sees what is wrong. Speaks
TAP."""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
sys.path.insert(0, os.path.join(HERE, '..', '..', 'tools', 'lib', 'bench',
                                'driver'))
os.environ['PATH'] += ':/usr/sbin:/sbin'

# pylint: disable=wrong-import-position
import servers  # noqa: E402
from cuts import Line  # noqa: E402
from crew import concerning  # noqa: E402
from judge import Told, judge, told_by, truth_in  # noqa: E402
from tap import Tap, check, words_of  # noqa: E402

ROOT = os.environ['ROWLOCK_SOURCE']
STALE = os.path.join(ROOT, 'tools', 'stale')
WORKER = os.path.join(os.environ['ROWLOCK_BUILD'], 'tests', 'stale',
                      'stale-worker')
ROUNDS = 240
GUARDED = ('commit', 'commit_release')


def what_somebody_has_not_seen_is_lost():
    # 3 follows 1, as 2 did.
    writes = {1: (0, 0), 2: (0, 1), 3: (0, 1), 4: (1, 0)}
    told = {number: Told(0, 'c') for number in writes}
    verdict = judge(told, ({0: 3, 1: 4}, writes), 1)
    check(verdict.lost == verdict.acknowledged_lost == 1, f'{verdict}')
    check(verdict.wrong == {}, f'{verdict}')
    told[2] = Told(0, 'u')
    verdict = judge(told, ({0: 3, 1: 4}, writes), 1)
    check((verdict.lost, verdict.acknowledged_lost) == (1, 0), f'{verdict}')


def what_was_told_is_held_against_what_is_there():
    writes = {1: (0, 0), 2: (0, 1)}
    for end, wrong in (('c', 1), ('n', 0), ('s', 0), ('b', 0), ('u', 0),
                       ('d', 1)):
        told = {1: Told(0, 'c'), 2: Told(0, 'c'), 3: Told(0, end)}
        verdict = judge(told, ({0: 2}, writes), 1)
        check(len(verdict.wrong) == wrong, f'{end}, not there: {verdict}')
    for end, wrong in (('c', 0), ('n', 1), ('s', 1), ('b', 1), ('u', 0),
                       ('d', 1)):
        verdict = judge({1: Told(0, 'c'), 2: Told(0, end)},
                        ({0: 2}, writes), 1)
        check(len(verdict.wrong) == wrong, f'{end}, there: {verdict}')


def what_was_done_to_a_transaction_meanwhile_is_found():
    told = told_by(['3 7 n from=100 client-at=1 own-at=2 connection=55 storm '
                    'begin: -16: not begun; until=200'])
    deeds = [['150', '1', 'broke stale-3'], ['99', '1', 'broke stale-3'],
             ['150', '1', 'broke stale-30'], ['201', '1', 'broke stale-3'],
             ['160', '2', 'KILL QUERY 55'], ['160', '1', 'KILL QUERY 55'],
             ['160', '2', 'KILL CONNECTION 5'],
             ['200', '1', 'is kept behind for 30 ms']]
    found = list(concerning(told[7], deeds))
    check(found == [deeds[0], deeds[4], deeds[7]], f'{told}: {found}')


async def say_again(reader, writer):
    with contextlib.suppress(ConnectionError):
        while said := await reader.read(100):
            writer.write(said)
    writer.close()


async def cut_off():
    server = await asyncio.start_server(say_again, '127.0.0.1', 0)
    line = Line(server.sockets[0].getsockname()[1])
    await line.listen()
    reader, writer = await asyncio.open_connection('127.0.0.1', line.port)
    writer.write(b'one')
    check(await reader.read(100) == b'one', 'nothing is passed on')
    line.begin(closes=False)
    writer.write(b'two')
    answer = asyncio.ensure_future(reader.read(100))
    done, _ = await asyncio.wait([answer], timeout=0.2)
    check(not done, 'it is passed on')
    line.end()
    check(await answer == b'two', 'it is lost, not late')
    line.begin(closes=True)
    check(await closed(reader), 'the connection stays')
    reader, _ = await asyncio.open_connection('127.0.0.1', line.port)
    check(await closed(reader), 'another one is served')
    line.end()
    reader, writer = await asyncio.open_connection('127.0.0.1', line.port)
    writer.write(b'three')
    check(await reader.read(100) == b'three', 'it goes on for ever')
    line.close()
    server.close()
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})


async def closed(reader):
    try:
        return not await reader.read(100)
    except ConnectionError:
        return True


def who_is_cut_off_hears_late_or_is_closed_and_it_ends():
    asyncio.run(cut_off())


def given():
    """A server where nobody else has connections of the same account."""
    dsn = os.environ.get('ROWLOCK_DSN')
    return ('--dsn', dsn) if os.environ.get('ROWLOCK_TEST_ALONE') else ()


def run(*words, **environment):
    done = subprocess.run([sys.executable, '-B', STALE, *words],
                          capture_output=True, text=True, check=False,
                          env=dict(os.environ, **environment))
    return done.returncode, done.stdout + done.stderr


def no_stale_holder_commits_and_all_are_told_the_truth():
    status, said = run('--rounds', str(ROUNDS), '--only', ','.join(GUARDED),
                       *given())
    check(status == 0, said)
    for form in GUARDED:
        row = re.search(rf'^  {form} +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) ', said,
                        re.M)
        check(row, said)
        told, committed, lost, acknowledged, wrong = map(int, row.groups())
        check(told >= ROUNDS and committed > ROUNDS / 4, said)
        check(lost == acknowledged == wrong == 0, said)


def what_cannot_be_done_is_said():
    for words, text in (
            (('--only', 'hope'), "no form 'hope'"),
            (('--build', '/nonexistent'), 'build first'),
            (('--except', 'none,get_lock,redis,zookeeper,lease,fence,'
              + ','.join(GUARDED)), 'nothing is left'),
            (('--rounds', '0'), 'at least 1')):
        status, said = run(*words)
        check(status == 2 and text in said, f'{words}: {status}: {said}')
    # Nothing of theirs is where mariadbd is.
    for form in ('redis', 'zookeeper'):
        status, said = run('--only', form, PATH='/nonexistent')
        check(status == 2 and f"'{form}' cannot be had here" in said,
              f'{form}: {status}: {said}')


PEERS = {'redis': servers.Redis, 'zookeeper': servers.ZooKeeper}


def peers_here():
    built = subprocess.run([WORKER, '--act', 'forms'], capture_output=True,
                           text=True, check=True).stdout.split()
    there = {'redis': shutil.which('redis-server'),
             'zookeeper': shutil.which('java')
             and os.path.exists(servers.ZooKeeper.JAR)}
    return [form for form in PEERS if form in built and there[form]]


class Register:
    """One of them, and those who change it without faults, on servers of its
    own."""

    def __init__(self, form, work, ttl_ms):
        self.form = form
        self.ttl_ms = str(ttl_ms)
        self.database = servers.MariaDB(ROOT, work)
        try:
            self.peer = PEERS[form](ROOT, work) if form in PEERS else None
        except BaseException:
            self.database.stop()
            raise
        self.told = {}
        self.hear(self.start('set-up'))

    def start(self, act, *words):
        return subprocess.Popen(
            [WORKER, '--act', act, '--registers', '1', *words],
            stdout=subprocess.PIPE, text=True,
            env=dict(os.environ, ROWLOCK_DSN=self.database.dsn()))

    def work(self, number, *words):
        peer = ('--peer', str(self.peer.port)) if self.peer else ()
        return self.start('work', '--form', self.form, *peer, '--worker',
                          str(number), '--ttl-ms', self.ttl_ms, '--seed', '1',
                          *words)

    @staticmethod
    def hear(process):
        said = process.communicate()[0].splitlines()
        check(process.returncode == 0, f'{process.args}')
        return said

    def await_end(self, worker):
        """What it was told last; None: nothing since it was heard."""
        said = self.hear(worker)
        self.told.update(told_by(said))
        return said[-1].split()[2] if said else None

    def verdict(self):
        return judge(self.told, truth_in(self.hear(self.start('tell'))), 1)

    def close(self):
        if self.peer:
            self.peer.stop()
        self.database.stop()


@contextlib.contextmanager
def register_of(form, ttl_ms):
    with tempfile.TemporaryDirectory() as work:
        register = Register(form, work, ttl_ms)
        try:
            yield register
        finally:
            register.close()


def nothing_is_lost_where_nothing_happens():
    for form in peers_here():
        with register_of(form, 60000) as register:
            workers = [register.work(number, '--rounds', '20')
                       for number in range(1, 9)]
            for worker in workers:
                register.await_end(worker)
            verdict = register.verdict()
        check(verdict.told == verdict.acknowledged == verdict.committed == 160
              and verdict.lost == 0, f'{form}: {verdict}')


def let_go_on(worker):
    """When it has stopped itself."""
    _, status = os.waitpid(worker.pid, os.WUNTRACED)
    check(os.WIFSTOPPED(status), f'it ended: {status}')
    return lambda: worker.send_signal(signal.SIGCONT)


def who_finds_its_session_over_does_not_commit():
    with register_of('zookeeper', 1000) as register:
        stopped = register.work(1, '--rounds', '1', '--stops', '1')
        go_on = let_go_on(stopped)
        # The session ends meanwhile, on a slow machine at the second time.
        others = (register.await_end(register.work(number, '--rounds', '1'))
                  for number in range(2, 12))
        check('c' in others, 'nobody else has had it')
        go_on()
        let_go_on(stopped)()
        end = register.await_end(stopped)
        verdict = register.verdict()
    check(end == 's' and verdict.lost == 0, f'{end}: {verdict}')


def who_goes_on_until_it_is_ended_ends_well():
    for form in GUARDED:
        with register_of(form, 60000) as register:
            worker = register.work(1, '--rounds', '0', '--direct')
            first = [worker.stdout.readline() for _ in range(10)]
            worker.terminate()
            register.await_end(worker)
            register.told.update(told_by(first))
            verdict = register.verdict()
        check(verdict.told == verdict.acknowledged == verdict.committed >= 10
              and verdict.lost == 0, f'{form}: {verdict}')


# As MariaDB says it.
WAITING = """SELECT IFNULL(MAX(ID), 0) FROM information_schema.PROCESSLIST
WHERE STATE LIKE 'Waiting for table%' AND INFO LIKE '%FROM rowlock_schema'"""


def a_worker_whose_start_is_killed_starts_again():
    with register_of('commit', 60000) as register:
        ask = register.database.counter.ask
        ask('LOCK TABLES rowlock.rowlock_schema WRITE; SELECT 0')
        worker = register.work(1, '--rounds', '1')
        while (found := ask(WAITING)[0]) == '0':
            check(worker.poll() is None, 'it has not looked at the schema')
        ask(f'KILL QUERY {found}; UNLOCK TABLES; SELECT 0')
        register.await_end(worker)
        verdict = register.verdict()
    check(verdict.told == verdict.committed == 1, f'{verdict}')


def main():
    tests = (what_somebody_has_not_seen_is_lost,
             what_was_told_is_held_against_what_is_there,
             what_was_done_to_a_transaction_meanwhile_is_found,
             who_is_cut_off_hears_late_or_is_closed_and_it_ends,
             what_cannot_be_done_is_said)
    tap = Tap(len(tests) + 5)
    for test in tests:
        tap.case(words_of(test), test)
    if shutil.which('mariadbd') and not given():
        print('# server: own, ' + subprocess.run(
            ['mariadbd', '--version'], capture_output=True, text=True,
            check=True).stdout.strip())
    here = peers_here() if shutil.which('mariadbd') else []
    test = nothing_is_lost_where_nothing_happens
    tap.case(words_of(test), test,
             skip=None if here else 'no mariadbd, or no redis or zookeeper here')
    test = who_finds_its_session_over_does_not_commit
    tap.case(words_of(test), test,
             skip=None if 'zookeeper' in here else 'no mariadbd or zookeeper here')
    test = who_goes_on_until_it_is_ended_ends_well
    tap.case(words_of(test), test,
             skip=None if shutil.which('mariadbd') else 'no mariadbd here')
    test = a_worker_whose_start_is_killed_starts_again
    tap.case(words_of(test), test,
             skip=None if shutil.which('mariadbd') else 'no mariadbd here')
    test = no_stale_holder_commits_and_all_are_told_the_truth
    tap.case(words_of(test), test,
             skip=None if given() or shutil.which('mariadbd') else 'no mariadbd here')
    return tap.status()


if __name__ == '__main__':
    sys.exit(main())
