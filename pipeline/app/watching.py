"""Watching transcripts, and how the reading of them is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, get_args

from pipeline.app.application import App
from pipeline.core import locks, paths
from pipeline.core.atomic import write_atomic
from pipeline.core.errors import InputError, LockError
from pipeline.core.home import Home
from pipeline.ledger import conversation_states, conversations, health
from pipeline.text.humanize import count

if TYPE_CHECKING:
    from pipeline.formats.watch.watcher import Diagnostics
    from pipeline.intake.ingest import Ingested


def watch(
    app: App,
    *,
    folder: Path | None,
    every: float,
    settle: float,
    stop: Event,
    tell: Callable[[Ingested | InputError], object],
    warn: Callable[[str], object],
) -> None:
    """Read what changes below `folder`, Claude Code's transcripts where None is given, until `stop` is set.

    `warn` is told how many files that are, and if the system can't tell of changes. Raises InputError for no
    folder, LockError where another watcher runs.
    """
    from pipeline.formats.watch.changes import changes_below
    from pipeline.formats.watch.queue import Pace
    from pipeline.formats.watch.watcher import Watcher
    from pipeline.transcript import survey_of

    root, home = (folder or paths.projects_dir()).absolute(), Home(app.home)
    held = locks.try_lock(home.watch_lock)
    if held is None:
        raise LockError("another `reverie watch` runs", file=str(home.watch_lock), fix="One is enough.")
    with held, app.ledger() as ledger:
        changes = changes_below(root, stop)
        if changes.why_not:
            warn(f"{changes.why_not} Until then: a look every {every:g} seconds.")

        files = sum(
            not isinstance(found, InputError) for found in survey_of(root, paths.projects_dir().absolute())
        )
        warn(f"watching {count(files, 'file')} in {root}; Ctrl-C ends it")

        def note(state: Diagnostics) -> None:
            text = json.dumps(asdict(state), ensure_ascii=False)
            if text != noted[0]:
                noted[0] = text
                write_atomic(home.watch_state, f"{text}\n".encode())

        noted = [""]
        Watcher(
            ledger,
            root,
            changes,
            settings=app.settings,
            clock=app.clock,
            stop=stop,
            tell=tell,
            note=note,
            pace=Pace(settle),
            every=every,
        ).run()


def health_check(app: App) -> dict[str, Any]:
    """Return how the reading of transcripts is: files, entries, conversations, the watcher, troubles."""
    with app.ledger(to_look=True) as ledger:
        found = health.figures(ledger)
        counted = conversations.counts(ledger)
    states = {status: counted.get(status, 0) for status in get_args(conversations.Status)}
    path = Home(app.home).ledger
    found |= {
        "conversations": {"total": sum(states.values()), **states},
        "ledger": {"path": str(path), "bytes": path.stat().st_size if path.exists() else 0},
        "watch": _watcher(app.home),
    }
    found["troubles"] = _troubles(found)
    return found


def _watcher(home: Path) -> dict[str, Any]:
    """Return the diagnostics of the watcher, and whether it runs."""
    try:
        noted = json.loads(Home(home).watch_state.read_text("utf-8"))
    except (OSError, ValueError):
        noted = {}
    return {"running": locks.is_held(Home(home).watch_lock), **(noted if isinstance(noted, dict) else {})}


def _troubles(found: dict[str, Any]) -> list[str]:
    files, watcher = found["files"], found["watch"]
    troubles = []
    if files["ingesting"] and not watcher["running"]:
        troubles.append("a file is half read, as a crash leaves it: the next `reverie ingest` mends that")
    if files["behind"]:
        troubles.append(f"{files['behind']} files have more than was read: `reverie ingest --dir` reads it")
    if files["missing"]:
        troubles.append(
            f"{files['missing']} files are gone and not marked so: the next `reverie ingest --dir` does it"
        )
    if found["conversations"]["review"]:
        troubles.append(
            f"{found['conversations']['review']} conversations wait for you: `reverie conversations"
            " --status review`"
        )
    if watcher.get("last_error") and watcher["running"]:
        troubles.append(f"the watcher's last error: {watcher['last_error']}")
    return troubles


def transition(app: App, conversation_id: int | None, status: str) -> list[dict[str, Any]]:
    """Bring a conversation to `status`; where no id is given, those of the project here that are active.

    Returns the conversations as they are now.
    """
    now = app.clock.now()
    with app.ledger() as ledger:
        if conversation_id is not None:
            return [asdict(conversation_states.transition(ledger, conversation_id, status, now=now))]
        here = health.active_in(ledger, os.path.realpath(app.here))
        return [asdict(conversation_states.transition(ledger, number, status, now=now)) for number in here]
