# SPDX-License-Identifier: MIT
"""counter.py NAME ROUNDS: count up under holds, of which some are lost meanwhile."""

import json
import os
import random
import signal
import subprocess
import sys

import pymysql

# To see what is lost without it.
GUARD = ['DO 0'] if 'UNGUARDED' in os.environ else None

name, rounds = sys.argv[1], int(sys.argv[2])
db = pymysql.connect(read_default_file='shop.cnf', autocommit=False)
committed = 0
for _ in range(rounds):
    hold = subprocess.Popen(
        ['rowlock', 'hold', '--json', '--guarded', '-t', '1s', name],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    held = json.loads(hold.stdout.readline())
    assert held['event'] == 'held', held
    with db.cursor() as cursor:
        cursor.execute('SELECT n FROM shop_counter')
        (n,), = cursor.fetchall()
        chance = random.random()
        if chance < 0.1:
            subprocess.run(['rowlock', 'break', name], check=False)
        elif chance < 0.12:
            hold.send_signal(signal.SIGSTOP)
            assert json.loads(hold.stdout.readline())['event'] == 'lost'
        try:
            cursor.execute('UPDATE shop_counter SET n = %s', (n + 1,))
            for statement in GUARD or held['guard']:
                cursor.execute(statement)
        except pymysql.MySQLError:
            db.rollback()
        else:
            db.commit()
            committed += 1
    hold.communicate()
print(committed)
