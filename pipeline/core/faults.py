"""Named points at which a test may kill the process, to prove that a restart mends it.

Set ``REVERIE_CRASH_AT`` to a name (or ``name#2`` for its second visit) and the process sends itself
SIGKILL there; with ``stop:`` before it SIGSTOP, as where a laptop's lid is closed, so that it goes on at a
SIGCONT. Unset, which is always outside tests, a visit costs one dictionary lookup.
"""

from __future__ import annotations

import os
import signal

from pipeline.hooklib.places import by_client

POINTS = (
    "drain.before_ledger",
    "drain.after_ledger",
    "ingest.begun",
    "ingest.before_commit",
    "ingest.after_commit",
    "extract.before_call",
    "extract.after_call",
    "extract.after_reply_commit",
    "extract.verified",
    "extract.verified_kept",
    "extract.planned_kept",
    "store.staged",
    "store.generation_begun",
    "store.generation_written",
    "store.intent_written",
    "store.file_replaced",
    "store.generation_sealed",
    "store.files_replaced",
    "store.done",
    "extract.after_store",
    "extract.after_cursor",
    "worker.job_settled",
    "batch.entered",
    "batch.written",
    "batch.sent",
    "batch.result_settled",
    "batch.result_kept",
    "batch.taken",
    "dream.after_call",
    "dream.after_group_commit",
    "dream.after_plan_commit",
    "dream.after_store",
    "dream.after_ledger",
    "recall.before_commit",
    "recall.after_commit",
    "recall.after_counts",
    "agent_memory.line_half_written",
    "agent_memory.line_written",
    "agent_memory.in_archive",
    "agent_memory.backed_up",
    "agent_memory.before_rename",
    "agent_memory.renamed",
    "mirror.after_ours",
    "mirror.after_theirs",
    "watch.taken",
    "sync.fetched",
    "sync.committed",
    "sync.noted",
    "sync.pushed",
    "sync.planned",
    "sync.written",
    "team.reserved",
    "team.settled",
    "team.read",
)

_STOP = "stop:"
_visits: dict[str, int] = {}


def is_wanted() -> bool:
    """Whether a test asked for a death at any point."""
    return "REVERIE_CRASH_AT" in os.environ


def reach(point: str) -> None:
    """Note that the process has come to `point`, one of POINTS; die or stop there if a test asked for it."""
    wanted = os.environ.get("REVERIE_CRASH_AT")
    if wanted is None or by_client():
        return
    if point not in POINTS:
        raise AssertionError(f"{point} is not in faults.POINTS")
    _visits[point] = _visits.get(point, 0) + 1
    name, _, visit = wanted.removeprefix(_STOP).partition("#")
    if name == point and _visits[point] == int(visit or 1):
        os.kill(os.getpid(), signal.SIGSTOP if wanted.startswith(_STOP) else signal.SIGKILL)
