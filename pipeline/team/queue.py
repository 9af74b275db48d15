"""A team's queue of transcripts to be read: procrastinate's tables, SQL and jobs, on our own connections.

A queue is one folder of transcripts of one login, and who works at it holds the lease of that name: the
memories of a folder then come into one store, in order, by one hand. Under the lease nobody else does a job
of it, so a job that is being done when the lease is taken was left by a worker that died. What of a folder is
read in batches is a queue beside it, under the same lease.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pipeline.record import record
from pipeline.team import leases

if TYPE_CHECKING:
    from datetime import datetime

    import psycopg

TASK = "read"
JOBS_AT_ONCE = 500
"""Jobs that are sent at a time."""
MOST_DEATHS = 5
"""As often a transcript may be tried in vain by workers that die of it."""
BATCH = "/batch"
"""How the name of a queue ends whose transcripts are read in batches."""
LEASE = "store/"
"""How the name of the lease on a queue begins."""
MINE = "left(queue_name, 15) = (SELECT left(backlog_queue(%(team)s, ''), 15))"
"""In SQL: whether a job is in the queues of whoever asks."""
FAULT = """
    -- In this order: what is looked at must be of its kind.
    CASE
    WHEN task_name <> 'read' THEN 'its task is none of ours'
    WHEN queueing_lock IS NOT NULL THEN 'it has a queueing lock'
    WHEN attempts NOT BETWEEN 0 AND 1000 THEN 'nothing is tried so often'
    WHEN jsonb_typeof(args) <> 'object' THEN 'it says nothing of a transcript'
    WHEN coalesce(jsonb_typeof(args -> 'key'), '') <> 'string' THEN 'its key is no text'
    WHEN length(args ->> 'key') NOT BETWEEN 1 AND 1000 THEN 'its key is empty or too long'
    WHEN coalesce(jsonb_typeof(args -> 'project'), '') <> 'string' THEN 'its project is no text'
    WHEN length(args ->> 'project') NOT BETWEEN 1 AND 500 THEN 'its project is empty or too long'
    WHEN args ->> 'project' <> '.' AND NOT starts_with(args ->> 'key', rtrim(args ->> 'project', '/') || '/')
        THEN 'its key is not in its project'
    WHEN left(queue_name, 15) || left(md5(args ->> 'project'), 12)
        NOT IN (queue_name, regexp_replace(queue_name, '/batch$', ''))
        THEN 'it is not in the queue of its project'
    WHEN jsonb_typeof(coalesce(args -> 'most', '0')) <> 'number' THEN 'what it may cost is no number'
    WHEN (args ->> 'most')::numeric NOT BETWEEN 0 AND 1000000 THEN 'it can not cost that'
    ELSE '' END"""
"""In SQL: what is wrong with a job that some client wrote, so that nobody can do it; '' for a sound one."""


@record
class Wanted:
    """A transcript to be read: its `key` in every ledger of the login, and the folder it lies in.

    `most` is what a person agreed to pay for it at most where it is read `in_batches`, in dollars.
    """

    key: str
    project: str
    priority: int = 0
    in_batches: bool = False
    most: float = 0.0


@record
class Waiting:
    """A queue with something to do: its `name`, its folder, and the `key` that comes first."""

    name: str
    project: str
    key: str


@record
class Item:
    """A job that was taken: `attempts` counts those before, each of which ended without a result.

    `most` as in Wanted; of one that `is_canceled` nothing more is to be asked.
    """

    id: int
    queue: str
    key: str
    project: str
    attempts: int
    most: float = 0.0
    is_canceled: bool = False


@record
class Progress:
    """How far a member's transcripts are: how many wait, are being read, failed for good, and were read."""

    login: str
    waiting: int
    doing: int
    failed: int
    read: int


@record
class Left:
    """What is left of the transcripts of one login: how many are open, how many failed for good.

    Of the open ones `canceling` are in a batch that is under way and is to end; `canceled` were left by such
    a one, and have not failed. `at` is when that was so (epoch seconds).
    """

    open: int
    failed: int
    canceling: int
    canceled: int
    at: float


