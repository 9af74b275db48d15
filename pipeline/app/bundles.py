"""A bug bundle: all that one run of extraction was judged by, for somebody else to run it again.

It holds the replies with the lines that the run kept, the memories it was about, what was done and what was
turned down, and versions; of the dialogue nothing else. Secrets are taken out, those known in this home as
well; paths and the names of users are shortened.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline import __version__
from pipeline.app import bundle_archive as archive
from pipeline.app import past_runs
from pipeline.app.application import App
from pipeline.context import look_at_store
from pipeline.core import zone
from pipeline.core.atomic import write_atomic
from pipeline.core.clock import iso
from pipeline.core.errors import InputError, cause
from pipeline.core.home import Home
from pipeline.domain.action import MemoryAction
from pipeline.domain.memory import Memory
from pipeline.extraction.checkpoint import kept_memory
from pipeline.extraction.render import words_of
from pipeline.hooklib import ownership
from pipeline.ledger import Ledger, dialogue, inbox, runs, secrets, utterances
from pipeline.llm.prompts import load
from pipeline.record import record
from pipeline.safety.structured import Cleaner
from pipeline.store import Store
from pipeline.text.specifics import plain, specifics

_LEAST_USER = 3
_NOBODY = frozenset({"root", "user", "home", "users"})
"""Names of users that tell nothing, and that stand in many a text."""
_USERS = re.compile(r"(/home/|/Users/|\\Users\\)(?!user\b)[^/\\\s\"':]+")
_PROMPTS = ("extract.system", "extract.turn", "extract.conversation", "extract.verify")


@record
class Bundle:
    """A bundle that is not written yet: its texts by name, and how many secrets of which kinds it lost."""

    run_id: str
    texts: dict[str, str]
    redacted: int
    kinds: tuple[str, ...]

    @property
    def file_name(self) -> str:
        """Return what its file is called where nobody says otherwise."""
        return f"reverie-bundle-{self.run_id[:12]}.zip"


def collect(app: App, run_id: str) -> Bundle:
    """Return the bundle of a run, with its secrets taken out and paths shortened; nothing is written."""
    with app.ledger(to_look=True) as ledger:
        run = past_runs.find(ledger, run_id)
        packed = json.loads(run.reply_json or "{}")
        values = {
            archive.RUN: _row(run),
            archive.REPLY: packed,
            archive.CALLS: [asdict(call) for call in past_runs.calls_of(ledger, run, app.clock.now())],
            archive.MEMORIES: _memories(app, ledger, run, packed),
            archive.DONE: past_runs.done_by(ledger, run),
        }
        cleaner = Cleaner(secrets.recognised(ledger))
        about = _about(app, run)
    hidden = Hidden()
    clean = {name: hidden.value(cleaner.value(value)) for name, value in values.items()}
    texts = archive.texts_of(clean, hidden.value(cleaner.value(about)))
    return Bundle(run.id, texts, cleaner.found, tuple(sorted(cleaner.kinds)))


def write(bundle: Bundle, target: Path) -> int:
    """Write `bundle` to `target`, which must not be there yet, for its owner alone; return its bytes."""
    if target.exists() or target.is_symlink():
        raise InputError("there is such a file already", file=str(target), fix="Name another with --to.")
    data = archive.pack(bundle.texts)
    try:
        write_atomic(target, data)
    except OSError as error:
        raise InputError(
            f"can't be written: {cause(error)}", file=str(target), fix="Name another with --to."
        ) from error
    return len(data)


class Hidden:
    """Shortens paths and the names of users in one value after another, the same way everywhere."""

    def __init__(self) -> None:
        home = Path.home()
        self._home = str(home)
        name = home.name
        known = len(name) >= _LEAST_USER and name.lower() not in _NOBODY
        self._user = re.compile(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", re.IGNORECASE) if known else None

    def value(self, value: Any) -> Any:
        """Return `value` with the texts and names in it shortened."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value

    def text(self, text: str) -> str:
        """Return `text` with ``~`` for the home, and ``user`` for who is called so."""
        if len(self._home) > 1:
            text = text.replace(self._home, "~")
        text = _USERS.sub(r"\1user", text)
        return self._user.sub("user", text) if self._user else text


def _row(run: runs.Run) -> dict[str, Any]:
    return {key: value for key, value in asdict(run).items() if key not in ("reply_json", "summary_json")}


