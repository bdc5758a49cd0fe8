# SPDX-License-Identifier: MIT
"""As embed.py, with a gate behind each statement: a user-level lock that a test
may hold, DATABASE.FILE.NUMBER. The checksums stay those of the files."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / 'tools' / 'migrate'))
sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position,import-error
import embed  # noqa: E402


def entry(name, path, plain=embed.entry, parts=embed.statements):
    embed.statements = lambda text: [
        line for number, part in enumerate(parts(text), 1) for line in (
            part, "DO GET_LOCK(CONCAT(DATABASE(), "
            f"'.{path.stem}.{number}'), 600)")]
    return plain(name, path)


embed.entry = entry
embed.main(*sys.argv[1:])
