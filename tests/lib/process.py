# SPDX-License-Identifier: MIT
"""What a test asks about processes that are not its own.

One that has ended exists until its parent takes it up, and in a container whose
first process takes up nobody it exists for ever. So no test asks whether one exists
(kill(2) with signal 0, /proc/PID) when it means whether it runs. process.sh says the
same to scripts."""

import pathlib

PROC = pathlib.Path('/proc')


def _stat(path):
    """Its words behind the name: state, parent, group and so on. None: it has gone."""
    try:
        return path.read_text(encoding='utf-8', errors='replace') \
            .rpartition(')')[2].split()
    except OSError:
        return None


def is_alive(pid):
    """Does any thread of it run? The first may have ended before the others."""
    try:
        threads = [_stat(path) for path in (PROC / str(pid) / 'task').glob('*/stat')]
    except OSError:
        return False
    return any(words and words[0] not in 'ZX' for words in threads)


def is_group_alive(group):
    """Does any process of the group run?"""
    for path in PROC.glob('[0-9]*'):
        words = _stat(path / 'stat')
        if words and words[2] == str(group) and is_alive(path.name):
            return True
    return False
