"""What this machine has to tell: texts that changed here, memories that left, words that were forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from pipeline.core.clock import iso
from pipeline.core.ids import digest
from pipeline.safety.redaction import has_secret
from pipeline.sharing.authors import Records
from pipeline.sharing.moments import Moments
from pipeline.sharing.old_copy import OldCopy
from pipeline.sharing.revisions import MOST_BYTES, Moment, Note, Record, Revision, after, memory_id
from pipeline.sharing.state import LOST, Here, Kept, State
from pipeline.store.files.layout import MAX_FILE
from pipeline.store.history import forgotten
from pipeline.store.history.forgotten import ON_REQUEST, Told

if TYPE_CHECKING:
    from pipeline.ledger import Ledger
    from pipeline.store import Document, Retired, Store

IsSecret = Callable[[str], bool]
Hold = Callable[["Document"], str]
"""Says why a memory that changed stays here, "" where it does not."""
_SECRET = "holds a secret; take it out with `reverie edit {name}`"
_TWIN = "has the id of {other}; give it one of its own, or remove it"
_BYTES = "is not UTF-8; save it so"
_AWAY = "its file is gone, and so are many others at once; `reverie sync --force` takes them away everywhere"
_LARGE = f"is larger than a memory may be ({MAX_FILE:,} bytes); make several of it"
_LONG = "is longer than the {most:,} bytes that others take of one; make it shorter, or two of it"
_FEW = 5
"""Files that may vanish at once without anybody asking whether the folder is the right one."""


@dataclass(slots=True)
class Outgoing:
    """What is to be recorded; `here` is what this machine has once it is."""

    records: list[Record] = field(default_factory=list)
    here: dict[str, Here] = field(default_factory=dict)
    held: dict[str, Kept] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class Look:
    """A look at a store for what no record tells yet."""

    def __init__(
        self,
        store: Store,
        state: State,
        records: Records,
        *,
        now: datetime,
        is_secret: IsSecret = has_secret,
        force: bool = False,
        hold: Hold | None = None,
        most: int = MOST_BYTES,
    ) -> None:
        self._store = store
        self._state = state
        self._records = records
        self._now = now
        self._force = force
        self._is_secret = is_secret
        self._hold = hold or takes_all
        self._most = most
        self._moment = state.moment
        self._moments = Moments(store, now)
        self._here = documents_of(store)
        self._old = OldCopy(store, state)
        self._former_texts: dict[str, str] = {}
        self.found = Outgoing()

    def changed(self) -> list[str]:
        """Return the memories whose files are not what they were."""
        was = {ident: (item.digest, item.path) for ident, item in self._state.here.items()}
        return [ident for ident, item in self._here.items() if was.get(ident) != (item.digest, item.path)]

    def gone(self) -> list[str]:
        """Return the memories whose files were here and are not any more."""
        return [ident for ident, was in self._state.here.items() if was.digest and ident not in self._here]

    def waiting(self) -> set[str]:
        """Return the memories that changed or left here and may go out."""
        held = self._state.held
        stays = {
            ident
            for ident in self.changed()
            if self._kept_back(self._here[ident]) or (ident in held and not self._touched(self._here[ident]))
        }
        return {*self.changed(), *self.gone()} - stays

    def _touched(self, document: Document) -> bool:
        """Whether the file was written since a sync last looked at it."""
        return (self._store.root / document.path).lstat().st_mtime > self._state.tried

    def take(self) -> Outgoing:
        """Return what is new here."""
        here = self._here
        for ident, document in here.items():
            self._document(ident, document)
        self._reverted(self._gone(here))
        self._too_large()
        self._notes()
        return self.found

    def _document(self, ident: str, document: Document) -> None:
        state, found = self._state, self.found
        was = state.here.get(ident)
        if was is not None and (was.digest, was.path) == (document.digest, document.path):
            found.here[ident] = was
            return
        begun = state.begun.get(ident)
        if begun is not None and (begun.digest, begun.path) == (document.digest, document.path):
            found.here[ident] = begun
            return
        why = self._kept_back(document)
        if why is not None:
            self._stays(ident, why)
            return
        heads = was.heads if was is not None else []
        if self._former_text(ident, document, was, heads):
            return
        self._settle(ident, document, () if self._old.is_whole else heads)

    def _settle(self, ident: str, document: Document, heads: Iterable[str]) -> None:
        """Tell of `document` as it stands, made of `heads`, or say why it stays."""
        known = self._recorded(ident, document, [*heads])
        if isinstance(known, Kept):
            self._stays(ident, known)
            return
        self.found.here[ident] = Here(document.digest, document.path, [known])

    def _stays(self, ident: str, why: Kept) -> None:
        self.found.held[ident] = why
        was = self._state.here.get(ident)
        if was is not None:
            self.found.here[ident] = was

    def _former_text(self, ident: str, document: Document, was: Here | None, heads: list[str]) -> bool:
        """Whether the file says what it said earlier, which is looked at when all is known (`_reverted`)."""
        file = document.raw.decode("utf-8")
        if was is None or was.digest == LOST or self._told_already(ident, document.path, file, heads):
            return False
        former = self._former(ident, document.path, file, heads)
        if not former or self._old.made_here(document, was):
            return False
        self._former_texts[ident] = former
        return True

    def _reverted(self, vanished: bool) -> None:
        """Let texts of earlier be brought up to date, but for the one that somebody may have typed again."""
        former = self._former_texts
        alone = len(former) == 1 and not vanished and not self._old.is_whole
        for ident, name in former.items():
            document, was = self._here[ident], self._state.here[ident]
            if alone and self._touched(document):
                self._settle(ident, document, was.heads)
            else:
                self.found.here[ident] = Here(document.digest, document.path, [name])

    def _former(self, ident: str, path: str, file: str, heads: list[str]) -> str:
        """Return the record of earlier that says what stands here, "" where there is none."""
        known = {item.name: item for item in self._records(ident)}
        earlier = behind(known, heads) - set(heads)
        same = [known[name] for name in earlier if name in known]
        same = [item for item in same if item.file == file and item.path == path]
        return max(same, key=lambda item: (item.clock, item.name)).name if same else ""

    def _too_large(self) -> None:
        """Say of files that no memory may be as large as that they stay."""
        places = {was.path: ident for ident, was in self._state.here.items()}
        for path in self._store.scan().unread if self._store.root.is_dir() else ():
            if size_of(self._store.root / path) > MAX_FILE:
                self.found.held[places.get(path, memory_id("", path))] = Kept(path, _LARGE)

    def _recorded(self, ident: str, document: Document, heads: list[str]) -> str | Kept:
        """Return the record that says what `document` says, made where there is none; or why it stays."""
        file = document.raw.decode("utf-8")
        known = self._told_already(ident, document.path, file, heads)
        if known is not None:
            return known
        why = self._hold(document)
        if why:
            return Kept(document.name, why)
        made = self._revision(
            ident,
            document.path,
            heads,
            file,
            self._store.is_as_written(document),
            changed=self._moments.of(document),
        )
        if len(made.data) > self._most:
            return Kept(document.name, _LONG.format(most=self._most))
        self.found.records.append(made)
        return made.name

    def _kept_back(self, document: Document) -> Kept | None:
        if document.twin:
            return Kept(document.name, _TWIN.format(other=document.twin))
        if not document.is_text:
            return Kept(document.name, _BYTES)
        texts = (document.raw.decode("utf-8"), document.path, document.name)
        if any(map(self._is_secret, texts)):
            return Kept(document.name, _SECRET.format(name=document.name))
        return None

    def _told_already(self, ident: str, path: str, file: str, heads: list[str]) -> str | None:
        """Return the record that says what stands here though this machine does not know it did; else None.

        It was written just before a process died, or, where nothing is known of the memory here (`heads` is
        empty), it is what a copy of the folder was made from.
        """
        known = {item.name: item for item in self._records(ident)}
        earlier = behind(known, heads)
        same = [
            item
            for item in known.values()
            if item.file == file and item.path == path and item.name not in earlier
        ]
        return max(same, key=lambda item: (item.clock, item.name)).name if same else None

    def _revision(
        self,
        ident: str,
        path: str,
        heads: Iterable[str],
        file: str | None,
        written: bool = True,
        *,
        changed: datetime,
        reason: str = "",
        heir: str = "",
    ) -> Revision:
        return Revision(
            memory=ident,
            parents=tuple(sorted(heads)),
            machine=self._state.machine,
            clock=self._after(ident, heads, changed),
            at=iso(changed),
            path=path,
            file=file,
            written=written,
            reason="it left" if self._is_secret(reason) else reason,
            heir=heir,
            forgotten=reason == ON_REQUEST,
        )

    def _after(self, ident: str, heads: Iterable[str], changed: datetime) -> Moment:
        """Return the moment of a change, which is never before what it was made from."""
        known = {item.name: item.clock for item in self._records(ident)}
        return after(
            max((known.get(head, self._state.moment) for head in heads), default=(0, 0)),
            max(0, int(changed.timestamp() * 1000)),
        )

    def _tick(self) -> Moment:
        self._moment = after(self._moment, int(self._now.timestamp() * 1000))
        return self._moment

    # -- what is no longer there --------------------------------------------------------------------

    def _gone(self, here: dict[str, Document]) -> bool:
        """Tell what left; whether files vanished that an old copy of the folder did not have yet."""
        state, found = self._state, self.found
        missing = {ident: was for ident, was in state.here.items() if ident not in here}
        left = {memory_id(item.id, item.path): item for item in self._store.retired()}
        left |= {memory_id("", item.path): item for item in self._store.retired()}
        undone = _taken_away(self._store) if missing else set()
        vanished = [
            ident
            for ident, was in missing.items()
            if was.digest and ident not in left and was.path not in undone
        ]
        is_old = bool(vanished) and (self._old.is_whole or bool(self._former_texts))
        many = len(vanished) > max(_FEW, sum(bool(was.digest) for was in state.here.values()) // 2)
        for ident, was in missing.items():
            begun = state.begun.get(ident)
            if not was.digest or (begun is not None and not begun.digest):
                found.here[ident] = was if not was.digest else begun or was
            elif was.digest == LOST and not was.heads:
                continue  # It came and left while nobody was told.
            elif (self._store.root / was.path).exists():
                found.here[ident] = was  # It is there, and can't be read now.
            elif is_old and ident in vanished and not self._force:
                continue  # It comes back, as what a new machine gets.
            elif many and ident in vanished and not self._force:
                found.here[ident] = was
                found.held[ident] = Kept(was.path, _AWAY)
            else:
                self._left(ident, was, left.get(ident))
        return is_old

    def _left(self, ident: str, was: Here, why: Retired | None) -> None:
        reason = why.reason if why is not None else "its file was removed"
        heir = why.superseded_by if why is not None else ""
        made = self._revision(
            ident, was.path, was.heads, None, reason=reason, heir=heir, changed=self._moments.left(was.path)
        )
        self.found.records.append(made)
        self.found.here[ident] = Here("", was.path, [made.name])

    # -- what was forgotten -------------------------------------------------------------------------

    def _notes(self) -> None:
        known = set(self._state.notes)
        for note in forgotten.for_others(self._store.root):
            name = key_of(note)
            if name in known or any(map(self._is_secret, (note.name, note.reason))):
                continue
            known.add(name)
            self.found.notes.append(name)
            self.found.records.append(
                Note(
                    memory_name=note.name,
                    reason=note.reason,
                    sentences=note.sentences,
                    day=note.day,
                    lifted=note.lifted,
                    machine=self._state.machine,
                    clock=self._tick(),
                )
            )


def secret_finder(ledger: Ledger | None) -> IsSecret:
    """Return what tells a text with a secret, also with one that was recognised in this home."""
    if ledger is None:
        return has_secret
    from pipeline.ledger import secrets

    known = secrets.recognised(ledger)
    return lambda text: has_secret(text) or known.mask(text) != text


def size_of(file: Path) -> int:
    """Return how many bytes `file` has, 0 where there is none."""
    try:
        return file.lstat().st_size
    except OSError:
        return 0


def takes_all(_: Document) -> str:
    """Hold nothing back."""
    return ""


def documents_of(store: Store) -> dict[str, Document]:
    """Return the memories of `store` by how they are known everywhere."""
    if not store.root.is_dir():
        return {}
    return {memory_id("" if item.twin else item.own_id, item.path): item for item in store.scan().documents}


def key_of(line: Told) -> str:
    """Return a digest of a line about what was forgotten."""
    return digest(orjson.dumps(line))[:16]


def told_in(note: Note) -> Told:
    """Return the line that `note` tells of."""
    return Told(note.memory_name, note.reason, note.day, note.sentences, note.lifted)


def _taken_away(store: Store) -> set[str]:
    """Return the paths whose files were taken away by a change set, such as an undo, and by no accident."""
    last: dict[str, str | None] = {}
    for item in store.history():
        for file in item.files:
            last.setdefault(file.path, file.after)
    return {path for path, after in last.items() if after is None}


def behind(known: dict[str, Revision], heads: Iterable[str]) -> set[str]:
    """Return the names of `heads` and of all that they were made from."""
    waiting, found = list(heads), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += known[name].parents if name in known else ()
    return found
