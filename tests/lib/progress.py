# SPDX-License-Identifier: MIT
"""What long work shows while it goes on."""

import contextlib
import sys


class Progress:
    """One line that is written over, on a terminal only, for as long as that is
    there."""

    def __init__(self):
        self.shown = sys.stdout.isatty()

    def tell(self, text):
        if self.shown:
            with contextlib.suppress(OSError):
                print(f'\r\033[K{text}', end='', flush=True)

    def clear(self):
        self.tell('')
