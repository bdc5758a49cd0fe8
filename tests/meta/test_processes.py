#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One that has ended and that nobody takes up is not alive, for those who ask by
tests/lib; and nobody asks otherwise.

Usage: test_processes.py SOURCE_ROOT
"""
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / 'tests' / 'lib'))
# pylint: disable=wrong-import-position
from patience import patience  # noqa: E402
from process import is_alive, is_group_alive  # noqa: E402
from tap import check, run_all  # noqa: E402

# kill(2) with signal 0, and a look for the directory of /proc, find a zombie too.
EXISTS = re.compile(r'''\bkill -0\b|\bkill(pg)?\([^()]*,\s*0\)|'''
                    r'''exists\(f?['"]/proc/|-[de] ['"]?/proc/\$\w+['"]? ''')
# Those who answer. The command takes up its group's orphans itself.
HELPERS = ('tests/lib/process.py', 'tests/lib/process.sh', 'tools/sandbox',
           'tools/cli', 'tests/meta/test_processes.py')


@contextlib.contextmanager
def zombie():
    """A group of one that has ended, and is not taken up."""
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    try:
        yield pid
    finally:
        os.waitpid(pid, 0)


def script_says(pid):
    """What process.sh says of it."""
    return subprocess.run(
        ['sh', '-euc', '. "$1"; is_alive "$2"', 'sh',
         str(ROOT / 'tests/lib/process.sh'), str(pid)], check=False).returncode == 0


def one_that_runs_is_alive():
    check(is_alive(os.getpid()) and is_group_alive(os.getpgrp()), 'not alive')
    check(script_says(os.getpid()), 'not alive for scripts')


def one_that_has_ended_is_not():
    with zombie() as pid:
        os.killpg(pid, 0)  # it is there
        check(not is_alive(pid), 'alive')
        check(not is_group_alive(pid), 'its group is alive')
        check(not script_says(pid), 'alive for scripts')
    check(not is_alive(pid) and not script_says(pid), 'alive, and not there')


def first_thread(pid):
    stat = pathlib.Path(f'/proc/{pid}/stat').read_text(encoding='utf-8')
    return stat.rpartition(')')[2].split()[0]


def one_whose_first_thread_has_ended_is_alive():
    with subprocess.Popen(
            [sys.executable, '-c', '''
import ctypes, sys, threading
def wait():
    print(flush=True)
    sys.stdin.read()
threading.Thread(target=wait).start()
ctypes.CDLL(None).pthread_exit(None)'''], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE) as process:
        process.stdout.read(1)
        began = time.monotonic()
        while first_thread(process.pid) != 'Z':
            check(time.monotonic() - began < patience(), 'it does not end')
            time.sleep(0.01)
        check(is_alive(process.pid) and script_says(process.pid), 'not alive')
        process.kill()


def nobody_asks_otherwise():
    files = subprocess.run(['git', '-C', ROOT, 'ls-files', 'tests', 'tools', '.ci'],
                           capture_output=True, text=True, check=False).stdout.split()
    asks = [f'{name}:{number}: {line.strip()}' for name in files
            if not name.startswith(HELPERS) and not name.endswith(('.mutants', '.md'))
            and (ROOT / name).is_file()
            for number, line in enumerate((ROOT / name).read_text(
                encoding='utf-8', errors='replace').splitlines(), 1)
            if EXISTS.search(line)]
    check(not asks, '\n'.join(asks))


if __name__ == '__main__':
    sys.exit(run_all([one_that_runs_is_alive, one_that_has_ended_is_not,
                      one_whose_first_thread_has_ended_is_alive,
                      nobody_asks_otherwise]))
