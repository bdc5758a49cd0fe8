# SPDX-License-Identifier: MIT
"""Charts, drawn by gnuplot: for each workload how many pairs and how long they
take, systems always in the same order, ours in colour; and how it grows."""

import os
import subprocess
import tempfile

from processes import BenchError, which
from stage import SYSTEMS

OURS = {'row': '#1f6fc4', 'lease': '#0b8f6a', 'lease-token': '#7fc8b2',
        'multilock': '#c98a1f', 'readers': '#c9571f',
        'semaphore': '#8f3fa8'}
GREYS = ('#8c8c8c', '#b0b0b0', '#6a6a6a', '#9c9c9c', '#4c4c4c', '#c4c4c4',
         '#7a7a7a')
GREY = '#a6a6a6'

HEAD = '''set terminal svg size {width},{height} dynamic enhanced \\
    font 'DejaVu Sans,Helvetica,sans-serif,13' background '#ffffff'
set output '{path}'
set border 3 lc rgb '#606060'
set tics nomirror tc rgb '#303030'
set grid ytics lc rgb '#e4e4e4' lt 1
set title "{title}" noenhanced font ',15' tc rgb '#202020'
set xtics scale 0 noenhanced font ',12'
set ylabel "{ylabel}" tc rgb '#303030'
set label 1 "{foot}" at screen 0.99, screen 0.02 right noenhanced \\
    font ',9' tc rgb '#808080'
set bmargin {bmargin}
'''

RATES = '''set style fill solid 1.0 noborder
set boxwidth 0.7
set yrange [0:{top}]
set format y "%'.0f"
set xrange [0.4:{right}]
plot $data using 1:3:6:xtic(2) with boxes lc rgb variable notitle, \\
     $data using 1:4:(0):($5-$4) with vectors heads size graph 0.007,90 \\
         lc rgb '#303030' lw 1.2 notitle, \\
     $data using 1:($5+{top}*0.035):7 with labels noenhanced font ',11' notitle
'''

TIMES = '''set logscale y
set format y "%g"
set grid xtics lc rgb '#f0f0f0' lt 1
set xrange [0.4:{right}]
set yrange [{low}:{top}]
plot $data using 1:3:(0):($5-$3):6:xtic(2) with vectors nohead lw 1.5 \\
         lc rgb variable notitle, \\
     $data using 1:3:(0):($4-$3):6 with vectors nohead lw 9 lc rgb variable \\
         notitle, \\
     $data using 1:3:6 with points pt 7 ps 1.1 lc rgb variable notitle, \\
     $data using ($1+0.12):3:7 with labels left noenhanced font ',11' notitle
'''

GROWTH = '''set logscale x 2
set logscale y
set format y '%g'
set xrange [0.8:320]
set xlabel "{along}" tc rgb '#303030'
set key outside right noenhanced samplen 2 spacing 1.3
plot {lines}
'''


# Of what grows: field, word in the file's name, axis, factor.
GROWING = (('pairs_per_s', 'rate', 'pairs per second', 1),
           ('p50_us', 'latency', 'ms, median', 1e-3))
MORE = {'waiting': (('server_statements_per_s', 'statements',
                     'statements per second, of all together', 1),)}


def colour(system):
    return OURS.get(system, GREY)


def shown(value):
    if value >= 1e6:
        return f'{value / 1e6:.1f} M'
    return f'{value:,.0f}' if value >= 10 else f'{value:.2g}'


def gnuplot(text):
    done = subprocess.run(['gnuplot'], input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, start_new_session=True)
    if done.returncode:
        raise BenchError(f'gnuplot: {done.stdout.strip()}')


