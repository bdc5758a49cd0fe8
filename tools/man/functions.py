#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write a manual page for each function and each type of the public headers.

Usage: functions.py INCLUDE DIRECTORY   write the pages
       functions.py --list INCLUDE      print the headers and the pages' names

A page is the comment of its function, sorted into sections: the lines that
begin with @name are PARAMETERS, what begins with "Returns" is RETURN VALUE, what
says whether the call blocks is BLOCKING, and indented code is EXAMPLE. The types
that the function takes are OPTIONS. A function that has no comment, that returns
int and does not say what, or that speaks of a parameter which it has not, is an
error, with its place.
"""
import collections
import os
import pathlib
import re
import sys
import textwrap
import time

# A comment and what it is on, in a text without lines of the preprocessor.
DECLARATION = re.compile(
    r'(?:^/\*\*(?P<comment>(?:(?!\*/).)*)\*/\n)?'
    r'^(?P<text>(?:ROWLOCK_[A-Z]+|static inline|typedef|struct|enum)\s[^;{]*)'
    r'(?P<body>\{.*?^\})?', re.M | re.S)
MEMBER = re.compile(
    r'(?:/\*(?P<before>(?:(?!\*/).)*)\*/)?\s*'
    r'(?P<text>[^;,/]+?)(?:[;,]|(?=\s*(?:/|$)))[ \t]*'
    r'(?:/\*(?!\*)(?P<behind>(?:(?!\*/).)*)\*/)?', re.S)
# Where a sentence about the outcome, or about blocking, begins.
SORTS = {'RETURN VALUE': r'Returns\b',
         'BLOCKING': r'(?:Blocks|Does not block|Never blocks|No I/O|Any thread)\b'}
SORT = re.compile(r'(?:^|(?<=[.?]) )(?=' + '|'.join(SORTS.values()) + ')')
ROFF = str.maketrans({'\\': r'\e', '-': r'\-', "'": r'\(aq', '`': r'\(ga',
                      '^': r'\(ha', '~': r'\(ti'})

TODAY = time.strftime('%Y-%m-%d', time.gmtime(
    int(os.environ.get('SOURCE_DATE_EPOCH', time.time()))))

# Those of the headers, which are written by hand.
PAGES = {path.name.removesuffix('.3.scd')
         for path in pathlib.Path(__file__).parent.glob('*.3.scd')}

Declared = collections.namedtuple('Declared', 'header line comment text body')


class Wrong(Exception):
    """What the author of a header has to mend."""


def comment_of(text):
    return re.sub(r'^\s*\* ?', '', text or '', flags=re.M).strip('* \n')


def words_of(text):
    return ' '.join(text.split())


def declared_in(include):
    """The functions and the types of all headers, by their names."""
    functions, types = {}, {}
    for header in sorted(include.rglob('*.h')):
        source = re.sub(r'^#(?:.*\\\n)*.*', lambda line: '\n' * line[0].count('\n'),
                        header.read_text(encoding='utf-8'), flags=re.M)
        for found in DECLARATION.finditer(source):
            text = words_of(found['text'])
            name = re.search(r'\(\*(\w+)\)' if text.startswith('typedef') else
                             r'(\w+)\s*(?:\(|$)', text)[1]
            kind = functions if text.startswith(('ROWLOCK_', 'static')) else types
            if name.startswith('rowlock_') and (found['comment'] or found['body']
                                                or '(' in text):
                kind[name] = Declared(
                    header.relative_to(include).as_posix(),
                    source.count('\n', 0, found.start('text')) + 1,
                    comment_of(found['comment']), text, found['body'] or '')
    return functions, types


def members_of(body):
    """The name and the comment of each member of a struct or an enum."""
    for found in MEMBER.finditer(body.strip('{}')):
        text = words_of(found['text'])
        if text:
            yield text, comment_of(found['before'] or found['behind'])


def escaped(text):
    return text.translate(ROFF)


def flowing(text):
    """A paragraph, with parameters, functions and constants as such."""
    text = re.sub(r'(?<!\w)@(\w+)', r'\\fI\1\\fR', escaped(words_of(text)))
    text = re.sub(r'\b(ROWLOCK_\w+|rowlock_\w+(?=\())', r'\\fB\1\\fR', text)
    return [re.sub(r"^([.'])", r'\\&\1', line) for line in
            textwrap.wrap(text, 76, break_long_words=False, break_on_hyphens=False)]


def as_it_is(text):
    return ['.nf', *(re.sub('^([.])', r'\\&\1', escaped(line.expandtabs()))
                     for line in textwrap.dedent(text).split('\n')), '.fi']


def entry(term, text):
    lines = [line for paragraph in re.split(r'\n[ \t]*\n', text)
             for line in ('.IP', *flowing(paragraph))][1:]
    return ['.TP', rf'\fB{escaped(term)}\fR', *(lines or [r'\&'])]


def add(section, lines):
    section += (['.PP'] if section and lines else []) + lines


def sort(comment, sections):
    """Put each paragraph of @comment where it belongs."""
    last = ''
    for paragraph in re.split(r'\n[ \t]*\n', comment):
        parameters = re.split(r'^@(\w+)\s\s+', paragraph, flags=re.M)
        if paragraph.startswith('    ') and not last.endswith(':'):
            add(sections['EXAMPLE'], as_it_is(paragraph))
        elif paragraph.startswith('  '):
            add(sections['DESCRIPTION'], as_it_is(paragraph))
        elif not parameters[0] and len(parameters) > 1:
            for name, text in zip(parameters[1::2], parameters[2::2]):
                sections['PARAMETERS'] += entry(name, text)
        else:
            for part in SORT.split(words_of(paragraph)):
                kind = next((kind for kind, begin in SORTS.items()
                             if re.match(begin, part)), 'DESCRIPTION')
                # One code a line, where they are a list.
                codes = re.split(r'(?<=[;.]) (?=ROWLOCK_E)', part) \
                    if kind == 'RETURN VALUE' else [part]
                add(sections[kind], [line for code in codes
                                     for line in ('.br', *flowing(code))][1:])
        last = paragraph


def summary(comment):
    """The first sentence, or what of it says enough."""
    sentence = re.split(r'(?<!e\.g)[.?;:](?=\s|$)', words_of(comment))[0]
    while len(sentence) > 72 and ', ' in sentence:
        sentence = sentence.rpartition(', ')[0]
    sentence = re.sub(r'(?<!\w)@|, e\.g.*| \([^)]*$', '', sentence)
    return sentence[:1].lower() + sentence[1:]


def prototype(declared):
    text = re.sub(r'^(?:ROWLOCK_[A-Z]+ |static inline )+|\s*__attribute__.*', '',
                  declared.text)
    before, _, parameters = text.partition('(')
    joined = before + '(' + parameters.strip() + ';'
    lines = textwrap.wrap(joined.replace(' ', '\xa0').replace(',\xa0', ', '), 76,
                          subsequent_indent=' ' * 8)
    return [rf'\fB{escaped(line)}\fR'.replace('\xa0', ' ') for line in lines]


def page(name, declared, what, synopsis, sections):
    """@sections: without those that are empty."""
    head = [f'.TH {name.upper()} 3 {TODAY} rowlock', '.nh', '.ad l', '.SH NAME',
            *textwrap.wrap(rf'{name} \- {escaped(what)}', 76), '.SH SYNOPSIS', '.nf',
            rf'\fB#include <{declared.header}>\fR', '.PP', *synopsis, '.fi']
    return '\n'.join(head + [line for title, lines in sections.items() if lines
                             for line in (f'.SH {title}', *lines)]) + '\n'


def named(text, among):
    """The names of @among that are in @text, in its order."""
    return [word for word in dict.fromkeys(re.findall(r'\w+', text)) if word in among]


def header_page(declared):
    page = declared.header.removesuffix('.h').replace('/', '_')
    return page if page in PAGES else 'rowlock'


def see_also(name, declared, others):
    pages = {'rowlock', header_page(declared), *others} - {name}
    return flowing(', '.join(f'{other}(3)' for other in sorted(pages)))


def check(name, declared):
    """Does the comment say what a caller has to know, and of what there is?"""
    comment = re.sub(r'^    .*', '', declared.comment, flags=re.M)
    strange = set(re.findall(r'(?<!\w)@(\w+)', comment)) - \
        set(re.findall(r'\w+', declared.text))
    wrong = 'has no comment' if not comment else \
        'no sentence of its comment begins with "Returns"' if \
        re.match(r'(?:ROWLOCK_[A-Z]+ |static inline )*int ', declared.text) and \
        not re.search(r'(?:^|[.?]\s+)Returns\b', comment, re.M) else \
        f'has no parameter @{strange.pop()}' if strange else ''
    if wrong:
        raise Wrong(f'{declared.header}:{declared.line}: {name}: {wrong}')


def options(declared, types):
    """The members of the types that a function takes, and of their flags."""
    mentioned = named(declared.text + declared.comment, types)
    text = ' '.join(types[name].body for name in mentioned)
    mentioned += [name for name in named(text, types)
                  if types[name].text.startswith('enum') and name not in mentioned]
    lines = []
    for name in mentioned:
        if types[name].body and name != 'rowlock_errinfo':
            lines += [f'.SS {types[name].text}', *flowing(types[name].comment)]
            for member, text in members_of(types[name].body):
                lines += entry(member, text)
    return lines


def errors(sections, types, headers):
    """What the codes mean that the function returns."""
    text = ' '.join(sections['RETURN VALUE']).replace(r'\fR', '')
    if 'server errors' in text:
        text += re.search(r'(?i)"and the server errors"[^.]*|$', headers)[0]
    said = {text.split()[0]: comment for text, comment in
            members_of(types['rowlock_error'].body)}
    return [line for code in named(text.replace(r'\fB', ' '), said)
            for line in entry(code, said[code])]


def function_page(name, declared, functions, types, headers):
    check(name, declared)
    sections = {title: [] for title in (
        'DESCRIPTION', 'PARAMETERS', 'RETURN VALUE', 'ERRORS', 'BLOCKING', 'OPTIONS',
        'EXAMPLE')}
    sort(declared.comment, sections)
    sections['ERRORS'] = errors(sections, types, headers)
    sections['OPTIONS'] = options(declared, types)
    sections['SEE ALSO'] = see_also(name, declared, named(
        ' '.join(declared[2:4]), {**functions, **types}))
    return page(name, declared, summary(declared.comment), prototype(declared),
                sections)


def type_page(name, declared, functions, types):
    sections = {'DESCRIPTION': [], 'EXAMPLE': [], 'PARAMETERS': [],
                'RETURN VALUE': [], 'BLOCKING': [],
                'MEMBERS': [line for member in members_of(declared.body)
                            for line in entry(*member)]}
    sort(declared.comment, sections)
    taken = [other for other, function in functions.items()
             if re.search(rf'\b{name}\b', function.text)]
    sections['SEE ALSO'] = see_also(name, declared, taken + named(
        ' '.join(declared[2:]), types))
    return page(name, declared, summary(declared.comment) or
                f'a type of {declared.header}', [rf'\fB{escaped(declared.text)};\fR'],
                sections)


def main(first, second):
    listing = first == '--list'
    include = pathlib.Path(second if listing else first)
    functions, types = declared_in(include)
    for name in PAGES:
        types.pop(name, None)
    if listing:
        print(*sorted(include.rglob('*.h')),
              *(f'{name}.3' for name in [*functions, *types]), sep='\n')
        return 0
    headers = words_of(comment_of('\n'.join(
        path.read_text(encoding='utf-8') for path in sorted(include.rglob('*.h')))))
    wrong = []
    for name, declared in {**functions, **types}.items():
        try:
            text = function_page(name, declared, functions, types, headers) \
                if name in functions else type_page(name, declared, functions, types)
            (pathlib.Path(second) / f'{name}.3').write_text(text, encoding='utf-8')
        except Wrong as error:
            wrong.append(str(error))
    print(*wrong, sep='\n', end='\n' if wrong else '', file=sys.stderr)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
