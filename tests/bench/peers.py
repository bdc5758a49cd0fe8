# SPDX-License-Identifier: MIT
"""Which systems the tests play: ours everywhere; the peers only where
ROWLOCK_TEST_PEERS=1 asks for them, or a machine's suite would hang on what else
is installed there."""

import os

from stage import SYSTEMS

ASKED_FOR = os.environ.get('ROWLOCK_TEST_PEERS') == '1'


def why_not(stage, name):
    """Why this system is not played; None if it is."""
    if SYSTEMS[name].server not in ('database', 'none') and not ASKED_FOR:
        return 'a peer, not asked for by ROWLOCK_TEST_PEERS=1'
    return stage.why_not(name)