class Charts:
    def __init__(self, results, directory, foot):
        self.results = results
        self.directory = directory
        self.foot = foot.replace('"', "'")

    def _head(self, name, title, ylabel, **more):
        look = {'width': 840, 'height': 380, 'bmargin': 3.2, **more}
        return HEAD.format(path=os.path.join(self.directory, name + '.svg'),
                           title=title, ylabel=ylabel, foot=self.foot, **look)

    def _systems(self, workload, field):
        return [name for name in SYSTEMS
                if self.results.get(workload, name, field) is not None]

    def rates(self, workload, shape):
        get, rows = self.results.get, []
        for system in self._systems(workload, 'pairs_per_s'):
            some = self.results.all(workload, system, 'pairs_per_s')
            rows.append((system, get(workload, system), min(some), max(some)))
        # The mutex has no server to ask: its bar may leave the page.
        tops = [row[3] for row in rows if row[0] != 'mutex'] or [rows[0][3]]
        top = max(tops) * 1.2
        data = ''
        for i, (name, rate, low, high) in enumerate(rows, 1):
            label = shown(rate)
            if high > top:
                rate = low = high = top * 0.9
                label += ', cut off'
            data += (f'{i} "{name}" {rate} {low} {high} '
                     f'{int(colour(name)[1:], 16)} "{label}"\n')
        gnuplot(self._head(workload + '-rate', f'{workload}: {shape}',
                           'pairs per second')
                + f'$data << EOD\n{data}EOD\n'
                + RATES.format(top=top, right=len(rows) + 0.6))

    def times(self, workload, shape):
        get, rows = self.results.get, []
        for system in self._systems(workload, 'p50_us'):
            rows.append((system, *(max(get(workload, system, field), 0.1) / 1000
                                   for field in ('p50_us', 'p99_us',
                                                 'max_us'))))
        rows = [row for row in rows if row[0] != 'mutex' or len(rows) == 1]
        data = ''.join(
            f'{i} "{name}" {p50} {p99} {most} {int(colour(name)[1:], 16)} '
            f'"{shown(p50)}"\n'
            for i, (name, p50, p99, most) in enumerate(rows, 1))
        gnuplot(self._head(workload + '-latency', f'{workload}: {shape}',
                           'ms: p50 (dot), p99 (bar), max (line)')
                + f'$data << EOD\n{data}EOD\n'
                + TIMES.format(right=len(rows) + 0.7,
                               low=min(row[1] for row in rows) / 2,
                               top=max(row[3] for row in rows) * 2))

    def growth(self, family, workloads, kind):
        field, said, ylabel, factor = kind
        systems = [system for system in SYSTEMS
                   if any(self.results.get(workload.name, system, field)
                          for workload in workloads)]
        if not systems:
            return
        blocks, lines = '', []
        for i, system in enumerate(systems):
            ours = system in OURS
            rows = ''.join(
                f'{workload.size} {value * factor}\n'
                for workload in workloads
                if (value := self.results.get(workload.name, system, field)))
            blocks += f'$d{i} << EOD\n{rows}EOD\n'
            lines.append(
                f'$d{i} with linespoints lw {2.6 if ours else 1.4} '
                f'pt {(7, 5, 9, 11, 13, 4, 6, 8)[i % 8]} '
                f'ps {0.9 if ours else 0.7} lc rgb '
                f"'{OURS.get(system) or GREYS[i % len(GREYS)]}' "
                f"title '{system}'")
        gnuplot(self._head(f'growth-{family}-{said}', family, ylabel,
                           height=460, bmargin=4.5)
                + blocks + GROWTH.format(
                    along=workloads[0].along,
                    lines=', \\\n    '.join(lines)))


def try_directory(directory):
    """OSError if charts cannot be written there."""
    os.makedirs(directory, exist_ok=True)
    with tempfile.TemporaryFile(dir=directory):
        return directory


def need_gnuplot():
    if not which('gnuplot'):
        raise BenchError('there is no gnuplot on this machine: install it, or '
                         'leave out --svg')


def draw(results, directory, workloads, shapes, foot):
    """A chart per workload and kind of figure into the directory; of what
    grows, one for all sizes."""
    charts = Charts(results, directory, foot)
    growing = {}
    for workload in workloads:
        if workload.size:
            growing.setdefault(workload.family, []).append(workload)
    for family, some in growing.items():
        for kind in GROWING + MORE.get(family, ()):
            charts.growth(family, some, kind)
    for name in results.workloads() if not growing else ():
        systems = results.systems(name)
        shape = shapes.get(name, '').partition(';')[0]
        if any(results.get(name, system) for system in systems):
            charts.rates(name, shape)
        if any(results.get(name, system, 'p50_us') for system in systems):
            charts.times(name, shape)
