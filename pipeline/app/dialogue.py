"""What was said, as the ledger holds it: how much of which project, and deleting it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.app.application import App
from pipeline.core import paths
from pipeline.core.errors import InputError, UsageError
from pipeline.formats.keisei import claims
from pipeline.ledger import Ledger, retention, utterances
from pipeline.ledger.retention import Held
from pipeline.recall.prepared import session_memory
from pipeline.search import dialogue_index


@dataclass(frozen=True, slots=True)
class Selection:
    """Which dialogue: of a project's folder and those below, of sessions silent for some days, of a session.

    All that is given must hold; `session` is an id or the start of one, `file` a transcript, which need not
    be there any more, by its path or its key. With `unread` also what no run has read.
    """

    project: Path | None = None
    older_than: int | None = None
    session: str = ""
    unread: bool = False
    file: str = ""


def by_project(app: App) -> list[dict[str, Any]]:
    """Return what is held by project: its folder ("" where no row says), sessions, utterances, bytes, times.

    ``first`` and ``last`` are when the session that was silent longest, and the newest one, last grew (epoch
    seconds). The largest comes first.
    """
    found: dict[str, dict[str, Any]] = {}
    with app.ledger(to_look=True) as ledger:
        for item in retention.held(ledger):
            project = project_of(ledger, item.key)
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
            | {"project": project_of(ledger, item.key)}
            | ({} if what.unread else {"size": item.size - item.unread_size})
            for item in _matching(app, ledger, what)
        ]


def delete(app: App, what: Selection) -> list[dict[str, Any]]:
    """Delete dialogue, without `unread` only what was read; return what went of each session.

    Their claims in the journal go first: where that can't be written, nothing is deleted. Waits until no
    worker is at work. Memories, their quotes and what they say of their sources stay.
    """
    with app.ledger() as ledger, app.alone(ledger):
        matching = _matching(app, ledger, what)
        keys = [item.key for item in matching]
        found = retention.delete(ledger, keys, first=claims.of_deleted, unread=what.unread)
        retention.compact(ledger)
        dialogue_index.keep_in_step(app.home, ledger)
        session_memory.drop(app.home, [item.key for item in found])
        return [asdict(item) | {"project": project_of(ledger, item.key)} for item in found]


def _matching(app: App, ledger: Ledger, what: Selection) -> list[Held]:
    if what.project is None and what.older_than is None and not (what.session or what.file):
        raise UsageError(
            "it does not say which dialogue to delete",
            fix="Give --project DIR, --older-than DAYS, --session ID or --file F: `reverie dialogue list`.",
        )
    before = None if what.older_than is None else retention.days_before(app.clock.now(), what.older_than)
    wanted = None if what.project is None else root_of(what.project)
    held = retention.held(ledger)
    session = whole_session(sorted({item.session_id for item in held}), what.session)
    names = {what.file, str(Path(what.file).expanduser().absolute())}
    if what.file and not any(item.key in names or item.path in names for item in held):
        raise InputError(
            "nothing is held of this transcript",
            file=what.file,
            fix="Give its path, or <project>/<session>.jsonl; `reverie conversations` lists what was read.",
        )
    return [
        item
        for item in held
        if item.session_id == (session or item.session_id)
        and (not what.file or item.key in names or item.path in names)
        and (before is None or 0 < item.last < before)
        and (wanted is None or is_below(project_of(ledger, item.key), wanted))
    ]


def whole_session(known: list[str], text: str) -> str:
    """Return the id among `known` that `text` is, or begins; InputError when it begins several."""
    ids = [session for session in known if session.startswith(text)]
    if not text or text in ids or not ids:
        return text
    if len(ids) > 1:
        raise InputError(
            f"{len(ids)} sessions have an id that begins with {text!r}",
            fix=f"Write more of it: {', '.join(ids[:3])}{', …' if len(ids) > 3 else ''}.",
        )
    return ids[0]


def project_of(ledger: Ledger, key: str) -> str:
    """Return the root of the project that a session began in, as far as its folder is still there."""
    cwd = utterances.first_cwd(ledger, key)
    return root_of(Path(cwd)) if cwd else ""


def root_of(folder: Path) -> str:
    """Return the root of the project that `folder` is in; the folder itself where it is not there."""
    path = folder.expanduser().absolute()
    return str(paths.project_root(path)) if path.is_dir() else str(path)


def is_below(project: str, wanted: str) -> bool:
    """Whether the root `project` is `wanted`, or below it."""
    return bool(project) and Path(project).is_relative_to(wanted)
