#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The manual claims no feature that no test has.

Usage: check_features.py SOURCE_ROOT

In the table of rowlock-features.7 each row that says Y of ours has a comment
"; FEATURE: FILE: CASE", and that case is in that file; no comment is about
anything else; and no row has more or fewer cells than there are systems.
"""
import pathlib
import re
import sys


def cases_of(text):
    """The source with the sentences that go over a line's end made whole."""
    return re.sub(r'"\s*\n\s*"', '', text)


def main():
    root = pathlib.Path(sys.argv[1])
    page = (root / 'tools/man/rowlock-features.7.scd').read_text('utf-8')
    table = page.split('```')[1].strip('\n').splitlines()
    systems = table[0].split()
    width = table[0].index(systems[0])
    tests = dict(re.findall(r'^; ([^:\n]+): (.+)$', page, flags=re.M))
    tests.pop('Each Y of ours', None)
    claimed, problems = set(), []
    for row in table[1:]:
        feature, cells = row[:width].rstrip(), row[width:].split()
        if len(cells) != len(systems):
            problems.append(f"'{feature}' has {len(cells)} cells, there are "
                            f'{len(systems)} systems')
        elif cells[0] == 'Y':
            claimed.add(feature)
    for feature in sorted(claimed ^ set(tests)):
        problems.append(f"'{feature}' is claimed without a test, or has one "
                        'without being claimed')
    for feature, where in tests.items():
        path, _, case = where.partition(': ')
        source = root / path
        if not source.is_file() or case not in cases_of(
                source.read_text('utf-8')):
            problems.append(f"'{feature}': there is no case '{case}' in {path}")
    print('1..1')
    for problem in problems:
        print('#', problem)
    print('not ok' if problems else 'ok',
          '1 - each feature that the manual claims has a test')
    return bool(problems)


if __name__ == '__main__':
    sys.exit(main())
