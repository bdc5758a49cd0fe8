# SPDX-License-Identifier: MIT
"""The text format of Prometheus, read as strictly as it is written."""
import re
import subprocess

from harness import patience

LABELS = {"strategy", "kind", "state", "result", "class"}
LINE = re.compile(r'^(rowlock_[a-z_]+)(?:\{((?:[a-z]+="[\w./:-]+",?)+)\})? '
                  r'(-?[0-9]+(?:\.[0-9]+)?)$')


def parsed(text):
    """Each line's number, by its name and labels; each has a head of its own."""
    heads, found = {}, {}
    for line in text.splitlines():
        if line.startswith("# "):
            _, what, name, *rest = line.split(" ")
            assert what in ("HELP", "TYPE") and rest, line
            heads.setdefault(name, []).append(what)
            continue
        match = LINE.match(line)
        assert match, line
        labels = dict(re.findall(r'(\w+)="([^"]*)"', match[2] or ""))
        assert set(labels) <= LABELS, line
        assert heads.get(match[1]) == ["HELP", "TYPE"], line
        key = (match[1], *labels.values())
        assert key not in found, line
        found[key] = float(match[3])
    assert {key[0] for key in found} == set(heads), heads
    return found


def promtool_says(text):
    """Its exit status, and what it does not like."""
    done = subprocess.run(["promtool", "check", "metrics"], text=True, check=False,
                          input=text, capture_output=True, timeout=patience())
    return done.returncode, done.stderr
