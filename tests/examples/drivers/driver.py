# SPDX-License-Identifier: MIT
"""driver.py DRIVER WAY: a transaction of a shop by a driver of Python, with its guard."""

import asyncio
import os
import sys

UPDATE = 'UPDATE shop SET balance = balance - 10 WHERE id = 1'
GUARD = os.environ['ROWLOCK_GUARD_SQL']
HOST, PORT = os.environ['SHOP_HOST'], int(os.environ['SHOP_PORT'])
USER, PASSWORD = os.environ['SHOP_USER'], os.environ['SHOP_PASSWORD']
DATABASE = os.environ['SHOP_DATABASE']
SEVERAL = 1 << 16  # CLIENT_MULTI_STATEMENTS


def connect(driver):
    if driver == 'pymysql':
        import pymysql
        return pymysql.connect(host=HOST, port=PORT, user=USER,
                               password=PASSWORD, database=DATABASE,
                               client_flag=SEVERAL)
    if driver == 'MySQLdb':
        import MySQLdb
        return MySQLdb.connect(host=HOST, port=PORT, user=USER,
                               passwd=PASSWORD, db=DATABASE,
                               client_flag=SEVERAL)
    import pyodbc
    return pyodbc.connect(
        f'DRIVER={{MariaDB Unicode}};SERVER={HOST};PORT={PORT};UID={USER};'
        f'PWD={PASSWORD};DATABASE={DATABASE};OPTION=67108864',
        autocommit=False)


def play(driver, way):
    db = connect(driver)
    cursor = db.cursor()
    cursor.execute(UPDATE)
    if way == 'one by one':
        for statement in GUARD.split('; '):
            cursor.execute(statement)
    elif way == 'one text and its results':
        cursor.execute(GUARD)
        while cursor.nextset():
            pass
    elif way == 'one text and no result':
        cursor.execute(GUARD)
    elif way == 'errors passed over':
        for statement in GUARD.split('; '):
            try:
                cursor.execute(statement)
            except Exception:  # pylint: disable=broad-except
                pass
    db.commit()


async def play_aio(way):
    import aiomysql
    db = await aiomysql.connect(host=HOST, port=PORT, user=USER,
                                password=PASSWORD, db=DATABASE,
                                client_flag=SEVERAL)
    cursor = await db.cursor()
    await cursor.execute(UPDATE)
    for statement in (GUARD.split('; ') if way == 'one by one' else [GUARD]):
        await cursor.execute(statement)
    await db.commit()


if sys.argv[1] == 'aiomysql':
    asyncio.run(play_aio(sys.argv[2]))
else:
    play(*sys.argv[1:3])
