# SPDX-License-Identifier: MIT
"""Run a tool on the fake librowlock, and answer its calls.

fake_rowlock.c says what goes over the socket. Nothing here sleeps: a test
waits for a call, for a line or for the end of a process, each with a bound of
patience() seconds that only a hang reaches; so has a test as a whole.
"""
import fcntl
import math
import os
import queue
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unicodedata
import unittest
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

# pylint: disable=wrong-import-position
from patience import patience  # noqa: E402
from tap import Tap  # noqa: E402

def waiting():
    """Look again and again, for patience(); the seconds so far."""
    began = time.monotonic()
    waited = 0
    while waited < patience():
        yield waited
        time.sleep(0.01)
        waited = time.monotonic() - began


def slack():
    """How many times longer than on an idle machine a process may take, in a
    fast build, for what it has to do in its time."""
    return patience() / 60


def at_least(seconds, most=math.inf):
    """So many seconds on an idle machine, more on a busy one, but no more than
    the option takes: a TTL of a hold that has to live, for the command line.
    Whole ones, as row wants them."""
    return f"{min(math.ceil(seconds * slack()), most)}s"


EBUSY, ETIMEDOUT, ECANCELED, ELOST, ENOTHELD = -1, -2, -3, -4, -6
ENAME, EINVAL, ECONNECT, EAUTH, ESCHEMA = -9, -10, -11, -12, -13
EREADONLY = -14
EDB, ENOMEM, ESYSTEM = -16, -17, -18
EUNKNOWN, EDONE = -21, -22
EOVER = -23  # the last one

NO_REAPER = 1 << 4  # ROWLOCK_NO_REAPER
CLI = os.environ.get("ROWLOCK_ON_FAKE", "rowlock-on-fake")
REAPERD = os.environ.get("REAPERD_ON_FAKE", "reaperd-on-fake")
# With the real library.
MIGRATE = os.path.join(os.environ.get("ROWLOCK_BUILD", "build"), "tools",
                       "rowlock-migrate")


class Call:
    """One call of the tool: its name and its arguments."""

    def __init__(self, line):
        self.name, *words = line.split(" ")
        self.args = {}
        for word in words:
            key, _, value = word.partition("=")
            self.args[key] = value

    def text(self, key):
        value = self.args[key]
        return None if value == "NULL" else bytes.fromhex(value).decode()

    def number(self, key):
        return int(self.args[key])

    def __repr__(self):
        return f"{self.name} {self.args}"


def hexed(value):
    """A word of a line; "-" is the empty text."""
    if isinstance(value, str):
        value = value.encode()
    return value.hex() or "-"


def entry(name, strategy=0, state=0, slot=0, info="", host="", pid=0,
          program="", acquired_at="", held=0, remaining=0, session=0,
          attempt=0, token=0, kind=0, expired=0, connection=0, place=0):
    """A line that adds an entry to a list's answer."""
    return (f"entry {strategy} {state} {kind} {slot} {hexed(name)} {hexed(info)} "
            f"{hexed(host)} {pid} {hexed(program)} {hexed(acquired_at)} "
            f"{held} {remaining} {session} {attempt} {token} {expired} "
            f"{connection} {place}")


def run_entry(name, state, host="", program="", began_at="", ended_at="",
              from_at="", until_at="", code=0, pid=0, began=0, took=0, left=0,
              nth=1):
    """The same for a list of runs."""
    texts = (name, host, program, began_at, ended_at, from_at, until_at)
    return (f"entry {state} {' '.join(map(hexed, texts))} {code} {pid} {began} "
            f"{took} {left} {nth}")


