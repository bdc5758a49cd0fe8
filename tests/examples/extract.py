#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the first C program of a Markdown file to a file of its own.

Usage: extract.py README.md OUTPUT

A program is a fenced block of C that has a main(). The line numbers are kept,
so that the compiler's messages point into the Markdown file.
"""
import re
import sys


def main():
    source, output = sys.argv[1:]
    with open(source, encoding='utf-8') as file:
        text = file.read()
    for block in re.finditer(r'^```c\n(.*?)^```', text, re.M | re.S):
        if not re.search(r'\bmain\s*\(', block.group(1)):
            continue
        line = text.count('\n', 0, block.start(1)) + 1
        with open(output, 'w', encoding='utf-8') as file:
            file.write(f'#line {line} "{source}"\n{block.group(1)}')
        return 0
    print(f'{source}: no fenced block of C with a main()', file=sys.stderr)
    return 1


if __name__ == '__main__':
    sys.exit(main())
