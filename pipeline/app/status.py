"""What `status`, `why` and `process --estimate` tell: rows of the ledger as plain values for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.app import folders
from pipeline.app.batch_state import batch_state
from pipeline.app.damaged_files import in_use
from pipeline.app.looked_over import files_of_others
from pipeline.app.run_rows import run_row
from pipeline.core import locks, paths
from pipeline.core.errors import StoreError
from pipeline.core.home import Home
from pipeline.domain.job import Job
from pipeline.formats.agent_memory import mirrored
from pipeline.hooklib import ownership, projects
from pipeline.hooklib.places import PROJECT_STORE
from pipeline.intake import spool
from pipeline.ledger import (
    Ledger,
    calls,
    conversations,
    dreams,
    files,
    inbox,
    jobs,
    outages,
    retention,
    runs,
    unread,
)
from pipeline.ledger.outages import Outage
from pipeline.llm import describe
from pipeline.record import values_of
from pipeline.store import undone_runs
from pipeline.store.files.layout import memory_files
from pipeline.store.ownership import moves
from pipeline.store.ownership.access import owner
from pipeline.text.humanize import count

if TYPE_CHECKING:
    from pipeline.config import Settings

_LAST_RUNS = 8
_LOOKED_THROUGH = 60
OFFLINE_MEANS = (
    "Without a model, turns are read by rules, which keep only what says outright that it should last; they"
    " count as read, and a model that comes later does not read them again."
)

TRIED_AGAIN = "It is tried again by itself, soon after that is mended; `reverie work` tries it now."
_GIVEN_UP_MENDS = "Mend the cause, then run `reverie work --retry`."


def overview(
    ledger: Ledger, home: Path, settings: Settings, here: Path, *, store: Path, llm: str, now: datetime
) -> dict[str, Any]:
    """Return the state of everything, for the project at `here`: queue, runs, spend, provider, store."""
    provider, reason = describe(llm, settings.model)
    down = outages.known(ledger, provider)
    queued = [job for job in jobs.list_jobs(ledger) if job.state != "done"]
    return {
        "home": str(home),
        "store": str(store),
        "shared": ownership.is_team(str(store)),
        "team": _team(home, store),
        "waiting_folder": folders.waiting(here)[0],
        "moved_from": ownership.moved_from(str(store), str(paths.project_root(here))),
        "left_behind": moves.left_behind(files.stores(ledger), store),
        **files_of_others(home, store, settings),
        "ledger": ledger.note,
        "damaged": in_use(home, (store, Home(home).user_store)),
        "mirror": mirrored.doubts(settings, home),
        "left_alone": projects.why_ignored(str(here), settings.projects.only, settings.projects.ignore),
        "mode": settings.store.mode,
        "at": now.timestamp(),
        "provider": {
            "name": provider,
            "why": reason,
            "model": settings.model.model,
            "means": OFFLINE_MEANS if provider == "offline" else "",
            "down": values_of(down) if down else None,
        },
        "worker": "running" if locks.worker_alive(home) else "idle",
        "spool": _spool(home),
        "jobs": [values_of(job) for job in queued],
        "obstacles": obstacles(queued, down),
        "runs": _run_rows(_last_runs(ledger)),
        "conversations": _conversations(ledger),
        "batch": batch_state(ledger),
        "spend": _spend(ledger, settings, now),
        "sync": _sync(home, store),
        "team_sync": _team_sync(home, store / ownership.TEAM, now.timestamp()),
        "inbox": inbox.count_here(ledger, home, store),
        "dream": _dream(ledger, settings, store),
        "last_event": _last_event(ledger, home),
        "files": files.counts(ledger),
        "dialogue": {"bytes": retention.size(ledger), "keep_days": retention.keep_days(settings.dialogue)},
        "to_come": to_come(ledger, home, settings),
        "unread": unread.reasons(ledger, print_sessions=settings.extraction.include_print_sessions),
    }


def _sync(home: Path, store: Path) -> dict[str, Any] | None:
    """Return how `store` stands to other machines, None where it is kept in step with nothing."""
    if not Home(home).sharing.is_dir():
        return None
    from pipeline.sharing.turn import turn_of

    turn = turn_of(home, store)
    return values_of(turn) if turn is not None else None


def _team_sync(home: Path, store: Path, now: float) -> dict[str, Any] | None:
    """Return how the team's folder `store` stands, with its last dream and the backlog that one gave."""
    turn = _sync(home, store)
    if turn is None:
        return None
    from pipeline.sharing.turn import folder_of
    from pipeline.team import heard

    found = heard.read(folder_of(home, store))
    dream = {"at": found.dreamt, "by": found.dreamer} if found.dreamt else None
    return {**turn, "dream": dream, "backlog": found.backlog(now)}