class Fake:
    """The other end of the fake's socket.

    answers[name] is the list of lines that answers a call of that name, or
    None: the test answers by say(). By default every call succeeds.
    """

    # Told, not asked; the last two by the clock (fake_pace.c).
    SILENT = ("client_free", "free", "cancel", "looked", "pause", "passed",
              "answered")

    def __init__(self, directory):
        self.path = os.path.join(directory, "fake")
        self.answers = {}
        self.calls = queue.Queue()
        self.seen = []
        self.peer = None
        self.closing = False
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return  # it was shut down
            self.peer = peer
            if self.closing:
                peer.close()
                return
            with peer, peer.makefile("r", encoding="utf-8") as lines:
                try:
                    for line in lines:
                        self._answer(Call(line.rstrip("\n")))
                except ConnectionResetError:
                    pass  # it ended without reading all that we said

    def _answer(self, call):
        self.seen.append(call.name)
        lines = self.answers.get(call.name, ["reply 0"])
        if callable(lines):
            lines = lines(call)
        if lines and call.name in ("list", "waiters", "runs"):
            lines = [re.sub("^reply", "listed", line) for line in lines]
        if lines and call.name not in self.SILENT:
            self.say(*lines)
        self.calls.put(call)

    def say(self, *lines):
        try:
            self.peer.sendall("".join(l + "\n" for l in lines).encode())
        except OSError:
            pass  # the tool is gone

    def next_call(self, what):
        """The next call, whichever it is; @what says what is waited for."""
        began = time.monotonic()
        while True:
            try:
                return self.calls.get(timeout=patience())
            except queue.Empty:
                waited = time.monotonic() - began
                if waited < patience():
                    continue  # the load has grown meanwhile
                raise AssertionError(
                    f"waited {waited:.0f} s for {what}; the calls so far: "
                    f"{' '.join(self.seen) or 'none'}") from None

    def expect(self, name, **args):
        """Await a call of this name, and with these arguments; others are passed
        over."""
        while True:
            call = self.next_call(f"the call {name} {args or ''}")
            if call.name == name and args.items() <= call.args.items():
                return call

    def pass_time(self, ms):
        """Move the tools' clock."""
        self.say(f"pass {ms}")
        self.expect("passed")

    def close(self):
        """The thread ends before its sockets are closed: it would go on with
        whatever gets their numbers next."""
        self.closing = True
        for end in (self.listener, self.peer):
            try:
                if end:
                    end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended already
        self.thread.join(patience())
        if self.thread.is_alive():
            raise RuntimeError("the fake still serves the socket of a test "
                               "that is over")
        self.listener.close()


class ToolTest(unittest.TestCase):
    """A test with a directory, a fake, and processes that do not outlive it."""

    maxDiff = None

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="rowlock-cli-")
        self.fake = Fake(self.directory)
        self.processes = []
        # A tool that no source tells anything says so instead of what failed.
        with open(os.path.join(self.directory, ".my.cnf"), "w",
                  encoding="utf-8") as out:
            out.write("[rowlock]\ndatabase=test\n")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": self.directory,
            "SHELL": "/bin/sh",
            "LC_ALL": "C",
            "ROWLOCK_FAKE": self.fake.path,
        }
        # A test that waits for a line that never comes ends all the same.
        self.began = time.monotonic()
        self.hung = None
        self.ended = threading.Event()
        self.watchdog = threading.Thread(target=self.watch, daemon=True)
        self.watchdog.start()
        # By TMPDIR tools/check finds what is left if we are killed.
        for key in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "TMPDIR"):
            if key in os.environ:
                self.environment[key] = os.environ[key]

    def watch(self):
        while not self.ended.wait(1):
            took = time.monotonic() - self.began
            if took > patience():
                self.hung = (f"not over after {took:.0f} s: its processes were "
                             "killed; the calls so far: "
                             + (" ".join(self.fake.seen) or "none"))
                print(f"# {self._testMethodName}: {self.hung}",
                      file=sys.stderr, flush=True)
                for process in self.processes:
                    process.kill()
                return

    def end_processes(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait(patience())
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()

    def tearDown(self):
        self.ended.set()
        self.watchdog.join()
        self.end_processes()
        self.fake.close()
        shutil.rmtree(self.directory)
        if self.hung:
            self.fail(self.hung)

    def start(self, *argv, tool=CLI, **more):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, "env": self.environment,
                   "text": True, "errors": "surrogateescape"}
        options.update(more)
        process = subprocess.Popen([tool, *argv], **options)
        self.processes.append(process)
        return process

    def run_tool(self, *argv, **more):
        """To its end. Returns code, stdout, stderr."""
        process = self.start(*argv, **more)
        out, err = process.communicate(timeout=patience())
        return process.returncode, out, err

    def finish(self, process):
        out, err = process.communicate(timeout=patience())
        return process.returncode, out, err

    def await_state(self, pid, state):
        """Until ps(1) would show the process in this state. There is no event
        for a process that is not our child."""
        for waited in waiting():
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                now = stat.read().rpartition(")")[2].split()[0]
            if now == state:
                return
        self.fail(f"waited {waited:.0f} s for process {pid} to be in state "
                  f"{state}: it is in {now}")

    def await_guard(self, process):
        """The pid of its guard, once that shows its name: the command may have
        begun before."""
        for waited in waiting():
            shown = []
            with open(f"/proc/{process.pid}/task/{process.pid}/children",
                      encoding="ascii") as children:
                pids = children.read().split()
            for pid in pids:
                with open(f"/proc/{pid}/cmdline", encoding="ascii") as line:
                    shown.append(line.read().rstrip("\0"))
            if "rowlock-guard" in shown:
                return int(pids[shown.index("rowlock-guard")])
        self.fail(f"waited {waited:.0f} s for a guard among {shown}")

    def await_signals(self, process):
        """Until the tool has made its signals things to be read."""
        for waited in waiting():
            with open(f"/proc/{process.pid}/status",
                      encoding="utf-8") as status:
                for line in status:
                    if (line.startswith("SigBlk:") and
                            int(line.split()[1], 16) >> 14 & 1):
                        return
        self.fail(f"waited {waited:.0f} s for process {process.pid} to block "
                  "SIGTERM")

    def fifo(self, name="fifo"):
        """A pipe by name, for a command to tell something."""
        path = os.path.join(self.directory, name)
        os.mkfifo(path)
        return path

    def await_gone(self, pidfd):
        """Until the process of the pidfd has ended."""
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        began = time.monotonic()
        while not poll.poll(patience() * 1000):
            waited = time.monotonic() - began
            if waited > patience():
                with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as f:
                    self.fail(f"waited {waited:.0f} s for the end of a process: "
                              + f.read())


