# SPDX-License-Identifier: MIT
"""The pictures of the manual and of README are what the programs show.

tools/pictures makes them, on a server and in a minute. Here the command gets
the same rows from the fake, on a terminal of the same width, and has to show
the same but for the digits, which are those of the day. Of the demo, which
needs a server, each line that it writes as it stands in its text has to be in
the picture, and in that order.
"""
import fcntl
import importlib.machinery
import importlib.util
import os
import re
import struct
import termios

import harness
from harness import ToolTest, entry
from window import WindowTest

ROOT = os.path.join(harness.HERE, "..", "..")
LOADER = importlib.machinery.SourceFileLoader(
    "pictures", os.path.join(ROOT, "tools", "pictures"))
PICTURES = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("pictures", LOADER))
LOADER.exec_module(PICTURES)

SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600}
HELD, DEAD = 0, 1
LOCK, PERMIT = 0, 3


def milliseconds(words):
    number, unit = words.split()[-2:]
    return int(number) * SECONDS[unit] * 1000


def rows():
    """As tools/pictures writes them into the tables, as the library tells."""
    sessions = {row[0]: row[1:] for row in PICTURES.SESSIONS}
    tokens = dict(PICTURES.TOKENS)
    for number, lease in enumerate(PICTURES.LEASES, 1):
        name, slot, session, held, info = lease
        end, host, pid, program = sessions[session]
        # They are read within a second of their making.
        left = milliseconds(end) - 200
        dead = end.startswith("-")
        yield entry(name, 0, DEAD if dead else HELD, slot=slot,
                    kind=PERMIT if slot else LOCK,
                    info="" if info == "NULL" else info.strip("'"), host=host,
                    pid=pid, program=program, acquired_at="2026-11-20 12:00:00",
                    held=milliseconds(held), token=tokens.get(number, 0),
                    session=session, attempt=number,
                    remaining=0 if dead else left, expired=left if dead else 0)


def places(name):
    """By the pages that show it."""
    found = {}
    for path in PICTURES.PAGES:
        with open(path, encoding="utf-8") as page:
            place = re.search(PICTURES.place_of(name), page.read())
        if place:
            found[path] = place[2].removeprefix("```\n").removesuffix("```\n")
    return found


def picture(name):
    return list(places(name).values())[0]


def without_digits(text):
    return re.sub(r"\d", "0", text)


class Pictures(ToolTest):
    def on_terminal(self, columns, *argv, until=None):
        self.environment.update(NO_COLOR="1", LC_ALL="C.UTF-8")
        master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, columns, 0, 0))
        # The line of one who waits is for who has the terminal.
        process = self.start(*argv, stdin=slave, stdout=slave, stderr=slave,
                             start_new_session=True,
                             preexec_fn=lambda: fcntl.ioctl(
                                 0, termios.TIOCSCTTY, 0))
        os.close(slave)
        text = ""
        while not (until and re.search(until, text)):
            try:
                text += os.read(master, 65536).decode()
            except OSError:
                break  # it has ended
        if until:
            process.terminate()
        os.close(master)
        process.wait(harness.patience())
        return "\n".join(line.rstrip("\r").rpartition("\r")[2].rstrip()
                         for line in text.replace("\r\n", "\n").split("\n"))

    def test_the_list_is_what_list_shows(self):
        self.fake.answers["list"] = [*rows(), "reply 0"]
        shown = "$ rowlock list\n" + self.on_terminal(PICTURES.COLUMNS, "list")
        self.assertEqual(without_digits(picture("list")), without_digits(shown))

    def test_the_wait_is_what_run_shows(self):
        self.fake.answers["acquire"] = None
        self.fake.answers["list"] = [
            row for row in rows() if b"nightly/report".hex() in row
        ] + ["reply 0"]
        shown = self.on_terminal(PICTURES.COLUMNS, "run", "nightly/report",
                                 "--", "true", until="for .*: held .*\u2026")
        self.assertEqual(
            without_digits(picture("wait")),
            without_digits("$ rowlock run nightly/report -- ./report.sh\n"
                           + shown + "\n"))

    def test_each_page_shows_the_same_in_its_columns(self):
        self.assertEqual(picture("sale"), PICTURES.sale(picture("demo")) + "\n")
        for name, pages in (("list", 2), ("wait", 1), ("top", 2), ("demo", 1), ("sale", 1)):
            with self.subTest(name):
                shown = places(name)
                self.assertEqual(len(shown), pages)
                self.assertEqual(len(set(shown.values())), 1)
                for path, text in shown.items():
                    if path.endswith(".scd"):
                        self.assertLessEqual(
                            max(map(len, text.splitlines())), PICTURES.COLUMNS)

    def test_the_demo_is_what_it_writes(self):
        with open(os.path.join(ROOT, "tools", "demo"),
                  encoding="utf-8") as script:
            script = script.read()
        chapters = re.findall(r"(?s)<<TEXT\n(.*?)\nTEXT\n", script)
        written = [line.replace("${bold}", "").replace("${plain}", "")
                   for text in chapters for line in text.splitlines()
                   if line and not line.startswith(("Next:", "things on"))]
        at = next(i for i, line in enumerate(written)
                  if line.startswith("3. "))
        del written[at:at + 2]  # its list, which has a picture of its own
        shown = picture("demo").splitlines()
        self.assertEqual([line for line in shown if line in written], written)
        # And of its tables each line, which begins with a word of a call.
        rest = [line.split()[0] for line in shown[1:]
                if line and line not in written]
        self.assertEqual(rest, [words.split()[0] for words in re.findall(
            r"^(?:sell|takeover|stopped \w+) '?(\w[\w ()]*?)'?(?: .*)?$",
            script, flags=re.M)])


class Screen(WindowTest):
    def test_the_screen_is_what_top_shows(self):
        self.fake.answers["list"] = [*rows(), "reply 0"]
        shown = self.open(columns=PICTURES.COLUMNS, lines=PICTURES.SCREEN_LINES)
        self.assertEqual(
            without_digits(picture("top")),
            without_digits("$ rowlock top\n" + PICTURES.of_screen(shown) + "\n"))


if __name__ == "__main__":
    harness.main()