def _spool(home: Path) -> dict[str, Any]:
    return {
        "waiting": sum(1 for _ in spool.pending(home)),
        "quarantined": [list(item) for item in spool.quarantined(home)],
        "left": [list(item) for item in spool.left(home)],
        "hook_log": _last_line(Home(home).hook_log),
    }


def to_come(ledger: Ledger, home: Path, settings: Settings) -> dict[str, int]:
    """Return how many turns of how many sessions are to be read, and after how many minutes of silence.

    `events` are those of which no worker has seen yet what was said.
    """
    limits = settings.extraction
    turns, sessions = unread.to_come(ledger, print_sessions=limits.include_print_sessions)
    events = sum(1 for _ in spool.pending(home))
    minutes = round(limits.conversation_gap_minutes)
    return {"turns": turns, "sessions": sessions, "minutes": minutes, "events": events}


def obstacles(queued: Sequence[Job], down: Outage | None) -> list[dict[str, str]]:
    """Return why jobs among `queued` are not done, each cause once, as `state`, `jobs` in words, `cause`.

    All that ask a model wait for one that is `down`.
    """
    held: dict[tuple[str, str], list[Job]] = {}
    for job in queued:
        asks = down is not None and job.state == "waiting" and job.kind in jobs.ASKING
        cause = down.words if down is not None and asks else job.last_error
        if cause:
            held.setdefault((job.state, cause), []).append(job)
    return [
        {"state": state, "jobs": _in_words(those), "cause": cause} for (state, cause), those in held.items()
    ]


def mends(state: str) -> str:
    """Return what a person can do about jobs that are held in `state`."""
    return _GIVEN_UP_MENDS if state == "parked" else TRIED_AGAIN


_JOBS = {
    "extract_turn": "turn",
    "batch": "batch order",
    "extract_conversation": "conversation",
    "reindex": "index update",
    "dream": "dream",
    "sync": "sync",
}
_DOES = {
    "waiting": ("waits", "wait"),
    "leased": ("is at work again", "are at work again"),
    "parked": ("was given up", "were given up"),
}


def _in_words(those: Sequence[Job]) -> str:
    """Return jobs of one state as the subject and verb of a sentence: ``1 dream and 2 turns wait``."""
    kinds = Counter(_JOBS[job.kind] for job in those)
    *most, last = (count(kinds[kind], kind) for kind in _JOBS.values() if kind in kinds)
    summary = f"{', '.join(most)} and {last}" if most else last
    tries = max(job.attempts for job in those)
    after = f" after {count(tries, 'try', 'tries')}" if tries else ""
    return f"{summary} {_DOES[those[0].state][len(those) > 1]}{after}"


def next_step(mode: str, *, wired: bool, event: bool) -> str:
    """Return what to do without memories: `wired` says that hooks are installed, `event` that one fired."""
    if mode == "off":
        return "The mode is off: `reverie mode auto` lets Reverie read and write."
    if not wired:
        step = "No hooks are installed: `reverie init` puts them in."
    elif not event:
        step = "The hooks are in: finish a turn in a new Claude Code session."
    else:
        step = "What lasts of a turn becomes a memory minutes after it; `reverie work` reads now what waits."
    by_hand = (
        "`reverie add TEXT` writes a memory yourself, `reverie extract --transcript FILE` reads a session."
    )
    return f"{step} {by_hand}"


