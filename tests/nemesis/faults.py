# SPDX-License-Identifier: MIT
"""The faults: what each does, what it needs, how it is undone.

A fault is a function of the scene (nemesis.Scene): it says in the history what
it is about to do, does it, waits a while drawn by lot, and heals. Each is named
as in tests/checker/faults.c, which knows what it excuses; but for 'break', which
meets nobody who writes a history.
"""

import contextlib
import shutil
import signal

from .server import ServerError, find_faketime

FAULTS = {}  # by name: function, reason why it cannot be, or None


def fault(name, unable=lambda scene: None):
    def enter(function):
        FAULTS[name] = (function, unable)
        return function
    return enter


# While these last nobody gets anything; the rest comes twice as often.
RARE = ('crash', 'freeze', 'shutout', 'readonly', 'full', 'loss')


def weight(name):
    return 1 if name in RARE else 2


def needs_network(scene):
    return scene.net.reason


# --------------------------------------------------------------- processes

@fault('kill')
def kill(scene):
    """SIGKILL of a client; another takes its place."""
    scene.kill(scene.any_place())


@fault('stop')
def stop(scene):
    """SIGSTOP of a client, for less or more than its TTL."""
    place = scene.any_place()
    with scene.record.fault('stop', scene.crew.number(place)):
        for crew in scene.crews:
            crew.signal(place, signal.SIGSTOP)
        try:
            scene.wait(scene.a_while())
        finally:
            for crew in scene.crews:
                crew.signal(place, signal.SIGCONT)


def unable_break(scene):
    return None if scene.strategy == 'lease' else \
        'only in rounds with leases, where there are writers'


@fault('break', unable_break)
def break_holds(scene):
    """Writers' locks are taken from them, as by `rowlock break`: others have them
    while they go on. The histories have none of these names, nor this."""
    names = scene.rng.choices(scene.writers.names(), k=10)
    scene.record.faults['break'] += 1
    # A commit that is under way locks its row.
    scene.server.sql('SET innodb_lock_wait_timeout = 1;' + ';'.join(
        f"DELETE FROM business_lease WHERE name = '{name}'; DO SLEEP(0.1)"
        for name in names), whatever=True)


# ------------------------------------------------------------- the network

def cut_off(scene, kind, *rules):
    place = scene.any_place()
    number = scene.crew.number(place)
    with scene.record.fault(kind, number):
        try:
            scene.net.drop(place, *rules)
            with scene.record.silence(number):
                scene.wait(scene.a_while(), spare=place)
        finally:
            scene.net.heal(place)


@fault('drop', needs_network)
def drop(scene):
    """Nothing passes, both ways: half-open connections."""
    cut_off(scene, 'drop', 'INPUT', 'OUTPUT')


@fault('drop-in', needs_network)
def drop_in(scene):
    """No answer passes; requests do."""
    cut_off(scene, 'drop-in', 'INPUT')


@fault('drop-out', needs_network)
def drop_out(scene):
    """No request passes; answers do."""
    cut_off(scene, 'drop-out', 'OUTPUT')


@fault('loss', needs_network)
def loss(scene):
    """Every twentieth packet of every client is lost, both ways."""
    some = '-m statistic --mode random --probability 0.05'
    with scene.record.fault('loss', 'all'):
        try:
            for place in scene.places:
                scene.net.drop(place, f'INPUT {some}', f'OUTPUT {some}')
            scene.wait(2 * scene.a_while())
        finally:
            for place in scene.places:
                scene.net.heal(place)


@fault('reset', needs_network)
def reset(scene):
    """All connections of a client are ended at once."""
    place = scene.any_place()
    with scene.record.fault('cut', scene.crew.number(place)):
        scene.net.reset(place)


def unable_idle(scene):
    if not shutil.which('haproxy'):
        return "needs 'haproxy'"
    return scene.net.reason


@fault('idle', unable_idle)
def idle(scene):
    """In a round that has it, half of the clients go through haproxy, which
    ends connections that are idle: nothing is left to do here."""
    scene.wait(0.1)


# --------------------------------------------------------------- the server

@fault('crash')
def crash(scene):
    """SIGKILL of the server, and a restart on the same data."""
    with scene.record.fault('crash', 'server'):
        scene.server.kill()
        with scene.record.silence('server'):
            scene.wait(scene.a_while() / 2, quiet=True)
        scene.server.start(scene.server.faked)


@fault('freeze')
def freeze(scene):
    """SIGSTOP of the server."""
    with scene.record.fault('freeze', 'server'):
        try:
            scene.server.freeze()
            with scene.record.silence('server'):
                scene.wait(scene.a_while())
        finally:
            scene.server.thaw()


@fault('cut')
def cut(scene):
    """KILL of some connections, or of all."""
    ids = scene.server.connections()
    scene.rng.shuffle(ids)
    ids = ids[:scene.rng.choice((1, 3, 10, len(ids)))]
    with scene.record.fault('cut', 'server'):
        # Some have ended by themselves meanwhile.
        scene.server.sql(';'.join(f'KILL {number}' for number in ids),
                         whatever=True)


