# SPDX-License-Identifier: MIT
"""What bash, zsh and fish complete of rowlock(1), asked of the shells themselves.

`rowlock` is a script here, which tells the test how it was called, and has a list of
names; what the real one takes is asked of the real one, by its help.
"""
import json
import os
import pty
import re
import select
import shutil
import subprocess
import unittest

import harness
from harness import CLI, ToolTest, patience

BUILT = os.path.join(os.environ.get("ROWLOCK_BUILD", "build"), "tools", "completion")
LOADER = "/usr/share/bash-completion/bash_completion"
NAMES = ["nightly", "night/a b", "$(touch pwned)", "a:b", "`touch pwned`",
         "a57/eq=u", "b57:x y:z", "c57@h@i"]
# Readline completes what stands behind the last =, : or @ of a word; an option may stand
# behind the name.
TYPED = [
    ("show a57/eq=\t", ["show", "a57/eq=u"]),
    ("break a57/eq=u\t", ["break", "a57/eq=u"]),
    ("show b57\\:\t", ["show", "b57:x y:z"]),
    ("show b57:x\\ y:\t", ["show", "b57:x y:z"]),
    ("show c57@\t", ["show", "c57@h@i"]),
    ("show c57@h@\t", ["show", "c57@h@i"]),
    ("run --also b57:\t", ["run", "--also", "b57:x y:z"]),
    ("run --also=b57:\t", ["run", "--also=b57:x y:z"]),
    ("run --also=a57/eq=\t", ["run", "--also=a57/eq=u"]),
    ("run x --also b5\t", ["run", "x", "--also", "b57:x y:z"]),
    ("run x --also b5zz\2\2\t\013", ["run", "x", "--also", "b57:x y:z"]),
    ("run x --also=b5\t", ["run", "x", "--also=b57:x y:z"]),
    ("run --also --also a57\t", ["run", "--also", "--also", "a57/eq=u"]),
    ("run --wait=1s b57:x printen\t -0",
     ["run", "--wait=1s", "b57:x", "printenv", "-0"]),
    ("list --defaults-file=in\t", ["list", "--defaults-file=in:a=b.cnf"]),
    ("list --defaults-file=in:\t", ["list", "--defaults-file=in:a=b.cnf"]),
    ("list --defaults-file in:a=\t", ["list", "--defaults-file", "in:a=b.cnf"]),
    ("list --defaults-file in\\:\t", ["list", "--defaults-file", "in:a=b.cnf"]),
    ("run n --strat\tro\t", ["run", "n", "--strategy=row"]),
    ("show 'a57/e'\t", ["show", "a57/eq=u"]),
    ("show 'a57/eq=\t", ["show", "a57/eq=u"]),
    ("run --also='b57:x \t", ["run", "--also=b57:x y:z"]),
    ('show "$\t"', ["show", "$"]),
]
# JSON writes these otherwise: they are left out.
ODD = ['quo"te', "back\\slash"]


def commands(tool=CLI):
    text = subprocess.run([tool, "help"], check=True, text=True, timeout=patience(),
                          stdout=subprocess.PIPE).stdout
    return re.findall(r"^  (\w+) ", text.partition("Commands:")[2], re.M)


def options(command):
    """The long options that its help shows, True if something has to follow."""
    text = subprocess.run([CLI, *command, "--help"], check=True, text=True,
                          timeout=patience(), stdout=subprocess.PIPE).stdout
    found = {}
    for names, value in re.findall(r"^  (?:-\w, )? *(--[\w-]+(?:, --[\w-]+)*)(=)?",
                                   text, re.M):
        found.update({name: bool(value) for name in names.split(", ")})
    return found


