#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""That the benchmark does what it says: counts only, no time is judged. Each
system whose server is on this machine (peers.py), on private servers. Speaks
TAP."""

import json
import os
import select
import subprocess
import sys
import tempfile
import types

HERE = os.path.dirname(os.path.realpath(__file__))
DRIVER_DIR = os.path.join(HERE, '..', '..', 'tools', 'lib', 'bench', 'driver')
sys.path.insert(0, DRIVER_DIR)
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))
os.environ['PATH'] += ':/usr/sbin:/sbin'

# pylint: disable=wrong-import-position
from figures import FIELDS, Figure, Results, percentile  # noqa: E402
from left import Reap, Reaped, Taken, rowlock  # noqa: E402
from meanwhile import Meanwhile  # noqa: E402
from peers import why_not  # noqa: E402
from processes import BenchError, which  # noqa: E402
from special import take  # noqa: E402
from stage import SYSTEMS, Stage  # noqa: E402
from tap import Tap, check, words_of  # noqa: E402
from workloads import TRANSFERS  # noqa: E402

ROOT = os.environ['ROWLOCK_SOURCE']
BUILD = os.environ['ROWLOCK_BUILD']
FAR = 1 << 62  # ns: a run that ends by count


# An observer takes nothing, and a transfer is a transaction.
LOCKS = [name for name in SYSTEMS
         if name != 'observer' and not name.startswith('transfer')]


def makes_the_pairs_it_is_asked_for(stage, system):
    client = stage.client(system, 'pairs', '--threads', 4, '--names', 2,
                          '--count', 25, '--prefix', 'test-pairs-',
                          # Long enough for another to come in as well.
                          '--hold-us', 300)
    client.hear_word('ready')
    client.tell(f'go 0 {FAR}')
    told = json.loads(client.hear())
    client.end()
    check(told['pairs'] == [25] * 4, f'pairs: {told["pairs"]}')
    counted = sum(count for _, count in told['latency'])
    check(counted == 100, f'{counted} latencies for 100 pairs')


def hands_over_when_it_is_given_back(stage, system):
    # The second one is opened while the name is held.
    holder = stage.client(system, 'hold', '--prefix', 'test-hold-')
    holder.hear_word('ready')
    take(holder)
    waiter = stage.client(system, 'hold', '--prefix', 'test-hold-')
    waiter.hear_word('ready')
    waiter.tell('take')
    check(not select.select([waiter], [], [], 0.1)[0], 'two hold at once')
    holder.tell('give')
    gave, = holder.hear_word('gave')
    held, = waiter.hear_word('held')
    check(held > gave, 'held before it was given back')
    waiter.tell('give')
    waiter.hear_word('gave')
    for client in (holder, waiter):
        client.end()


def is_had_by_two_at_once(stage, system):
    clients = [stage.client(system, 'hold', '--prefix', 'test-share-')
               for _ in range(2)]
    for client in clients:
        client.hear_word('ready')
    for client in clients:
        take(client)
    for client in clients:
        client.tell('give')
        client.hear_word('gave')
        client.end()


def transfers_are_committed(stage):
    for system in TRANSFERS + ('transfer-early',):
        client = stage.client(system, 'pairs', '--threads', 2, '--names', 2,
                              '--count', 10, '--prefix', f'test-{system}-')
        client.hear_word('ready')
        client.tell(f'go 0 {FAR}')
        told = json.loads(client.hear())
        client.end()
        check(told['pairs'] == [10] * 2, f'{system}: {told["pairs"]}')
        moved = stage.database().sql(
            'SELECT id, balance FROM bench_account '
            f"WHERE id LIKE 'test-{system}-%' AND balance <> IF(id LIKE '%-a', "
            '-10, 10)')
        check(not moved, f'{system}: {moved}')
    no_lease_is_left(stage)


def others_go_on_while_a_transaction_is_open(stage):
    meanwhile = Meanwhile(True)
    for system in meanwhile.systems:
        figure, = meanwhile.measure(stage, system)
        check(figure.pairs_per_s and figure.more['to_others'] and figure.p50_us,
              f'{figure}')
        moved = stage.database().sql(
            'SELECT balance FROM bench_account '
            "WHERE id = 'bench-guarded-meanwhile-ours-0-b'")
        check(moved == [['1']], f'{system}: {moved}')
    no_lease_is_left(stage)


def a_try_that_gets_the_name_is_no_figure(stage):
    stranger = stage.client('lease', 'try', '--prefix', 'test-free-')
    try:
        stranger.hear_word('ready')
    except BenchError as error:
        check('a try of ' in str(error), f'{error}')
    else:
        check(False, 'a name that nobody has was tried')
    finally:
        stranger.kill()


def many_are_held_and_given_back(stage):
    def held():
        return int(stage.database().sql(
            'SELECT COUNT(*) FROM business_lease '
            "WHERE name LIKE 'test-many-%'")[0][0])

    client = stage.client('lease', 'many', '--threads', 3, '--count', 50,
                          '--prefix', 'test-many-')
    client.hear_word('ready')
    client.tell('take')
    client.hear_word('took')
    check(held() == 50, f'{held()} leases for 50')
    client.tell('give')
    client.hear_word('gave')
    check(held() == 0, f'{held()} leases left')
    client.end()


def no_lease_is_left(stage):
    left = stage.database().sql('SELECT COUNT(*) FROM business_lease')[0][0]
    check(left == '0', f'{left} leases left')


def what_the_dead_left_is_taken(stage):
    taken = Taken(True)
    taken.count = 700
    figure, = taken.measure(stage, 'lease')
    check(figure.pairs_per_s and figure.more['slower_than_free'], f'{figure}')
    no_lease_is_left(stage)


def what_the_dead_left_is_reaped(stage):
    reaped = Reaped(True)
    reaped.count = 700
    figure, = reaped.measure(stage, 'lease')
    check(figure.more['took_s'] > 0, f'{figure}')
    no_lease_is_left(stage)
    sessions = stage.database().sql(
        "SELECT COUNT(*) FROM lease_session WHERE host IS NULL")[0][0]
    check(sessions == '0', f'{sessions} sessions left')
    # One that did not find what was left is a failure, not a figure.
    reap = Reap(stage)
    try:
        reap.end(1)
    except BenchError as error:
        check('swept 0 leases' in str(error), f'{error}')
    else:
        check(False, 'a reap of nothing passed')
    finally:
        reap.kill()


def the_delay_passes_all_on(stage):
    """Through a network of 2 ms a pair takes two round trips or more."""
    delay = subprocess.Popen(
        [os.path.join(BUILD, 'tests', 'bench', 'bench-delay'), '1000',
         str(stage.ports['database'])], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, text=True)
    direct = stage.ports['database']
    try:
        stage.ports['database'] = int(delay.stdout.readline())
        makes_the_pairs_it_is_asked_for(stage, 'row')
        client = stage.client('raw-row', 'pairs', '--count', 10)
        client.hear_word('ready')
        client.tell(f'go 0 {FAR}')
        steps = json.loads(client.hear())['latency']
        client.end()
        check(steps[0][0] > 3.9e6, f'a pair in {steps[0][0]} ns')
    finally:
        stage.ports['database'] = direct
        delay.kill()
        delay.wait()


def json_has_the_fields():
    systems = 'lease,mutex' if which('mariadbd') else 'mutex'
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, 'figures.json')
        subprocess.run(
            [sys.executable, '-B', os.path.join(DRIVER_DIR, 'main.py'),
             '--build', BUILD, '--rounds', '2', '--seconds', '0.05',
             '--only', f'hot-threads,{systems}', '--json', path],
            check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
        with open(path, encoding='utf-8') as file:
            figures = json.load(file)
    check([figure['system'] for figure in figures] == systems.split(','),
          f'{figures}')
    for figure in figures:
        check(tuple(figure) == FIELDS, f'{list(figure)}')
        check((figure['processes'], figure['threads'], figure['names'])
              == (1, 64, 1), f'{figure}')
        # null where it does not apply, or nothing came of so short a run.
        check(all(figure[name] is None or
                  isinstance(figure[name], (int, float))
                  for name in FIELDS[5:]), f'{figure}')
        check((figure['server_statements_per_s'] is None)
              == (figure['system'] == 'mutex'), f'{figure}')


def what_grows_is_drawn_in_one_chart():
    with tempfile.TemporaryDirectory() as work:
        subprocess.run(
            [sys.executable, '-B', os.path.join(DRIVER_DIR, 'main.py'),
             '--build', BUILD, '--rounds', '1', '--seconds', '0.05', '--growth',
             '--only', 'hot-threads,mutex', '--svg', work],
            check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)
        drawn = sorted(os.listdir(work))
        check(drawn == ['growth-hot-threads-latency.svg',
                        'growth-hot-threads-rate.svg'], f'{drawn}')
        with open(os.path.join(work, drawn[1]), encoding='utf-8') as file:
            text = file.read()
        check('threads of one process, one name' in text, 'other words')


def rounds_are_summed_up_by_medians():
    results = Results()
    for rate in (10, 1000, 30):
        results.add(Figure('w', 's', pairs_per_s=rate, max_us=rate))
    check(results.get('w', 's') == 30, 'not the median')
    check(results.get('w', 's', 'max_us') == 1000, 'not the maximum')
    check(results.all('w', 's', 'p50_us') == [], 'a value from nowhere')
    for number, rate in ((0, 10), (2, 50)):
        results.add(Figure('w', 't', pairs_per_s=rate, round=number))
    for number, figure in enumerate(results.rounds['w', 's']):
        figure.round = number
    check(results.ratio('w', 't', 's') == (10 / 10 + 50 / 30) / 2,
          'not round by round')
    results.add(Figure('v', 's', pairs_per_s=60))
    check(results.ratio('v', 's', 's', 'w') == 2, 'not of the medians')
    check(results.ratio('w', 't', 'u') is None, 'a ratio from nowhere')
    for some in ([1, 5], [3]):
        results.add(Figure('e', 's', more={'singles': some}))
    check(results.get('e', 's', 'p50_us') == 3e6, 'not of all events')
    check(results.get('e', 's', 'p99_us') == 5e6, 'not the worst of three')
    check(percentile({1000: 98, 5000: 1, 9000: 1}, 0.99) == 5, 'not the 99th')


def main():
    exclusive = (makes_the_pairs_it_is_asked_for,
                 hands_over_when_it_is_given_back)
    shared = (makes_the_pairs_it_is_asked_for, is_had_by_two_at_once)
    database = None if which('mariadbd') else 'no mariadbd here'
    tap = Tap(len(LOCKS) * len(exclusive) + 10)
    if not database:
        print('# server: own, ' + subprocess.run(
            ['mariadbd', '--version'], capture_output=True, text=True,
            check=True).stdout.strip())
    tap.case(words_of(rounds_are_summed_up_by_medians),
             rounds_are_summed_up_by_medians)
    tap.case(words_of(json_has_the_fields), json_has_the_fields)
    tap.case(words_of(what_grows_is_drawn_in_one_chart),
             what_grows_is_drawn_in_one_chart,
             skip=None if which('gnuplot') else 'no gnuplot here')
    with tempfile.TemporaryDirectory(prefix='rowlock-test-') as work:
        stage = Stage(types.SimpleNamespace(
            build=BUILD, seconds=1, quick=True, delay_ms=0,
            server='mariadb'), ROOT, work)
        try:
            left_out = {name: why_not(stage, name) for name in LOCKS}
            stage.start([name for name in LOCKS if not left_out[name]],
                        lambda text: None)
            for name in LOCKS:
                skip = left_out[name]
                several = name in ('readers', 'semaphore')
                for test in shared if several else exclusive:
                    alone = name == 'mutex' and test is exclusive[1]
                    tap.case(f'{name} {words_of(test)}', test, stage, name,
                             skip=skip or alone and 'there is one process')
            for test in (transfers_are_committed,
                         others_go_on_while_a_transaction_is_open,
                         a_try_that_gets_the_name_is_no_figure,
                         many_are_held_and_given_back,
                         the_delay_passes_all_on,
                         what_the_dead_left_is_taken):
                tap.case(words_of(test), test, stage, skip=database)
            test = what_the_dead_left_is_reaped
            tap.case(words_of(test), test, stage, skip=database or (
                None if os.access(rowlock(stage), os.X_OK)
                else 'this build has no rowlock'))
        finally:
            stage.close()
    return tap.status()


if __name__ == '__main__':
    sys.exit(main())
