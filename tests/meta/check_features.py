#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The manual claims no feature, and docs/guarantees.md no promise, that no test has.

Usage: check_features.py SOURCE_ROOT

In the tables of rowlock-features.7 each row that says Y of ours has a comment
"; FEATURE: FILE: CASE", and that is a case of that file, which the suite runs:
words in a remark, or in what a case says, are none. No comment is about anything
else. docs/guarantees.md names `FILE`: `CASE` below each promise. The tables have the same rows, which say the same of ours, and no row has
more or fewer cells than there are systems.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / 'tests' / 'lib'))
# pylint: disable=wrong-import-position
from tap import tell_wrong  # noqa: E402


def has_case(source, case):
    """As the programs in C, Python and shell of tests/ name their cases."""
    if source.suffix == '.py':
        # A method of unittest, or the words of a case of tap.py.
        form = rf"^    def {re.escape(case)}\(self|'{re.escape(case)}'[,)]"
    elif source.suffix == '.sh':
        form = rf'^it "{re.escape(case)}" '
    else:
        # CASE("words"), or a ring's own word for it.
        form = rf'^[A-Z]+(_[A-Z]+)*\("{re.escape(case)}"[,)]'
    text = source.read_text('utf-8')
    if source.suffix == '.c':
        text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
        text = re.sub(r'"\s*\n\s*"', '', text)
    return re.search(form, text, flags=re.M)


def is_run(source):
    words = {source.name, source.stem, source.stem.removeprefix('test_')}
    # A folder of unit/ is built by the one above.
    build = next(above / 'meson.build' for above in source.parents
                 if (above / 'meson.build').is_file()).read_text('utf-8')
    return any(f"'{word}'" in build for word in words)


def read_tables(page):
    """Of each: its rows by feature, and what is wrong with their form."""
    tables, wrong = [], []
    for block in page.split('```')[1::2]:
        head, *rows = block.strip('\n').splitlines()
        systems = head.split()
        width = head.index(systems[0])
        table = {}
        for row in rows:
            feature, cells = row[:width].rstrip(), row[width:].split()
            table[feature] = cells
            if len(cells) != len(systems):
                wrong.append(f'{feature}: {len(cells)} cells, {len(systems)} '
                             'systems')
        tables.append(table)
    return tables, wrong


def ours(table):
    return {feature: cells[0] for feature, cells in table.items()}


def main():
    root = pathlib.Path(sys.argv[1])
    page = (root / 'tools/man/rowlock-features.7.scd').read_text('utf-8')
    tables, wrong = read_tables(page)
    tests = dict(re.findall(r'^; ([^:\n]+): (.+)$', page, flags=re.M))
    tests.pop('Each Y of ours', None)
    claimed = {feature for feature, cell in ours(tables[0]).items()
               if cell == 'Y'}
    promises = re.findall(r'^- `(tests/.+)`:\s+`(.+)`$',
                          (root / 'docs/guarantees.md').read_text('utf-8'), flags=re.M)
    missing, broken = [], []
    for feature, path, case in [(feature, *where.split(': ', 1))
                                for feature, where in tests.items()] + [
                                    ('', *promise) for promise in promises]:
        source = root / path
        if not (source.is_file() and has_case(source, case) and is_run(source)):
            (missing if feature else broken).append(
                f"{feature}: there is no case '{case}' in {path}")
    return tell_wrong([
        ('each row has a cell for each system', wrong),
        ('each table says the same of ours',
         [f'table {i + 1}' for i, table in enumerate(tables)
          if ours(table) != ours(tables[0])]),
        ('each feature that the manual claims has a test',
         sorted(claimed - set(tests)) + missing),
        ('each test is of a feature that the manual claims',
         sorted(set(tests) - claimed)),
        ('each promise of docs/guarantees.md has a test',
         broken if promises else ['it names none']),
    ])


if __name__ == '__main__':
    sys.exit(main())
