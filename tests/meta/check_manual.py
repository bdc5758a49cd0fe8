#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each public header that has functions has a page in section 3 that names them.

Usage: check_manual.py SOURCE_ROOT [BUILD_ROOT]

include/rowlock.h has rowlock.3, include/rowlock/NAME.h has rowlock_NAME.3. A
page names each function of its header, "*rowlock_acquire*()", and none that
there is not; the example calls only what there is. Where the build makes pages,
each function has its own, and man(1) and mandoc(1) find no fault in it.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / 'tests' / 'lib'))
# pylint: disable=wrong-import-position
from tap import tell_wrong  # noqa: E402


def declared(header):
    text = re.sub(r'/\*.*?\*/', '', header.read_text(encoding='utf-8'),
                  flags=re.S)
    text = re.sub(r'^\s*#.*', '', text, flags=re.M)
    return {re.findall(r'\w+', match.group(1))[-1]
            for match in re.finditer(
                r'\b(?:ROWLOCK_API|static inline)\b([^;{]*?)\(', text)}


def page_of(root, header):
    word = header.relative_to(root / 'include').with_suffix('').as_posix()
    return root / 'tools' / 'man' / (word.replace('/', '_') + '.3.scd')


def functions_of(root, place):
    """What is wrong with the pages that the build makes of functions."""
    symbols = (root / 'src' / 'rowlock.sym').read_text(encoding='utf-8')
    text = {name: (place / f'{name}.3').read_text(encoding='utf-8')
            if (place / f'{name}.3').is_file() else ''
            for name in re.findall(r'\b(rowlock_\w+);', symbols)}
    return [
        ('each function that is exported has a page of its own',
         {name for name in text if '.SH SYNOPSIS' not in text[name]}),
        ('that of each which returns int has its values',
         {name for name in text if rf'\fBint {name}(' in text[name] and
          '.SH RETURN VALUE' not in text[name]}),
        ('that of rowlock_acquire() has its parts',
         {part for part in ('uint64_t wait_ms,', '.SH PARAMETERS', '.SH BLOCKING',
                            '.SH ERRORS', '\n\\fBROWLOCK_ECONNECT\\fR\n')
          if part not in text['rowlock_acquire']}),
        ('a function that its comment does not tell of is refused, with its place',
         refusals_of(root)),
        *(faults_of(command, [place / f'{name}.3' for name in text])
          for command in (['mandoc', '-T', 'lint'],
                          ['man', '--warnings', '-E', 'UTF-8', '-l']))]


def refusals_of(root):
    """What of a header that says too little is not refused, with its place."""
    with tempfile.TemporaryDirectory() as place:
        (pathlib.Path(place) / 'a.h').write_text(
            '/** Free @b. */\nROWLOCK_API int rowlock_a(int b);\n\n'
            'static inline void rowlock_c(void)\n{\n}\n'
            '/** Free @e.\n *\n * Returns 0. */\nROWLOCK_API int rowlock_d(void);\n')
        done = subprocess.run(
            [sys.executable, '-B', root / 'tools/man/functions.py', place, place],
            capture_output=True, text=True, check=False)
    return {line for line in ('a.h:2: rowlock_a: ', 'a.h:4: rowlock_c: ',
                              'a.h:10: rowlock_d: has no parameter @e')
            if line not in done.stderr or not done.returncode}


def faults_of(command, pages):
    sentence = f'{command[0]} finds no fault in them'
    if not shutil.which(command[0]):
        return f'{sentence} # SKIP skipped: it is not installed', set()
    done = subprocess.run([*command, *pages], capture_output=True, text=True,
                          check=False)
    said = done.stdout if command[0] == 'mandoc' else ''
    return sentence, set((done.stderr + said).splitlines())


def main():
    root = pathlib.Path(sys.argv[1])
    headers = [path for path in sorted((root / 'include').rglob('*.h*'))
               if declared(path)]
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
    place = pathlib.Path(sys.argv[-1]) / 'tools' / 'man'
    if (place / 'rowlock.3').is_file():  # else there is no scdoc
        checks += functions_of(root, place)
    return tell_wrong([(sentence, sorted(wrong)) for sentence, wrong in checks])


if __name__ == '__main__':
    sys.exit(main())
