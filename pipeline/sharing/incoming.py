"""What others told, brought into the store: through the one door, as a change set that can be undone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core.errors import ConflictError, DocumentError, PathEscapeError, StoreError
from pipeline.core.ids import digest, new_id
from pipeline.hooklib import news
from pipeline.revision.door import Door
from pipeline.safety.redaction import has_secret
from pipeline.sharing.arrivals import note
from pipeline.sharing.outgoing import documents_of
from pipeline.sharing.state import Here, Kept, Known, State
from pipeline.sharing.team_index import line_of
from pipeline.sharing.turn import CAME
from pipeline.store import ARRIVED
from pipeline.store.files import document
from pipeline.store.files.layout import MAX_FILE
from pipeline.store.files.names import common_form
from pipeline.verify.flaw import Flaw

if TYPE_CHECKING:
    from pipeline.domain.memory import Memory
    from pipeline.sharing.meaning import State as Said
    from pipeline.store import Document, Store

_NAMED_SINGLY = 2
"""Of so many machines or people each is named."""
_IN_THE_WAY = "a file stands in its way: {path}"
_SECRET = "holds a secret"
_LARGE = (
    f"with what another machine says it would be larger than a memory may be ({MAX_FILE:,} bytes); each keeps"
    " its own text until one of them is shorter"
)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A memory as it is to stand here; `file` is None where it leaves."""

    ident: str
    known: Known
    said: Said
    file: bytes | None


@dataclass(slots=True)
class Brought:
    """What was done: the change set, how many memories came or changed, how many left, and what came not.

    `names` are those of the memories that did.
    """

    change: str = ""
    came: int = 0
    left: int = 0
    names: list[str] = field(default_factory=list)
    refused: dict[str, Kept] = field(default_factory=dict)
    here: dict[str, Here] = field(default_factory=dict)
    conflict: str = ""


def wanted(state: State, held: Mapping[str, Kept], *, force: bool) -> list[str]:
    """Return the memories that stand otherwise here than all records together have them."""
    found = []
    for ident, known in state.known.items():
        here, refused = state.here.get(ident), state.refused.get(ident)
        if here is not None and _is_in_step(here, known):
            continue
        if ident in held or (refused is not None and refused.heads == known.heads and not force):
            continue
        if here is None and not known.blob:
            continue
        found.append(ident)
    return found


def _is_in_step(here: Here, known: Known) -> bool:
    if (sorted(here.heads), bool(here.digest)) != (known.heads, bool(known.blob)):
        return False
    return here.path == known.placed or not known.blob


