# SPDX-License-Identifier: MIT
"""test_counter.py COUNTER: programs in several languages count up beside each other, 12
times each, or 25 times as often as ROWLOCK_TEST_HOLDS says, while one in ten of their holds is lost between the read and
the write. No count is lost. Speaks TAP."""

import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'lib'))

# pylint: disable=wrong-import-position
import shop as shops  # noqa: E402
from patience import patience  # noqa: E402
from tap import Tap, check  # noqa: E402

COUNTER = os.path.abspath(sys.argv[1])
ROUNDS = 25 * int(os.environ.get('ROWLOCK_TEST_HOLDS', 0)) or 12
# Its command, and what has to be there.
WORKERS = {
    'C': ([COUNTER], None),
    'Python': (['/usr/bin/python3', 'counter.py'], ['-c', 'import pymysql']),
    'Perl': (['perl', 'counter.pl'], ['-e', 'use DBD::MariaDB; use JSON::PP']),
    'PHP': (['php', 'counter.php'],
            ['-r', 'exit(class_exists("mysqli") ? 0 : 1);']),
}


def is_here(command, driver):
    return not driver or (shutil.which(command[0]) and subprocess.run(
        [command[0], *driver], capture_output=True, check=False).returncode == 0)


def play(directory, workers):
    shop = shops.Shop(directory, 'counter')
    shop.sql('CREATE TABLE IF NOT EXISTS shop_counter (n INT NOT NULL) ENGINE=InnoDB; '
             'DELETE FROM shop_counter; INSERT INTO shop_counter VALUES (0);')
    env = dict(os.environ, ROWLOCK_DSN=shops.DSN,
               PATH=os.path.dirname(shops.CLI) + ':' + os.environ['PATH'])
    running = [subprocess.Popen(
        [command[0], *(os.path.join(HERE, word) for word in command[1:]),
         shop.name, str(ROUNDS)], cwd=directory, env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for command in workers]
    committed = [process.communicate(timeout=patience() + 2 * ROUNDS)[0]
                 for process in running]
    check(all(process.returncode == 0 for process in running),
          f'they ended with {[process.returncode for process in running]}')
    counted = int(shop.sql('SELECT n FROM shop_counter;')[0])
    total = len(workers) * ROUNDS
    told = sum(int(text.split()[-1]) for text in committed)
    print(f'# counts: {total} holds, {total - told} lost, {told} committed, '
          f'{counted} counted', flush=True)
    shop.sql('DROP TABLE shop_counter;')
    check(counted == told, f'{told} were told to be committed, and {counted} are')
    check(told < total or ROUNDS == 12, 'no hold was lost: nothing was tried')


def main():
    tap = Tap(1)
    here = {name: command for name, (command, driver) in WORKERS.items()
            if is_here(command, driver)}
    with tempfile.TemporaryDirectory(prefix='rowlock-test-') as directory:
        print('# server: given', flush=True)
        print(f'# languages: {" ".join(here)}', flush=True)
        tap.case('no count is lost between languages', play, directory,
                 list(here.values()), skip=shops.why_not())
    return tap.status()


if __name__ == '__main__':
    sys.exit(main())
