#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each file that this build would install is in one of Debian's packages, and in one
of Fedora's. Building packages says so too, but takes much longer.

Usage: check_packages.py SOURCE_ROOT BUILD_ROOT
"""
import fnmatch
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / 'tests' / 'lib'))
# pylint: disable=wrong-import-position
from tap import tell_wrong  # noqa: E402

# Where packages have what meson and rpm name by these words.
PLACES = {'prefix': 'usr', 'bindir': 'usr/bin', 'sbindir': 'usr/sbin',
          'datadir': 'usr/share', 'mandir': 'usr/share/man',
          'includedir': 'usr/include', 'libdir': 'usr/lib/triplet',
          'libdir_shared': 'usr/lib/triplet', 'libdir_static': 'usr/lib/triplet',
          'unitdir': 'usr/lib/systemd/system'}


def installed(build):
    """The files that meson would install, as if below /usr."""
    about = build / 'meson-info'
    plan = json.loads((about / 'intro-install_plan.json').read_text('utf-8'))
    options = json.loads((about / 'intro-buildoptions.json').read_text('utf-8'))
    prefix = next(option['value'] for option in options if option['name'] == 'prefix')
    found = set()
    for kind in plan.values():
        for entry in kind.values():
            place = re.sub(r'\{(\w+)\}', lambda word: PLACES[word[1]],
                           entry['destination'])
            found.add(place.replace(prefix, 'usr', 1).strip('/'))
    return found


def debian(root):
    """The patterns of each package's list, and of what its rules take by themselves."""
    place = root / 'tools' / 'packaging' / 'debian'
    found = {path.stem: [line.split()[0] for line in
                         path.read_text('utf-8').splitlines()]
             for path in place.glob('*.install')}
    found['rules'] = re.findall(r'^\tmv debian/tmp/(\S+) debian/$',
                                (place / 'rules').read_text('utf-8'), flags=re.M)
    return found


def fedora(root):
    """The same of each section %files."""
    text = (root / 'tools' / 'packaging' / 'rowlock.spec').read_text('utf-8')
    found = {}
    for name, lines in re.findall(r'^%files(.*)\n((?:[^\n]+\n)*)', text, flags=re.M):
        lines = re.sub(r'%\(.*\)', '*', lines)
        lines = re.sub(r'%\{_(\w+)\}', lambda word: PLACES[word[1]], lines)
        found[name] = [line for line in lines.splitlines() if line[0] != '%']
    return found


def has(patterns, file):
    """Is the file, or a directory that it is in, one of them?"""
    places = [file, *map(str, pathlib.PurePath(file).parents)]
    return any(fnmatch.fnmatchcase(place, pattern)
               for place in places for pattern in patterns)


def not_in_one(packages, files):
    wrong = []
    for file in sorted(files):
        those = [name for name, patterns in packages.items() if has(patterns, file)]
        if len(those) != 1:
            wrong.append(f'{file} is in {those or "none"}')
    return wrong


def main():
    root, build = map(pathlib.Path, sys.argv[1:])
    files = installed(build)
    # Fedora's packages have no static library.
    shared = {file for file in files if not file.endswith('.a')}
    return tell_wrong([
        ('what is installed is in one package of Debian', not_in_one(debian(root), files)),
        ('what is installed is in one package of Fedora', not_in_one(fedora(root), shared)),
        ('there are files at all', [] if len(files) > 20 else ['too few']),
    ])


if __name__ == '__main__':
    sys.exit(main())
