# SPDX-License-Identifier: MIT
"""What systemd's journal gets: entries with fields, on a socket that the test reads."""
import os
import shutil
import socket
import struct
import subprocess
import unittest

import harness
from harness import CLI, ECONNECT, ELOST, REAPERD, ToolTest, patience

CATALOG = os.path.join(harness.HERE, "..", "..", "tools", "systemd",
                       "rowlock.catalog")
# The socket's directory is the journal's, for the tool alone.
ENTER = ('mount -t tmpfs none /run && mkdir -p /run/systemd/journal && '
         'mount --bind "$0" /run/systemd/journal && exec "$@"')


def can_unshare():
    """May we make a namespace of mounts?"""
    return (shutil.which("unshare") is not None and
            subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/run"],
                           stderr=subprocess.DEVNULL,
                           check=False).returncode == 0)


def fields(entry):
    """As systemd's "Native Journal Protocol" has them, each behind its length."""
    found = {}
    while entry:
        name, _, entry = entry.partition(b"\n")
        size, = struct.unpack("<Q", entry[:8])
        found[name.decode()] = entry[8:8 + size].decode()
        assert entry[8 + size:9 + size] == b"\n", entry
        entry = entry[9 + size:]
    return found


@unittest.skipUnless(can_unshare(), "no namespace of mounts can be made here")
class Journal(ToolTest):
    def setUp(self):
        super().setUp()
        where = os.path.join(self.directory, "journal")
        os.mkdir(where)
        self.journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.journal.close)
        self.journal.bind(os.path.join(where, "socket"))
        self.journal.settimeout(patience())
        self.enter = ["-rm", "sh", "-c", ENTER, where]
        self.err = open(os.path.join(self.directory, "stderr"), "w+",
                        encoding="utf-8")
        self.addCleanup(self.err.close)
        stat = os.fstat(self.err.fileno())
        self.environment["JOURNAL_STREAM"] = f"{stat.st_dev}:{stat.st_ino}"

    def begin(self, *argv, tool=CLI, **more):
        return self.start(*self.enter, tool, *argv, tool="unshare",
                          stderr=self.err, **more)

    def on_stderr(self):
        self.err.seek(0)
        return self.err.read()

    def entry(self, subject, priority, identifier="rowlock", **more):
        """The next one: the catalogue has its number under this subject."""
        found = fields(self.journal.recv(65536))
        with open(CATALOG, encoding="utf-8") as catalog:
            self.assertIn(f"-- {found.pop('MESSAGE_ID')}\nSubject: {subject}\n",
                          catalog.read())
        self.assertEqual(found.pop("PRIORITY"), priority)
        self.assertEqual(found.pop("SYSLOG_IDENTIFIER"), identifier)
        message = found.pop("MESSAGE")
        self.assertEqual(found, more)
        return message

    def test_a_lock_that_is_acquired_and_lost_is_an_entry_each(self):
        name = "j\nPRIORITY=0"
        for command in ("run", "elect"):
            process = self.begin(command, "-v", "--", name, "bash", "-c",
                                 "echo; exec sleep 1000")
            self.assertEqual(process.stdout.readline(), "\n")
            self.assertIn(f"{command}: acquired 'j",
                          self.entry("The lock @ROWLOCK_NAME@ is held", "6",
                                     ROWLOCK_NAME=name))
            self.fake.say("lose")
            self.assertIn("was lost (", self.entry(
                "The lock @ROWLOCK_NAME@ was lost", "3", ROWLOCK_NAME=name))
            process.terminate()
            process.wait(patience())
        self.assertNotIn("acquired", self.on_stderr())

    def test_a_hold_that_is_lost_is_an_entry(self):
        process = self.begin("hold", "j", stdin=subprocess.PIPE)
        self.assertTrue(process.stdout.readline())
        self.fake.say("lose")
        self.entry("The lock @ROWLOCK_NAME@ was lost", "3", ROWLOCK_NAME="j")
        self.assertEqual(process.wait(patience()), 124)

    def test_a_loss_that_a_call_finds_is_an_entry(self):
        self.fake.answers["token"] = [f"reply {ELOST} it is gone"]
        self.assertEqual(self.begin("run", "--also=k", "j", "true").wait(
            patience()), 124)
        self.assertEqual(self.entry("The lock @ROWLOCK_NAME@ was lost", "3",
                                    ROWLOCK_NAME="j"), "run: it is gone")

    def test_a_hold_that_was_broken_is_an_entry(self):
        self.fake.answers["break"] = ["log broke the hold of 'j'", "reply 0"]
        self.assertEqual(self.begin("break", "-v", "j").wait(patience()), 0)
        self.assertEqual(self.entry("The hold of @ROWLOCK_NAME@ was ended", "6",
                                    ROWLOCK_NAME="j"),
                         "broke the hold of 'j'")

    def test_the_daemon_tells_what_it_removed_and_that_its_server_is_away(self):
        self.fake.answers["reap"] = ["reaped 1 2 0", "reply 0"]
        process = self.begin("--interval=100ms", tool=REAPERD)
        self.assertIn("evicted 1 sessions, swept 2 leases", self.entry(
            "Locks of dead clients were removed", "6", "rowlock-reaperd"))
        self.fake.answers["reap"] = [f"reply {ECONNECT} cannot reach db1"]
        while "cannot reach db1" not in (message := fields(
                self.journal.recv(65536)))["MESSAGE"]:
            pass
        self.assertEqual(message["PRIORITY"], "4")
        process.terminate()
        self.assertEqual(process.wait(patience()), 0)

    def test_tokens_that_are_removed_are_no_locks_of_dead_clients(self):
        self.fake.answers["reap"] = ["reaped 0 0 3", "reply 0"]
        self.assertEqual(self.begin("--once", tool=REAPERD).wait(patience()), 0)
        self.assertIn("<6>removed 3 old tokens on ", self.on_stderr())
        self.journal.settimeout(0)
        self.assertRaises(BlockingIOError, self.journal.recv, 65536)

    def test_a_journal_that_stands_still_is_not_waited_for(self):
        sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(sender.close)
        sender.setblocking(False)
        sender.connect(self.journal.getsockname())
        with self.assertRaises(BlockingIOError):
            while True:
                sender.send(b"MESSAGE=full\n")
        process = self.begin("run", "-v", "j", "true")
        self.assertEqual(process.wait(patience()), 0)
        self.assertIn("<6>rowlock: run: acquired 'j'", self.on_stderr())

    def test_without_a_socket_the_message_is_on_stderr(self):
        os.unlink(self.journal.getsockname())
        process = self.begin("run", "-v", "j", "true")
        self.assertEqual(process.wait(patience()), 0)
        self.assertIn("<6>rowlock: run: acquired 'j'", self.on_stderr())


if __name__ == "__main__":
    harness.main()
