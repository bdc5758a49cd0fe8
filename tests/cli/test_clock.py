# SPDX-License-Identifier: MIT
"""Hosts whose clock is wrong, against a real server (ROWLOCK_TEST_DSN)."""
import glob
import os
import sys
import time

import harness
import test_server
from harness import patience


class Clock(test_server.ServerTest):
    def test_a_host_with_a_wrong_clock_takes_and_loses_nothing(self):
        library = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        if not library or os.environ.get("ROWLOCK_TEST_SLOW"):
            self.skipTest("no libfaketime here, or none that a sanitizer or "
                          "valgrind goes with")
        right = self.environment
        for days in (-2, 2):
            wrong = dict(right, LD_PRELOAD=library[0], FAKETIME=f"{days:+d}d",
                         FAKETIME_DONT_FAKE_MONOTONIC="1")
            for holders, others in ((right, wrong), (wrong, right)):
                name = self.name("clock")
                holder, pidfd = self.holder(name, env=holders)
                self.assertEqual(self.run_tool("run", "-n", name, "true",
                                               env=others)[0], 1)
                # It is alive, by the server's clock.
                self.assertEqual([entry["state"] for entry in self.list()],
                                 ["held"])
                holder.stdin.close()
                self.assertEqual(holder.wait(patience()), 3)
                self.gone(pidfd)
                code, out, err = self.run_tool("run", "-n", name, "date", "+%s",
                                               env=others)
                self.assertEqual(code, 0, err)
                off = (int(out) - time.time()) / 86400
                self.assertAlmostEqual(off, days if others is wrong else 0,
                                       delta=0.5)


if __name__ == "__main__":
    if not test_server.DSN:
        print("1..0 # SKIP no ROWLOCK_TEST_DSN")
        sys.exit(77)
    harness.main()
