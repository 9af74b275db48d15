"""What hooks may know without opening the ledger: ``<home>/recall/board.json``, left by each worker pass.

All in it is told as of its ``at``. It holds the settings the hooks obey with the stamp of the file they
came from, and for each store what a new session should hear of: what waits, what stopped, what changed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson

from pipeline.atomic import write_atomic
from pipeline.clock import Clock
from pipeline.config import Settings
from pipeline.lean.settings import config_stamp
from pipeline.ledger import Ledger, calls, dreams, inbox, jobs, lookups, runs

FILE = "recall/board.json"
DAYS = 14
MOST_CHANGES = 30
_RUNS = 200
_TOLD = ("created", "updated", "withdrawn")
_DREAMT = {
    "merge": "merged",
    "rewrite": "reworded",
    "supersede": "replaced",
    "retire": "retired",
    "insight": "noted",
    "promote": "promoted",
}
"""What a dream's operations are called for a person; those that change no text are not among them."""


def write(ledger: Ledger, home: Path, settings: Settings, clock: Clock) -> None:
    """Write the board of `home`, whole or not at all. Raises LedgerError and OSError."""
    now = clock.now()
    changed = _changes(ledger, (now - timedelta(days=DAYS)).timestamp())
    held = calls.paused(ledger, now=now) or ""
    waiting = [job for job in jobs.list_jobs(ledger) if job.state in ("parked", "waiting") and job.last_error]
    stores = {
        place: {
            "inbox": inbox.count_inbox(ledger, place),
            "parked": [
                f"{job.kind} was given up after {job.attempts} tries: {_short(job.last_error)}"
                for job in waiting
                if job.state == "parked" and _store_of(ledger, job.key) in (place, "")
            ][:3],
            "held": held or next((_short(job.last_error) for job in waiting if job.state == "waiting"), ""),
            "dream": _dream(ledger, settings, place),
            "changes": changed[place][:MOST_CHANGES],
        }
        for place in lookups.stores(ledger)
    }
    recall, mode = settings.recall.model_dump(), settings.store.mode
    value = {
        "at": now.timestamp(),
        "settings": {"recall": recall, "store": {"mode": mode}},
        "config_stamp": config_stamp(str(home)),
        "stores": stores,
    }
    write_atomic(home / FILE, orjson.dumps(value))


def _store_of(ledger: Ledger, key: str) -> str:
    """Return the store a job is about: its key, or that of the source file its key names."""
    return key if key.startswith("/") else lookups.store_of(ledger, key)


def _dream(ledger: Ledger, settings: Settings, place: str) -> dict[str, Any]:
    gates = dreams.last_gates(ledger, place)
    return {
        "enabled": settings.dream.enabled and settings.store.mode in ("auto", "propose"),
        "last_success": dreams.state(ledger, place).last_success,
        "since": runs.first_started(ledger, place),
        "waits": next((gate.reason for gate in gates if not gate.open), ""),
    }


def _changes(ledger: Ledger, since: float) -> dict[str, list[list[Any]]]:
    """Return by store what runs did since the moment `since`: time, deed, name; newest first."""
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for run in runs.list_runs(ledger, limit=_RUNS):
        if run.finished_at is None or run.finished_at < since:
            continue
        for action in json.loads(run.summary_json or "{}").get("actions", []):
            found[run.store] += [[run.finished_at, *said] for said in _said(action)]
    return found


def _said(action: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what an action did to which memory: one for each that lost or changed its text."""
    if "op" in action:
        done, into = _DREAMT.get(str(action["op"]), ""), str(action.get("into") or "")
        names = [str(name) for name in action.get("memories", []) if name != into] or [into]
        return [(done, name) for name in names if done and name]
    done = str(action.get("action"))
    return [(done, str(action.get("name")))] if done in _TOLD else []


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else line[:159] + "…"
