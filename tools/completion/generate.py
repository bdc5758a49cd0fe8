#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write a shell's completion of rowlock(1) from the command's own tables.

Usage: generate.py SOURCE_ROOT TEMPLATE OUTPUT

The commands are those of tools/cli/main.c. A command's options are those of its
table for getopt_long() that its help shows; what they are for is said there. The
template is a file of this directory, and its name says which shell's it is:
"@NAME@" on a line of its own stands for what a function below makes.
"""
import collections
import pathlib
import re
import sys

LITERAL = r'"((?:[^"\\\n]|\\.)*)"'
# The values of an option, where they are known.
VALUES = {'strategy': 'lease row', 'permits': 'stored', 'guarded': 'call',
          'sort': 'name state held expires waiters host',
          'on-revoke': 'TERM HUP INT USR1 USR2 later no'}
FILES = {'defaults-file'}
SUFFIXES = {'defaults-group-suffix'}
NAMES = {'also'}
PROGRAMS = {'command'}
# Commands whose first argument is a name, and those that run a command then.
OF_NAMES = {'run', 'elect', 'hold', 'list', 'jobs', 'show', 'wait', 'permits', 'revoke',
            'break', 'top'}
RUNS = {'run', 'elect'}

Option = collections.namedtuple('Option', 'name letter argument text')
Command = collections.namedtuple('Command', 'name text options')


def read(path):
    text = re.sub(rf'({LITERAL})|/\*.*?\*/', r'\1', path.read_text(encoding='utf-8'),
                  flags=re.S)
    return text.replace('\\\n', ' ')


class Sources:
    def __init__(self, root):
        self.cli = root / 'tools' / 'cli'
        headers = [self.cli / 'command.h', self.cli / 'run' / 'job.h',
                   self.cli / 'run' / 'request.h',
                   self.cli / 'run' / 'task.h',
                   root / 'tools' / 'common' / 'connection.h']
        self.macros = {name: body for header in headers for name, body in
                       re.findall(r'^#define (\w+) (.*)$', read(header), re.M)}
        self.common = self.literals(
            between(read(self.cli / 'command.c'), 'static int put_help(', '}') +
            between(read(root / 'tools' / 'common' / 'connection.c'),
                    'connection_help[] =', ';\n'))

    def literals(self, text):
        """Its strings, one behind the other, those of macros too."""
        out = ''
        for string, word in re.findall(rf'{LITERAL}|\b([A-Z][A-Z_]+)\b', text):
            out += self.literals(self.macros[word]) if word in self.macros else string
        return out.replace('\\n', '\n')

    def table(self, text):
        for name in re.findall(r'\b[A-Z]+_OPTIONS\b', text):
            text += self.table(self.macros[name])
        return text

    def options(self, command):
        text = read(self.cli / f'cmd_{command}.c')
        return self.options_of(between(text, 'option options[] = {', '\n};'),
                               self.literals(between(text, 'help[] =', ';\n')))

    def options_of(self, text, help_text):
        told = described(help_text + self.common)
        table = self.table(text)
        for name, argument, letter in re.findall(
                r'\{\s*"([\w-]+)",\s*(\w+)_argument,\s*NULL,\s*(?:\'(\w)\'|\w+)\s*\}',
                table):
            if name in told:  # others are refused with a word
                yield Option(name, letter, argument, told[name])

    def commands(self):
        """The first one stands for what may be before a command."""
        yield Command('', '', list(self.options_of('COMMON_OPTIONS', '')))
        text = between(read(self.cli / 'main.c'), 'command commands[] = {', '\n};')
        joined = rf'((?:{LITERAL}\s*)+)'
        for match in re.finditer(rf'\{{\s*"(\w+)",\s*{joined},\s*cmd_\w+\s*\}}', text):
            name, summary = match[1], self.literals(match[2])
            options = sorted(self.options(name), key=lambda option: option.name)
            yield Command(name, summary, options)


def between(text, begin, end):
    at = text.index(begin) + len(begin)
    return text[at:text.index(end, at)]


def described(help_text):
    """What a help text says of each option, by its name."""
    told = {}
    names = []
    for line in help_text.split('\n'):
        match = re.match(r'  (?:-\w, )?\s*(--[\w-]+(?:, --[\w-]+)*)(?:=\S+)?(?: +|$)(.*)',
                         line)
        if match:
            names = re.findall(r'--([\w-]+)', match[1])
            told.update({name: match[2] for name in names})
        elif re.match(r' {20}', line):
            told.update({name: f'{told[name]} {line.strip()}'.strip()
                         for name in names})
        else:
            names = []
    return told


def words(command):
    """As they are typed, "--wait=" if something has to follow."""
    for option in command.options:
        yield f'--{option.name}' + ('=' if option.argument == 'required' else '')
        if option.letter:
            yield f'-{option.letter}'


def with_values(*commands):
    """The options that take the word behind them, each once. One letter may do so of one
    command, and not of another."""
    options = [option for command in commands for option in command.options
               if option.argument == 'required']
    return sorted({f'--{option.name}' for option in options} |
                  {f'-{option.letter}' for option in options if option.letter})


def spelt(options):
    return '|'.join(sorted({f'--{option.name}' for option in options} |
                           {f'-{option.letter}' for option in options
                            if option.letter}))


def chosen(commands, names):
    return [option for command in commands for option in command.options
            if option.name in names]


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def bash(commands):
    called = [command.name for command in commands[1:]] + ['help']
    named = sorted(OF_NAMES)
    values = [f'\t{spelt(chosen(commands, {name}))}) words={quoted(value)} ;;'
              for name, value in sorted(VALUES.items())]
    return {
        'commands': [f'_rowlock_commands={quoted(" ".join(called))}'],
        'options': [f'\t{c.name or quoted("")}) words={quoted(" ".join(words(c)))} ;;'
                    for c in commands],
        'values': values,
        'with_values': ['\t' + '|'.join(f"'{command.name} {option}'" for option in
                                        with_values(command)) + ') return 0 ;;'
                        for command in commands],
        'files': [f'\t{spelt(chosen(commands, FILES))})'],
        'suffixes': [f'\t{spelt(chosen(commands, SUFFIXES))})'],
        'names': [f'\t{spelt(chosen(commands, NAMES))})'],
        'of_names': [f'\t{"|".join(named)})'],
        'runs': [f'\t{"|".join(sorted(RUNS))})'],
    }


def zsh_option(option):
    text = re.sub(r'([\[\]:\\])', r'\\\1', option.text)
    action = {'required': ':value: ', 'optional': '::value: ', 'no': ''}
    after = action[option.argument]
    if option.name in VALUES:
        after = after[:-1] + f'({VALUES[option.name]})'
    elif option.name in FILES:
        after = after[:-1] + '_files'
    elif option.name in SUFFIXES:
        after = after[:-1] + '_rowlock_suffixes'
    elif option.name in NAMES:
        after = after[:-1] + '_rowlock_names'
    elif option.name in PROGRAMS:
        after = after[:-1] + '_cmdstring'
    marks = {'required': ('+', '='), 'optional': ('', '=-'), 'no': ('', '')}
    letter, name = marks[option.argument]
    repeated = '*' if option.name in NAMES else ''
    yield quoted(f'{repeated}--{option.name}{name}[{text}]{after}')
    if option.letter:
        yield quoted(f'{repeated}-{option.letter}{letter}[{text}]{after}')


def zsh(commands):
    options = []
    for command in commands:
        options.append(f'\t{command.name or quoted("")})')
        options.append('\t\targuments=(')
        for option in command.options:
            options += [f'\t\t\t{spec}' for spec in zsh_option(option)]
        if command.name in OF_NAMES:
            options.append("\t\t\t'1:name:_rowlock_names'")
        if command.name in RUNS:
            options.append("\t\t\t'*:::command:_normal'")
        options += ['\t\t)', '\t\t;;']
    return {
        'commands': [f'\t{quoted(f"{c.name}:{c.text}")}' for c in commands[1:]] +
                    ["\t'help:show what a command does'"],
        'options': options,
        'with_values': [f'\t\t{"|".join(with_values(commands[0]))})'],
    }


def fish_quoted(text):
    return "'" + text.replace('\\', '\\\\').replace("'", "\\'") + "'"


def fish_option(command, option):
    where = f'"__rowlock_is {command.name}"' if command.name else '__rowlock_is_first'
    line = f'complete -c rowlock -n {where} -l {option.name}'
    if option.letter:
        line += f' -s {option.letter}'
    if option.argument == 'required':
        line += ' -r' if option.name in FILES | PROGRAMS else ' -x'
    arguments = VALUES.get(option.name)
    if option.argument == 'optional':
        line += ' -f'
    if option.name in SUFFIXES:
        arguments = '(__rowlock_ask suffixes)'
    elif option.name in NAMES:
        arguments = '(__rowlock_ask names)'
    if arguments:
        line += f' -a {fish_quoted(arguments)}'
    return f'{line} -d {fish_quoted(option.text)}'


def fish(commands):
    lines = []
    for command in commands[1:]:
        lines.append(f'complete -c rowlock -n __rowlock_is_first -f -a {command.name} '
                     f'-d {fish_quoted(command.text)}')
    lines.append('complete -c rowlock -n __rowlock_is_first -f -a help '
                 "-d 'show what a command does'")
    lines.append('complete -c rowlock -n "__rowlock_is help" -f -a '
                 f'{fish_quoted(" ".join(command.name for command in commands[1:]))}')
    for command in commands:
        if command.name in OF_NAMES:
            lines.append(f'complete -c rowlock -n "__rowlock_is {command.name}; and '
                         'not __rowlock_has_name" -f -a "(__rowlock_ask names)"')
        if command.name and command.name not in RUNS:
            lines.append(f'complete -c rowlock -n "__rowlock_is {command.name}" -f')
        lines += [fish_option(command, option) for option in command.options]
    for command in sorted(RUNS):
        lines.append(f'complete -c rowlock -n "__rowlock_is {command}; and '
                     '__rowlock_has_name" -x -a "(__rowlock_command_line)"')
    return {
        'options': lines,
        'with_values': [
            'set -g __rowlock_with_values ' + ' '.join(
                f"'{command.name} {option}'" for command in commands
                for option in with_values(command)),
            'set -g __rowlock_runs_with_values ' + ' '.join(with_values(
                *(command for command in commands if command.name in RUNS)))],
    }


def main():
    root, template, output = map(pathlib.Path, sys.argv[1:])
    commands = list(Sources(root).commands())
    kind = template.name.removesuffix('.in').rpartition('.')[2]
    makers = {'bash': bash, 'zsh': zsh, 'fish': fish}
    made = makers[kind](commands)
    made['ask'] = (template.parent / 'ask.sh').read_text(encoding='utf-8').split('\n')[2:]
    lines = []
    for line in template.read_text(encoding='utf-8').split('\n'):
        match = re.fullmatch(r'@(\w+)@', line)
        lines += made[match[1]] if match else [line]
    output.write_text('\n'.join(lines), encoding='utf-8')


if __name__ == '__main__':
    main()
