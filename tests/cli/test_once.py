# SPDX-License-Identifier: MIT
"""Jobs that succeed once per window of the server's time: 'rowlock run --once-per'."""
import datetime
import os
import threading
import unittest

import harness
from harness import (EBUSY, ECONNECT, EDB, EDONE, ELOST, EOVER, EREADONLY, EUNKNOWN,
                     ToolTest)

UTC = datetime.timezone.utc
ZONES = os.path.isdir("/usr/share/zoneinfo/Europe")


def us(text):
    """Microseconds since 1970."""
    when = datetime.datetime.fromisoformat(text).replace(tzinfo=UTC)
    return (when - datetime.datetime(1970, 1, 1, tzinfo=UTC)) // datetime.timedelta(
        microseconds=1)


class Once(ToolTest):
    def run_job(self, *argv, now="2026-11-29 11:00:00", job=("true",), **answers):
        self.fake.answers = {"server_time": [f"reply 0 {us(now)}"], **answers}
        self.fake.seen.clear()
        return self.run_tool("run", *argv, "j", "--", *job)

    def window(self, *argv, now="2026-11-29 11:00:00"):
        """The window of a run, and its most."""
        code, _, err = self.run_job(*argv, now=now)
        self.assertEqual(code, 0, err)
        call = self.fake.expect("once_begin")
        begin, end = (datetime.datetime.fromtimestamp(call.number(key) / 1e6, UTC)
                      .strftime("%Y-%m-%d %H:%M:%S") for key in ("from", "until"))
        return begin, end, call.number("most")

    def test_windows_are_the_servers(self):
        for argv, begin, end in (
                (["--once-per=day"], "2026-11-29 00:00:00", "2026-11-30 00:00:00"),
                (["--once-per=hour"], "2026-11-29 11:00:00", "2026-11-29 12:00:00"),
                (["--once-per=week"], "2026-11-23 00:00:00", "2026-11-30 00:00:00"),
                (["--once-per=90m"], "2026-11-29 10:30:00", "2026-11-29 12:00:00"),
                (["--once-per=day", "--offset=12h"],
                 "2026-11-28 12:00:00", "2026-11-29 12:00:00"),
                (["--once-per=hour", "--offset=10m"],
                 "2026-11-29 10:10:00", "2026-11-29 11:10:00")):
            with self.subTest(argv):
                self.assertEqual(self.window(*argv), (begin, end, 0))
        # The first and the last moment.
        for now in ("2028-02-29 00:00:00", "2028-02-29 23:59:59.999999"):
            self.assertEqual(self.window("--once-per=day", now=now)[:2],
                             ("2028-02-29 00:00:00", "2028-03-01 00:00:00"))

    @unittest.skipUnless(ZONES, "no zones")
    def test_a_day_is_that_of_its_zone(self):
        for now, zone, begin, end in (
                # 23 hours, 25 hours.
                ("2026-03-29 12:00:00", "Europe/Berlin",
                 "2026-03-28 23:00:00", "2026-03-29 22:00:00"),
                ("2026-10-25 12:00:00", "Europe/Berlin",
                 "2026-10-24 22:00:00", "2026-10-25 23:00:00"),
                ("2026-10-25 22:59:59", "Europe/Berlin",
                 "2026-10-24 22:00:00", "2026-10-25 23:00:00"),
                ("2026-10-25 23:00:00", "Europe/Berlin",
                 "2026-10-25 23:00:00", "2026-10-26 23:00:00"),
                # Midnight does not exist there, and then comes twice.
                ("2018-11-04 12:00:00", "America/Sao_Paulo",
                 "2018-11-04 03:00:00", "2018-11-05 02:00:00"),
                ("2018-02-18 02:30:00", "America/Sao_Paulo",
                 "2018-02-17 02:00:00", "2018-02-18 03:00:00"),
                ("2026-11-29 11:00:00", "Asia/Kolkata",
                 "2026-11-28 18:30:00", "2026-11-29 18:30:00"),
                # A day that was left out.
                ("2011-12-30 11:00:00", "Pacific/Apia",
                 "2011-12-30 10:00:00", "2011-12-31 10:00:00")):
            with self.subTest(now + zone):
                self.assertEqual(
                    self.window("--once-per=day", f"--zone={zone}", now=now)[:2],
                    (begin, end))

    @unittest.skipUnless(ZONES, "no zones")
    def test_windows_of_a_zone_have_no_gap(self):
        at, end = us("2026-03-25 00:30:00"), us("2026-04-02 00:00:00")
        before = None
        while at < end:
            now = str(datetime.datetime(1970, 1, 1)
                      + datetime.timedelta(microseconds=at))
            first, last, _ = self.window("--once-per=day", "--zone=Europe/Berlin",
                                         "--offset=150m", now=now)
            if before:
                self.assertEqual(first, before)
            before = last
            at = us(last)

    @unittest.skipUnless(ZONES, "no zones")
    def test_the_commands_zone_stays(self):
        self.environment["TZ"] = "Asia/Tokyo"
        out = self.run_job("--once-per=day", "--zone=Europe/Berlin",
                           job=("sh", "-c", "echo $TZ"))[1]
        self.assertEqual(out, "Asia/Tokyo\n")

    def test_the_window_is_chosen_before_the_wait(self):
        self.run_job("--once-per=day")
        asked = [name for name in self.fake.seen if name in
                 ("server_time", "acquire", "once_begin", "once_end", "release")]
        self.assertEqual(asked, ["server_time", "acquire", "once_begin", "once_end"])

    def test_the_end_tells_how_it_ended(self):
        for status, codes, succeeded in ((0, [], 1), (3, [], 0),
                                         (3, ["--success-codes=0,2-4"], 1),
                                         (0, ["--success-codes=3"], 0),
                                         (123, ["--success-codes=123"], 1)):
            with self.subTest(status=status, codes=codes):
                code, _, err = self.run_job("--once-per=day", *codes,
                                            job=("sh", "-c", f"exit {status}"))
                self.assertEqual((code, err), (status, ""))
                call = self.fake.expect("once_end")
                self.assertEqual((call.number("code"), call.number("succeeded"),
                                  call.number("id")), (status, succeeded, 11))
                self.assertNotIn("release", self.fake.seen)

    def test_only_the_guard_notes_the_success_of_a_guarded_job(self):
        noted = {"once_end": [f"reply {EDONE} noted"]}
        code, out, err = self.run_job("--once-per=day", "--guarded",
                                      job=("env", "-0"), **noted)
        self.assertEqual((code, err), (0, ""))
        self.assertIn("ROWLOCK_GUARD_SQL=the guard and the success of ", out)
        self.assertEqual(self.fake.expect("once_end").number("succeeded"), 0)
        code, _, err = self.run_job("-v", "--once-per=day", "--guarded",
                                    job=("sh", "-c", "exit 3"), **noted)
        self.assertEqual(code, 3)
        self.assertIn("has succeeded in this window", err)

    def test_a_guarded_job_that_commits_no_note_has_failed(self):
        code, _, err = self.run_job("--once-per=day", "--guarded")
        self.assertEqual(code, 125)
        self.assertIn("the command ended with 0, but has committed no note of "
                      "its success", err)
        for answer, status, says in ((f"reply {ELOST} lost", 124, "was lost"),
                                     (f"reply {EDB} refused", 125,
                                      "'rowlock jobs --history' shows")):
            code, _, err = self.run_job("--once-per=day", "--guarded",
                                        once_end=[answer])
            self.assertEqual(code, status, err)
            self.assertIn(says, err)

    def test_nothing_to_do_has_a_code_of_its_own(self):
        done = [f"reply {EDONE} nothing to do"]
        job = ("sh", "-c", "echo ran")
        for argv, code in (([], 0), (["--done-exit-code=7"], 7), (["-E", "9"], 0)):
            self.assertEqual(self.run_job("--once-per=day", *argv, job=job,
                                          once_begin=done), (code, "", ""))
            self.assertIn("release", self.fake.seen)
            self.assertNotIn("once_end", self.fake.seen)
        err = self.run_job("--once-per=day", "-v", job=job, once_begin=done)[2]
        self.assertIn("nothing to do", err)

    def test_a_window_that_is_over_or_a_name_in_use_is_not_acquired(self):
        for answers, says in (({"once_begin": [f"reply {EOVER} over"]}, "over"),
                              ({"acquire": [f"reply {EBUSY} busy"]}, "")):
            code, out, err = self.run_job("--once-per=day", **answers)
            self.assertEqual((code, out), (1, ""))
            self.assertEqual(err, f"rowlock: run: {says}\n" if says else "")
            self.assertEqual(self.run_job("--once-per=day", "-E", "9", **answers)[0], 9)

    def test_a_run_that_cannot_be_begun_does_not_run(self):
        for answers in ({"once_begin": [f"reply {ECONNECT} no way"]},
                        {"server_time": [f"reply {ECONNECT} no way"]},
                        {"once_begin": [f"reply {ELOST} no way"]}):
            code, out, err = self.run_job("--once-per=day", job=("echo", "ran"),
                                          **answers)
            self.assertEqual((code, out), (125, ""))
            self.assertIn("no way", err)

    def test_a_success_that_is_not_noted_is_told(self):
        for number, code in ((ELOST, 124), (EDB, 125)):
            got, _, err = self.run_job("--once-per=day",
                                       once_end=[f"reply {number} not noted"])
            self.assertEqual(got, code)
            self.assertIn("not noted", err)
            self.assertEqual("set succeeded to 1" in err, number == EDB)
            self.assertNotIn("end it again", err)

    def test_a_success_is_noted_when_the_server_is_back(self):
        for number in (ECONNECT, EREADONLY):
            ends = [[f"reply {number} away"], ["reply 0"]]
            code, _, err = self.run_job("--once-per=day",
                                        once_end=lambda call, ends=ends: ends.pop(0))
            self.assertEqual((code, ends), (0, []))
            self.assertIn("away; asks again", err)

    def test_a_signal_ends_the_tries(self):
        process = None
        started = threading.Event()

        def end(_):
            started.wait()
            if self.fake.seen.count("once_end") == 2:
                process.terminate()
            return [f"reply {EUNKNOWN} not known"]
        self.fake.answers = {"server_time": [f"reply 0 {us('2026-11-29 11:00:00')}"],
                             "once_end": end}
        process = self.start("run", "--once-per=day", "j", "true")
        started.set()
        code, _, err = self.finish(process)
        self.assertEqual(code, 125)
        self.assertIn("not known", err)

    def test_a_run_that_is_ended_by_a_signal_has_its_code(self):
        self.fake.answers = {"server_time": [f"reply 0 {us('2026-11-29 11:00:00')}"]}
        process = self.start("run", "--once-per=day", "j", "sh", "-c",
                             "echo up; exec sleep 1000")
        process.stdout.readline()
        process.terminate()
        self.finish(process)
        call = self.fake.expect("once_end")
        self.assertEqual((call.number("code"), call.number("succeeded")), (143, 0))

    def test_a_failed_run_that_is_not_released_is_told(self):
        code, _, err = self.run_job("--once-per=day", "--release-exit-code=99",
                                    job=("sh", "-c", "exit 5"),
                                    once_end=[f"reply {EDB} no"])
        self.assertEqual(code, 99)
        self.assertIn("stays locked", err)

    def test_an_unknown_end_is_asked_for_again(self):
        ends = [[f"reply {EUNKNOWN} not known"]] * 2 + [["reply 0"]]

        def end(_):
            # From then on it is not held.
            self.fake.say("lose")
            return ends.pop(0)

        code, _, err = self.run_job("--once-per=day", once_end=end)
        self.assertEqual((code, ends), (0, []))
        self.assertEqual(err.count("not known; asks again"), 1)

    def test_a_failed_run_whose_release_is_unknown_is_ended_once(self):
        ends = [[f"reply {EUNKNOWN} not known"], ["reply -9 not held"]]
        code, _, err = self.run_job("--once-per=day", job=("sh", "-c", "exit 5"),
                                    once_end=lambda call: ends.pop(0))
        self.assertEqual((code, len(ends)), (5, 1))
        self.assertIn("whether it was locked", err)

    def test_an_end_that_stays_unknown_is_no_success(self):
        code, _, err = self.run_job("--once-per=day", "--ttl=1s",
                                    once_end=[f"reply {EUNKNOWN} not known"])
        self.assertEqual(code, 125)
        self.assertIn("not known", err)

    def test_the_runs_of_a_window_can_be_bounded(self):
        self.assertEqual(self.window("--once-per=day", "--retries=0")[2], 1)
        self.assertEqual(self.window("--once-per=day", "--retries=3")[2], 4)

    def test_as_many_runs_are_kept_as_asked_for(self):
        for argv, kept in (([], 0), (["--keep=1"], 1), (["--keep=1000"], 1000)):
            self.assertEqual(self.run_job("--once-per=day", *argv)[0], 0)
            self.assertEqual(self.fake.expect("once_begin").number("keep"), kept)

    def test_without_it_nothing_is_begun(self):
        self.run_job()
        self.assertNotIn("once_begin", self.fake.seen)
        self.assertNotIn("server_time", self.fake.seen)

    def test_wrong_use_is_told_and_asks_nothing(self):
        for argv, says in (
                (["--once-per=0"], "'0'"), (["--once-per=soon"], "'soon'"),
                (["--once-per=367d"], "'367d'"), (["--once-per=999ms"], "366d"),
                (["--once-per=day", "--zone=Europe/Berlyn"], "'Europe/Berlyn'"),
                (["--once-per=day", "--zone=../../../etc/passwd"], "no zone"),
                (["--once-per=day", "--zone="], "no zone"),
                (["--once-per=day", "--zone=tzdata.zi"], "no zone"),
                (["--once-per=day", "--zone=localtime"], "no zone"),
                (["--once-per=day", "--zone=Factory"], "no zone"),
                (["--once-per=day", "--zone=right/Europe/Berlin"], "no zone"),
                (["--once-per=hour", "--zone=Europe/Berlin"], "day or week"),
                (["--once-per=day", "--offset=24h"], "less than the window"),
                (["--once-per=day", "--offset=1ms"], "whole seconds"),
                (["--once-per=day", "--offset=x"], "--offset"),
                (["--once-per=day", "--retries=-1"], "--retries"),
                (["--once-per=day", "--keep=0"], "from 1 to 1000"),
                (["--once-per=day", "--keep=1001"], "'1001'"),
                (["--once-per=day", "--success-codes=0,124"], "0 to 123"),
                (["--once-per=day", "--success-codes=5-3"], "'5-3'"),
                (["--once-per=day", "--success-codes="], "''"),
                (["--once-per=day", "--done-exit-code=256"], "256"),
                (["--once-per=day", "--read"], "--once-per: only"),
                (["--once-per=day", "--permits=2"], "--once-per: only"),
                (["--once-per=day", "--also=k"], "--once-per: only"),
                (["--once-per=day", "-s", "row"], "--once-per: only"),
                (["--once-per=day", "--at-least=1m"], "--at-least"),
                (["--once-per=day", "--no-supervise"], "--no-supervise"),
                (["--once-per=day", "--guarded=call"], "--guarded=call"),
                (["--zone=Europe/Berlin"], "need --once-per"),
                (["--retries=1"], "need --once-per"),
                (["--keep=1"], "need --once-per")):
            with self.subTest(argv):
                code, out, err = self.run_job(*argv)
                self.assertEqual((code, out, self.fake.seen), (125, "", []))
                self.assertIn(says, err)


if __name__ == "__main__":
    harness.main()