def _about(app: App, run: runs.Run) -> dict[str, Any]:
    at = datetime.fromtimestamp(run.replied_at or run.started_at, UTC)
    store = Path(run.store)
    proposes = app.settings.store.mode == "propose" or ownership.is_team(run.store)
    return {
        "written": iso(app.clock.now()),
        "reverie": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "provider": run.provider or "",
        "model": run.model or "",
        "zone": zone.zone_name(at),
        "prompts": {name: load(name).digest for name in _PROMPTS},
        "settings": {
            "max_candidates": app.settings.extraction.max_candidates,
            "mode": "propose" if proposes else app.settings.store.mode,
        },
        "user_scope": store == Home(app.home).user_store,
    }


def _memories(app: App, ledger: Ledger, run: runs.Run, packed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what beside the reply the run was judged by, as far as it is about what the reply names."""
    shown = packed.get("shown") or {}
    here, everyone = _opened(Path(run.store)), _opened(Home(app.home).user_store)
    wanted = {
        action.name
        for action in run.summary.actions
        if isinstance(action, MemoryAction) and action.action == "known"
    }
    known = dict(_found(wanted - shown.keys(), here, everyone))
    names = {*shown, *known}
    only_everyone = [name for name in names if not _has(here, name) and _has(everyone, name)]
    began = run.started_at
    named = {*names, *_names(packed)}
    waiting = [
        {
            "store": "user" if item.store != run.store else "",
            "kind": item.kind,
            "payload": item.payload,
            "reason": item.reason,
        }
        for item in inbox.list_inbox(ledger, state=None)
        if item.kind != inbox.CITED
        and item.run_id != run.id
        and item.created_at <= began
        and (item.decided_at is None or item.decided_at > began)
        and str(item.payload.get("name")) in named
        and item.store in (run.store, str(Home(app.home).user_store))
    ]
    return {
        "known": {name: kept_memory(memory) for name, memory in known.items()},
        "everywhere": sorted(only_everyone),
        "waiting": waiting,
        "forgotten": _forgotten(here, packed, datetime.fromtimestamp(began, UTC)),
        "heard": _heard(ledger, run, packed),
    }


def _opened(path: Path) -> Store | None:
    return look_at_store(path) if path.is_dir() else None


def _has(store: Store | None, name: str) -> bool:
    return store is not None and store.scan().by_name(name) is not None


def _found(names: Iterable[str], *stores: Store | None) -> Iterator[tuple[str, Memory]]:
    for name in names:
        for store in filter(None, stores):
            document = store.scan().by_name(name)
            if document is not None:
                yield name, document.memory
                break


def _names(packed: Mapping[str, Any]) -> set[str]:
    reply = packed.get("reply") or {}
    given = [item.get("name") or "" for item in (reply.get("memories") or [])]
    given += [item.get("update_of") or "" for item in (reply.get("memories") or [])]
    given += [item.get("name") or "" for item in (reply.get("withdrawals") or [])]
    return {name.strip() for name in given if name.strip()}


def _forgotten(store: Store | None, packed: Mapping[str, Any], began: datetime) -> list[dict[str, Any]]:
    """Return what was forgotten before the run began of the lines that it kept."""
    if store is None:
        return []
    uuids = {line.get("uuid") for line in (packed.get("lines") or {}).values()}
    return [
        {"uuid": uuid, "quote": line.quote, "at": iso(line.at)}
        for uuid, lines in store.forgotten().quotes.items()
        if uuid in uuids
        for line in lines
        if line.at <= began
    ]


def _heard(ledger: Ledger, run: runs.Run, packed: Mapping[str, Any]) -> list[str]:
    """Return those names and numbers of the reply that the dialogue has, at whatever line.

    That they were said somewhere counts for the checks, and tells no more than the reply does.
    """
    texts = list(_texts({key: packed.get(key) for key in ("reply", "verified")}))
    spoken = [
        line
        for line in utterances.utterances(ledger, run.key, after_row=run.from_row - 1)
        if line.row <= run.through_row
    ]
    before = dialogue.context_before(
        ledger, run.key, row=run.from_row, max_chars=packed.get("context_room") or 0
    )
    dialogue_words = plain(words_of([*before, *spoken]))
    wanted = {item for text in texts for item in (*specifics(text), *re.findall(r"[\w.+#-]+", text))}
    return sorted(item for item in wanted if plain(item) and plain(item) in dialogue_words)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
