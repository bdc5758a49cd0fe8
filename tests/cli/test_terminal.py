# SPDX-License-Identifier: MIT
"""rowlock run on a terminal: Ctrl-C, Ctrl-Z, fg, bg, pipelines."""
import os
import pty
import select
import signal
import time

import harness
from harness import CLI, ToolTest, patience, waiting


class Terminal(ToolTest):
    def setUp(self):
        super().setUp()
        self.shell = None

    def tearDown(self):
        if self.shell:
            os.close(self.master)
            try:
                os.kill(self.shell, signal.SIGKILL)
            except ProcessLookupError:
                pass
            os.waitpid(self.shell, 0)
        super().tearDown()

    def bash(self):
        """An interactive shell with job control on a terminal of its own."""
        environment = dict(self.environment, PS1="PROMPT> ", R=CLI,
                           HISTFILE="", TERM="dumb")
        self.shell, self.master = pty.fork()
        if self.shell == 0:
            # Python ignores it; subprocess would set it back.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"],
                       environment)
        self.seen_text = ""
        self.read_until("PROMPT> ")

    def read_until(self, text):
        """Until the terminal shows @text; what came before it."""
        end = time.monotonic() + patience()
        while text not in self.seen_text:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.master], [], [], left)[0]:
                self.fail(f"waited {patience():.0f} s for {text!r} in "
                          f"{self.seen_text!r}")
            self.seen_text += os.read(self.master, 65536).decode()
        before, _, self.seen_text = self.seen_text.partition(text)
        return before

    def type(self, text):
        os.write(self.master, text.encode())

    def command(self, text):
        self.type(text + "\n")
        self.read_until("\n")  # the echo

    def test_ctrl_c_reaches_the_command(self):
        self.bash()
        self.command('"$R" run j bash -c "trap \'echo CAUGHT; exit 9\' INT; '
                     'echo READY; sleep 60 & wait"; echo code=$?')
        self.read_until("READY")
        self.type("\x03")
        self.read_until("CAUGHT")
        self.read_until("code=9")
        self.fake.expect("release")

    def test_ctrl_c_ends_elect_with_its_command(self):
        self.bash()
        for command in ("echo READY; exec sleep 60",
                        "trap 'exit 130' INT; echo READY; sleep 60 & wait"):
            self.command(f'"$R" elect j bash -c "{command}"')
            self.read_until("READY")
            self.type("\x03")
            self.read_until("PROMPT> ")
            self.command("echo code=$?")
            self.read_until("code=130")
            self.read_until("PROMPT> ")
        self.assertEqual(self.fake.seen.count("acquire"), 2)

    def test_the_command_can_read_from_the_terminal(self):
        self.bash()
        self.command('"$R" run j bash -c "echo READY; read x; echo got=\\$x"; '
                     "echo code=$?")
        self.read_until("READY")
        self.type("hello\n")
        self.read_until("got=hello")
        self.read_until("code=0")
        # The shell has its terminal back.
        self.command("echo $((40 + 2))")
        self.read_until("42")

    def test_ctrl_z_stops_the_job_and_fg_continues_it(self):
        self.bash()
        self.command('"$R" run j bash -c "echo READY; read x; echo got=\\$x"')
        self.read_until("READY")
        self.type("\x1a")
        self.read_until("Stopped")
        self.read_until("PROMPT> ")
        self.assertNotIn("release", self.fake.seen)
        self.command("fg; echo code=$?")
        self.read_until("run j")
        self.type("again\n")
        self.read_until("got=again")
        self.read_until("code=0")

    def test_a_job_that_lost_its_lock_while_stopped_does_not_go_on(self):
        self.bash()
        self.command('"$R" run -t 100s j bash -c "echo READY; read x; '
                     'echo went=\\$x"')
        self.read_until("READY")
        self.type("\x1a")
        self.read_until("Stopped")
        self.read_until("PROMPT> ")
        self.fake.say("remaining 0")
        self.command("fg; echo code=$?")
        self.type("on\n")
        self.assertNotIn("went=on", self.read_until("code=124"))

    def test_in_the_background_it_runs_and_stops_when_it_reads(self):
        self.bash()
        self.command('"$R" run j bash -c "echo READY; read x; echo got=\\$x" &')
        self.read_until("READY")
        # bash tells of it at the next prompt.
        for waited in waiting():
            self.command("jobs")
            told = self.read_until("PROMPT> ")
            if "Stopped" in told:
                break
        else:
            self.fail(f"waited {waited:.0f} s for the job to stop: {told!r}")
        self.command("fg; echo code=$?")
        self.read_until("run j")
        self.type("late\n")
        self.read_until("got=late")
        self.read_until("code=0")

    def test_in_a_pipeline_the_others_keep_the_terminal(self):
        self.bash()
        self.command('"$R" run j bash -c "echo READY; sleep 60 & wait" | '
                     "bash -c 'read x; echo $x; read y </dev/tty; "
                     "echo reader=$y'")
        self.type("mine\n")
        self.read_until("reader=mine")
        self.type("\x03")
        self.read_until("PROMPT> ")
        self.command("echo code=${PIPESTATUS[0]}")
        self.read_until("code=130")

    def test_in_a_pipeline_a_command_that_reads_gets_the_terminal(self):
        self.bash()
        self.command('"$R" run j bash -c "echo READY; read x </dev/tty; '
                     'echo got=\\$x" | cat; echo code=${PIPESTATUS[0]}')
        self.read_until("READY")
        self.type("typed\n")
        self.read_until("got=typed")
        self.read_until("code=0")

    def test_without_a_shell_with_job_control_ctrl_z_does_not_hang(self):
        self.shell, self.master = pty.fork()
        if self.shell == 0:
            # Python ignores it; subprocess would set it back.
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.execvpe(CLI, ["rowlock", "run", "j", "bash", "-c",
                             "echo READY; read x; echo got=$x"],
                       self.environment)
        self.seen_text = ""
        self.read_until("READY")
        self.type("\x1a")
        self.type("still here\n")
        self.read_until("got=still here")


if __name__ == "__main__":
    harness.main()