def defer(connection: psycopg.Connection[Any], team: str, wanted: Sequence[Wanted]) -> int:
    """Put `wanted` into the queues of whoever asks, in that order; return how many were not there yet."""
    from procrastinate.jobs import Job
    from procrastinate.manager import JobManager
    from procrastinate.sync_psycopg_connector import SyncPsycopgConnector

    names = {item.project: _queue_of(connection, team, item.project) for item in wanted}
    there = {
        (str(name).removesuffix(BATCH), str(key))
        for name, key in connection.execute(
            "SELECT queue_name, args ->> 'key' FROM procrastinate_jobs"
            " WHERE queue_name = ANY(%s) AND status IN ('todo', 'doing', 'failed')",
            [[*names.values(), *(name + BATCH for name in names.values())]],
        )
    }
    fresh = [item for item in wanted if (names[item.project], item.key) not in there]
    manager = JobManager(SyncPsycopgConnector())
    for start in range(0, len(fresh), JOBS_AT_ONCE):
        jobs = [
            Job(
                queue=names[item.project] + (BATCH if item.in_batches else ""),
                task_name=TASK,
                priority=item.priority,
                # Who may do it is said by the lease of the queue, which ends with its machine.
                lock=None,
                queueing_lock=None,
                task_kwargs={"key": item.key, "project": item.project, "most": item.most},
            )
            for item in fresh[start : start + JOBS_AT_ONCE]
        ]
        manager.batch_defer_jobs(jobs, connection=connection)
    return len(fresh)


def set_aside(connection: psycopg.Connection[Any], team: str) -> tuple[str, ...]:
    """Let each job of whoever asks that nobody can do fail for good; return what is wrong, in words."""
    rows = connection.execute(
        # Without its locks: they might be another's, and then nothing of it may be changed.
        "UPDATE procrastinate_jobs AS job SET status = 'failed', lock = NULL, queueing_lock = NULL"
        f" FROM (SELECT id, {FAULT} AS fault FROM procrastinate_jobs"
        f" WHERE status IN ('todo', 'doing') AND {MINE}) AS looked"
        " WHERE looked.id = job.id AND looked.fault <> ''"
        " RETURNING job.id, job.queue_name, looked.fault",
        {"team": team},
    )
    return tuple(f"job {number} of the queue {name} can't be done: {fault}" for number, name, fault in rows)


def take(connection: psycopg.Connection[Any], team: str, queue: str, machine: str) -> str | None:
    """Return a token for the lease of `queue`, None where another machine works at it.

    What a worker that died was at is put back, and counts as tried. After MOST_DEATHS it has failed.
    """
    name = LEASE + queue.removesuffix(BATCH)
    token = leases.take(connection, team, name, machine, seconds=leases.LEASE_SECONDS)
    if token is not None:
        take_up(connection, team, queue)
    return token


def take_up(connection: psycopg.Connection[Any], team: str, queue: str) -> None:
    """Put back what a worker that died was at, for who has the lease of `queue`; `take` does."""
    from procrastinate.sql import queries

    left = connection.execute(
        "SELECT id, attempts FROM procrastinate_jobs WHERE queue_name = %s AND status = 'doing'", [queue]
    ).fetchall()
    for job, attempts in left:
        if attempts + 1 >= MOST_DEATHS:
            given = {"job_id": job, "status": "failed", "delete_job": False}
            connection.execute(queries["finish_job"], given)
        elif not queue.endswith(BATCH):
            connection.execute(queries["retry_job"], _again(job, None))


def in_hand(
    connection: psycopg.Connection[Any],
    queue: str,
    *,
    without: Sequence[str] = (),
    limit: int | None = None,
) -> tuple[Item, ...]:
    """Return the jobs of `queue` that are due or being done, in their order, for who has its lease.

    Those of the keys in `without` are left out, and those from the number `limit` on.
    """
    rows = connection.execute(
        "SELECT id, queue_name, args ->> 'key', args ->> 'project', attempts,"
        " coalesce((args ->> 'most')::float8, 0), args ? 'canceled' FROM procrastinate_jobs"
        " WHERE queue_name = %s AND (status = 'doing'"
        " OR (status = 'todo' AND coalesce(scheduled_at, '-infinity') <= now()))"
        f" AND {FAULT} = '' AND args ->> 'key' <> ALL(%s) ORDER BY priority DESC, id LIMIT %s",
        [queue, list(without), limit],
    )
    return tuple(Item(*row) for row in rows)


def keys(connection: psycopg.Connection[Any], team: str, queue: str = "") -> tuple[str, ...]:
    """Return the keys of what is left in `queue`, or in all queues of whoever asks, due or not."""
    rows = connection.execute(
        "SELECT args ->> 'key' FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
        f" AND {MINE} AND %(queue)s IN ('', queue_name) AND {FAULT} = '' ORDER BY priority DESC, id",
        {"team": team, "queue": queue},
    )
    return tuple(str(key) for (key,) in rows)


def begin(connection: psycopg.Connection[Any], item: Item, *, tries: int) -> None:
    """Note that `item` is being done, and that so many `tries` count if its worker dies now."""
    connection.execute(
        # An earlier Reverie gave it a lock, which another one that is being done may have.
        "UPDATE procrastinate_jobs SET status = 'doing', lock = NULL, attempts = %s"
        " WHERE id = %s AND status IN ('todo', 'doing')",
        [tries, item.id],
    )


