# SPDX-License-Identifier: MIT
"""A standard error, or output, that nobody reads: nothing waits for a reader."""
import fcntl
import os
import pty
import signal
import socket
import subprocess
import sys
import termios

import harness
from harness import REAPERD, ToolTest, patience


def fill(fd):
    """Until there is no room for a byte."""
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    fcntl.fcntl(fd, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    for size in (4096, 1):
        try:
            while True:
                os.write(fd, b"." * size)
        except BlockingIOError:
            pass
    # The open file is the tool's as well, and was not like this.
    fcntl.fcntl(fd, fcntl.F_SETFL, flags)


class Unread(ToolTest):
    # Says when it is ready, and when it is told to end.
    OBEYS = ("exec 2>/dev/null; trap 'echo TERM; exit 0' TERM; echo ready; "
             "while :; do sleep 0.05; done")

    def keep(self, *fds):
        for fd in fds:
            self.addCleanup(os.close, fd)
        return fds

    def pipe(self):
        read, write = self.keep(*os.pipe())
        fill(write)
        return read, write

    def socket(self):
        ours, its = socket.socketpair()
        self.addCleanup(ours.close)
        self.addCleanup(its.close)
        fill(its.fileno())
        return ours.fileno(), its.fileno()

    def terminal(self):
        """One that was stopped by Ctrl-S."""
        master, slave = self.keep(*pty.openpty())
        termios.tcflow(slave, termios.TCOOFF)
        return master, slave

    def ready(self, *argv, stderr):
        process = self.start(*argv, "j", "bash", "-c", self.OBEYS,
                             stderr=stderr)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_a_loss_ends_the_command_though_nobody_reads_of_it(self):
        for kind in (self.pipe, self.socket, self.terminal):
            with self.subTest(kind.__name__):
                _, stderr = kind()
                process = self.ready("run", "-v", stderr=stderr)
                self.fake.say("lose")
                self.assertEqual(process.stdout.readline(), "TERM\n")
                self.assertEqual(process.wait(patience()), 124)

    def test_a_leader_is_ended_though_nobody_reads_of_it(self):
        process = self.ready("elect", "-v", "--pause=1ms",
                             stderr=self.pipe()[1])
        self.fake.say("lose")
        self.assertEqual(process.stdout.readline(), "TERM\n")
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.terminate()
        process.wait(patience())

    def test_the_command_in_place_starts_though_nobody_reads(self):
        process = self.ready("run", "-v", "--no-supervise",
                             stderr=self.pipe()[1])
        self.fake.say("lose")
        process.terminate()
        process.wait(patience())

    def behind_a_full_pipe(self):
        """A run whose stderr has no room, and the pipe's other end."""
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        fill(write)
        process = self.ready("run", "-v", stderr=write)
        os.close(write)
        return process, read

    def test_what_the_library_logs_keeps_nothing_back(self):
        process = self.ready("run", "-v", stderr=self.pipe()[1])
        self.fake.say(*["log " + "x" * 60] * 2000)
        self.fake.say("lose")
        self.assertEqual(process.stdout.readline(), "TERM\n")
        self.assertEqual(process.wait(patience()), 124)

    def test_what_nobody_has_read_is_written_later_and_counted(self):
        process, read = self.behind_a_full_pipe()
        self.fake.say(*[f"log line {i} " + "x" * 4000 for i in range(30)])
        self.fake.say("lose")
        self.assertEqual(process.stdout.readline(), "TERM\n")
        text = b""
        while piece := os.read(read, 65536):
            text += piece
        lines = text.decode().lstrip(".").splitlines()
        self.assertIn("run: acquired 'j'", lines[0])
        self.assertIn("line 0 x", lines[1])
        missing = sum(int(line.split()[1]) for line in lines if line.endswith(
            " messages are missing here: nobody read stderr"))
        kept = sum(": line " in line for line in lines)
        self.assertGreater(missing, 0)
        self.assertEqual(kept + missing, 30)

    def test_a_message_is_written_when_somebody_reads_and_not_with_the_next(self):
        process, read = self.behind_a_full_pipe()
        text = b""
        while b"run: acquired 'j'" not in text:
            piece = os.read(read, 65536)
            self.assertTrue(piece, "it has ended")
            text += piece
        process.terminate()
        self.assertEqual(process.wait(patience()), 0)

    def test_a_command_that_does_not_exist_is_127_though_nobody_reads(self):
        process = self.start("run", "j", "/nonexistent/job",
                             stderr=self.pipe()[1])
        self.assertEqual(process.wait(patience()), 127)

    def test_a_command_that_cannot_be_executed_is_told_in_one_piece(self):
        ours, its = socket.socketpair(type=socket.SOCK_DGRAM)
        self.addCleanup(ours.close)
        process = self.start("run", "j", "/nonexistent/a job", stderr=its)
        its.close()
        self.assertEqual(process.wait(patience()), 127)
        self.assertEqual(
            ours.recv(65536), b"rowlock: cannot execute '/nonexistent/a job': "
            b"No such file or directory; use -c for a shell command\n")

    def test_the_daemon_stops_though_nobody_reads(self):
        process = self.start("-v", "-i", "100ms", tool=REAPERD,
                             stderr=self.pipe()[1])
        self.fake.answers["reap"] = ["reaped 2 3 1", "reply 0"]
        for _ in range(3):
            self.fake.expect("reap")
        process.terminate()
        self.assertEqual(process.wait(patience()), 0)

    def test_the_commands_stderr_stays_one_that_waits(self):
        read, write = self.keep(*os.pipe())
        code = self.start("run", "-v", "j", sys.executable, "-c",
                          "import os; print(os.get_blocking(2))",
                          stderr=write)
        self.assertEqual(code.stdout.read(), "True\n")


class Hold(ToolTest):
    def hold(self):
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        fill(write)
        # So that its first look at what it holds is told.
        self.fake.answers["acquire"] = ["frozen 1000000", "reply 0"]
        process = self.start("hold", "j", stdin=subprocess.PIPE, stdout=write)
        os.close(write)
        self.fake.expect("looked")
        return process, read

    def test_a_token_that_nobody_reads_keeps_no_signal_back(self):
        process, _ = self.hold()
        process.terminate()
        self.assertEqual(process.wait(patience()), 0)
        self.fake.expect("release")

    def test_a_token_that_nobody_reads_keeps_no_loss_back(self):
        process, _ = self.hold()
        self.fake.say("lose")
        self.assertEqual(process.wait(patience()), 124)

    def test_a_token_is_written_as_soon_as_somebody_reads(self):
        process, read = self.hold()
        text = b""
        while not text.endswith(b"\n"):
            text += os.read(read, 65536)
        self.assertEqual(text.lstrip(b"."), b"4711 j\n")
        process.terminate()
        self.assertEqual(process.wait(patience()), 0)


class Guard(ToolTest):
    def test_a_guard_that_is_stopped_is_not_waited_for(self):
        process = self.start("run", "j", "sh", "-c", "echo; read x",
                             stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "\n")
        guard = self.await_guard(process)
        os.kill(guard, signal.SIGSTOP)
        self.await_state(guard, "T")
        process.stdin.close()
        self.assertEqual(process.wait(patience()), 1)
        self.fake.expect("release")


if __name__ == "__main__":
    harness.main()
