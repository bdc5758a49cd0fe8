# SPDX-License-Identifier: MIT
"""rowlock under rowlock: who would wait for itself is told so."""
import harness
from harness import EBUSY, ToolTest, entry

LOCK, WRITER, READER = 0, 1, 2
FREE = 2


class Nested(ToolTest):
    HELD = "lease 7 b.sh other\nlease 4711 night.sh j\nrow 12 a.sh j"

    def setUp(self):
        super().setUp()
        self.environment["ROWLOCK_HELD"] = self.HELD
        self.shown(entry("j", token=4711))

    def shown(self, *entries):
        self.fake.answers["list"] = [*entries, "reply 0"]

    def refused(self, *argv, program="rowlock run true"):
        code, out, err = self.run_tool(*argv)
        self.assertEqual((code, out, err), (
            125, "", f"rowlock: {argv[0]}: 'j' on fake:1 is held for "
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

    def test_the_environment_tells_of_all_that_is_held_around_it(self):
        for argv in ((), ("--no-supervise",)):
            code, out, _ = self.run_tool("run", *argv, "k", "sh", "-c",
                                         'echo "$ROWLOCK_HELD"')
            self.assertEqual((code, out),
                             (0, f"lease 4711 sh k\n{self.HELD}\n"))


if __name__ == "__main__":
    harness.main()
