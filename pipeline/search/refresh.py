"""A store's documents as its search index takes them, and the index brought up to date with the store."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from operator import is_
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pipeline.core.clock import iso
from pipeline.core.errors import LedgerError, SearchError
from pipeline.core.home import Home
from pipeline.core.ids import digest
from pipeline.domain.memory import Memory
from pipeline.hooklib.front_matter import field, text_of
from pipeline.hooklib.memory_format import author_of, own_words
from pipeline.hooklib.ownership import OTHER, TOLD
from pipeline.ledger import look_at_ledger
from pipeline.ledger.utterances import was_said
from pipeline.search import index_reader
from pipeline.search.fts import SearchIndex, file_state, index_file
from pipeline.search.meaning import words_file
from pipeline.search.rows import NO_STAMP, Content, SearchRow, state_of
from pipeline.search.ticks import TICK_NS, is_hot
from pipeline.store import (
    ARCHIVE,
    Document,
    Snapshot,
    Store,
    archived_paths,
    folder_times,
    is_retired,
    looks_anew,
    scan_archive,
)
from pipeline.store.derived import cues
from pipeline.store.files.layout import FileStamp
from pipeline.verify.provenance import said_at

_LISTED = "listed"
"""Under this the index of an archive keeps which files were there."""

Beside = tuple[str, tuple[str, ...]]
"""A digest of a text and the cues made for it (`store.derived.cues`)."""

BY_SOURCES = frozenset({"user-stated", "user-confirmed"})
"""Origins for which the lines that a file cites can speak."""


def refresh_index(
    home: Path, store: Store, now: datetime, *, rebuild: bool = False, notes: Mapping[str, str] | None = None
) -> int:
    """Bring the search index of `store` up to date; return how many memories of it changed.

    With `rebuild` it is thrown away first; `notes` are kept in it. Waits out the tick of the clock in which
    the store was last written to, so that the stamps it keeps tell of every later change. Raises SearchError,
    StoreError, and ConflictError when a file changes meanwhile.
    """
    last = _LAST.pop(store, None)
    if last is not None and not rebuild and not notes and last.is_so(home, store):
        _LAST[store] = last
        return 0
    # What was looked at before the times of the folders were would hide what changed in between.
    with SearchIndex.open(home, store.root) as index, looks_anew():
        if rebuild:
            index.rebuild()
        _let_settle(store.root, index)
        moment = index.file_time()
        folders = folder_times(store.root)
        snapshot = store.scan()
        known = _Known.of(home, store, snapshot)
        rows = [
            *search_rows(snapshot.documents, moment, known.proved, known.beside),
            *_unreadable_rows(snapshot, moment),
        ]
        sure = _sure(folders, moment)
        notes = {"store": str(store.root), "synced": iso(now), **(notes or {})}
        changed = index.sync(rows, folders=sure, notes=notes)
        # What may change once more with the same stamp is looked at again the next time.
        if sure == folders and all(row.stamp != NO_STAMP for row in rows) and (state := index.state()):
            _LAST[store] = _InStep(known, folders, state)
    return changed


@dataclass(frozen=True, slots=True)
class _Known:
    """All that the rows of an index are made from, beside the bytes of files."""

    documents: list[Document]
    hands: list[str]
    broken: dict[str, FileStamp]
    proved: set[str]
    beside: Mapping[str, Beside]
    words: str
    """The state of the table of words, which decides what a memory means."""

    @classmethod
    def of(cls, home: Path, store: Store, snapshot: Snapshot) -> _Known:
        documents = snapshot.documents
        return cls(
            documents,
            [item.hand for item in documents],
            snapshot.broken_stamps,
            borne_out(home, documents),
            cues.read(store.root),
            file_state(Path(words_file(str(home)))),
        )

    def is_of(self, other: _Known) -> bool:
        """Whether the rows of `other` are the same: those of the very documents, known in the same way."""
        same = len(self.documents) == len(other.documents)
        return (
            same
            and all(map(is_, self.documents, other.documents))
            and (self.hands, self.broken, self.proved) == (other.hands, other.broken, other.proved)
            and (self.beside, self.words) == (other.beside, other.words)
        )


@dataclass(frozen=True, slots=True)
class _InStep:
    """What an index was brought in step with by this process, and its state since."""

    known: _Known
    folders: dict[str, tuple[int, int]]
    state: str

    def is_so(self, home: Path, store: Store) -> bool:
        """Whether the index still is in step: neither it nor the store was changed by anybody."""
        file = index_file(home, store.root)
        now = file_state(file)
        # Once the last reader is gone, what waited beside the file is in it.
        if not now or now not in (self.state, f"{' '.join(self.state.split(' ')[:3])} "):
            return False
        if folder_times(store.root) != self.folders:
            return False
        return self.known.is_of(_Known.of(home, store, store.scan()))


_LAST: WeakKeyDictionary[Store, _InStep] = WeakKeyDictionary()
"""Of the stores that a server keeps open: a question to one that nobody changed needs no index made ready."""


def note_folders(home: Path, store_path: Path) -> None:
    """Let the index of a store of which no memory changed know the times that its folders have now.

    The caller has looked at the memories just before. Raises SearchError.
    """
    with SearchIndex.open(home, store_path) as index:
        index.note_folders(_sure(folder_times(store_path.resolve()), index.file_time()))


def _sure(folders: Mapping[str, tuple[int, int]], moment: int) -> dict[str, tuple[int, int]]:
    """Return folder times with zeros for what may change once more with the same times."""
    return {path: (0, 0) if is_hot(times[1], moment) else times for path, times in folders.items()}


def refresh_archive_index(home: Path, store: Store, now: datetime, *, rebuild: bool = False) -> int:
    """Do as `refresh_index` does for the archive of `store`, which has an index of its own."""
    listed = _sum_of(archived_paths(store.root))
    with SearchIndex.open(home, store.root / ARCHIVE) as index:
        if rebuild:
            index.rebuild()
        return index.sync(
            search_rows(scan_archive(store.root).documents),
            notes={"store": str(store.root / ARCHIVE), "synced": iso(now), _LISTED: listed},
        )


def refresh_changed_archive_index(home: Path, store: Store, now: datetime) -> bool:
    """Do so where another file is in the archive than the last time; return whether any is there.

    No file is read to know that.
    """
    there = archived_paths(store.root)
    file = index_reader.index_path(str(home), str(store.root / ARCHIVE))
    try:
        with index_reader.Reader(file) as reader:
            listed = reader.notes().get(_LISTED, "")
    except index_reader.NoIndexError:
        if not there:
            return False
        listed = ""
    if listed != _sum_of(there):
        refresh_archive_index(home, store, now)
    return bool(there)


def _sum_of(paths: Sequence[str]) -> str:
    return digest("\n".join(paths))


def sweep_indexes(home: Path) -> list[Path]:
    """Delete the indexes of stores that are gone, and those that can't be read; return their files."""
    gone = []
    for file in sorted(Home(home).search.glob("*.sqlite")):
        try:
            with index_reader.Reader(str(file)) as reader:
                store = reader.notes().get("store", "")
        except index_reader.NoIndexError:
            store = ""
        if not store or not Path(store).is_dir():
            gone.append(file)
            for suffix in ("", "-wal", "-shm"):
                file.with_name(file.name + suffix).unlink(missing_ok=True)
    return gone


