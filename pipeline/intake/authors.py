"""Who wrote the files of a store that Reverie did not write as they are: noted where the store finds it.

The rule is `domain.authorship`; here are its facts: the calls that the ledger took from transcripts, the
client's stamp in the front matter, whether the session that it names was here, and when the file was written.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from pipeline.core import paths
from pipeline.core.clock import parse_time
from pipeline.core.errors import ConflictError
from pipeline.core.ids import text_digest
from pipeline.domain.authorship import CLAUDE, PERSON, REVERIE, Facts, FileWrite, Stamp, author_of
from pipeline.hooklib.ownership import OURS, owner
from pipeline.ledger import Ledger, file_writes, files
from pipeline.store import Document, Store
from pipeline.store.files.identity import ASSISTANT, Identity, of_guess


class _Sessions:
    """The sessions that are known to have been in the project of `store`; found at the first question."""

    def __init__(self, ledger: Ledger | None, store: Store) -> None:
        self._ledger = ledger
        self._store = store

    def __contains__(self, session: object) -> bool:
        return session in self._known

    @cached_property
    def _known(self) -> set[str]:
        folders = _transcripts_of(self._store)
        known = {file.stem for folder in folders for file in folder.glob("*.jsonl") if file.is_file()}
        if self._ledger is not None:
            names = {str(self._store.path), str(self._store.root)}
            known |= files.sessions_of(self._ledger, names, {str(folder) for folder in folders})
        return known


def note_authors(
    ledger: Ledger | None,
    store: Store,
    *,
    now: datetime,
    keep: bool = True,
    documents: Sequence[Document] | None = None,
) -> bool:
    """Find out who wrote what of `store`, so that its next `scan` tells; without `keep` in this process only.

    Only what is new is noted, and True says that there was such; without a `ledger` no transcript tells.
    `documents` are all of the store, where the caller has just looked. Raises StoreError or OSError where the
    store can't be read or written.
    """
    documents = store.scan().documents if documents is None else documents
    writes = calls_in(ledger, store)
    sessions = _Sessions(ledger, store)
    fresh = []
    for document in documents:
        if document.hand == OURS:
            found = _ours(store, document) if document.origin == ASSISTANT else None
        else:
            found = _theirs(store, document, writes.get(document.path, ()), sessions, now)
        if found is not None and found != store.identities.known(document.path):
            fresh.append(found)
    if keep and store.root.is_dir():
        store.identities.keep(fresh)
    else:
        store.identities.suppose(fresh)
    return bool(fresh)


def calls_in(ledger: Ledger | None, store: Store) -> dict[str, list[FileWrite]]:
    """Return path → the calls that wrote there, as the transcripts that were read tell, oldest first."""
    return {} if ledger is None else file_writes.below(ledger, [str(store.path), str(store.root)])


def _transcripts_of(store: Store) -> list[Path]:
    """Return the folders in which Claude Code keeps the transcripts of the project of `store`.

    Only those of its own: what lies beside a memory folder in a repository came with the repository.
    """
    found = {store.path.parent, store.root.parent}
    try:
        project = owner(str(store.root))
    except (OSError, ValueError):
        project = ""  # Its mark can't be read, which `doctor` says: the place of the folder tells alone.
    if project:
        found.add(paths.project_folder(Path(project)))
    projects = paths.projects_dir().resolve()
    return sorted(folder for folder in found if folder.resolve().parent == projects)


def stamp_of(front: Mapping[str, Any], sessions: Container[str]) -> Stamp | None:
    """Return what the client stamped into front matter, None where any part of it is missing.

    `sessions` are those that were here.
    """
    below = front.get("metadata")
    if not isinstance(below, dict) or below.get("node_type") != "memory":
        return None
    session, moment = below.get("originSessionId"), parse_time(below.get("modified"))
    if not isinstance(session, str) or not session or not moment:
        return None
    return Stamp(session, moment.timestamp(), session in sessions)


def _ours(store: Store, document: Document) -> Identity | None:
    """Return what is noted of a file of ours that only the assistant said, None for any other.

    The store notes it when it writes; this is for what was written before it did.
    """
    if document.front.get("origin") != ASSISTANT or not document.own_id:
        return None
    known = store.identities.known(document.path)
    if known is not None and (known.by, known.digest) == (REVERIE, document.digest):
        return known
    if not document.head.holds_no_persons_words or not store.is_ours(document):
        return None
    return of_guess(document.path, document.own_id, document.raw)


def _theirs(
    store: Store, document: Document, writes: Sequence[FileWrite], sessions: Container[str], now: datetime
) -> Identity | None:
    known = store.identities.known(document.path)
    present = document.identity
    if present is None or (present.by == CLAUDE and present.digest == document.digest):
        # Renamed, it is noted under the new name.
        return present
    settled = known is not None and known.digest == document.digest
    if settled and not writes:
        return None
    try:
        text = text_digest(document.raw.decode("utf-8", "replace"))
    except ConflictError:
        return None  # Written this very moment: the next look takes it.
    if known is not None and settled:
        was_known = known.by == PERSON
    else:
        was_known = not document.foreign or (known is not None and known.by in (CLAUDE, REVERIE, PERSON))
    facts = Facts(
        text,
        document.stamp.mtime_ns / 1e9,
        now.timestamp(),
        stamp_of(document.front, sessions),
        was_seen=known is not None or not document.foreign,
        was_known=was_known,
        tended=known.text if known is not None and known.tended else "",
    )
    author = author_of(facts, writes)
    return Identity(
        document.path,
        document.id,
        document.digest,
        author.by,
        author.sign,
        author.session,
        author.uuid,
        datetime.fromtimestamp(author.at, UTC).isoformat() if author.at else "",
        tended=author.alone,
        text=text if author.alone else "",
    )
