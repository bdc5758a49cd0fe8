# SPDX-License-Identifier: MIT
"""rowlock-migrate, and who has got the port of its server: it is told nothing by
which it could log in, and it holds nobody. Needs a client, and openssl."""

import os
import pathlib
import re
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / 'tests' / 'lib'), str(ROOT / 'tests' / 'cli')]
# pylint: disable=wrong-import-position,import-error
from false_server import (CACHING, CLEAR, DIALOG, OLD, SHA256,
                          FalseServer)  # noqa: E402
from patience import patience  # noqa: E402
from process import is_group_alive  # noqa: E402
from tap import check, run_all  # noqa: E402
from test_tls import address_of_this_host  # noqa: E402

MIGRATE = ROOT / 'tools' / 'rowlock-migrate'
SECRET = b'secret17'
ACCOUNT = 'user=nobody17;password=secret17;database=db'
REVEALING = (CLEAR, DIALOG, OLD, CACHING, SHA256)
ED25519 = 'client_ed25519'
TMP = tempfile.TemporaryDirectory()
ENVIRONMENT = {key: value for key, value in os.environ.items()
               if not key.startswith(('MYSQL', 'MARIADB', 'LIBMYSQL', 'ROWLOCK_DSN'))}
IS_MARIADB = b'MariaDB' in subprocess.run(
    'mariadb --version || mysql --version', shell=True, check=False,
    capture_output=True).stdout


class Run:
    """Of rowlock-migrate, with a connection string."""

    def __init__(self, dsn, *options, tool=MIGRATE, environment=None):
        options = options or ('--no-defaults', '--status')
        done = subprocess.run(
            [str(tool), *options], check=False, capture_output=True,
            timeout=patience(), stdin=subprocess.DEVNULL,
            env=ENVIRONMENT | {'ROWLOCK_DSN': dsn, 'TMPDIR': TMP.name} |
            (environment or {}))
        self.code = done.returncode
        self.bytes = done.stdout + done.stderr
        self.said = self.bytes.decode(errors='replace')
        left = os.listdir(TMP.name)
        check(not left, f'left behind: {left}')

    def expect(self, code, *words):
        check(self.code == code, f'{self.code}, not {code}: {self.said}')
        for word in words:
            check(word in self.said, f'not said: {word}: {self.said}')
        check('secret17' not in self.said, self.said)
        return self


def at(server, host='127.0.0.1', more=''):
    return f'host={host};port={server.port};{ACCOUNT}{more}'


def logins():
    """What it may ask, and how."""
    for tls in (False, True):
        for plugin in REVEALING:
            yield {'asks': plugin, 'tls': tls}
            yield {'asks': plugin, 'tls': tls, 'greets': plugin}
        yield {'asks': OLD, 'briefly': True, 'tls': tls}


def not_told(server, manners, run):
    check(SECRET not in server.heard, f'{manners}: {server.heard}: {run.said}')
    # A hash of eight bytes is soon guessed.
    check(manners['asks'] != OLD or not server.answers, f'{manners}: {run.said}')
    run.expect(2)


def nobody_on_loopback_is_told_the_password():
    for manners in logins():
        with FalseServer(**manners) as server:
            not_told(server, manners, Run(at(server)))


def nobody_is_told_it_by_tls_that_is_not_verified():
    for manners in logins():
        if not manners['tls']:
            continue
        with FalseServer(**manners) as server:
            run = Run(at(server, more=';ssl-enforce=1'))
            check(SECRET not in server.heard, f'{manners}: {run.said}')
            run.expect(2 if IS_MARIADB else 125)


def nobody_on_another_host_is_told_it():
    address = address_of_this_host()
    if not address:
        return
    for manners in logins():
        with FalseServer(address, **manners) as server:
            not_told(server, manners, Run(at(server, address), '--no-defaults',
                                          '--status', '--tls-unverified'))


def who_is_to_be_verified_is_not_told_who_logs_in():
    for manners in logins():
        with FalseServer(**manners) as server:
            run = Run(at(server, more=';ssl-verify-server-cert=1'))
            run.expect(2)
            check(not server.logins and SECRET not in server.heard,
                  f'{manners}: {server.heard}')


def options_and_variables_tell_nobody():
    for plugin in (CLEAR, DIALOG, CACHING, SHA256):
        with FalseServer(asks=plugin, greets=plugin, tls=True) as server:
            with tempfile.TemporaryDirectory() as place:
                path = pathlib.Path(place) / 'some.cnf'
                path.write_text(f'[client]\ndefault-auth={plugin}\n'
                                'loose-enable-cleartext-plugin\n'
                                'loose-get-server-public-key\n'
                                f'loose-plugin-dir={plugins()}\n', encoding='ascii')
                path.chmod(0o600)
                run = Run(at(server), f'--defaults-file={path}', '--status',
                          environment={'LIBMYSQL_PLUGINS': plugin,
                                       'LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN': '1'})
            check(SECRET not in server.heard, f'{plugin}: {run.said}')
            run.expect(2)


