#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the first C program of README, or of a manual page, to a file of its own.

Usage: extract.py README.md|PAGE.scd OUTPUT

A program is a fenced block (in Markdown one of C) that has a main(). The line
numbers are kept, so that the compiler's messages point to where it stands.
"""
import re
import sys


def main():
    source, output = sys.argv[1:]
    with open(source, encoding='utf-8') as file:
        text = file.read()
    manual = source.endswith('.scd')
    fence = r'^```\n(.*?)^```' if manual else r'^```c\n(.*?)^```'
    for block in re.finditer(fence, text, re.M | re.S):
        program = block.group(1)
        if not re.search(r'\bmain\s*\(', program):
            continue
        if manual:  # scdoc(5): a backslash is written as two
            program = program.replace('\\\\', '\\')
        line = text.count('\n', 0, block.start(1)) + 1
        with open(output, 'w', encoding='utf-8') as file:
            file.write(f'#line {line} "{source}"\n{program}')
        return 0
    print(f'{source}: no fenced block of C with a main()', file=sys.stderr)
    return 1


if __name__ == '__main__':
    sys.exit(main())