class TerminalTest(ToolTest):
    """A tool that shows something on a terminal."""

    def on_terminal(self, *argv, columns=80, command="list", **environment):
        self.environment.update(environment)
        master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, columns, 0, 0))
        process = self.start(command, *argv, stdout=slave)
        os.close(slave)
        out = b""
        while True:
            try:
                out += os.read(master, 65536)
            except OSError:
                break  # the tool has ended
        os.close(master)
        code, _, self.err = self.finish(process)
        self.assertEqual(code, 0, self.err)
        return out.decode().replace("\r\n", "\n")

    def lines(self, *argv, columns=80, **environment):
        environment = dict({"NO_COLOR": "1", "LC_ALL": "C.UTF-8"},
                           **environment)
        lines = self.on_terminal(*argv, columns=columns,
                                 **environment).splitlines()
        for line in lines:
            self.assertLessEqual(self.width(line), columns, line)
        return lines

    @staticmethod
    def width(text):
        return sum(2 if unicodedata.east_asian_width(c) == "W" else 1
                   for c in text)


class TapResult(unittest.TestResult):
    """Tells each case as it ends, for meson and for who counts."""

    def __init__(self, total):
        super().__init__()
        self.tap = Tap(total)
        self.told = set()
        self.lock = threading.Lock()

    @staticmethod
    def _name(test):
        # The method's own name: subtests and failed fixtures have it too.
        name = getattr(test, "_testMethodName", str(test))
        return name.removeprefix("test_").replace("_", " ")

    def _tell(self, test, passed, skip=None):
        with self.lock:
            if test in self.told:
                return  # its end failed as well
            self.told.add(test)
            self.tap.tell(self._name(test), passed, skip)

    def _fail(self, test, error):
        """Where it failed, and last the case with what is wrong, which is what
        the counts show of it."""
        text = self._exc_info_to_string(error, test)
        kind, what, _ = error
        wrong = (str(what).splitlines() or ["without a word"])[0]
        print("".join(f"# {line}\n" for line in text.splitlines()) +
              f"# {self._name(test)}: {kind.__name__}: {wrong}",
              file=sys.stderr, flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._tell(test, True)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._fail(test, err)
        self._tell(test, False)

    def addError(self, test, err):
        super().addError(test, err)
        self._fail(test, err)
        self._tell(test, False)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is None:
            return
        if not getattr(test, "subtest_told", False):
            test.subtest_told = True
            self._tell(test, False)
        print(f"# in {subtest}", file=sys.stderr)
        self._fail(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._tell(test, True, reason)


class Together(unittest.TestSuite):
    """A few of its cases go on at a time: most of theirs is spent waiting."""

    def run(self, result, debug=False):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda case: case.run(result), self))
        return result


def main():
    """Run the cases of the main module; names on the command line choose."""
    # A shell without job control, and nohup, start us with some ignored; the
    # tool leaves alone what it finds ignored.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    loader = unittest.TestLoader()
    module = sys.modules["__main__"]
    suite = (loader.loadTestsFromNames(sys.argv[1:], module)
             if sys.argv[1:] else loader.loadTestsFromModule(module))
    result = TapResult(suite.countTestCases())
    suite.run(result)
    sys.exit(0 if result.wasSuccessful() else 1)
