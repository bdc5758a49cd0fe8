#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the C program of README, of a manual page or of a header to a file of its own.

Usage: extract.py README.md|PAGE.scd|HEADER.h OUTPUT

A program is a fenced block (in Markdown one of C) that has a main(). The other
blocks of C in Markdown are compiled behind it, as functions that nobody calls. That
of a header is the first indented block of its comment, the body of a main(). The
line numbers are kept, so that the compiler's messages point to where it stands.
"""
import re
import sys

# A block without a main() takes this for granted.
AROUND = '''
#include <mysql.h>
#include <rowlock/mysql.h>
__attribute__((unused)) static int part_%d(struct rowlock *lock, MYSQL *mysql)
{
	struct rowlock_errinfo err;
	int code = 0;
%s	return code;
}
'''


# The surroundings of the example of a header.
HEADER = '''
#include <err.h>
#include <rowlock.h>
static void run_the_job(void)
{
}
int main(void)
{
#line %d "%s"
%s
	return 0;
}
'''


def of_header(source, text):
    """Its lines, without the stars before them."""
    block = re.search(r'^ \*     \S.*\n(?: \*(?:     .*)?\n)*?(?= \* \S)', text, re.M)
    line = text.count('\n', 0, block.start()) + 1
    return HEADER % (line, source, re.sub(r'^ \*', '', block.group(), flags=re.M))


def main():
    source, output = sys.argv[1:]
    with open(source, encoding='utf-8') as file:
        text = file.read()
    if source.endswith('.h'):
        with open(output, 'w', encoding='utf-8') as file:
            file.write(of_header(source, text))
        return 0
    manual = source.endswith('.scd')
    fence = r'^```\n(.*?)^```' if manual else r'^```c\n(.*?)^```'
    program, parts = '', ''
    for number, block in enumerate(re.finditer(fence, text, re.M | re.S)):
        line = text.count('\n', 0, block.start(1)) + 1
        code = f'#line {line} "{source}"\n{block.group(1)}'
        if manual:  # scdoc(5): a backslash is written as two
            code = code.replace('\\\\', '\\')
        if not program and re.search(r'\bmain\s*\(', code):
            program = code
        elif not manual:
            parts += AROUND % (number, code)
    if not program:
        print(f'{source}: no fenced block of C with a main()', file=sys.stderr)
        return 1
    with open(output, 'w', encoding='utf-8') as file:
        file.write(program + parts)
    return 0


if __name__ == '__main__':
    sys.exit(main())
