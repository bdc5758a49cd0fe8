#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each public header has a page in section 3 that names its functions.

Usage: check_manual.py SOURCE_ROOT [BUILD_ROOT]

include/rowlock.h has rowlock.3, include/rowlock/NAME.h has rowlock_NAME.3. A
page names each function of its header, "*rowlock_acquire*()", and none that
there is not; the example calls only what there is. Where the build makes pages,
man(1) finds that one by the name of each of these functions.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / 'tests' / 'lib'))
# pylint: disable=wrong-import-position
from tap import tell_wrong  # noqa: E402

# Says how the library is versioned, and has no function.
WITHOUT = {'rowlock/version.h.in'}


def declared(header):
    text = re.sub(r'/\*.*?\*/', '', header.read_text(encoding='utf-8'),
                  flags=re.S)
    text = re.sub(r'^\s*#.*', '', text, flags=re.M)
    return {re.findall(r'\w+', match.group(1))[-1]
            for match in re.finditer(r'\bROWLOCK_API\b([^;{]*?)\(', text)}


def page_of(root, header):
    word = header.relative_to(root / 'include').with_suffix('').as_posix()
    return root / 'tools' / 'man' / (word.replace('/', '_') + '.3.scd')


def without_alias(build, header, root):
    """The functions of @header by whose name there is no page, or another."""
    page = page_of(root, header).name.removesuffix('.scd')
    place = build / 'tools' / 'man'
    if not (place / 'rowlock.3').is_file():
        return set()  # no scdoc
    return {name for name in declared(header)
            if not (place / f'{name}.3').is_file() or
            (place / f'{name}.3').read_text(encoding='utf-8') !=
            f'.so man3/{page}\n'}


def main():
    root = pathlib.Path(sys.argv[1])
    headers = [path for path in sorted((root / 'include').rglob('*.h*'))
               if path.relative_to(root / 'include').as_posix() not in WITHOUT]
    everything = set().union(*map(declared, headers))
    checks = []
    for header in headers:
        page = page_of(root, header)
        name = header.relative_to(root / 'include').as_posix()
        if not page.is_file():
            checks.append((f'{name} has a page in section 3', {page.name}))
            continue
        text = page.read_text(encoding='utf-8')
        named = set(re.findall(r'\*(rowlock_[a-z0-9_]+)\*\(\)', text))
        called = set(re.findall(r'\b(rowlock_[a-z0-9_]+)\((?!\d\))', text))
        checks += [
            (f'{page.name} names each function of {name}',
             declared(header) - named),
            (f'{page.name} names only functions that there are',
             (named | called) - everything),
            (f'the build makes {page.stem}',
             set() if f"'{page.stem}'" in
             (page.parent / 'meson.build').read_text(encoding='utf-8')
             else {page.stem}),
        ]
        if len(sys.argv) > 2:
            checks.append((f'each function of {name} leads to {page.stem}',
                           without_alias(pathlib.Path(sys.argv[2]), header,
                                         root)))
    return tell_wrong([(sentence, sorted(wrong)) for sentence, wrong in checks])


if __name__ == '__main__':
    sys.exit(main())
