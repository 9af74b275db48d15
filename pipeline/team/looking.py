"""What a worker asks of a team's database each time it looks for work, in one question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.record import record
from pipeline.team.dreams import SINCE, Since
from pipeline.team.queue import BATCH, FAULT, LEASE, MINE, Waiting

if TYPE_CHECKING:
    import psycopg

_SQL = f"""
WITH job AS (
    SELECT queue_name, args ->> 'project' AS project, args ->> 'key' AS key, priority, id,
        {FAULT} AS fault, coalesce(scheduled_at, '-infinity') <= now() AS is_due
    FROM procrastinate_jobs WHERE status IN ('todo', 'doing') AND {MINE}
    -- Of each queue the first job that is due.
), first AS (
    SELECT DISTINCT ON (queue_name) queue_name, project, key, priority, id FROM job
    WHERE fault = '' AND is_due ORDER BY queue_name, priority DESC, id
)
SELECT
    -- What this machine has a lease on comes first: it died at that, and after a while others would go on.
    (SELECT jsonb_agg(jsonb_build_array(queue_name, project, key) ORDER BY is_own DESC, priority DESC, id)
        FROM (SELECT first.*, lease.name IS NULL AS is_free,
                coalesce(lease.login = session_user AND lease.machine = %(machine)s, false) AS is_own
            FROM first LEFT JOIN lease ON lease.team = %(team)s
                AND lease.name = %(lease)s || regexp_replace(queue_name, %(batch)s || '$', '')
                AND lease.until > clock_timestamp()) AS leased
        WHERE is_free OR is_own),
    (SELECT count(*) FROM job WHERE fault <> ''),
    (SELECT jsonb_agg(jsonb_build_array(cap.span, cap.dollars::text) ORDER BY cap.span) FROM cap
        WHERE cap.team = %(team)s AND spent(cap.team, cap.span) >= cap.dollars),
    {SINCE}
FROM team LEFT JOIN dream ON dream.team = team.id WHERE team.id = %(team)s
"""


@record
class Look:
    """What a machine may do now for whoever asks: queues read `singly` and `in_batches`, most urgent first,
    but before them those that it has a lease on.

    Of these only those that no other machine works at, and of which a job is due; one that is read in a batch
    counts as due all the while. `odd` counts jobs that can't be done by anybody, `reached` has the span and
    dollars of each cap that is reached, and `since` what came since the last dream.
    """

    singly: tuple[Waiting, ...]
    in_batches: tuple[Waiting, ...]
    odd: int
    reached: tuple[tuple[str, float], ...]
    since: Since


def look(connection: psycopg.Connection[Any], team: str, machine: str) -> Look:
    """Return what `machine` may do now."""
    given = {"team": team, "machine": machine, "lease": LEASE, "batch": BATCH}
    row = connection.execute(_SQL, given).fetchone()
    if row is None:
        return Look((), (), 0, (), Since(None, 0, 0))
    found = [Waiting(*each) for each in row[0] or ()]
    return Look(
        tuple(each for each in found if not each.name.endswith(BATCH)),
        tuple(each for each in found if each.name.endswith(BATCH)),
        row[1],
        tuple((span, float(dollars)) for span, dollars in row[2] or ()),
        Since(*row[3:]),
    )
