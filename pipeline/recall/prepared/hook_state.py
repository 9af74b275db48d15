"""What hooks may know without opening the ledger: ``<home>/recall/board.json``, left by each worker pass
and by what a person decides.

All in it is told as of its ``at``. It holds the settings the hooks obey with the stamp of the file they
came from, and for each store what a new session should hear of: what waits, what stopped, what changed.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from pipeline import config
from pipeline.core.atomic import write_atomic
from pipeline.core.clock import Clock
from pipeline.core.errors import ConfigError, SpoolError
from pipeline.core.home import Home
from pipeline.domain.action import Action, DreamAction
from pipeline.domain.job import Job
from pipeline.hooklib import home_files
from pipeline.hooklib.plain import clipped, sentences_within
from pipeline.hooklib.settings import board, config_stamp
from pipeline.intake import spool
from pipeline.ledger import Ledger, calls, conversations, dreams, files, inbox, jobs, outages, runs, unread
from pipeline.llm import describe
from pipeline.safety.invisible import visible_line

if TYPE_CHECKING:
    from pipeline.config import Settings

LOG = logging.getLogger("reverie.recall")
DAYS = 14
MOST_CHANGES = 30
_RUNS = 200
_HELD_CHARS = 430
_NEWS_SECONDS = 3 * 86_400.0
_WORK = {
    "extract_turn": "reading a turn",
    "extract_conversation": "reading a conversation",
    "dream": "a dream",
    "reindex": "a new index",
    "batch": "a backlog in batches",
    "sync": "a sync with other machines",
}
_OF_CONFIG = ("settings", "config_stamp", "config_problem", "config_problem_stamp")
_SHOWN_ACTIONS = ("created", "updated", "withdrawn")
_DREAM_DEEDS = {
    "merge": "merged",
    "supersede": "replaced",
    "strike": "corrected",
    "retire": "retired",
    "insight": "noted",
    "promote": "promoted",
}
"""What a dream's operations are called for a person; those that change no text are not among them."""


def refresh(ledger: Ledger, home: Path, settings: Settings, clock: Clock) -> None:
    """Write the hook state; one that can't be written is logged and only makes the hooks know less."""
    try:
        write(ledger, home, settings, clock)
    except OSError as error:
        LOG.warning("the hooks' board can't be written: %s", error.strerror or error)


def write(ledger: Ledger, home: Path, settings: Settings, clock: Clock) -> None:
    """Write the hook state of `home`, whole or not at all. Raises LedgerError and OSError."""
    now = clock.now()
    changed = _changes(ledger, (now - timedelta(days=DAYS)).timestamp())
    paused = calls.paused(ledger, now=now) or _down(ledger, settings)
    stuck = [
        (job, _store_of(ledger, job))
        for job in jobs.list_jobs(ledger)
        if job.state in ("parked", "waiting") and job.last_error
    ]
    shared = inbox.count_shared(ledger, home)
    stores = {}
    for store_path in files.stores(ledger):
        stuck_here = [job for job, store in stuck if store in (store_path, "")]
        waits = (_sentences(job.last_error) for job in stuck_here if job.state == "waiting")
        stores[store_path] = {
            "inbox": inbox.count_here(ledger, home, Path(store_path)),
            "shared": shared,
            "parked": [_given_up(job) for job in stuck_here if job.state == "parked"][:3],
            "held": _sentences(paused) or next(waits, ""),
            "dream": _dream(ledger, settings, store_path),
            "changes": changed[store_path][:MOST_CHANGES],
        }
    kept = _renewed_lately(home, now.timestamp())
    read = unread.read_through(ledger, (now - timedelta(days=DAYS)).timestamp())
    value = {
        "at": now.timestamp(),
        **_of_config(home),
        "stores": stores,
        "left": _left(home),
        "read": read,
        "backlogs": _backlogs(home, now.timestamp()),
        **kept,
    }
    write_atomic(Home(home).hook_state, orjson.dumps(value))


def _backlogs(home: Path, now: float) -> list[list[Any]]:
    """Return of each backlog that a team's workers have read lately when that was, and what to say of it."""
    sharing = Home(home).sharing
    if not sharing.is_dir():
        return []
    from pipeline.team import heard  # In most homes nothing is kept in step.

    return heard.news(sharing, now)


def _down(ledger: Ledger, settings: Settings) -> str:
    """Return why the provider does not answer and what mends it, if somebody should hear of that; else ""."""
    known = outages.known(ledger, describe(settings.model.provider, settings.model)[0])
    return known.words if known and known.is_for_a_person else ""


def note_config(home: Path) -> None:
    """Let the hooks know ``config.toml`` as it is now, as no worker can use it; all else they know stays."""
    known = {name: value for name, value in board(str(home)).items() if name not in _OF_CONFIG}
    try:
        write_atomic(Home(home).hook_state, orjson.dumps({**known, **_of_config(home)}))
    except OSError as failure:
        LOG.warning("the hooks' board can't be written: %s", failure.strerror or failure)