def a_directory_whose_name_ends_a_word_tells_nobody():
    with tempfile.TemporaryDirectory() as place:
        for name in ('a b', "it's", 'a=b', 'a;b', 'a{b', 'a}b'):
            (pathlib.Path(place) / name).mkdir()
            with FalseServer(asks=CACHING) as server:
                run = Run(at(server), environment={'TMPDIR': f'{place}/{name}'})
                check(SECRET not in server.heard, f'{name}: {run.said}')
                if IS_MARIADB and re.search('[;={}]', name):
                    run.expect(125, 'TMPDIR', 'name another directory')
                else:
                    run.expect(2)


def plugins():
    """Where the client's are."""
    for place in pathlib.Path('/usr/lib').glob('*/libmariadb3/plugin'):
        return place
    return '/usr/lib/mysql/plugin'


def what_to_do_is_said():
    with FalseServer(asks=CLEAR) as server:
        Run(at(server)).expect(2, 'plugin', 'nothing proves who it is',
                               '--unverified-auth=PLUGIN')
    with FalseServer(asks=CACHING) as server:
        Run(at(server)).expect(2, '(--unverified-auth=caching_sha2_password)',
                               '(server-public-key)')


def who_says_so_is_told_it():
    if not IS_MARIADB or not (pathlib.Path(plugins()) / f'{CLEAR}.so').exists():
        return
    for plugin, tls in ((CLEAR, False), (CACHING, False), (CACHING, True),
                        (DIALOG, False)):
        with FalseServer(asks=plugin, tls=tls) as server:
            run = Run(at(server), '--no-defaults', '--status',
                      f'--unverified-auth=parsec,{plugin}').expect(2)
            check(SECRET in server.heard, f'{plugin}: {server.heard}: {run.said}')


def a_list_of_plugins_is_one():
    for value in ('', ',', 'a,', 'a b', '../a', 'a;b'):
        Run('host=127.0.0.1;' + ACCOUNT, '--no-defaults', '--status',
            f'--unverified-auth={value}').expect(125, '--unverified-auth: names of')


def who_is_behind_a_socket_file_is_the_server():
    if not IS_MARIADB or not (pathlib.Path(plugins()) / f'{CLEAR}.so').exists():
        return
    with tempfile.TemporaryDirectory() as place:
        path = f'{place}/socket'
        with FalseServer(path=path, asks=CLEAR) as server:
            Run(f'socket={path};{ACCOUNT}').expect(2)
            check(SECRET in server.heard, server.heard)


def a_hash_that_is_enough_lets_in():
    # MySQL's client has no other by which it may.
    for plugin in (CACHING, *(['mysql_native_password'] if IS_MARIADB else [])):
        with FalseServer(asks=plugin, knows=True, lets_in=True) as server:
            Run(at(server)).expect(3, '0001  missing')
            check(SECRET not in server.heard, server.heard)


def no_file_of_this_host_is_sent():
    with tempfile.TemporaryDirectory() as place:
        path, wanted = pathlib.Path(place) / 'some.cnf', f'{place}/wanted'
        path.write_text('[client]\nloose-local-infile=1\n', encoding='ascii')
        path.chmod(0o600)
        pathlib.Path(wanted).write_bytes(b'file17\n')
        with FalseServer(lets_in=True, floods_at=b"SELECT 'server'", flood='file',
                         wants=wanted) as server:
            Run(at(server), f'--defaults-file={path}', '--status').expect(2)
            check(b'file17' not in server.heard, server.heard)


def no_terminal_is_steered_by_what_is_said():
    with FalseServer(denies=b'a\x9b31mb\xc2\x9b31mc\x1b[31md\xe2\x80\xae.\xe0\x82\x9b.'
                            b'\xc3\x9b\xe6\xbc\xa2\xf0\x9f\x94\x92') as server:
        run = Run(at(server)).expect(2)
        check(b'a?31mb?31mc?[31md?.???.' b'\xc3\x9b\xe6\xbc\xa2\xf0\x9f\x94\x92'
              in run.bytes, run.bytes)


