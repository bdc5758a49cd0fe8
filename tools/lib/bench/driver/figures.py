# SPDX-License-Identifier: MIT
"""What a measurement says, what the rounds of it say together, and where that
is written."""

import contextlib
import dataclasses
import json
import os
import statistics

# Those of the JSON, in this order; the rest is for the bars.
FIELDS = ('workload', 'system', 'processes', 'threads', 'names', 'pairs_per_s',
          'p50_us', 'p99_us', 'max_us', 'fairness', 'server_statements_per_s',
          'rss_bytes')

# Of events that are so few that those of all rounds are taken together, in
# order: from seconds.
SINGLES = {
    'p50_us': statistics.median,
    'p99_us': lambda some: some[-(-99 * len(some) // 100) - 1],
    'max_us': lambda some: some[-1],
}


@dataclasses.dataclass
class Figure:
    workload: str
    system: str
    processes: int = 1
    threads: int = 1
    names: int = 1
    pairs_per_s: float = None
    p50_us: float = None
    p99_us: float = None
    max_us: float = None
    fairness: float = None
    server_statements_per_s: float = None
    rss_bytes: int = None
    round: int = 0
    more: dict = dataclasses.field(default_factory=dict)


def percentile(steps, part):
    """Of a histogram {lower bound in ns: count}, in us."""
    wanted = part * sum(steps.values())
    seen = 0
    for bound in sorted(steps):
        seen += steps[bound]
        if seen >= wanted:
            return bound / 1000
    return None


def add_steps(steps, more):
    """To a histogram the (lower bound, count) of another."""
    for bound, count in more:
        steps[bound] = steps.get(bound, 0) + count


class Results:
    """All figures of a run."""

    def __init__(self):
        self.rounds = {}

    def add(self, figure):
        self.rounds.setdefault((figure.workload, figure.system),
                               []).append(figure)

    def all(self, workload, system, field):
        """A field's value in each round where there is one."""
        values = (getattr(figure, field) if field in FIELDS
                  else figure.more.get(field)
                  for figure in self.rounds.get((workload, system), ()))
        return [value for value in values if value is not None]

    def get(self, workload, system, field='pairs_per_s'):
        """The median; None if it was not measured. A maximum is that of all
        rounds."""
        values = self.all(workload, system, field)
        singles = sorted(sum(self.all(workload, system, 'singles'), []))
        if singles and field in SINGLES:
            return 1e6 * SINGLES[field](singles)
        if not values:
            return None
        return max(values) if field == 'max_us' else statistics.median(values)

    def ratio(self, workload, ours, theirs, of=None):
        """The median of the rounds' ratios, as the machine's own pace changes
        from round to round; to another workload, that of the medians. None if
        there is no round that has both."""
        if of and of != workload:
            mine, other = self.get(workload, ours), self.get(of, theirs)
            return mine / other if mine is not None and other else None

        def rates(system):
            return {figure.round: figure.pairs_per_s
                    for figure in self.rounds.get((workload, system), ())
                    if figure.pairs_per_s}

        mine, other = rates(ours), rates(theirs)
        ratios = [mine[number] / other[number]
                  for number in mine if number in other]
        return statistics.median(ratios) if ratios else None

    def workloads(self):
        return list(dict.fromkeys(workload for workload, _ in self.rounds))

    def systems(self, workload):
        return [system for word, system in self.rounds if word == workload]

    def figure(self, workload, system):
        """The medians."""
        some = self.rounds[workload, system][0]
        medians = {field: self.get(workload, system, field)
                   for field in FIELDS[5:]}
        return dataclasses.replace(some, **medians, more={})

    def json(self):
        return [{field: getattr(self.figure(*key), field) for field in FIELDS}
                for key in self.rounds]


class Place:
    """A file that is opened before there is anything to write. What is in it
    stays until then; a new one goes again if nothing comes."""

    def __init__(self, path):
        self.path = path
        self.new = not os.path.lexists(path)
        self.file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666),
                              'w', encoding='utf-8')

    def write(self, results):
        self.new = False
        with self.file:
            # A pipe has nothing to cut off.
            with contextlib.suppress(OSError):
                self.file.truncate(0)
            json.dump(results.json(), self.file, indent=1)
            self.file.write('\n')

    def close(self):
        self.file.close()
        if self.new:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
