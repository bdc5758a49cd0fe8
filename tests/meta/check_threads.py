#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do tests assert on the thread of the case only? A failed assertion on another
thread ends the program: no case is named, and those behind it are not played. A
thread, or a callback of the library, notes what it saw, and the case asserts.

usage: check_threads.py ROOT
"""
import pathlib
import re
import sys

# These call the function that they are given on another thread.
GIVEN = re.compile(
    r'\b(?:pthread_create|rowlock_on_lost|rowlock_watch_new|'
    r'rowlock_observer_new|rowlock_on_thread)\s*\(([^;]*?)\)\s*[;,)]', re.S)
FUNCTION = re.compile(r'^(?:static )?(?:inline )?[\w ]+[ *](\w+)\(([^;{]*)\)\n\{\n'
                      r'(.*?)^\}', re.S | re.M)
ASSERT = re.compile(r'\b(?:assert_\w+|fail_msg|fail|skip)\s*\(')


def asserts(text):
    """Functions of other threads that assert, each with its line."""
    given = {word for call in GIVEN.findall(text)
             for word in re.findall(r'(?<![&\w.>])[a-z]\w+', call)}
    for function in FUNCTION.finditer(text):
        found = ASSERT.search(function[3])
        if function[1] in given and found:
            yield (function[1],
                   text.count('\n', 0, function.start(3) + found.start()) + 1)


EXAMPLE = '''static void *run(void *arg)
{
	assert_ok(work(arg));
	return NULL;
}

CASE("its sentence")
{
	pthread_create(&thread, NULL, run, NULL);
	assert_true(1);
}
'''


def main():
    root = pathlib.Path(sys.argv[1])
    bad = [f'{path.relative_to(root)}:{line}: {name}() asserts on another '
           'thread: note what it saw, and assert in the case'
           for path in sorted(root.glob('tests/**/*.[ch]'))
           for name, line in asserts(path.read_text(encoding='utf-8'))]
    seen = list(asserts(EXAMPLE)) == [('run', 3)]
    print('1..2')
    print(f'{"ok" if seen else "not ok"} 1 - an assertion on another thread is '
          'seen')
    print(f'{"not ok" if bad else "ok"} 2 - tests assert on the thread of their '
          'case')
    print(''.join(f'# {line}\n' for line in bad), end='')
    return 1 if bad or not seen else 0


if __name__ == '__main__':
    sys.exit(main())