def finish(
    connection: psycopg.Connection[Any], team: str, token: str, item: Item, machine: str, outcome: str
) -> bool:
    """Note that `item` was read with `outcome`; False where the lease of `token` is another's by now."""
    given = [team, token, item.id, item.key, item.project, machine, outcome]
    row = connection.execute("SELECT finish_reading(%s, %s, %s, %s, %s, %s, %s)", given).fetchone()
    return bool(row and row[0])


def put_back(
    connection: psycopg.Connection[Any],
    team: str,
    token: str,
    item: Item,
    *,
    seconds: float | None,
    counted: bool = True,
) -> bool:
    """Let `item` be tried again in `seconds`, or never where that is None; False as `finish` does.

    One that is not `counted` did not fail: something stood in its way.
    """
    from procrastinate.sql import queries

    if not leases.keep(connection, team, token, seconds=leases.LEASE_SECONDS):
        return False
    sql = "SELECT clock_timestamp() + make_interval(secs => %s) FROM procrastinate_jobs"
    row = connection.execute(f"{sql} WHERE id = %s AND status = 'doing'", [seconds or 0, item.id]).fetchone()
    if row is None:
        return True  # It was put back, and the answer was lost.
    if seconds is None:
        given = {"job_id": item.id, "status": "failed", "delete_job": False}
        connection.execute(queries["finish_job"], given)
    elif counted:
        connection.execute(queries["retry_job"], _again(item.id, row[0]))
    else:
        # Its own way to try again counts what went before as an attempt.
        connection.execute(
            "UPDATE procrastinate_jobs SET status = 'todo', scheduled_at = %s WHERE id = %s",
            [row[0], item.id],
        )
    return True


def cancel(connection: psycopg.Connection[Any], team: str) -> tuple[str, ...]:
    """Take what waits or failed off the queues of whoever asks; return the keys.

    What is being read goes on; of what is read in batches nothing more is asked.
    """
    connection.execute(
        """UPDATE procrastinate_jobs SET args = args || '{"canceled": true}' WHERE status = 'doing'"""
        f" AND {MINE} AND queue_name LIKE '%%' || %(batch)s AND {FAULT} = ''",
        {"team": team, "batch": BATCH},
    )
    rows = connection.execute(
        f"DELETE FROM procrastinate_jobs WHERE status IN ('todo', 'failed') AND {MINE}"
        f" RETURNING args ->> 'key', {FAULT}",
        {"team": team},
    )
    return tuple(str(key) for key, fault in rows if not fault)


def retry_failed(connection: psycopg.Connection[Any], team: str) -> int:
    """Let what failed for good be tried once more; return how many that are."""
    from procrastinate.sql import queries

    rows = connection.execute(
        f"SELECT id FROM procrastinate_jobs WHERE status = 'failed' AND {MINE} AND {FAULT} = ''",
        {"team": team},
    ).fetchall()
    for (job,) in rows:
        connection.execute(queries["retry_job"], _again(job, None))
        connection.execute("UPDATE procrastinate_jobs SET args = args - 'canceled' WHERE id = %s", [job])
    return len(rows)


def where_read(connection: psycopg.Connection[Any], team: str, keys: Sequence[str]) -> dict[str, str]:
    """Return on which machine each of `keys` was read, of those that were."""
    rows = connection.execute(
        "SELECT key, machine FROM reading WHERE team = %s AND key = ANY(%s)", [team, list(keys)]
    )
    return {str(key): str(machine) for key, machine in rows}


def left_of_mine(connection: psycopg.Connection[Any], team: str) -> Left:
    """Return what is left of the transcripts of whoever asks."""
    row = connection.execute(
        "SELECT count(*) FILTER (WHERE status IN ('todo', 'doing')),"
        " count(*) FILTER (WHERE status = 'failed' AND NOT args ? 'canceled'),"
        " count(*) FILTER (WHERE status = 'doing' AND args ? 'canceled'),"
        " count(*) FILTER (WHERE status = 'failed' AND args ? 'canceled'),"
        f" extract(epoch FROM clock_timestamp())::float8 FROM procrastinate_jobs WHERE {MINE}",
        {"team": team},
    ).fetchone()
    assert row is not None
    return Left(*row)


def progress(connection: psycopg.Connection[Any], team: str) -> tuple[Progress, ...]:
    """Return how far each member's transcripts are, by login."""
    return tuple(Progress(*row) for row in connection.execute("SELECT * FROM progress(%s)", [team]))


def _queue_of(connection: psycopg.Connection[Any], team: str, project: str) -> str:
    row = connection.execute("SELECT backlog_queue(%s, %s)", [team, project]).fetchone()
    assert row is not None
    return str(row[0])


def _again(job: int, at: datetime | None) -> dict[str, Any]:
    """Return what procrastinate's query to try a job again takes; it is due now where `at` is None."""
    return {
        "job_id": job,
        "retry_at": at,
        "new_priority": None,
        "new_queue_name": None,
        "new_lock": None,
    }