def bring_in_step(home: Path, store: Store, documents: Sequence[Document], index: SearchIndex) -> int:
    """Let `index` hold exactly `documents`, all of `store`; return how many of them changed.

    Rows are made only of what differs from what it holds; stamps stay as they are. Raises SearchError, and
    ConflictError when a file changes meanwhile.
    """
    proved, beside = borne_out(home, documents), cues.read(store.root)
    try:
        held = index.states()
    except SearchError:
        held = {}  # `sync` makes a damaged one anew.
    if not held:
        return index.sync(search_rows(documents, None, proved, beside))
    more = {path: _digest_of(found) for path, found in beside.items()}
    wanted = {
        item.path: state_of(item.digest, TOLD if item.path in proved else item.hand, more.get(item.path, ""))
        for item in documents
    }
    if wanted == held:
        return 0
    other = [item for item in documents if held.get(item.path) != wanted[item.path]]
    return index.change(search_rows(other, None, proved, beside), held.keys() - wanted.keys())


def search_rows(
    documents: Iterable[Document],
    moment: int | None = None,
    proved: Collection[str] = (),
    beside: Mapping[str, Beside] | None = None,
) -> Iterator[SearchRow]:
    """Yield `documents` as `SearchIndex.sync` takes them; one is read only where its digest is new.

    `proved` are the paths of files of which the ledger has what they cite; `beside` cues that stand
    in no file.

    `moment` is the file system's time in ns before they were looked at, without which they have no stamps. A
    file that changed just then may do so once more with the same stamp, so its is of zeros.
    """
    for item in documents:
        stamp = None if moment is None else (item.stamp.size, item.stamp.mtime_ns, item.stamp.ctime_ns)
        if stamp is not None and moment is not None and is_hot(stamp[2], moment):
            stamp = NO_STAMP
        hand = TOLD if item.path in proved else item.hand
        found = (beside or {}).get(item.path)
        more = _digest_of(found) if found else ""
        yield SearchRow(item.path, item.digest, partial(content, item, found), stamp, hand, more)


