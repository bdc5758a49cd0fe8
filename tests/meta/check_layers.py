#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who may include whom: the table of layers, held against the sources.

Usage: check_layers.py SOURCE_ROOT
"""
import pathlib
import re
import sys

# A layer and the layers that it may know besides the public headers. The
# order is that of src/README.md: downwards only.
LAYERS = {
    'base': {'base'},
    'db': {'db', 'base'},
    'strategy': {'strategy', 'db', 'base'},
    'core': {'core', 'strategy', 'db', 'base'},
    'recipes': {'recipes', 'base'},
}
# Some files may look further: opening a client is where the layers are put
# together (a pool of connections, a check of the tables, a strategy over both).
# And recipes are written on the public headers but for what these do not have: a
# set of names, and room for readers.
WIRING = {('src/recipes/election.c', 'core/campaign.h'),
          ('src/recipes/multilock.c', 'core/set.h'),
          ('src/recipes/rwlock.c', 'core/rwlock.h'),
          ('src/recipes/rwlock.c', 'core/handle.h'),
          ('src/recipes/semaphore.c', 'core/semaphore.h'),
          ('src/recipes/told.c', 'core/handle.h'), ('src/recipes/multilock.c', 'core/token.h')}
# Macros for cleanup by scope are for everybody; they are no part of the library.
FOR_ALL = {'base/macro.h'}
# The tools merge connection strings and option files; what is an error there
# is said by the same lines, which know nothing of the driver.
SHARED = {('tools/common/sources.c', 'db/dsn.h'),
          ('tools/common/sources.c', 'db/option_file.h'),
          ('tools/common/sources.c', 'db/setting.h')}
# Trees that know the library through its public headers only.
OUTSIDE = ['tools', 'tests/integration', 'tests/stress', 'tests/lib',
           'tests/demo', 'tests/examples']
# The driver's headers end in db; a test or the demo may be an application
# with a connection of its own.
DRIVER = re.compile(r'[<"](mysql|mariadb|errmsg|mysqld_error)')
MAY_SEE_DRIVER = ('src/db/', 'tests/', 'include/rowlock/mysql.h')

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)
LIMIT = 800  # lines; a file longer than this has more than one idea


def sources(root, *trees):
    for tree in trees:
        for path in sorted((root / tree).rglob('*')):
            if path.suffix in ('.c', '.h') and path.is_file():
                yield path


def includes(path):
    return INCLUDE.findall(path.read_text(encoding='utf-8'))


def layers_look_downwards(root):
    for path in sources(root, 'src'):
        parts = path.relative_to(root / 'src').parts
        if len(parts) < 2:
            yield f'{path}: not in a layer'
            continue
        if parts[0] not in LAYERS:
            yield f'{path}: unknown layer {parts[0]!r}'
            continue
        for quote, target in includes(path):
            other = target.split('/')[0] if '/' in target else None
            if quote == '"' and other not in LAYERS:
                yield f'{path}: "{target}" is not in a layer'
            wired = (str(path.relative_to(root)), target) in WIRING
            if (other in LAYERS and other not in LAYERS[parts[0]]
                    and not wired):
                yield f'{path}: {parts[0]} must not include {target}'


def outsiders_stay_outside(root):
    for path in sources(root, *OUTSIDE):
        for _, target in includes(path):
            shared = (str(path.relative_to(root)), target) in SHARED
            if (target.split('/')[0] in LAYERS and target not in FOR_ALL
                    and not shared):
                yield f'{path}: must not include {target}'


def driver_ends_in_db(root):
    for path in sources(root, 'src', 'include', 'tools', 'tests'):
        name = str(path.relative_to(root))
        if name.startswith(MAY_SEE_DRIVER):
            continue
        for quote, target in includes(path):
            if DRIVER.match(quote + target):
                yield f'{path}: must not include {target}'


def sources_are_signed(root):
    for path in sources(root, 'src', 'include', 'tools', 'tests'):
        text = path.read_text(encoding='utf-8')
        if 'SPDX-License-Identifier: MIT' not in text[:80]:
            yield f'{path}: no SPDX line at the top'


def files_have_one_idea(root):
    for path in sources(root, 'src', 'include', 'tools', 'tests'):
        lines = path.read_text(encoding='utf-8').count('\n')
        if lines > LIMIT:
            yield f'{path}: {lines} lines, more than {LIMIT}'


def nothing_is_left_to_do(root):
    words = re.compile(r'\b(TODO|FIXME|XXX|HACK)\b')
    for path in sources(root, 'src', 'include', 'tools', 'tests'):
        for number, line in enumerate(
                path.read_text(encoding='utf-8').splitlines(), 1):
            if words.search(line):
                yield f'{path}:{number}: {line.strip()}'


def nobody_waits_by_the_wall_clock(root):
    """It may be set meanwhile, by an hour."""
    for path in sources(root, 'src', 'tools'):
        if 'CLOCK_REALTIME' in path.read_text(encoding='utf-8'):
            yield f'{path}: CLOCK_REALTIME; CLOCK_BOOTTIME, or _MONOTONIC'


CHECKS = [
    ('a layer includes what is below it only', layers_look_downwards),
    ('tools and outside tests know the public headers only',
     outsiders_stay_outside),
    ('the driver ends in db', driver_ends_in_db),
    ('every source has its licence line', sources_are_signed),
    ('no source is longer than 800 lines', files_have_one_idea),
    ('nothing is left to do', nothing_is_left_to_do),
    ('nobody waits by the wall clock', nobody_waits_by_the_wall_clock),
]


def main():
    root = pathlib.Path(sys.argv[1])
    print(f'1..{len(CHECKS)}')
    failed = 0
    for number, (sentence, check) in enumerate(CHECKS, 1):
        problems = list(check(root))
        failed += bool(problems)
        print('not ok' if problems else 'ok', number, '-', sentence)
        for problem in problems:
            print('#', problem)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
