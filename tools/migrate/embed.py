#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the files of sql/ as C: of each its SHA-256 and its statements.

Usage: embed.py OUTPUT FILE...
"""
import hashlib
import pathlib
import re
import sys

PARTS = {'fence': 'lock_fence', 'fence_procedure': 'rowlock_fence()',
         'guard_procedure': 'rowlock_guard()', 'adopt': 'adopt'}


def statements(text):
    """As the client mariadb takes them apart."""
    text = re.sub(r'^--.*\n', '', text, flags=re.M)
    end = ';'
    body = re.search(r'^DELIMITER (\S+)\n(.*?)^DELIMITER ;', text, re.M | re.S)
    if body:
        end, text = body.groups()
    return [part.strip() for part in re.split(re.escape(end) + r'\s*\n', text)
            if part.strip()]


def literal(text):
    lines = text.replace('\\', '\\\\').replace('"', '\\"').split('\n')
    return '\n\t"' + '\\n"\n\t"'.join(lines) + '",'


def entry(name, path):
    data = path.read_bytes()
    body = ''.join(map(literal, statements(data.decode())))
    return (f'{{ "{name}", "{hashlib.sha256(data).hexdigest()}",\n'
            f'  (const char *const[]){{{body}\n\tNULL }} }}')


def main(output, *files):
    paths = {path.stem: path for path in map(pathlib.Path, files)}
    text = '#include "migrate/migrate.h"\n#include <stddef.h>\n'
    text += 'const struct sql_file sql_files[] = {\n'
    for number in range(1, len(paths) - len(PARTS) + 1):
        text += entry(f'{number:04}', paths[f'{number:04}']) + ',\n'
    text += '{ NULL, NULL, NULL }\n};\n'
    for stem, name in PARTS.items():
        text += (f'const struct sql_file sql_{stem} = '
                 f'{entry(name, paths[stem])};\n')
    pathlib.Path(output).write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main(*sys.argv[1:])
