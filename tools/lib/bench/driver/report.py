# SPDX-License-Identifier: MIT
"""The tables, for people."""

import os
import platform
import re
import time

from stage import SYSTEMS


def number(value, unit=''):
    if value is None:
        return '-'
    if value >= 1e6:
        return f'{value / 1e6:,.2f} M{unit}'
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f'{value:,.{digits}f}{unit}'


def duration(us):
    return '-' if us is None else f'{us:,.1f}' if us < 10 else f'{us:,.0f}'


def cpu():
    with open('/proc/cpuinfo', encoding='utf-8') as info:
        found = re.search(r'^model name\s*: (.*)$', info.read(), re.MULTILINE)
    return found[1] if found else platform.machine()


def memory_gib():
    return os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30


def fsync_us(directory):
    """The median of a few 4 KiB appends that are flushed."""
    path = os.path.join(directory, 'fsync')
    took = []
    with open(path, 'wb', buffering=0) as file:
        for _ in range(50):
            began = time.monotonic()
            file.write(bytes(4096))
            os.fdatasync(file.fileno())
            took.append(time.monotonic() - began)
    os.unlink(path)
    return sorted(took)[len(took) // 2] * 1e6


def busy_cores(seconds=0.5):
    """How many cores others keep busy just now."""
    def idle():
        with open('/proc/stat', encoding='ascii') as stat:
            return int(stat.readline().split()[4])
    before = idle()
    time.sleep(seconds)
    idle_s = (idle() - before) / os.sysconf('SC_CLK_TCK')
    return max(0, os.cpu_count() - idle_s / seconds)


def machine(stage, busy):
    """Lines about where this was measured."""
    lines = [f'{cpu()}, {os.cpu_count()} cores, {memory_gib():.0f} GiB, '
             f'{platform.system()} {platform.release()}',
             'a write of 4 KiB and its flush to this disk: '
             f'{fsync_us(stage.work):.0f} us']
    versions = dict.fromkeys(server.version()
                             for kind, server in stage.servers.items()
                             if kind != 'none')
    lines.append(', '.join(versions))
    if busy > 0.25:
        lines.append(f'others kept {busy:.1f} cores busy before the start: '
                     'these figures are noisy')
    if stage.options.delay_ms:
        lines.append(f'{stage.options.delay_ms:g} ms are added to each round '
                     'trip')
    return lines


def footnote(stage):
    """The machine in one short line."""
    words = [f'{cpu()}, {os.cpu_count()} cores']
    words += [re.sub(r'-\S*', '', server.version())
              for kind, server in stage.servers.items()
              if kind not in ('none', 'redis-aof')]
    if stage.options.delay_ms:
        words.append(f'{stage.options.delay_ms:g} ms network')
    return ', '.join(words)


HEAD = ('system', 'pairs/s', 'min-max', 'ratio', 'p50 us', 'p99 us', 'max us',
        'fairness', 'statements/s', 'memory')


def row(results, workload, system):
    figure = results.figure(workload, system)
    rates = results.all(workload, system, 'pairs_per_s')
    ours = SYSTEMS[system].against
    ratio = results.ratio(workload, system, ours)
    return (system, number(figure.pairs_per_s),
            f'{number(min(rates))} - {number(max(rates))}' if rates else '-',
            f'{ratio:.2f} x {ours}' if ratio and system != ours else '',
            duration(figure.p50_us), duration(figure.p99_us),
            duration(figure.max_us),
            '-' if figure.fairness is None else f'{figure.fairness:.2f}',
            number(figure.server_statements_per_s),
            '-' if figure.rss_bytes is None
            else f'{figure.rss_bytes / 2**20:,.0f} MiB')


def table(results, shapes):
    """Lines."""
    rows = {}
    for workload in results.workloads():
        systems = sorted(results.systems(workload),
                         key=list(SYSTEMS).index)
        rows[workload] = [row(results, workload, system)
                          for system in systems]
    every = [HEAD] + [cells for some in rows.values() for cells in some]
    widths = [max(len(cells[i]) for cells in every) for i in range(len(HEAD))]
    lines = []
    for workload, some in rows.items():
        lines += ['', f'{workload}: {shapes.get(workload, "")}']
        for cells in [HEAD] + some:
            lines.append('  ' + '  '.join(
                cell.ljust(width) if i in (0, 3) else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(cells, widths)))
                .rstrip())
    return lines