def _last_runs(ledger: Ledger) -> list[runs.Run]:
    """Return the latest runs, without the single questions that a dream asked."""
    latest = runs.list_runs(ledger, limit=_LOOKED_THROUGH)
    return [run for run in latest if not run.strategy.startswith("dream:")][:_LAST_RUNS]


def _conversations(ledger: Ledger) -> dict[str, int]:
    """Return how many conversations stand in each status; those too short for one reading have their own."""
    found = conversations.counts(ledger)
    skipped, unread_ones = found.pop("skipped", 0), len(unread.passed_over(ledger))
    more = {"read by turns": skipped - unread_ones, "skipped": unread_ones}
    return {**found, **{name: number for name, number in more.items() if number}}


def _run_rows(latest: list[runs.Run]) -> list[dict[str, Any]]:
    undone = {store: undone_runs(Path(store)) for store in {run.store for run in latest} if store}
    return [
        {**run_row(run), "project": project_of(run.store), "undone": run.id in undone.get(run.store, ())}
        for run in latest
    ]


def project_of(store: str) -> str:
    """Return the name of the project that the memory folder `store` belongs to, as far as it is known."""
    path = Path(store)
    try:
        claimed = owner(path)
    except StoreError:
        claimed = ""
    return Path(claimed).name if claimed else (path.parent if path.name == PROJECT_STORE else path).name


def _last_event(ledger: Ledger, home: Path) -> dict[str, Any] | None:
    last = spool.last_event(home, ledger)
    return {"hook": last[0], "at": last[1]} if last else None


def _team(home: Path, store: Path) -> dict[str, Any] | None:
    """Return where the team's memories of a project are and how many, None where it has no such folder.

    `left` is the team that the person left, "" for none.
    """
    folder = ownership.team_folder(str(store))
    if not folder:
        return None
    number, left = sum(1 for _ in memory_files(Path(folder), [], stamps=False)), ""
    if Home(home).sharing.is_dir():
        from pipeline.sharing.turn import left_of

        left = left_of(home, Path(folder))
    return {"folder": folder, "memories": number, "left": left}


def _dream(ledger: Ledger, settings: Settings, store: Path) -> dict[str, Any]:
    """Return when this store was last consolidated and what each gate answered last (epoch seconds)."""
    known = dreams.state(ledger, str(store))
    gates = dreams.last_gates(ledger, str(store))
    return {
        "last_success": known.last_success,
        "last_attempt": known.last_attempt,
        "enabled": settings.dream.enabled
        and settings.store.mode in ("auto", "propose")
        and not ownership.is_team(str(store)),
        "not_before": None
        if known.last_success is None
        else known.last_success + settings.dream.interval_hours * 3600,
        "asked_at": gates[0].at if gates else None,
        "waits": " ".join(gate.reason for gate in gates if not gate.open),
        "gates": [values_of(gate) for gate in gates],
        "refusals": [values_of(gate) for gate in dreams.refusals(ledger, str(store), limit=_LAST_RUNS)],
    }


def _spend(ledger: Ledger, settings: Settings, now: datetime) -> dict[str, Any]:
    caps = settings.spend
    spent = calls.spent(ledger, now=now)
    return {
        "calls_hour": [spent.hour_calls, caps.calls_per_hour],
        "tokens_hour": [spent.hour_tokens, caps.tokens_per_hour],
        "dollars_day": [round(spent.day_dollars, 4), caps.dollars_per_day],
        "dollars_reserved": round(calls.reserved(ledger, now=now), 4),
        "held": calls.paused(ledger, now=now),
    }


def _last_line(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace").strip().rpartition("\n")[2]
    except FileNotFoundError:
        return ""
