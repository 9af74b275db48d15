"""A team's database with a million memories of 200 members: a pull of ten changes, and a first join.

``python -m bench.team_size [MEMORIES]`` starts a PostgreSQL server of its own (needs Debian's package
postgresql) and prints what a pull of ten changes takes among MEMORIES and among a thousand, their ratio, and
how much more memory than before a first join takes at its most.
"""

from __future__ import annotations

import resource
import statistics
import sys
import time
from typing import Any

from pipeline.team import connecting, members, revisions, schema
from tests.support.postgres import Server, running

MEMBERS = 200
SMALL, LARGE = 1_000, 1_000_000
_ROUNDS = 25
_FILL = """
INSERT INTO reverie_team.revision (team, number, digest, memory, author, machine, body)
SELECT '{team}', n, lpad(md5('{team}' || n), 40, '0'), 'memory-' || n, 'member_' || n % {members}, 'laptop',
    'Sentence ' || n || repeat(' of a memory as long as most are', 12)
FROM generate_series(1, {count}) n;
UPDATE reverie_team.team SET latest = {count} WHERE id = '{team}';
"""


def main(count: int) -> None:
    """Measure and print."""
    with running() as server:
        connecting.within(connecting.parse(server.url()), schema.set_up)
        found = {size: _filled(server, size) for size in (SMALL, count)}
        server.sql("VACUUM ANALYZE")
        spent = {size: _pull(server, team, size) for size, team in found.items()}
        small, large = spent[SMALL], spent[count]
        print(f"pull of ten changes among {SMALL:,}: {small * 1000:.2f} ms")
        print(f"among {count:,}: {large * 1000:.2f} ms, {large / small:.2f} times as much")
        before = _peak()
        read, took = _join(server, found[count])
        print(f"first join: {read:,} revisions in {took:.1f} s, {_peak() - before:.0f} MB more at the most")


def _filled(server: Server, size: int) -> str:
    address = connecting.parse(server.url())
    team = connecting.within(
        address, lambda connection: members.found_team(connection, f"team-{size}", "Founder")
    )
    server.sql(_FILL.format(team=team, members=MEMBERS, count=size))
    return team


def _pull(server: Server, team: str, size: int) -> float:
    """Return the median of the seconds that a pull of the last ten takes on an open connection."""
    times = []
    with connecting.connected(connecting.parse(server.url())) as connection:
        for _ in range(_ROUNDS):
            began = time.perf_counter()
            found = revisions.after(connection, team, size - 10)
            times.append(time.perf_counter() - began)
            assert len(found) == 10
    return statistics.median(times)


def _join(server: Server, team: str) -> tuple[int, float]:
    began, read = time.perf_counter(), 0

    def walk(connection: Any) -> int:
        last = count = 0
        while found := revisions.after(connection, team, last):
            last, count = found[-1].number, count + len(found)
            if count % 100_000 < len(found):
                print(f"  {count:,}", file=sys.stderr)
        return count

    read = connecting.within(connecting.parse(server.url()), walk)
    return read, time.perf_counter() - began


def _peak() -> float:
    """Return the most memory this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else LARGE)
