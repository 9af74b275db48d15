"""Who wrote the files of a store that Reverie did not write as they are: noted where the store finds it.

The rule is `domain.authorship`; here are its facts: the calls that the ledger took from transcripts, the
client's stamp in the front matter, and when the file was written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pipeline.core.clock import parse_time
from pipeline.core.errors import ConflictError
from pipeline.core.ids import text_digest
from pipeline.domain.authorship import CLAUDE, PERSON, REVERIE, Facts, FileWrite, Stamp, author_of
from pipeline.hooklib.ownership import OURS
from pipeline.ledger import Ledger, file_writes
from pipeline.store import Document, Store
from pipeline.store.files.identity import Identity, of_guess


def note_authors(ledger: Ledger | None, store: Store, *, keep: bool = True) -> None:
    """Find out who wrote what of `store`, so that its next `scan` tells; without `keep` in this process only.

    Only what is new is noted; without a `ledger` no transcript tells. Raises StoreError or OSError where the
    store can't be read or written.
    """
    documents = store.scan().documents
    writes = calls_in(ledger, store)
    fresh = []
    for document in documents:
        if document.hand == OURS:
            found = _ours(store, document)
        else:
            found = _theirs(store, document, writes.get(document.path, ()))
        if found is not None and found != store.identities.known(document.path):
            fresh.append(found)
    if keep and store.root.is_dir():
        store.identities.keep(fresh)
    else:
        store.identities.suppose(fresh)


def calls_in(ledger: Ledger | None, store: Store) -> dict[str, list[FileWrite]]:
    """Return path → the calls that wrote there, as the transcripts that were read tell, oldest first."""
    return {} if ledger is None else file_writes.below(ledger, [str(store.path), str(store.root)])


def stamp_of(front: Mapping[str, Any]) -> Stamp | None:
    """Return what the client stamped into front matter, None where any part of it is missing."""
    below = front.get("metadata")
    if not isinstance(below, dict) or below.get("node_type") != "memory":
        return None
    session, moment = below.get("originSessionId"), parse_time(below.get("modified"))
    return Stamp(session, moment.timestamp()) if isinstance(session, str) and session and moment else None


def _ours(store: Store, document: Document) -> Identity | None:
    """Return what is noted of a file of ours that only the assistant said, None for any other.

    The store notes it when it writes; this is for what was written before it did.
    """
    # What the front matter says is looked at first: most files are no guess, and there may be thousands.
    if document.front.get("origin") != "assistant-inferred" or not document.own_id:
        return None
    known = store.identities.known(document.path)
    if known is not None and (known.by, known.digest) == (REVERIE, document.digest):
        return known
    if not document.head.holds_no_persons_words or not store.is_ours(document):
        return None
    return of_guess(document.path, document.own_id, document.raw)


def _theirs(store: Store, document: Document, writes: Sequence[FileWrite]) -> Identity | None:
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
        stamp_of(document.front),
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
