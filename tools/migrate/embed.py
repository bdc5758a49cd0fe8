#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write sql/*.sql as C: each file's SHA-256 and statements."""
import hashlib
import pathlib
import re
import sys


def statements(text):
    text = re.sub(r'^--.*\n', '', text, flags=re.M)
    end = ';'
    found = re.search(r'^DELIMITER (\S+)\n(.*?)^DELIMITER ;', text, re.M | re.S)
    if found:
        end, text = found.group(1), found.group(2)
    return [s.strip() for s in re.split(re.escape(end) + r'\s*\n', text) if s.strip()]


def literal(text):
    lines = text.replace('\\', '\\\\').replace('"', '\\"').split('\n')
    return '\n\t"' + '\\n"\n\t"'.join(lines) + '"'


def file(name, path):
    data = pathlib.Path(path).read_bytes()
    body = ','.join(literal(s) for s in statements(data.decode()))
    return ('{ "%s", "%s", (const char *const[]){%s, NULL } }'
            % (name, hashlib.sha256(data).hexdigest(), body))


def main(out, sql):
    root = pathlib.Path(sql)
    text = '#include "migrate/migrate.h"\n#include <stddef.h>\n'
    text += 'const struct sql_file sql_files[] = {\n'
    for path in sorted(root.glob('schema/[0-9]*.sql')):
        text += file(path.stem, path) + ',\n'
    text += '{ NULL, NULL, NULL }\n};\n'
    for name, shown in (('fence', 'lock_fence'), ('fence_procedure', 'rowlock_fence()'),
                        ('guard_procedure', 'rowlock_guard()')):
        text += 'const struct sql_file sql_%s = %s;\n' % (name, file(shown, root / (name + '.sql')))
    pathlib.Path(out).write_text(text)


main(*sys.argv[1:])