def _digest_of(beside: Beside) -> str:
    return digest("\x1f".join((beside[0], *beside[1])))[:16]


def _unreadable_rows(snapshot: Snapshot, moment: int) -> Iterator[SearchRow]:
    """Yield the files that can't be read, as rows without words: a hook need not try them again."""
    for path, stamp in snapshot.broken_stamps.items():
        seen = (stamp.size, stamp.mtime_ns, stamp.ctime_ns)
        hot = is_hot(stamp.ctime_ns, moment)
        yield SearchRow(path, f"unreadable {seen}", _nothing, NO_STAMP if hot else seen)


def _nothing() -> Content:
    return Content("", about={"archived": True, "unreadable": True})


def content(item: Document, beside: Beside | None = None) -> Content:
    """Return what the index keeps of a memory, which is read for it, with its cues or those `beside` it.

    Raises ConflictError.
    """
    memory = item.memory
    return Content(
        memory.name,
        memory.title,
        memory.description,
        memory.tags,
        memory.whole_text,
        _about(memory, item.front),
        cues.cues_of(memory, {memory.path: beside} if beside else {}),
        [str(link["target"]) for link in memory.relations if link.get("target")],
        memory.aliases,
    )


def borne_out(home: Path, documents: Iterable[Document]) -> set[str]:
    """Return the paths of files nobody knows whose every source stands in the ledger as they cite it.

    Those of Claude's are among them: what is shown of them is the assistant's word, as the ledger has it.
    """
    others = [item for item in documents if item.hand == OTHER]
    claudes = {item.path for item in others if item.tended}
    asked = [item for item in others if item.path not in claudes and item.head.origin in BY_SOURCES]
    asked = [item for item in asked if any(source.speaker == "person" for source in item.head.sources)]
    file = Home(home).ledger
    if not asked or not file.exists():
        return claudes
    try:
        with look_at_ledger(file) as ledger:
            return claudes | {i.path for i in asked if all(was_said(ledger, s) for s in i.head.sources)}
    except LedgerError:
        # `doctor` tells of the ledger; until it is mended nothing bears these files out.
        return claudes


def _about(memory: Memory, front: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": memory.id,
        "type": memory.type,
        "origin": memory.origin,
        "author": author_of(memory.extra),
        "said": _said_at(memory),
        "created": iso(memory.created) if memory.created else "",
        "updated": iso(memory.updated) if memory.updated else "",
        "importance": memory.importance,
        "confidence": memory.confidence,
        "pinned": memory.pinned,
        "weight": memory.type_row.weight,
        "anchors": list(memory.anchors),
        "quote": own_words(memory.type, _quotes(memory)),
        "sessions": _sessions(memory, front),
        "archived": is_retired(front),
    }


def _quotes(memory: Memory) -> list[tuple[str, str, str]]:
    return [(source.speaker, source.at or "", source.quote) for source in memory.sources]


def _said_at(memory: Memory) -> str:
    """Return when a memory was last said, else updated or created (ISO 8601), or "" when nobody knows."""
    moment = said_at(memory) or memory.updated or memory.created
    return iso(moment) if moment else ""


def _sessions(memory: Memory, front: Mapping[str, Any]) -> list[str]:
    """Return the sessions a memory was learned in; the host notes one in its own files."""
    noted = text_of(field(front, "originSessionId"))
    sessions = [source.session for source in memory.sources]
    return list(dict.fromkeys([*sessions, noted] if noted else sessions))


def _let_settle(root: Path, index: SearchIndex) -> None:
    moment = index.file_time()
    if any(is_hot(ctime, moment) for _, ctime in folder_times(root).values()):
        # File times stand still between two ticks, so that after exactly one they may lie closer than it.
        time.sleep(1.5 * TICK_NS / 1e9)
