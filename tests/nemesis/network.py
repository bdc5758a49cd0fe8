# SPDX-License-Identifier: MIT
"""Network namespaces: the server in one, each client in one of its own.

All addresses, routes and rules live in the namespaces; the machine's own
network is not touched. Needs root; without it there is one place, this one,
and all meet on 127.0.0.1.
"""

import glob
import os
import re
import shutil
import subprocess

from process import is_alive

PREFIX = 'rowlock-nemesis'


def run(*words, check=True):
    return subprocess.run(words, check=check, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)


def remove_stale():
    """Namespaces of a nemesis that was killed."""
    for path in glob.glob(f'/run/netns/{PREFIX}-*'):
        owner = re.search(r'-(\d+)-', os.path.basename(path))
        if owner and not is_alive(owner[1]):
            run('ip', 'netns', 'del', os.path.basename(path), check=False)


class Network:
    """Place 0 is the server's, the clients' are 1 to n."""

    def __init__(self, places):
        self.names = []
        self.reason = self._why_not()
        if self.reason:
            return
        remove_stale()
        try:
            self._make(places)
        except subprocess.CalledProcessError as error:
            self.reason = f'no network namespaces: {error.output.strip()}'
            self.close()

    @staticmethod
    def _why_not():
        if os.geteuid() != 0:
            return 'needs root for network namespaces'
        for tool in ('ip', 'iptables'):
            if not shutil.which(tool):
                return f"needs '{tool}'"
        return None

    def _make(self, places):
        for place in range(places + 1):
            name = f'{PREFIX}-{os.getpid()}-{place}'
            run('ip', 'netns', 'add', name)
            self.names.append(name)
            run('ip', '-n', name, 'link', 'set', 'lo', 'up')
        for place in range(1, places + 1):
            self._connect(place)
        run(*self.inside(1), 'iptables', '-L', '-n')

    def _connect(self, place):
        server, client = self.names[0], self.names[place]
        run('ip', 'link', 'add', f'c{place}', 'netns', server, 'type', 'veth',
            'peer', 'name', 'eth', 'netns', client)
        run('ip', '-n', server, 'address', 'add', f'10.213.{place}.1/24',
            'dev', f'c{place}')
        run('ip', '-n', server, 'link', 'set', f'c{place}', 'up')
        run('ip', '-n', client, 'address', 'add', f'10.213.{place}.2/24',
            'dev', 'eth')
        run('ip', '-n', client, 'link', 'set', 'eth', 'up')

    def close(self):
        for name in self.names:
            run('ip', 'netns', 'del', name, check=False)
        self.names = []

    def inside(self, place):
        """The words before a command that is to run in this place."""
        if not self.names:
            return []
        return ['ip', 'netns', 'exec', self.names[place]]

    def address(self, place):
        """The server's, seen from this client's place."""
        return f'10.213.{place}.1' if self.names else '127.0.0.1'

    def drop(self, place, *rules):
        """Drop what the rules ('INPUT', 'OUTPUT -m ...') say."""
        for rule in rules:
            run(*self.inside(place), 'iptables', '-A', *rule.split(),
                '-p', 'tcp', '-j', 'DROP')

    def heal(self, place):
        run(*self.inside(place), 'iptables', '-F')

    def reset(self, place):
        """End every connection from this place, as a firewall may."""
        run(*self.inside(place), 'ss', '-K', 'dst', self.address(place))