class Completion(ToolTest):
    shell = None

    def setUp(self):
        super().setUp()
        if not shutil.which(self.shell or "bash"):
            self.skipTest(f"no {self.shell} here")
        self.bin = os.path.join(self.directory, "bin")
        os.mkdir(self.bin)
        self.told = self.fifo("told")
        lines = ",\n".join(f'{{"name":{json.dumps(name)},"strategy":"lease"}}'
                           for name in NAMES + ODD)
        path = os.path.join(self.bin, "rowlock")
        with open(path, "w", encoding="utf-8") as out:
            out.write(f"#!/bin/sh\n"
                      f"case $1,$3 in\nlist,--connect-timeout=1s | jobs,--connect-timeout=1s)\n"
                      f"printf '%s\\n' \"$@\" >{self.directory}/asked\n"
                      f"cat <<'END'\n[\n{lines}\n]\nEND\nexit ;;\nesac\n"
                      f"printf '%s\\n' \"$@\" end >{self.told}\n")
        os.chmod(path, 0o755)
        with open(os.path.join(self.directory, "o.cnf"), "w", encoding="utf-8") as out:
            out.write("[client]\n[rowlock-test]\n[client-east]\n[mysqld]\n"
                      f"!includedir {self.directory}/more\n")
        os.mkdir(os.path.join(self.directory, "more"))
        with open(os.path.join(self.directory, "more", "a.cnf"), "w",
                  encoding="utf-8") as out:
            out.write("[rowlock_west]\n")
        self.environment.update(PATH=f"{self.bin}:{os.environ['PATH']}", TERM="dumb",
                                LC_ALL="C.UTF-8")

    def typed(self, argv, keys, **environment):
        """Type @keys into an interactive shell; the words that rowlock got."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.directory)
            os.execvpe(argv[0], argv, {**self.environment, **environment})
        said = b""
        told = os.open(self.told, os.O_RDONLY | os.O_NONBLOCK)
        try:
            got, sent = b"", False
            while not got.endswith(b"end\n"):
                ready, _, _ = select.select([terminal, told], [], [], patience())
                self.assertTrue(ready, f"nothing more came after {said!r}")
                if terminal in ready:
                    said += os.read(terminal, 4096)
                if told in ready:
                    got += os.read(told, 4096)
                if not sent and b"READY" in said:
                    os.write(terminal, keys.encode() + b"\r")
                    sent = True
        finally:
            os.close(told)
            os.close(terminal)
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        return got.decode().split("\n")[:-2]

    def asked(self):
        with open(os.path.join(self.directory, "asked"), encoding="utf-8") as asked:
            return asked.read().split("\n")[:-1]

    def not_run(self):
        self.assertFalse(os.path.exists(os.path.join(self.directory, "pwned")))


class Bash(Completion):
    shell = "bash"

    def completed(self, *words, loader=True, **environment):
        """What Tab offers behind these words, the last of which is begun."""
        script = (f". {LOADER}\n" if loader and os.path.exists(LOADER) else "")
        script += (f". {BUILT}/rowlock\ncompopt() {{ :; }}\n"
                   'COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*"\n'
                   "COMP_POINT=${#COMP_LINE}\n_rowlock\n"
                   'printf "%s\\n" "${COMPREPLY[@]}"\n')
        done = subprocess.run(["bash", "--norc", "-c", script, "bash", "rowlock",
                               *words], check=True, text=True, cwd=self.directory,
                              env={**self.environment, **environment},
                              timeout=patience(), capture_output=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split("\n")[:-1]

    def test_bash_has_every_command_and_option(self):
        self.assertEqual(sorted(self.completed("")), sorted([*commands(), "help"]))
        for command in ((), *((c,) for c in commands())):
            wanted = options(command)
            self.assertGreater(len(wanted), 9)
            self.assertEqual(set(self.completed(*command, "--")),
                             {name + ("=" if value else "")
                              for name, value in wanted.items()}, command)

    def test_bash_has_values_and_suffixes(self):
        file = f"--defaults-file={self.directory}/o.cnf"
        for loader in (True, False):
            for words, wanted in (
                    (("run", "-s", ""), ["lease", "row"]),
                    (("run", "--strategy", "r"), ["row"]),
                    (("run", "--permits", ""), ["stored"]),
                    (("list", file, "--defaults-group-suffix", ""),
                     ["-east", "-test", "_west"]),
                    (("list", "--defaults-file", f"{self.directory}/o.cnf",
                      "--defaults-group-suffix", "_"), ["_west"]),
                    (("list", "--defaults-file", f"{self.directory}/o."),
                     [f"{self.directory}/o.cnf"]),
                    (("help", "pi"), ["ping"])):
                self.assertEqual(self.completed(*words, loader=loader), wanted, words)

    def test_bash_asks_for_names_only_if_it_may(self):
        words = ("show", "--dsn", "host=db7", "--no-defaults", "")
        self.assertEqual(self.completed(*words), [""])
        self.assertFalse(os.path.exists(os.path.join(self.directory, "asked")))
        got = self.completed(*words, ROWLOCK_COMPLETE_NAMES="1")
        self.assertEqual(sorted(got), sorted(
            ["nightly", "night/a\\ b", "\\$\\(touch\\ pwned\\)", "a:b",
             "\\`touch\\ pwned\\`",
             "a57/eq=u", "b57:x\\ y:z", "c57@h@i"]))
        self.assertEqual(self.asked(), ["list", "--json", "--connect-timeout=1s",
                                        "--dsn=host=db7", "--no-defaults", "--", "*"])
        self.not_run()
        for words, asked in ((("jobs", "nightl"), "jobs"), (("run", "nightl"), "list"),
                             (("show", "--dsn", "jobs", "nightl"), "list")):
            self.assertEqual(self.completed(*words, ROWLOCK_COMPLETE_NAMES="1"),
                             ["nightly"])
            self.assertEqual(self.asked()[0], asked)
        self.assertEqual(self.completed("run", "--also", "nightl",
                                        ROWLOCK_COMPLETE_NAMES="1"), ["nightly"])
        # As the shell would hand the words on; nothing in them is expanded.
        for typed, dsn in (("'host=a b'", "host=a b"), ('"host=a \\"b\\" \\c"', 'host=a "b" \\c'),
                           ("host=a\\ b", "host=a b"), ("'it'\\''s'", "it's"),
                           ("'$(touch pwned)'", "$(touch pwned)"),
                           ("$(touch pwned)", "$(touch pwned)")):
            for words in (("show", "--dsn", typed, "nightl"),
                          ("show", f"--dsn={typed}", "nightl")):
                for loader in (True, False):
                    self.assertEqual(self.completed(*words, loader=loader,
                                                    ROWLOCK_COMPLETE_NAMES="1"),
                                     ["nightly"], words)
                    self.assertIn(f"--dsn={dsn}", self.asked())
        self.not_run()
        # It has its name, or wants none.
        for done in (("show", "nightly", ""), ("ping", ""), ("reap", "")):
            self.assertEqual(self.completed(*done, ROWLOCK_COMPLETE_NAMES="1"), [""])

    def test_a_thousand_names_are_read_and_no_more(self):
        with open(os.path.join(self.bin, "rowlock"), "w", encoding="utf-8") as out:
            out.write("#!/bin/sh\nseq 100000 200000 | "
                      "sed 's/.*/{\"name\":\"n&\",\\n{\"name\":\"n&\",/' &&\n"
                      f"echo >{self.directory}/all\n")
        got = self.completed("show", "", ROWLOCK_COMPLETE_NAMES="1")
        self.assertEqual(got, [f"n{number}" for number in range(100000, 101000)])
        self.assertFalse(os.path.exists(os.path.join(self.directory, "all")))

    def test_bash_completes_the_command_that_is_run(self):
        with open(os.path.join(self.directory, "afile"), "w", encoding="utf-8"):
            pass
        for loader in (True, False):
            for words, wanted in (
                    (("run", "-n", "name", "slee"), "sleep"),
                    (("top", "-b", "-n", "1", "--so"), "--sort="),
                    (("elect", "-s", "row", "n", "--", "slee"), "sleep"),
                    (("run", "name", "--"), "--wait="),
                    (("run", "name", "cat", "af"), "afile")):
                self.assertIn(wanted, self.completed(*words, loader=loader), words)

    def test_a_line_typed_into_bash_is_completed(self):
        rc = os.path.join(self.directory, "rc")
        argv = ["bash", "--rcfile", rc, "-i"]
        with open(os.path.join(self.directory, "in:a=b.cnf"), "w", encoding="utf-8"):
            pass
        for loader in (LOADER, os.devnull) if os.path.exists(LOADER) else (os.devnull,):
            with open(rc, "w", encoding="utf-8") as out:
                out.write(f". {loader}\n. {BUILT}/rowlock\n"
                          "bind 'set enable-bracketed-paste off'\nPS1=READY\n")
            self.assertEqual(
                self.typed(argv, "rowlock sho\t--strat\tro\t "
                                 f"--defaults-file={self.directory}/o.\t"
                                 "--defaults-group-suffix=-e\tnightl\t",
                           ROWLOCK_COMPLETE_NAMES="1"),
                ["show", "--strategy=row", f"--defaults-file={self.directory}/o.cnf",
                 "--defaults-group-suffix=-east", "nightly"], loader)
            for typed, name in (("\\$\t", "$(touch pwned)"), ("a:\t", "a:b")):
                self.assertEqual(self.typed(argv, f"rowlock show {typed}",
                                            ROWLOCK_COMPLETE_NAMES="1"),
                                 ["show", name], loader)
            for typed, words in TYPED:
                self.assertEqual(self.typed(argv, f"rowlock {typed}",
                                            ROWLOCK_COMPLETE_NAMES="1"), words,
                                 (loader, typed))
        self.not_run()


class Zsh(Completion):
    shell = "zsh"

    def test_zsh_has_every_command_and_option(self):
        with open(os.path.join(BUILT, "_rowlock"), encoding="utf-8") as file:
            text = file.read()
        for command in commands():
            self.assertRegex(text, rf"\n\t'{command}:")
        for command in ("", *commands()):
            part = re.search(rf"\n\t{command or chr(39) * 2}\)\n(.*?)\n\t\t;;", text, re.S)
            found = {name: bool(value) for name, value in
                     re.findall(r"'\*?(--[\w-]+)(=(?!-))?", part[1])}
            self.assertEqual(found, options((command,) if command else ()))

    def test_a_line_typed_into_zsh_is_completed(self):
        rc = os.path.join(self.directory, ".zshrc")
        with open(rc, "w", encoding="utf-8") as out:
            out.write(f"fpath=({BUILT} $fpath)\nautoload -Uz compinit\n"
                      "compinit -u -D\nunsetopt zle_bracketed_paste 2>/dev/null\n"
                      "unset zle_bracketed_paste\nPS1=READY\n")
        argv = ["zsh", "-d", "-i"]
        self.environment["ZDOTDIR"] = self.directory
        file = f"--defaults-file={self.directory}/o.cnf"
        self.assertEqual(
            self.typed(argv, f"rowlock sho\t--strat\tro\t {file} "
                             "--defaults-group-suffix=-e\t nightl\t",
                       ROWLOCK_COMPLETE_NAMES="1"),
            ["show", "--strategy=row", file, "--defaults-group-suffix=-east", "nightly"])
        self.assertEqual(self.typed(argv, "rowlock show \\$\t",
                                    ROWLOCK_COMPLETE_NAMES="1"),
                         ["show", "$(touch pwned)"])
        self.not_run()
        self.assertEqual(self.typed(argv, "rowlock run -s le\t n printen\t -0"),
                         ["run", "-s", "lease", "n", "printenv", "-0"])


class Fish(Completion):
    shell = "fish"

    def completed(self, line, **environment):
        done = subprocess.run(
            ["fish", "--no-config", "-c", f"source {BUILT}/rowlock.fish\n"
             "complete -C $argv[1]", line], check=True, text=True, timeout=patience(),
            env={**self.environment, **environment}, capture_output=True,
            cwd=self.directory)
        self.assertEqual(done.stderr, "")
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    def test_fish_has_every_command_and_option(self):
        self.assertEqual(sorted(self.completed("rowlock ")),
                         sorted([*commands(), "help"]))
        for command in ("", *commands()):
            wanted = options((command,) if command else ())
            got = self.completed(f"rowlock {command} --")
            self.assertEqual({name.removesuffix("=") for name in got}, set(wanted))

    def test_fish_has_values_names_and_suffixes(self):
        for line, wanted in (
                ("rowlock run -s ", ["lease", "row"]),
                ("rowlock run --strategy=r", ["--strategy=row"]),
                (f"rowlock list --defaults-file={self.directory}/o.cnf "
                 "--defaults-group-suffix ", ["-east", "-test", "_west"]),
                ("rowlock help pi", ["ping"]),
                ("rowlock show ", [])):
            self.assertEqual(sorted(self.completed(line)), wanted, line)
        self.assertFalse(os.path.exists(os.path.join(self.directory, "asked")))
        got = self.completed("rowlock show --no-defaults ", ROWLOCK_COMPLETE_NAMES="1")
        self.assertEqual({name.replace("\\", "") for name in got}, set(NAMES))
        self.assertEqual(self.asked()[-3:], ["--no-defaults", "--", "*"])
        self.assertEqual(self.completed("rowlock show n ", ROWLOCK_COMPLETE_NAMES="1"),
                         [])
        self.not_run()
        self.assertIn("sleep", self.completed("rowlock run -n name slee"))


del Completion

if __name__ == "__main__":
    harness.main()