def in_haste(place):
    """A copy whose client has a second of processor time."""
    for part in ('tools', 'sql'):
        shutil.copytree(ROOT / part, f'{place}/{part}', ignore=lambda _, names:
                        [n for n in names if part == 'tools' and
                         n != 'rowlock-migrate'])
    path = pathlib.Path(place) / 'sql' / 'client.sh'
    body, count = re.subn('(?m)^readonly CLIENT_CPU_SECONDS=[0-9]*',
                          'readonly CLIENT_CPU_SECONDS=1',
                          path.read_text(encoding='utf-8'))
    check(count == 1, 'CLIENT_CPU_SECONDS')
    path.write_text(body, encoding='utf-8')
    return pathlib.Path(place) / 'tools' / 'rowlock-migrate'


NO_END = 'no answer, or no end of it, within 61 s'
TOO_MUCH = 'goes on for more than 1024 KiB'


def ends(*words, hasty=False, **manners):
    """Time passes when the server says so."""
    with tempfile.TemporaryDirectory() as place:
        clock, sleep = f'{place}/clock', pathlib.Path(place) / 'sleep'
        os.mkfifo(clock)
        sleep.write_text(f'#!/bin/sh\nread -r _ <"{clock}"\n', encoding='ascii')
        sleep.chmod(0o755)
        with FalseServer(lets_in=True, clock=clock,
                         timeless=() if hasty else ('silence', 'results', 'progress'),
                         **manners) as server:
            Run(at(server), '--no-defaults', '--wait=1',
                tool=in_haste(f'{place}/tree') if hasty else MIGRATE,
                environment={'PATH': f'{place}:{os.environ["PATH"]}'}
                ).expect(2, *words)


def an_answer_without_an_end_ends():
    for flood, words in (('rows', TOO_MUCH), ('wide', 'ERROR'),
                         ('results', NO_END), ('progress', 'rowlock-migrate')):
        ends(words, 'nothing was changed', flood=flood, floods_at=b"SELECT 'server'")
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    check(most < 128, f'{most} MiB')


def no_answer_is_waited_for_without_an_end():
    ends(NO_END, 'nothing was changed', flood='silence', floods_at=b"SELECT 'server'")
    ends(NO_END, 'nothing was changed', deaf=True)
    ends(NO_END, 'was given up', deaf_after=b'SELECT table_name FROM (')


def a_migration_takes_no_answer_without_an_end():
    ends(TOO_MUCH, 'was given up', flood='rows', floods_at=b'CREATE TABLE')
    ends('ended by signal', 'was given up', hasty=True, flood='results',
         floods_at=b'CREATE TABLE')


def still_true(state):
    began = time.monotonic()
    while state():
        if time.monotonic() - began > patience():
            return True
        time.sleep(0.05)
    return False


def who_ends_it_ends_the_client_too():
    with tempfile.TemporaryDirectory() as place, \
            FalseServer(lets_in=True, clock=f'{place}/asked', timeless=('silence',),
                        flood='silence', floods_at=b'CREATE TABLE') as server:
        os.mkfifo(server.clock)
        asked = os.open(server.clock, os.O_RDONLY | os.O_NONBLOCK)
        with subprocess.Popen(
                [str(MIGRATE), '--no-defaults'], stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=ENVIRONMENT | {'ROWLOCK_DSN': at(server), 'TMPDIR': TMP.name},
                start_new_session=True) as process:
            poll = select.poll()
            poll.register(asked, select.POLLHUP)
            check(poll.poll(patience() * 1000), 'it does not ask')
            os.close(asked)
            process.terminate()
            check(process.wait(patience()) == 143, f'{process.returncode}')
            check(not still_true(lambda: is_group_alive(process.pid)),
                  'a process is left')
            left = os.listdir(TMP.name)
            check(not left, f'left behind: {left}')


CASES = [nobody_on_loopback_is_told_the_password,
         nobody_is_told_it_by_tls_that_is_not_verified,
         nobody_on_another_host_is_told_it,
         who_is_to_be_verified_is_not_told_who_logs_in,
         options_and_variables_tell_nobody,
         a_directory_whose_name_ends_a_word_tells_nobody, what_to_do_is_said,
         who_says_so_is_told_it, a_list_of_plugins_is_one,
         who_is_behind_a_socket_file_is_the_server,
         a_hash_that_is_enough_lets_in, no_file_of_this_host_is_sent,
         no_terminal_is_steered_by_what_is_said,
         an_answer_without_an_end_ends, no_answer_is_waited_for_without_an_end,
         a_migration_takes_no_answer_without_an_end, who_ends_it_ends_the_client_too]

if __name__ == '__main__':
    if not shutil.which('openssl') or not (shutil.which('mariadb') or
                                           shutil.which('mysql')):
        print('1..0 # SKIP no client, or no openssl')
        sys.exit(77)
    sys.exit(run_all(CASES))
