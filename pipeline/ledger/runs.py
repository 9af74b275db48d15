"""Runs: one row per pass of extraction or dream, with the reply it acted on.

The validated reply is committed before the store is touched. After a crash `pending_run` gives it back, so
that the same reply is applied again instead of a second one being bought.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pipeline.core.errors import LedgerError
from pipeline.ledger.connection import Ledger, Moment, seconds
from pipeline.ledger.jobs import note_progress
from pipeline.record import names_of, record

if TYPE_CHECKING:
    from pipeline.domain.action import RunSummary

_OUTCOMES = ("applied", "proposed", "known", "nothing", "skipped")

GIVEN_UP = "failed:unextractable"
"""A stretch was passed over, as no reply to it was usable; `given_up` lists them, to be read again."""
_READ_LATER = "failed:read_later"
_DONE = (*_OUTCOMES, GIVEN_UP)


@record
class Run:
    """One run over the rows `from_row` to `through_row` of the file (or whatever `key` names).

    What it has not come to yet is None; times are epoch seconds. `outcome` is ``applied``,
    ``proposed``, ``known``, ``nothing``, ``skipped`` or ``failed:`` and a word.
    """

    id: str
    kind: str
    key: str
    store: str
    strategy: str
    from_row: int
    through_row: int
    started_at: float
    reply_json: str | None
    prompt_digest: str | None
    model: str | None
    provider: str | None
    replied_at: float | None
    outcome: str | None
    summary_json: str | None
    finished_at: float | None

    @property
    def summary(self) -> RunSummary:
        """Return what the run did; of one that has not ended, an empty summary."""
        from pipeline.domain.action import RunSummary

        return RunSummary.from_json(json.loads(self.summary_json or "{}"))


_COLUMNS = ", ".join(names_of(Run))


def start_run(
    ledger: Ledger,
    *,
    id: str,
    kind: str,
    key: str,
    store: str,
    strategy: str,
    from_row: int,
    through_row: int,
    now: Moment,
) -> None:
    """Record that a run begins. Raises LedgerError when the id was used before."""
    ledger.execute(
        "INSERT INTO runs (id, kind, key, store, strategy, from_row, through_row, started_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (id, kind, key, store, strategy, from_row, through_row, seconds(now)),
    )


def commit_reply(
    ledger: Ledger,
    run_id: str,
    reply_json: str,
    *,
    prompt_digest: str,
    model: str,
    provider: str,
    now: Moment,
) -> None:
    """Keep the validated reply of a run, once. Raises LedgerError when it has one, or is over, or unknown."""
    changed = ledger.execute(
        "UPDATE runs SET reply_json = ?, prompt_digest = ?, model = ?, provider = ?, replied_at = ?"
        " WHERE id = ? AND reply_json IS NULL AND outcome IS NULL",
        (reply_json, prompt_digest, model, provider, seconds(now), run_id),
    )
    if not changed.rowcount:
        raise _refusal(ledger, run_id, "take a reply")
    note_progress(ledger)


def extend_reply(ledger: Ledger, run_id: str, reply_json: str, *, now: Moment) -> None:
    """Keep more beside the reply of a run: `reply_json` takes its place. Raises LedgerError without one."""
    changed = ledger.execute(
        "UPDATE runs SET reply_json = ?, replied_at = ?"
        " WHERE id = ? AND reply_json IS NOT NULL AND outcome IS NULL",
        (reply_json, seconds(now), run_id),
    )
    if not changed.rowcount:
        raise _refusal(ledger, run_id, "take more of a reply")
    note_progress(ledger)


def pending_run(ledger: Ledger, key: str, store: str, strategy: str) -> Run | None:
    """Return the oldest run whose reply is kept but not yet applied (a crash came between), or None."""
    row = ledger.row(
        f"SELECT {_COLUMNS} FROM runs WHERE key = ? AND store = ? AND strategy = ?"
        " AND outcome IS NULL AND reply_json IS NOT NULL ORDER BY started_at, id LIMIT 1",
        (key, store, strategy),
    )
    return None if row is None else Run(*row)


def finish_run(ledger: Ledger, run_id: str, *, outcome: str, summary: RunSummary, now: Moment) -> None:
    """Record how a run ended, once, and which memories it made or changed (see `runs_of_memory`).

    Raises LedgerError for an unknown run, one that ended another way, and an outcome that is no word for
    one. Call it in one transaction with `set_watermark`.
    """
    if outcome not in _OUTCOMES and not outcome.startswith("failed:"):
        raise LedgerError(f"{outcome!r} is no outcome of a run", file=str(ledger.path))
    summary_json = json.dumps(summary.to_json(), ensure_ascii=False)
    with ledger.transaction():
        changed = ledger.execute(
            "UPDATE runs SET outcome = ?, summary_json = ?, finished_at = ?"
            " WHERE id = ? AND (outcome IS NULL OR outcome = ?)",
            (outcome, summary_json, seconds(now), run_id, outcome),
        )
        if not changed.rowcount:
            raise _refusal(ledger, run_id, f"end as {outcome}")
        if outcome in _DONE:
            note_progress(ledger)
        for memory_id in summary.memory_ids:
            ledger.execute(
                "INSERT OR IGNORE INTO run_memories (memory, run) VALUES (?, ?)", (memory_id, run_id)
            )


def run(ledger: Ledger, run_id: str) -> Run | None:
    """Return one run, or None."""
    row = ledger.row(f"SELECT {_COLUMNS} FROM runs WHERE id = ?", (run_id,))
    return None if row is None else Run(*row)


def beginning_with(ledger: Ledger, text: str) -> list[Run]:
    """Return the runs whose id begins with `text`, oldest first."""
    rows = ledger.rows(
        f"SELECT {_COLUMNS} FROM runs WHERE substr(id, 1, length(?)) = ? ORDER BY started_at, id",
        (text, text),
    )
    return [Run(*row) for row in rows]


def of_memory(ledger: Ledger, memory_id: str) -> list[str]:
    """Return the ids of the extractions that created, changed or met the memory, oldest first."""
    rows = ledger.rows(
        "SELECT id FROM run_memories JOIN runs ON runs.id = run WHERE memory = ? ORDER BY started_at",
        (memory_id,),
    )
    return [row["id"] for row in rows]


def memories_of(ledger: Ledger, key: str) -> int:
    """Return how many memories came of the file `key`, or were changed or met by what was said in it."""
    sql = "SELECT count(DISTINCT memory) FROM run_memories JOIN runs ON runs.id = run WHERE key = ?"
    return int(ledger.value(sql, (key,)))


def given_up(ledger: Ledger, *, key: str | None = None, store: str | None = None) -> list[Run]:
    """Return the runs that passed a stretch over as unreadable, oldest first, all or of one file or store."""
    rows = ledger.rows(
        f"SELECT {_COLUMNS} FROM runs WHERE outcome = ? AND key = coalesce(?, key)"
        " AND store = coalesce(?, store) ORDER BY started_at, from_row",
        (GIVEN_UP, key, store),
    )
    return [Run(*row) for row in rows]


def note_read_later(ledger: Ledger, run_ids: Iterable[str]) -> None:
    """Note that what these runs passed over was read after all."""
    with ledger.transaction():
        ledger.executemany(
            "UPDATE runs SET outcome = ? WHERE id = ? AND outcome = ?",
            [(_READ_LATER, run_id, GIVEN_UP) for run_id in run_ids],
        )


def rows_read(
    ledger: Ledger, key: str, store: str, *strategies: str, leave_out: Sequence[str] = ()
) -> list[tuple[int, int]]:
    """Return the first and last row of every stretch of `key` that `strategies` have done with for `store`.

    Runs whose ids are in `leave_out` do not count. A stretch no model could read (``failed:unextractable``)
    was passed over and counts; one whose run failed in another way is tried again and does not.
    """
    placeholders = ", ".join("?" * len(strategies))
    rows = ledger.rows(
        "SELECT from_row, through_row FROM runs WHERE key = ? AND store = ?"
        f" AND strategy IN ({placeholders})"
        f" AND outcome IN ({', '.join('?' * len(_DONE))})"
        f" AND id NOT IN ({', '.join('?' * len(leave_out))})"
        " ORDER BY from_row",
        (key, store, *strategies, *_DONE, *leave_out),
    )
    return [(row["from_row"], row["through_row"]) for row in rows]


def drop_replies(ledger: Ledger, key: str, *, pending: bool) -> None:
    """Drop what the ended runs over the source file `key` were given and answered, which nothing needs again.

    With `pending`, runs that a crash left unapplied end as ``failed:deleted``, and so as never read.
    """
    ledger.execute("UPDATE runs SET reply_json = '{}' WHERE key = ? AND outcome IS NOT NULL", (key,))
    ledger.execute("UPDATE batch_items SET asked_json = '' WHERE key = ? AND asked_json <> ''", (key,))
    if pending:
        ledger.execute(
            "UPDATE runs SET reply_json = '{}', outcome = 'failed:deleted' WHERE key = ? AND outcome IS NULL",
            (key,),
        )


def drop_reply(ledger: Ledger, run_id: str) -> None:
    """Drop what an ended run was answered, which nothing needs again; that it was answered stays known."""
    ledger.execute("UPDATE runs SET reply_json = '{}' WHERE id = ? AND outcome IS NOT NULL", (run_id,))


def stretches_done(ledger: Ledger) -> dict[str, list[tuple[int, int]]]:
    """Return by source file the first and last row of each stretch a run has done with, for whichever store.

    A reading as a whole and one by turns count alike, as in `rows_read`.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    for row in ledger.rows(
        "SELECT key, from_row, through_row FROM runs WHERE strategy IN ('turn', 'conversation')"
        f" AND outcome IN ({', '.join('?' * len(_DONE))}) ORDER BY from_row",
        _DONE,
    ):
        found.setdefault(row["key"], []).append((row["from_row"], row["through_row"]))
    return found


