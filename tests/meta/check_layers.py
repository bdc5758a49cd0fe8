#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What may include what, and other rules that the sources can be held against.

Usage: check_layers.py SOURCE_ROOT
"""
import pathlib
import re
import sys

# From below, as in src/README.md: a room may know itself and those before it.
# That no call runs up is the linker's to see (test_walls.py).
ROOMS = ['base', 'config', 'db', 'strategy', 'core', 'hold', 'group', 'wait',
         'background', 'api', 'guard', 'recipe']
# For everybody, and no part of the library: macros for cleanup by scope, and the
# likeness of words.
FOR_ALL = {'base/macro.h', 'config/alike.h'}
# Trees that know the library through its public headers only. rowlock-migrate runs
# where no tables are yet, so it has no client: it takes the library's connections.
OUTSIDE = ['tools', 'tests/integration', 'tests/stress', 'tests/lib',
           'tests/demo', 'tests/examples']
# So do 'rowlock doctor', which says of a server why the library refuses it, and the
# metrics, which count what no public call counts.
ASKS_THE_SERVER = ('tools/migrate', 'tools/cli/doctor', 'tools/metrics')
FOR_ASKING = ['base', 'config', 'db']
# The driver's headers end in db; a test, the demo or the benchmark may be an
# application with a connection of its own.
DRIVER = re.compile(r'[<"](mysql|mariadb|errmsg|mysqld_error)')
MAY_SEE_DRIVER = ('src/db/', 'src/config/setting.c', 'tests/', 'tools/lib/bench/',
                  'include/rowlock/mysql.h')

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.M)
# Lines; a file longer than this has more than one idea. The library's are shorter.
LIMIT = 800
LIMIT_IN_SRC = 600
FUNCTION_LIMIT = 60  # lines between its braces
STRUCT_LIMIT = 25    # members; what belongs together has a struct of its own
# A client and an acquire under way have one of each thing, by nature.
WIDE = ('struct rowlock_client', 'struct rlk_asking')


def sources(root, *trees):
    for tree in trees:
        for path in sorted((root / tree).rglob('*')):
            if path.suffix in ('.c', '.h') and path.is_file():
                yield path


def includes(path):
    return INCLUDE.findall(path.read_text(encoding='utf-8'))


def rooms_look_downwards(root):
    for path in sources(root, 'src'):
        parts = path.relative_to(root / 'src').parts
        if len(parts) < 2 or parts[0] not in ROOMS:
            yield f'{path}: not in a room'
            continue
        below = ROOMS[:ROOMS.index(parts[0]) + 1]
        for quote, target in includes(path):
            other = target.split('/')[0] if '/' in target else None
            if quote == '"' and other not in ROOMS:
                yield f'{path}: "{target}" is not in a room'
            elif other in ROOMS and other not in below:
                yield f'{path}: {parts[0]} must not include {target}'


def no_two_files_have_one_name(root):
    seen = {}
    for path in sources(root, 'src'):
        if path.name in seen:
            yield f'{path}: {seen[path.name]} has that name'
        seen[path.name] = path


DECLARED = re.compile(r'^(?:(?:const|unsigned|struct|enum) )*\w+[ *]+(rlk_\w+)\(', re.M)


def functions_are_declared_in_the_header_of_their_file(root):
    texts = {path: path.read_text(encoding='utf-8') for path in sources(root, 'src')}
    where = {}
    for path, text in texts.items():
        if path.suffix == '.c':
            where.update((name, path.with_suffix('')) for name in DECLARED.findall(text))
    for path, text in texts.items():
        if path.suffix == '.h':
            for name in DECLARED.findall(text):
                own = where.get(name)
                if own and path.with_suffix('') not in (
                        own, own.with_name(own.name + '_private')):
                    yield f'{path}: {name}() is in {own}.c'


def outsiders_stay_outside(root):
    for path in sources(root, *OUTSIDE):
        makes = str(path.parent.relative_to(root)) in ASKS_THE_SERVER
        for _, target in includes(path):
            room = target.split('/')[0]
            if makes and room in FOR_ASKING:
                continue
            if room in ROOMS and target not in FOR_ALL:
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
        limit = LIMIT_IN_SRC if path.is_relative_to(root / 'src') else LIMIT
        if lines > limit:
            yield f'{path}: {lines} lines, more than {limit}'


BODY = re.compile(r'^(\w[^\n]*(?:\n\s[^\n]*)*)\n\{\n(.*?)^\}', re.M | re.S)


def functions_fit_on_a_screen(root):
    for path in sources(root, 'src'):
        for head, body in BODY.findall(path.read_text(encoding='utf-8')):
            lines = body.count('\n')
            if lines > FUNCTION_LIMIT:
                yield f'{path}: {head.splitlines()[0]}: {lines} lines'


def members(text):
    """The name of each struct or union, and the number of its members."""
    within = []  # of each brace that is open: whose, and the members so far
    words = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"|\'\\?.\'', re.S)
    for token in re.findall(r'\b(?:struct|union)\b[ \w]*\{|[{};]', words.sub('', text)):
        if token == '}':
            yield within.pop()
        elif token == ';' and within:
            within[-1][1] += 1
        elif token != ';':
            within.append([token.rstrip(' {'), 0])


def structs_have_few_members(root):
    for path in sources(root, 'src'):
        for name, count in members(path.read_text(encoding='utf-8')):
            if name and count > STRUCT_LIMIT and name not in WIDE:
                yield f'{path}: {name} has {count} members, more than {STRUCT_LIMIT}'


def nothing_is_left_to_do(root):
    words = re.compile(r'\b(TODO|FIXME|XXX|HACK)\b')
    for path in sources(root, 'src', 'include', 'tools', 'tests'):
        for number, line in enumerate(
                path.read_text(encoding='utf-8').splitlines(), 1):
            if words.search(line):
                yield f'{path}:{number}: {line.strip()}'


def nobody_waits_by_the_wall_clock(root):
    """It may be set meanwhile, by an hour. Two files only compare it."""
    for path in sources(root, 'src', 'tools'):
        if path in (root / 'tools/cli/doctor/clock.c', root / 'tools/metrics/look.c'):
            continue
        if 'CLOCK_REALTIME' in path.read_text(encoding='utf-8'):
            yield f'{path}: CLOCK_REALTIME; CLOCK_BOOTTIME, or _MONOTONIC'


LOST = re.compile(r'\brlk_(?:hold|session)_lose(?:_locked)?\([^;]*?((?:"[^"]*"\s*)+)\)')


def losses_are_counted(root):
    """By their reason: rowlock_stats() has a counter for each."""
    def joined(text):
        return ''.join(re.findall(r'"([^"]*)"', text))
    table = (root / 'src/hold/losses.c').read_text(encoding='utf-8')
    texts = {joined(text) for text in re.findall(r'\] = ([^,]*),', table)}
    for path in sources(root, 'src'):
        source = path.read_text(encoding='utf-8')
        for words in map(joined, LOST.findall(source)):
            # Before its acquire returns; that fails.
            if words not in texts | {'its connection cannot be watched'}:
                yield f'{path}: "{words}" is not in src/hold/losses.c'


CHECKS = [
    ('a room includes what is below it only', rooms_look_downwards),
    ('no two files have one name', no_two_files_have_one_name),
    ('a function is declared in the header of its file',
     functions_are_declared_in_the_header_of_their_file),
    ('tools and outside tests know the public headers only',
     outsiders_stay_outside),
    ('the driver ends in db', driver_ends_in_db),
    ('every source has its licence line', sources_are_signed),
    ('no source is longer than 800 lines, in src 600', files_have_one_idea),
    ('a function fits on a screen', functions_fit_on_a_screen),
    ('a struct has 25 members at the most', structs_have_few_members),
    ('each loss has a counter for its reason', losses_are_counted),
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