def note(home: Path, what: str, words: str, now: datetime) -> None:
    """Let the hooks know `words` about `what`: ``trouble`` that keeps a worker from all work, or that the
    ledger was ``renewed``. The next pass that is done takes a trouble back."""
    short = clipped(visible_line(words.replace(f"{home}/", "")), _HELD_CHARS)
    try:
        known = board(str(home))
        write_atomic(Home(home).hook_state, orjson.dumps({**known, what: [now.timestamp(), short]}))
    except OSError as failure:
        LOG.warning("the hooks' board can't be written: %s", failure.strerror or failure)


def _renewed_lately(home: Path, now: float) -> dict[str, Any]:
    """Return what `note` left about a new ledger, as long as it is news."""
    known = board(str(home)).get("renewed")
    if isinstance(known, list) and known and isinstance(known[0], float) and now - known[0] < _NEWS_SECONDS:
        return {"renewed": known}
    return {}


def _left(home: Path) -> list[Any]:
    """Return how many events could not be taken, and why the last of them; [] for none."""
    try:
        found = spool.left(home)
    except SpoolError as error:
        LOG.warning("%s", error)
        return []
    return [len(found), _sentences(found[-1][1])] if found else []


def _of_config(home: Path) -> dict[str, Any]:
    """Return what ``config.toml`` says to the hooks now, and its stamp, or what is wrong in it: `_OF_CONFIG`.

    Not what this process goes by: that may be older than the file, and variables of its own environment
    are no other session's business. The stamp is taken first, so that a later change shows.
    """
    stamp = config_stamp(str(home))
    try:
        found = config.load(home, environment=False, keep=True)
    except ConfigError as error:
        # The hooks read the file themselves; what they can't see in it, they tell in these words.
        words = str(error).replace(str(Home(home).config), home_files.CONFIG)
        return {"config_problem": _short(words), "config_problem_stamp": stamp}
    sections = {
        "recall": found.recall.model_dump(),
        "store": {"mode": found.store.mode},
        "projects": found.projects.model_dump(),
        "extraction": {"time_zone": found.extraction.time_zone},
    }
    return {"settings": sections, "config_stamp": stamp}


def _store_of(ledger: Ledger, job: Job) -> str:
    """Return the store a job is about, "" when that is not known (yet)."""
    if job.kind in ("dream", "reindex", "sync"):
        return job.key
    if job.kind == "extract_conversation":
        # An odd key is that job's trouble, not the hook state's.
        number = int(job.key) if job.key.isdecimal() else 0
        found = conversations.conversation(ledger, number)
        return files.store_of(ledger, found.source_file) if found else ""
    return "" if job.kind == "batch" else files.store_of(ledger, job.key)


def _given_up(job: Job) -> str:
    tries = f"{job.attempts} {'try' if job.attempts == 1 else 'tries'}"
    return f"{_WORK[job.kind]} was given up after {tries}: {_short(job.last_error)}"


def _dream(ledger: Ledger, settings: Settings, store_path: str) -> dict[str, Any]:
    gates = dreams.last_gates(ledger, store_path)
    return {
        "enabled": settings.dream.enabled and settings.store.mode in ("auto", "propose"),
        "last_success": dreams.state(ledger, store_path).last_success,
        "since": runs.first_started(ledger, store_path),
        "waits": next((gate.reason for gate in gates if not gate.open), ""),
    }


def _changes(ledger: Ledger, since: float) -> dict[str, list[list[Any]]]:
    """Return by store what runs did since the moment `since`, newest first: time, deed, name, session.

    What was undone is no news.
    """
    found: dict[str, list[list[Any]]] = defaultdict(list)
    undone: dict[str, set[str]] = {}
    for run in runs.list_runs(ledger, limit=_RUNS):
        if run.finished_at is None or run.finished_at < since:
            continue
        if not run.summary.actions:
            continue
        if run.store not in undone:
            from pipeline.store import undone_runs

            undone[run.store] = undone_runs(Path(run.store)) if run.store else set()
        if run.id in undone[run.store]:
            continue
        for action in run.summary.actions:
            session = Path(run.key).stem if run.kind == "extract" else ""
            found[run.store] += [[run.finished_at, *change, session] for change in _changes_of(action)]
    return found


def _changes_of(action: Action) -> list[tuple[str, str]]:
    """Return what an action did to which memory: one for each that lost or changed its text."""
    if isinstance(action, DreamAction):
        done = _DREAM_DEEDS.get(action.op, "")
        names = [name for name in action.memories if name != action.into] or [action.into]
        return [(done, name) for name in names if done and name]
    return [(action.action, action.name)] if action.action in _SHOWN_ACTIONS else []


def _short(text: str) -> str:
    return clipped(visible_line(text), 160)


def _sentences(text: str) -> str:
    """Return as many whole sentences of `text` as a person's line has room for, with what mends it."""
    return sentences_within(visible_line(text), _HELD_CHARS)
