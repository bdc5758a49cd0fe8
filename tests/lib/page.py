# SPDX-License-Identifier: MIT
"""The blocks of code in README, in docs/ and in the manual, as they stand there."""

import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        text = file.read()
    # scdoc(5): a backslash is written as two, and before a character that it means.
    return re.sub(r'\\([\\*_])', r'\1', text) if path.endswith('.scd') else text


def blocks(path, begin=''):
    """Those that begin with the pattern @begin, in their order."""
    return [block for block in re.findall(r'^```\w*\n(.*?)^```', read(path), re.M | re.S)
            if re.match(begin, block)]
