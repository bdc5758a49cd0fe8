# SPDX-License-Identifier: MIT
"""What the tools do as time passes, by a clock that the test moves."""
import os
import socket
import unittest

import harness
from harness import EAUTH, ECONNECT, REAPERD, ToolTest, entry, patience


class PaceTest(ToolTest):
    def setUp(self):
        super().setUp()
        self.environment["ROWLOCK_FAKE_PACE"] = "1"

    def sleep_through(self):
        """The next pause, which is over then."""
        ms = self.fake.expect("pause").number("ms")
        self.fake.say(f"pass {ms}")
        return ms


class Retry(PaceTest):
    """run --retry-connect"""

    def away_after(self, ms):
        """The server goes away, so long after it was asked for the lock."""
        self.fake.expect("acquire")
        if ms:
            self.fake.pass_time(ms)
        self.fake.say(f"reply {ECONNECT} away")

    def test_a_server_that_was_there_has_all_of_the_time_again(self):
        self.fake.answers["acquire"] = None
        process = self.start("run", "--retry-connect=10s", "j", "true")
        # Twice the time in which one that is away is seen to be.
        self.away_after(30001)
        pauses = []
        for _ in range(7):
            pauses.append(self.sleep_through())
            self.away_after(0)
        self.assertEqual(pauses, [200, 400, 800, 1600, 3000, 3000, 1000])
        self.assertEqual(self.finish(process)[0], 125)

    def test_a_server_that_was_away_has_what_is_left(self):
        self.fake.answers["acquire"] = None
        process = self.start("run", "--retry-connect=31s", "j", "true")
        self.away_after(30000)
        self.assertEqual(self.sleep_through(), 200)
        self.away_after(0)
        self.assertEqual(self.sleep_through(), 400)
        self.away_after(0)
        # No more is left.
        self.assertEqual(self.sleep_through(), 400)
        self.away_after(0)
        self.assertEqual(self.finish(process)[0], 125)

    def test_no_pause_is_beyond_the_end_of_the_wait(self):
        self.fake.answers["acquire"] = None
        process = self.start("run", "-w", "500ms", "--retry-connect=1h", "j",
                             "true")
        self.assertEqual(self.fake.expect("acquire").number("wait"), 500)
        self.fake.say(f"reply {ECONNECT} away")
        self.assertEqual(self.sleep_through(), 200)
        self.assertEqual(self.fake.expect("acquire").number("wait"), 300)
        self.fake.say(f"reply {ECONNECT} away")
        self.assertEqual(self.sleep_through(), 300)
        self.away_after(0)
        self.assertEqual(self.finish(process)[0], 125)


class Wait(PaceTest):
    """rowlock wait"""

    def test_a_wait_ends_to_the_millisecond(self):
        self.fake.answers["list"] = [entry("j", held=1000, remaining=9000),
                                     "reply 0"]
        for total in 1, 2, 3, 60, 1234, 5000:
            process = self.start("wait", "-w", f"{total}ms", "-E", "7", "j")
            most, passed, looks = 50, 0, 1
            self.fake.expect("list")
            while passed < total:
                ms = self.sleep_through()
                self.fake.expect("list")
                pause = min(most, total - passed)
                self.assertIn(ms, range(pause // 2, pause + 1))
                passed += ms
                most = min(2 * most, 1000)
                looks += 1
            self.assertEqual(passed, total)
            # The last look was at its end.
            self.assertEqual(self.finish(process)[0], 7)
            self.assertEqual(self.fake.seen.count("list"), looks)
            self.fake.seen.clear()

    def test_a_wait_ends_with_the_look_that_finds_it_free(self):
        held = [entry("j", held=1000, remaining=9000), "reply 0"]
        looks = [held] * 9
        self.fake.answers["list"] = lambda _: (
            looks.pop() if looks else ["reply 0"])
        process = self.start("wait", "-w", "1h", "j")
        for _ in range(9):
            self.assertLessEqual(self.sleep_through(), 1000)
        self.assertEqual(self.finish(process)[0], 0)
        self.assertEqual(self.fake.seen.count("list"), 10)


class Elect(PaceTest):
    def test_a_refusal_after_months_has_all_of_the_time_again(self):
        ok, refused = ["reply 0"], [f"reply {EAUTH} another password"]
        news = [ok, refused, ok, refused, ok]
        self.fake.answers["client_new"] = lambda _: news.pop(0) if news else None
        process = self.start("elect", "--pause=1ms", "--refusal-timeout=1h", "j",
                             "true")
        months = 0
        while news:
            call = self.fake.next_call("its last candidacy")
            if call.name == "client_free":
                months = 9000000000
            elif call.name == "pause":
                self.fake.say(f"pass {months or call.number('ms')}")
                months = 0
        process.kill()
        self.assertEqual(process.stderr.read().count("another password; it stands "
                                                     "again until it works"), 2)


@unittest.skipUnless(os.environ.get("HAVE_LIBSYSTEMD") == "1",
                     "built without libsystemd")
class Daemon(PaceTest):
    """rowlock-reaperd"""

    def test_it_gives_signs_of_life_in_a_long_pause(self):
        path = os.path.join(self.directory, "notify")
        self.environment["NOTIFY_SOCKET"] = path
        self.environment["WATCHDOG_USEC"] = str(60 * 1000000)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(path)
            notify.settimeout(patience())
            self.start("-i", "10m", tool=REAPERD)
            self.fake.expect("reap")
            passed, pauses = 0, []
            while not pauses or pauses[-1] == 30000:
                pauses.append(self.sleep_through())
                # One after each half of the time that systemd gives it.
                while notify.recv(4096) != b"WATCHDOG=1":
                    pass
            self.fake.expect("reap")
            self.assertIn(sum(pauses), range(540000, 660001))
            self.assertGreaterEqual(len(pauses), 18)


if __name__ == "__main__":
    harness.main()
