#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where a bare Debian (tools/lib/debian.sh) gets its packages from, on machines
whose apt says this or that: with a false apt-get and apt-config. Speaks TAP."""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / 'tests' / 'lib'))

# pylint: disable=wrong-import-position
from tap import check, run_all  # noqa: E402

# As apt-get indextargets has it, for the fields that we ask for.
OTHERS = '''Debian Backports main bookworm-backports http://mirror/debian/
Debian contrib bookworm http://mirror/debian/
Debian main sid http://mirror/debian/
Debian main bookworm file:/media/disk/
. nodistro main nodistro https://packages.example/node/
'''
MIRROR = 'Debian main bookworm http://mirror/debian/\n'
SECURITY = 'Debian main bookworm-security http://mirror/security/\n'
SETTINGS = '''Acquire "";
Acquire::http "";
Acquire::http::Proxy "http://proxy:3142";
Acquire::http::Proxy::near "DIRECT";
Acquire::Check-Date "false";
Acquire::Languages "none";
APT::Architecture "amd64";
'''


def said(call, archives='', settings='', **env):
    """Returns what @call of debian.sh prints on a machine with those."""
    with tempfile.TemporaryDirectory() as directory:
        for name, text in (('apt-get', archives), ('apt-config', settings)):
            path = pathlib.Path(directory) / name
            path.write_text(f"#!/bin/sh\ncat <<'TEXT'\n{text}TEXT\n",
                            encoding='utf-8')
            path.chmod(0o755)
        path = f'{directory}:{os.environ["PATH"]}'
        done = subprocess.run(
            ['sh', '-euc', f'. "$0"/setup.sh; . "$0"/debian.sh; {call}',
             ROOT / 'tools' / 'lib'],
            check=True, text=True, stdout=subprocess.PIPE,
            env={'PATH': path, **env})
        return done.stdout.splitlines()


def packages_come_from_the_archives_of_this_machine():
    lines = said('debian_sources bookworm', MIRROR + SECURITY)
    check(sorted(lines) == ['deb http://mirror/debian/ bookworm main',
                            'deb http://mirror/security/ bookworm-security main'],
          f'{lines}')


def archives_of_others_and_of_other_releases_are_left_out():
    lines = said('debian_sources bookworm', OTHERS + MIRROR)
    check(lines == ['deb http://mirror/debian/ bookworm main'], f'{lines}')


def without_the_release_in_it_the_mirror_of_all_is_taken():
    for archives in ('', OTHERS, SECURITY):
        lines = said('debian_sources bookworm', archives)
        check(lines == ['deb http://deb.debian.org/debian bookworm main'],
              f'{archives}: {lines}')


def the_mirror_that_is_asked_for_is_the_only_one():
    lines = said('debian_sources bookworm', MIRROR + SECURITY,
                 DEBIAN_MIRROR='http://snapshot/debian')
    check(lines == ['deb http://snapshot/debian bookworm main'], f'{lines}')


def the_way_to_the_archives_is_that_of_this_machine():
    lines = said('apt_settings', settings=SETTINGS)
    check(lines == ['Acquire::Check-Valid-Until "false";',
                    'Acquire::http::Proxy "http://proxy:3142";',
                    'Acquire::http::Proxy::near "DIRECT";',
                    'Acquire::Check-Date "false";'], f'{lines}')
    lines = said('apt_settings', http_proxy='http://other:3128')
    check(lines == ['Acquire::Check-Valid-Until "false";',
                    'Acquire::http::Proxy "http://other:3128";'], f'{lines}')


TESTS = (
    packages_come_from_the_archives_of_this_machine,
    archives_of_others_and_of_other_releases_are_left_out,
    without_the_release_in_it_the_mirror_of_all_is_taken,
    the_mirror_that_is_asked_for_is_the_only_one,
    the_way_to_the_archives_is_that_of_this_machine,
)


if __name__ == '__main__':
    sys.exit(run_all(TESTS))
