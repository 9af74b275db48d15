"""Who wrote the files of a folder: counted by the rule of `domain.authorship`, with nothing written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from pipeline.context import look_at_store
from pipeline.core.errors import LedgerError, ReverieError, cause
from pipeline.domain.authorship import CLAUDE, PERSON
from pipeline.hooklib.ownership import OURS
from pipeline.intake.authors import calls_in, note_authors
from pipeline.ledger import Ledger, read_ledger
from pipeline.safety.invisible import visible_name
from pipeline.store import Document, Store
from pipeline.store.ownership.permission import is_adoptable, is_tended

_BY_FOLDER = "This is by the files alone: no session that was read tells of them."
Part = Literal["reverie", "claude", "person", "mixed", "unknown", "held", "apart", "misnamed"]


@dataclass(frozen=True, slots=True)
class Writers:
    """How many of the files that can be read each one wrote; each file counts once.

    `reverie` and `claude` need no yes. `person`, `mixed` (Claude, in a file that held words of others) and
    `unknown` are what `adopt` offers. `held` are pinned, or were changed since Reverie wrote them; `apart`
    lie where Reverie changes nothing, as in a team's folder; `misnamed` have names that no memory can have.
    `note` is a sentence on what could not be looked at, "" for nothing; where it says so, nothing is counted.
    """

    reverie: int = 0
    claude: int = 0
    person: int = 0
    mixed: int = 0
    unknown: int = 0
    held: int = 0
    apart: int = 0
    misnamed: int = 0
    note: str = ""


def writers(folder: Path, paths: Iterable[str], ledger: Path | None, now: datetime) -> Writers:
    """Return who wrote the files at `paths` of the directory `folder`, as `adopt` and `why` tell it.

    Each path is as a person can read it (`visible_name`). Calls in transcripts are taken from the file
    `ledger`, if it is there and can be read.
    """
    try:
        store = look_at_store(folder.absolute())
        note = _look(store, ledger, now)
        snapshot = store.scan()
        found = {visible_name(document.path): document for document in snapshot.documents}
        odd = {*snapshot.misnamed}
        counted = Counter[str]("misnamed" if path in odd else _part(found.get(path), store) for path in paths)
    except (ReverieError, OSError) as error:
        return Writers(note=f"Who wrote them can't be told: {cause(error).rstrip('.')}.")
    # Where nothing is in doubt, what was not looked at makes no difference.
    doubtful = counted["person"] + counted["mixed"] + counted["unknown"]
    return Writers(**counted, note=note if doubtful else "")


def _look(store: Store, path: Path | None, now: datetime) -> str:
    """Let `store` know who wrote its files, in this process only; return what was missing for it."""
    if path is None or not path.exists():
        note_authors(None, store, now=now, keep=False)
        return _BY_FOLDER
    try:
        with read_ledger(path) as ledger:
            return _ask(ledger, store, now)
    except LedgerError as error:
        note_authors(None, store, now=now, keep=False)
        return f"This is by the files alone: what was read of sessions can't be looked at ({cause(error)})."


def _ask(ledger: Ledger, store: Store, now: datetime) -> str:
    note_authors(ledger, store, now=now, keep=False)
    return "" if calls_in(ledger, store) else _BY_FOLDER


def _part(document: Document | None, store: Store) -> Part:
    if document is None or store.is_team:
        return "apart"
    if is_adoptable(document, store) and document.identity is not None:
        if document.identity.by == CLAUDE:
            return "mixed"
        return "person" if document.identity.by == PERSON else "unknown"
    if document.identity is None or document.hand == OURS:
        return "reverie"
    return "claude" if is_tended(document, store) and not document.head.pinned else "held"
