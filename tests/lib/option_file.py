# SPDX-License-Identifier: MIT
"""A connection string as an option file."""

import os

KEYS = ('host', 'port', 'socket', 'user', 'password', 'database')


def option_file(path, dsn, group='client'):
    """What the string says, as the mariadb client reads it."""
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600), 'w',
              encoding='utf-8') as out:
        out.write(f'[{group}]\n')
        for pair in dsn.split(';'):
            key, _, value = pair.strip().partition('=')
            if key in KEYS:
                out.write(f'{key}={value}\n')