class Bringing:
    """The plan of one change set; what it brings is noted in `folder`, which is that of the sync."""

    def __init__(self, store: Store, folder: Path, now: datetime, *, doubtful: bool) -> None:
        self._store = store
        self._folder = folder
        self._now = now
        self._news: list[tuple[str, tuple[str, str, str]]] = []
        self._door = Door(store, now=now, approved=True)
        self._doubtful = doubtful
        self._documents = documents_of(store)
        self._at = {common_form(item.path): item for item in self._documents.values()}
        self.result = Brought()
        self.later: list[Arrival] = []

    def plan(self, arrivals: list[Arrival]) -> None:
        """Plan `arrivals`. What may not come in is `refused`; what waits for another to go is `later`."""
        moving = {item.ident for item in arrivals}
        for item in arrivals:
            why = self._blocked(item) if item.file is not None else None
            if why is None:
                self._plan(item)
            elif why in moving:
                self.later.append(item)
            else:
                self.refuse(item)

    def _blocked(self, item: Arrival) -> str | None:
        """Return which memory has the place of `item`, "" for a file that is none; None where it is free."""
        path = item.known.placed
        there = self._at.get(common_form(path))
        if there is None:
            target = self._store.root / path
            return "" if target.exists() or target.is_symlink() else None
        owner = next(ident for ident, found in self._documents.items() if found is there)
        return None if owner == item.ident else owner

    def _plan(self, item: Arrival) -> None:
        before = self._documents.get(item.ident)
        result = self.result
        heads = item.known.heads
        if item.file is None:
            if before is not None:
                self._door.retire(before, item.said.reason or "it left", item.said.heir)
                result.left += 1
                result.names.append(f"{before.name} (taken out)")
                self._news.append((before.path, (news.LEFT, before.name, "")))
            result.here[item.ident] = Here("", item.said.path, heads)
            return
        path = item.known.placed
        entry = Here(digest(item.file), path, heads)
        if before is not None and (before.digest, before.path) == (entry.digest, path):
            result.here[item.ident] = entry
            return
        why = self._arrive(item, path, before)
        if why:
            self.refuse(item, why)
            return
        if before is not None and before.path != path:
            self._door.vacate(before)
        result.came += 1
        result.here[item.ident] = entry

    def _arrive(self, item: Arrival, path: str, before: Document | None) -> str:
        data = item.file or b""
        if len(data) > MAX_FILE:
            return _LARGE
        if has_secret(data.decode("utf-8")):
            return _SECRET
        try:
            memory = document.parse(data, path)
            planned = self._door.arrive(
                memory,
                data,
                instead=before if before is not None and before.path == path else None,
                before=before,
                written=item.said.written,
                doubtful=self._doubtful,
            )
        except (DocumentError, PathEscapeError, ConflictError) as error:
            return str(error)
        if isinstance(planned, Flaw):
            return planned.reason
        deed = news.CAME if before is None else news.CHANGED
        self.result.names.append(memory.name)
        self._news.append((path, (deed, memory.name, line_of(memory))))
        return ""

    def refuse(self, item: Arrival, why: str = "") -> None:
        """Note that `item` does not come in: a file stands in its way, unless `why` says otherwise."""
        why = why or _IN_THE_WAY.format(path=item.known.placed)
        self.result.refused[item.ident] = Kept(item.known.path, why, item.known.heads)

    @property
    def is_empty(self) -> bool:
        """Whether no file is to be touched."""
        return not self._door.operations

    def write(self, reason: str) -> None:
        """Write it as one change set; where somebody wrote at the same moment theirs stays as it is."""
        label = f"{ARRIVED}{new_id()[:12]}"
        try:
            conflicts = self._door.write(label, reason, in_step=True).conflicts
        except ConflictError as error:
            self._door.drop()
            self.result = Brought(refused=self.result.refused, conflict=str(error))
            return
        self.result.change = label
        self.result.conflict = conflicts[0] if conflicts else ""
        lost = set(conflicts)
        note(self._folder, (row for path, row in self._news if path not in lost), self._now)
        self.result.here = {
            ident: entry for ident, entry in self.result.here.items() if entry.path not in lost
        }


def came_from(machines: Sequence[str], people: Mapping[str, str] | None) -> str:
    """Return as a reason from whom a change set came: `machines`, or with `people` those of a team."""
    if people is None:
        names = [f"machine {machine}" for machine in machines]
        return CAME + (" and ".join(names) if len(names) <= _NAMED_SINGLY else f"{len(names)} other machines")
    named = sorted({people.get(machine, "somebody") for machine in machines})
    return f"{CAME}{' and '.join(named) if len(named) <= _NAMED_SINGLY else 'several people'} (the team)"


def renamed(meaning: Said, placed: str) -> bytes | None:
    """Return the file of `meaning` as it lies at `placed`, which may not be where it wants to be."""
    if meaning.file is None or meaning.path == placed:
        return meaning.file
    try:
        memory: Memory = document.parse(meaning.file, meaning.path)
        stem = placed.rpartition("/")[2].removesuffix(".md")
        own = meaning.path.rpartition("/")[2].removesuffix(".md")
        name = stem if memory.name == own else f"{memory.name}-{stem.removeprefix(own).strip('-')}"
        # One without an id is known by its path, and would be another memory here.
        ident = memory.id or meaning.memory
        return document.compose(replace(memory, name=name, path=placed, id=ident), meaning.file)
    except StoreError:
        return meaning.file


def placed(known: Mapping[str, Known]) -> dict[str, str]:
    """Return where each live memory lies: where it wants to, unless one known longer wants that too."""
    order = sorted((item.first, ident) for ident, item in known.items() if item.blob)
    taken: dict[str, str] = {}
    later = []
    for _, ident in order:
        path = known[ident].path
        if taken.setdefault(common_form(path), ident) != ident:
            later.append(ident)
    found = {ident: known[ident].path for ident in taken.values()}
    for ident in later:
        stem = known[ident].path.removesuffix(".md")
        for size in (6, 12, len(ident)):
            path = f"{stem[:180]}-{ident[:size].strip('-').lower()}.md"
            if taken.setdefault(common_form(path), ident) == ident:
                found[ident] = path
                break
    return found