def first_started(ledger: Ledger, store: str) -> float | None:
    """Return when the first run over `store` began (epoch seconds), None when there was none."""
    value = ledger.value("SELECT min(started_at) FROM runs WHERE store = ?", (store,))
    return None if value is None else float(value)


def last_finished(ledger: Ledger, key: str, strategy: str) -> float | None:
    """Return when the last run over `key` that asked a model ended (epoch seconds), or None."""
    value = ledger.value(
        "SELECT max(finished_at) FROM runs WHERE key = ? AND strategy = ? AND reply_json IS NOT NULL",
        (key, strategy),
    )
    return None if value is None else float(value)


def list_runs(ledger: Ledger, *, limit: int = 20, key: str | None = None) -> list[Run]:
    """Return the latest runs, newest first, all or those of one key."""
    rows = ledger.rows(
        f"SELECT {_COLUMNS} FROM runs WHERE key = coalesce(?, key) ORDER BY started_at DESC, id DESC LIMIT ?",
        (key, limit),
    )
    return [Run(*row) for row in rows]


def page_of(
    ledger: Ledger, kinds: Sequence[str], *, stores: Sequence[str] | None = None, start: int, limit: int
) -> tuple[list[Run], int]:
    """Return runs of these kinds without their replies, newest first, and how many all are.

    Of all stores, or of `stores`.
    """
    where = f"kind IN ({', '.join('?' * len(kinds))})"
    values = [*kinds]
    if stores is not None:
        where += f" AND store IN ({', '.join('?' * len(stores))})"
        values += stores
    total = ledger.value(f"SELECT count(*) FROM runs WHERE {where}", values)
    columns = _COLUMNS.replace("reply_json", "NULL AS reply_json")
    rows = ledger.rows(
        f"SELECT {columns} FROM runs WHERE {where} ORDER BY started_at DESC, id DESC LIMIT ? OFFSET ?",
        [*values, limit, start],
    )
    return [Run(*row) for row in rows], int(total or 0)


def _refusal(ledger: Ledger, run_id: str, action: str) -> LedgerError:
    known = run(ledger, run_id)
    state = (
        "is not known"
        if known is None
        else f"has ended ({known.outcome})"
        if known.outcome
        else "has its reply"
    )
    return LedgerError(
        f"run {run_id} can't {action}: it {state}",
        file=str(ledger.path),
        fix="Start a new run; `reverie status` shows this one.",
    )
