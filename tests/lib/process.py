# SPDX-License-Identifier: MIT
"""What a test asks about processes that are not its own."""

import pathlib


def is_alive(pid):
    """One that has ended and that nobody has waited for is not."""
    try:
        stat = pathlib.Path(f'/proc/{pid}/stat').read_text(encoding='utf-8')
    except OSError:
        return False
    return stat.rpartition(')')[2].split()[0] != 'Z'
