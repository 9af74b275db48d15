"""What was said, as the ledger holds it: how much of which project, and deleting it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.app.application import App
from pipeline.core import paths
from pipeline.core.errors import InputError, UsageError
from pipeline.ledger import Ledger, retention, utterances
from pipeline.ledger.retention import Held


@dataclass(frozen=True, slots=True)
class Selection:
    """Which dialogue: of a project's folder and those below, of sessions silent for some days, of a session.

    All that is given must hold; `session` is an id or the start of one. With `unread` also what no run has
    read.
    """

    project: Path | None = None
    older_than: int | None = None
    session: str = ""
    unread: bool = False


def by_project(app: App) -> list[dict[str, Any]]:
    """Return what is held by project: its folder ("" where no row says), sessions, utterances, bytes, times.

    ``first`` and ``last`` are when the session that was silent longest, and the newest one, last grew (epoch
    seconds). The largest comes first.
    """
    found: dict[str, dict[str, Any]] = {}
    with app.ledger(to_look=True) as ledger:
        for item in retention.held(ledger):
            project = _project(ledger, item.key)
            row = found.setdefault(
                project,
                {"project": project, "sessions": 0, "utterances": 0, "bytes": 0, "unread": 0}
                | {"first": item.last, "last": item.last},
            )
            row["sessions"] += 1
            row["utterances"] += item.utterances
            row["bytes"] += item.size
            row["unread"] += item.unread
            row["first"], row["last"] = min(row["first"], item.last), max(row["last"], item.last)
    return sorted(found.values(), key=lambda row: (-row["bytes"], row["project"]))


def chosen(app: App, what: Selection) -> list[dict[str, Any]]:
    """Return what `delete` would take of each session, which may be nothing (size 0).

    Raises UsageError when nothing is selected, InputError when more than one session begins so.
    """
    with app.ledger(to_look=True) as ledger:
        return [
            asdict(item)
            | {"project": _project(ledger, item.key)}
            | ({} if what.unread else {"size": item.size - item.unread_size})
            for item in _matching(app, ledger, what)
        ]


def delete(app: App, what: Selection) -> list[dict[str, Any]]:
    """Delete dialogue, without `unread` only what was read; return what went of each session.

    Waits until no worker is at work. Memories, their quotes and what they say of their sources stay.
    """
    with app.ledger() as ledger, app.alone(ledger):
        keys = [item.key for item in _matching(app, ledger, what)]
        found = retention.delete(ledger, keys, unread=what.unread)
        retention.compact(ledger)
        return [asdict(item) | {"project": _project(ledger, item.key)} for item in found]


def _matching(app: App, ledger: Ledger, what: Selection) -> list[Held]:
    if what.project is None and what.older_than is None and not what.session:
        raise UsageError(
            "it does not say which dialogue to delete",
            fix="Give --project DIR, --older-than DAYS or --session ID; see `reverie dialogue list`.",
        )
    before = None if what.older_than is None else retention.days_before(app.clock.now(), what.older_than)
    wanted = None if what.project is None else _root(what.project)
    held = retention.held(ledger)
    session = _session(held, what.session)
    return [
        item
        for item in held
        if item.session_id == (session or item.session_id)
        and (before is None or 0 < item.last < before)
        and (wanted is None or _is_below(_project(ledger, item.key), wanted))
    ]


def _session(held: list[Held], text: str) -> str:
    """Return the id of the session that `text` is, or begins; InputError when it begins several."""
    ids = sorted({item.session_id for item in held if item.session_id.startswith(text)})
    if not text or text in ids or not ids:
        return text
    if len(ids) > 1:
        raise InputError(
            f"{len(ids)} sessions have an id that begins with {text!r}",
            fix=f"Write more of it: {', '.join(ids[:3])}{', …' if len(ids) > 3 else ''}.",
        )
    return ids[0]


def _project(ledger: Ledger, key: str) -> str:
    """Return the root of the project that a session began in, as far as its folder is still there."""
    cwd = utterances.first_cwd(ledger, key)
    return _root(Path(cwd)) if cwd else ""


def _root(folder: Path) -> str:
    path = folder.expanduser().absolute()
    return str(paths.project_root(path)) if path.is_dir() else str(path)


def _is_below(project: str, wanted: str) -> bool:
    return bool(project) and Path(project).is_relative_to(wanted)
