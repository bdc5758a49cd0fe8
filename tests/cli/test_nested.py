# SPDX-License-Identifier: MIT
"""rowlock under rowlock: who would wait for itself is told so."""
import harness
from harness import EBUSY, ECONNECT, ToolTest, entry

LOCK, WRITER, READER, PERMIT = 0, 1, 2, 3
FREE = 2


class Nested(ToolTest):
    HELD = "lease 7 b.sh other\nlease 4711 night.sh j\nrow 12 a.sh j"

    def setUp(self):
        super().setUp()
        self.environment["ROWLOCK_HELD"] = self.HELD
        self.shown(entry("j", token=4711))

    def shown(self, *entries):
        self.fake.answers["list"] = [*entries, "reply 0"]

    def refused(self, *argv, program="rowlock run true", how="is held for"):
        code, out, err = self.run_tool(*argv)
        self.assertEqual((code, out, err), (
            125, "", f"rowlock: {argv[0]}: 'j' on fake:1 {how} "
            f"'{self.outer}', which runs this: '{program}' would wait for "
            "itself; lock it in one of the two, or, if the first does not "
            "wait for this, run it by 'env -u ROWLOCK_HELD'\n"))
        self.assertNotIn("acquire", self.fake.seen)

    outer = "night.sh"

    def test_a_run_of_the_name_that_its_caller_holds_fails_at_once(self):
        self.refused("run", "j", "true")
        self.refused("run", "-w", "10", "--also=k", "j", "true")
        self.refused("hold", "j", program="rowlock hold")
        self.refused("elect", "j", "true", program="rowlock elect true")
        self.refused("wait", "j", program="rowlock wait")

    def test_a_name_that_begins_with_a_blank_is_another_one(self):
        self.environment["ROWLOCK_HELD"] = "lease 4711 night.sh  j"
        self.assertEqual(self.run_tool("run", "j", "true")[0], 0)
        self.shown(entry(" j", token=4711))
        code, _, err = self.run_tool("run", " j", "true")
        self.assertEqual(code, 125)
        self.assertIn("' j' on fake:1 is held for 'night.sh'", err)

    def test_under_row_an_unknown_state_counts(self):
        self.outer = "a.sh"
        self.shown(entry("j", strategy=1, state=3, token=12))
        self.refused("run", "-s", "row", "j", "true")

    def test_a_try_is_told_that_it_is_held(self):
        self.fake.answers["acquire"] = [f"reply {EBUSY} held"]
        self.assertEqual(self.run_tool("run", "-n", "j", "true"), (1, "", ""))
        self.assertNotIn("list", self.fake.seen)

    def test_what_the_caller_does_not_hold_any_more_is_waited_for(self):
        for now in (entry("j", token=4712), entry("jj", token=4711),
                    entry("j", token=4711, state=FREE)):
            self.shown(now)
            self.assertEqual(self.run_tool("run", "j", "true")[0], 0)
        for name in ("k", "oth"):
            self.assertEqual(self.run_tool("run", name, "true")[0], 0)

    def test_readers_do_not_keep_each_other_out(self):
        self.shown(entry("j", token=4711, kind=READER))
        self.assertEqual(self.run_tool("run", "--read", "j", "true")[0], 0)
        self.assertEqual(self.run_tool("run", "j", "true")[0], 0)
        self.fake.seen.clear()
        self.refused("run", "--write", "j", "true")
        self.shown(entry("j", token=4711, kind=WRITER))
        self.refused("run", "--read", "j", "true")

    def test_a_reader_is_known_also_behind_the_token_of_another(self):
        self.environment["ROWLOCK_HELD"] = "attempt 99 night.sh j"
        readers = (entry("j", kind=READER, attempt=98, token=7, slot=4),
                   entry("j", kind=READER, attempt=99, slot=5))
        self.shown(*readers)
        self.refused("run", "--write", "j", "true")
        self.assertEqual(self.run_tool("run", "--read", "j", "true")[0], 0)
        self.shown(readers[0])
        self.assertEqual(self.run_tool("run", "--write", "j", "true")[0], 0)

    def test_a_reader_does_not_wait_for_a_writer_that_waits_for_its_caller(self):
        self.environment["ROWLOCK_HELD"] = "attempt 99 night.sh j"
        writer = entry("j", kind=WRITER, attempt=97, token=8)
        self.shown(writer, entry("j", kind=READER, attempt=99, slot=5))
        self.refused("run", "--read", "j", "true",
                     how="has a writer that waits for")
        self.shown(writer)
        self.assertEqual(self.run_tool("run", "--read", "j", "true")[0], 0)

    def permits(self, own, others=0):
        self.shown(*(entry("j", kind=PERMIT, slot=at,
                           attempt=99 if at < own else 98)
                     for at in range(own + others)))

    def test_permits_that_its_caller_holds_are_not_waited_for(self):
        self.environment["ROWLOCK_HELD"] = "attempt 99 night.sh j"
        self.permits(1)
        self.refused("run", "--permits=1", "j", "true",
                     how="has 1 of its 1 permits held for")
        self.permits(2, others=1)
        self.refused("hold", "--permits=3", "--take=2", "j",
                     program="rowlock hold",
                     how="has 2 of its 3 permits held for")
        self.refused("wait", "j", program="rowlock wait")
        # These may become free.
        self.assertEqual(self.run_tool("run", "--permits=3", "j", "true")[0], 0)
        self.permits(0, others=3)
        self.assertEqual(self.run_tool("run", "--permits=3", "j", "true")[0], 0)

    def test_how_many_permits_there_are_is_asked_for_if_it_is_stored(self):
        self.environment["ROWLOCK_HELD"] = "attempt 99 night.sh j"
        self.permits(2)
        self.fake.answers["count"] = ["reply 1 2 2"]
        self.refused("run", "--permits=stored", "j", "true",
                     how="has 2 of its 2 permits held for")
        for answer in "reply 1 3 2", "reply 1 0 0", f"reply {ECONNECT} away":
            self.fake.answers["count"] = [answer]
            self.assertEqual(
                self.run_tool("run", "--permits=stored", "j", "true")[0], 0)

    def test_a_reader_and_permits_are_told_by_their_attempt(self):
        for argv in (["--read"], ["--permits=3"],
                     ["--permits=3", "--no-supervise"]):
            code, out, _ = self.run_tool("run", *argv, "k", "sh", "-c",
                                         'echo "$ROWLOCK_HELD"')
            self.assertEqual((code, out.splitlines()[0]),
                             (0, f"attempt {2**64 - 1} sh k"))

    def test_the_environment_tells_of_all_that_is_held_around_it(self):
        for argv in ((), ("--no-supervise",)):
            code, out, _ = self.run_tool("run", *argv, "k", "sh", "-c",
                                         'echo "$ROWLOCK_HELD"')
            self.assertEqual((code, out),
                             (0, f"lease 4711 sh k\n{self.HELD}\n"))


if __name__ == "__main__":
    harness.main()
