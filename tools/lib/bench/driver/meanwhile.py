# SPDX-License-Identifier: MIT
"""The workload about others: what they notice of a transaction that is tied to
a lock, as long as it is open."""

import json
import time

from figures import Figure, add_steps, percentile
from workloads import Workload, sleep_until

WARM_S = 0.1
SLICE_S = 0.5


class Tally:
    """What came of some slices of time, in each of which one client's threads
    work, or none, and a stranger tries a name that it does not get."""

    def __init__(self):
        self.pairs = 0
        self.seconds = 0
        self.steps = {}
        self.max_ns = 0

    def play(self, client, stranger):
        start = time.monotonic_ns() + int(WARM_S * 1e9)
        end = start + int(SLICE_S * 1e9)
        for some in filter(None, (client, stranger)):
            some.tell(f'go {start} {end}')
        sleep_until(end)
        if client:
            self.pairs += client.hear_word('made')[0]
        self.seconds += SLICE_S
        told = json.loads(stranger.hear())
        add_steps(self.steps, told['latency'])
        self.max_ns = max(self.max_ns, told['max_ns'])

    def rate(self):
        return self.pairs / self.seconds

    def p99_us(self):
        return percentile(self.steps, 0.99)


class Meanwhile(Workload):
    """Two clients in turn, slice by slice, of which one has a transaction open:
    a machine that gets slower gets slower for both. And half of the time with
    none open comes before, half after."""

    name = 'guarded-meanwhile'
    family = 'guarded'
    systems = ('transfer-guarded', 'transfer-early')
    rounds = 3
    threads = 8

    def __init__(self, quick):
        self.turns = 1 if quick else 4  # of five slices
        self.shape = (f'a transaction is open for {self.turns * 5 * SLICE_S:g} '
                      f's; pairs: of {self.threads} threads of its client, a '
                      "name each, meanwhile; latency: of another client's "
                      'tries of its name while none of them works')

    def measure(self, stage, system):
        ours, theirs = (self._client(stage, system, word)
                        for word in ('ours', 'theirs'))
        stranger = stage.client('lease', 'try', '--prefix', self._prefix('ours'))
        stranger.hear_word('ready')
        closed, opened, beside, alone = (Tally() for _ in range(4))

        def take_turns(our_tally, their_tally):
            for client in (ours, theirs, theirs, ours):
                (our_tally if client is ours else their_tally).play(
                    client, stranger)

        for _ in range(-(-self.turns // 2)):
            take_turns(closed, closed)
        ours.tell('begin')
        ours.hear_word('begun')
        for _ in range(self.turns):
            take_turns(opened, beside)
            alone.play(None, stranger)
        ours.tell('end')
        ours.hear_word('ended')
        for _ in range(-(-self.turns // 2)):
            take_turns(closed, closed)
        for client in (stranger, ours, theirs):
            client.end()
        return [self._figure(system, opened, beside, closed, alone)]

    def _prefix(self, word):
        return f'bench-{self.name}-{word}-'

    def _client(self, stage, system, word):
        client = stage.client(system, 'meanwhile', '--threads', self.threads,
                              '--prefix', self._prefix(word))
        client.hear_word('ready')
        return client

    def _figure(self, system, opened, beside, closed, alone):
        figure = Figure(self.name, system, 1, self.threads, self.threads,
                        pairs_per_s=opened.rate(),
                        p50_us=percentile(alone.steps, 0.5),
                        p99_us=alone.p99_us(), max_us=alone.max_ns / 1000)
        figure.more['longest_ms'] = alone.max_ns / 1e6
        if beside.pairs and closed.pairs:
            figure.more['to_others'] = opened.rate() / beside.rate()
            figure.more['to_closed'] = \
                (opened.rate() + beside.rate()) / 2 / closed.rate()
            figure.more['p99_to_closed'] = opened.p99_us() / closed.p99_us()
        return figure