def full_house(scene, kind, meanwhile):
    with scene.record.fault(kind, 'server'):
        try:
            scene.server.sql('SET GLOBAL max_connections = 10')
            meanwhile(scene)
            scene.wait(scene.a_while())
        finally:
            scene.server.sql('SET GLOBAL max_connections = 2000')


@fault('connections')
def connections(scene):
    """No more connections are to be had; everybody has what he needs. (Behind
    a proxy that ends connections nobody has, so there it is a shutout.)"""
    if scene.idle:
        shutout(scene)
        return
    scene.wait(scene.ttl_s, quiet=True)  # who was cut opens others
    full_house(scene, 'connections', lambda scene: None)


@fault('shutout')
def shutout(scene):
    """Nor do those stay that there are."""
    full_house(scene, 'shutout', cut)


@fault('readonly')
def readonly(scene):
    """The server takes no writes."""
    with scene.record.fault('readonly', 'server'):
        try:
            scene.server.sql('SET GLOBAL read_only = 1')
            scene.wait(scene.a_while())
        finally:
            scene.server.sql('SET GLOBAL read_only = 0')


DDL = (
    'ALTER TABLE {} FORCE, ALGORITHM=COPY',
    'ALTER TABLE {} FORCE, ALGORITHM=INPLACE',
    "ALTER TABLE {} COMMENT = 'altered', ALGORITHM=COPY",
    'OPTIMIZE TABLE {}',
    'ANALYZE TABLE {}',
    'FLUSH TABLES {} FOR EXPORT; DO SLEEP(0.2)',
    'LOCK TABLES {} WRITE; DO SLEEP(0.2)',
)
TABLES = ('business_lock', 'business_lease', 'lease_session', 'lock_token',
          'lock_token_floor', 'lock_permits')


@fault('ddl')
def ddl(scene):
    """Statements that want one of our tables for themselves."""
    text = scene.rng.choice(DDL).format(scene.rng.choice(TABLES))
    with scene.record.fault('ddl', 'server'), \
         contextlib.suppress(ServerError):  # it may wait in vain
        scene.server.sql(f'SET lock_wait_timeout = 1; {text}')


def unable_full(scene):
    return None if scene.server.has_disk else \
        'needs root for a small disk in memory'


@fault('full', unable_full)
def full(scene):
    """No space is left on the server's disk."""
    with scene.record.fault('full', 'server'):
        try:
            scene.server.fill_disk()
            with contextlib.suppress(ServerError):
                scene.server.sql(
                    'CREATE OR REPLACE TABLE nemesis_filler (t LONGTEXT); '
                    "INSERT INTO nemesis_filler VALUES (REPEAT('x', 9999999))")
            scene.wait(scene.a_while())
        finally:
            scene.server.empty_disk()
            with contextlib.suppress(ServerError):
                scene.server.sql('DROP TABLE IF EXISTS nemesis_filler')


def unable_clock(scene):
    if not find_faketime():
        return 'needs libfaketime'
    return None if scene.observing else \
        'only in rounds in which clients do not believe that clock'


@fault('clock', unable_clock)
def clock(scene):
    """The server's clock jumps, perhaps again, and back."""
    with scene.record.fault('clock', 'server'):
        try:
            for _ in range(scene.rng.randint(1, 2)):
                scene.server.set_clock(scene.rng.choice(
                    ('+3', '+30', '+3600', '+86400', '-3', '-600')))
                scene.wait(1 + scene.a_while())
        finally:
            scene.server.set_clock('+0')


HOSTILE = {
    'autocommit': ('0', '1'),
    'sql_mode': ("''", 'DEFAULT'),
    'tx_isolation': ("'SERIALIZABLE'", 'DEFAULT'),
    'time_zone': ("'+13:00'", 'DEFAULT'),
    'completion_type': ("'RELEASE'", 'DEFAULT'),
    'innodb_lock_wait_timeout': ('1', 'DEFAULT'),
    'lock_wait_timeout': ('1', 'DEFAULT'),
    'wait_timeout': ('1', 'DEFAULT'),
    'net_read_timeout': ('1', 'DEFAULT'),
    'max_statement_time': ('0.01', 'DEFAULT'),
    'sql_select_limit': ('0', 'DEFAULT'),
    'sql_safe_updates': ('1', 'DEFAULT'),
    'collation_connection': ("'latin1_swedish_ci'", 'DEFAULT'),
    'init_connect': ("'SET timestamp = 1'", "''"),
}


@fault('globals')
def hostile_globals(scene):
    """Settings that new connections inherit; and connections are cut, so that
    there are new ones."""
    names = scene.rng.sample(sorted(HOSTILE), scene.rng.randint(1, 4))
    with scene.record.fault('globals', 'server', settings=','.join(names)):
        try:
            for name in names:
                scene.server.sql(f'SET GLOBAL {name} = {HOSTILE[name][0]}')
            cut(scene)
            scene.wait(scene.a_while())
        finally:
            for name in names:
                scene.server.sql(f'SET GLOBAL {name} = {HOSTILE[name][1]}')
            # Who came in meanwhile keeps what he got.
            cut(scene)


def unable_here(scene, names):
    """Which of these faults cannot be here, and why."""
    reasons = ((name, FAULTS[name][1](scene)) for name in names)
    return {name: reason for name, reason in reasons if reason}
