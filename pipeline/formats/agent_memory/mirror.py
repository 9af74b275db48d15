"""The memories of one store and those of agent-memory's files kept the same, in both directions.

A memory is known by its id on both sides. What each side had when they were last the same is noted in
Reverie's home, so that a change on one side goes to the other. Where both changed, or a person's file would
have to change, both texts stay: ours under its id, the other as a memory of its own, on both sides. What one
side archived or took out, the other archives. What comes in goes through the one door, as one change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import orjson

from pipeline.core import faults
from pipeline.core.atomic import write_atomic
from pipeline.core.clock import parse_time
from pipeline.core.errors import KeptAsItIsError
from pipeline.core.ids import derived_id, digest, new_id
from pipeline.domain.memory import Memory
from pipeline.formats.agent_memory import mapping, schema
from pipeline.formats.agent_memory.errors import AgentMemoryError
from pipeline.formats.agent_memory.layout import FILES
from pipeline.formats.agent_memory.mapping import memory_of, record_of, shared
from pipeline.formats.agent_memory.memory import AgentMemory
from pipeline.formats.agent_memory.options import HARD
from pipeline.formats.agent_memory.reading import fingerprint
from pipeline.formats.agent_memory.schema import KINDS, Record, stamp
from pipeline.revision import Door
from pipeline.revision.compose import Removal, lost_between
from pipeline.store import Document, Store
from pipeline.store.derived import usage
from pipeline.text.humanize import count
from pipeline.verify.flaw import Flaw

Deed = Literal[
    "imported",
    "exported",
    "changed here",
    "changed there",
    "archived here",
    "archived there",
    "both kept",
    "left",
]
_THERE = "changed in agent-memory"
_GONE = "archived or deleted in agent-memory"
_NOT_HERE = "nothing is written here in this mode"
_DELETED = "deleted"
"""Stands for the digest of a memory that was taken out of the files, and that a person keeps here."""


@dataclass(frozen=True, slots=True)
class Row:
    """A memory that was not the same on both sides: its id, its name here, what is done, and why not more."""

    id: str
    name: str
    deed: Deed
    why: str = ""


@dataclass(slots=True)
class Synced:
    """What was done; `change` is the id of the change of our store, "" where nothing was written there."""

    rows: list[Row] = field(default_factory=list)
    change: str = ""

    def number(self, *deeds: Deed) -> int:
        """Return with how many memories one of `deeds` was done."""
        counted = Counter(row.deed for row in self.rows)
        return sum(counted[deed] for deed in deeds)


@dataclass(slots=True)
class Known:
    """What both sides had when they were last the same: digests of the shared fields, theirs and ours."""

    theirs: str
    ours: str


def state_file(mirrors: Path, store: Path, root: Path) -> Path:
    """Return the file that notes what a store and a folder had when they were last the same."""
    both = "\0".join((str(store), str(root)))
    return mirrors / f"{digest(both)[:16]}.json"


def read_state(file: Path) -> tuple[dict[str, Known], str]:
    """Return what is noted by id, and how files were then; nothing where nothing can be read."""
    try:
        held = orjson.loads(file.read_bytes())
        known = {ident: Known(str(pair[0]), str(pair[1])) for ident, pair in held["known"].items()}
        return known, str(held["seen"])
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return {}, ""


def write_state(file: Path, known: Mapping[str, Known], seen: str = "") -> None:
    """Note what both sides have, and by `seen` how their files are."""
    pairs = {ident: [pair.theirs, pair.ours] for ident, pair in known.items()}
    write_atomic(file, orjson.dumps({"known": pairs, "seen": seen}))


def sync(
    memory: AgentMemory,
    store: Store,
    state: Path,
    *,
    now: datetime,
    writes: bool = True,
    dry_run: bool = False,
) -> Synced:
    """Bring the store and the files in step; with `writes` false nothing comes into the store.

    Raises AgentMemoryError and StoreError as their parts do; what was not written is found again next time.
    """
    if dry_run and not memory.exists:
        plan = _Plan(memory, store, read_state(state)[0], now, writes=writes)
        plan.make()
        return Synced(plan.rows)
    with memory.writer():
        plan = _Plan(memory, store, read_state(state)[0], now, writes=writes)
        plan.make()
        if dry_run:
            plan.door.drop()
            return Synced(plan.rows)
        change = plan.write_ours()
        faults.reach("mirror.after_ours")
        plan.write_theirs()
        faults.reach("mirror.after_theirs")
        write_state(state, plan.known)
    return Synced(plan.rows, change)


class _Plan:
    """What has to be done on each side."""

    def __init__(
        self, memory: AgentMemory, store: Store, known: dict[str, Known], now: datetime, *, writes: bool
    ) -> None:
        self.known = known
        self.rows: list[Row] = []
        self.door = Door(store, now=now)
        self._memory, self._store, self._now, self._writes = memory, store, now, writes
        self._used = usage.read_state(store.root) if store.root.is_dir() else {}
        self._live = {record["id"]: record for kind in KINDS for record in memory.records(kind)}
        self._archived = {record["id"] for record in memory.archived()}
        documents = store.scan().documents if store.root.is_dir() else []
        self._ours = {mapping.ident_of(item.id): item for item in documents if item.id and not item.retired}
        self._retired = {mapping.ident_of(item.id) for item in store.retired() if item.id}
        self._add: list[Record] = []
        self._change: dict[str, Record] = {}
        self._archive: list[str] = []
        self._uses: dict[str, dict[str, Any]] = {}
        self._settling: dict[str, tuple[str, Known]] = {}
        """By the path of a file that is written here: the id, and what is noted once it is."""

    # -- deciding -------------------------------------------------------------------------------------

    def make(self) -> None:
        """Decide about every memory of either side."""
        for ident in dict.fromkeys([*self._live, *self._ours, *self.known]):
            record, document = self._live.get(ident), self._ours.get(ident)
            if record is not None and document is not None:
                self._both(ident, record, document)
            elif record is not None:
                self._theirs_alone(ident, record)
            elif document is not None:
                self._ours_alone(ident, document)
            else:
                self.known.pop(ident, None)

    def _both(self, ident: str, record: Record, document: Document) -> None:
        mine = self._record(document)
        theirs, ours = _digest(record), _digest(mine)
        known = self.known.get(ident)
        if theirs == ours or (known is None and ours == _digest(self._as_taken(record))):
            self.known[ident] = Known(theirs, ours)
        elif known is not None and known.theirs == theirs and known.ours == ours:
            return
        elif known is not None and known.ours == ours:
            self._take_over(ident, record, document, theirs)
        elif known is not None and known.theirs == theirs:
            self._give(ident, record, mine, document)
        else:
            self._keep_both(ident, record, document, "both sides changed")

    def _theirs_alone(self, ident: str, record: Record) -> None:
        known, theirs = self.known.get(ident), _digest(record)
        if ident in self._retired:
            if known is not None and known.theirs == theirs and known.ours:
                self._archive.append(ident)
                self._row(ident, "", "archived there")
                self.known.pop(ident)
            elif known is None or known.theirs != theirs:
                why = "it left this store; `reverie restore` brings it back, and its text there is kept"
                self._row(ident, "", "left", why)
                self.known[ident] = Known(theirs, "")
        elif known is None or known.theirs != theirs:
            self._bring(record)
        # Else its file vanished here by an undo or by hand: it stays there, and does not come back unasked.

    def _ours_alone(self, ident: str, document: Document) -> None:
        known, mine = self.known.get(ident), self._record(document)
        ours = _digest(mine)
        if known is not None and known.ours == ours:
            if known.theirs != _DELETED:
                self._retire(ident, document, ours)
        elif known is None and ident in self._archived:
            self._row(ident, document.name, "left", "it is archived there, and in use here")
            self.known[ident] = Known(_DELETED, ours)
        else:
            self._export(ident, mine, document.name)

    # -- into our store -------------------------------------------------------------------------------

    def _bring(self, record: Record) -> Memory | None:
        """Plan a new memory of ours; None where it may not come in."""
        ident = record["id"]
        if not self._writes:
            self._row(ident, "", "left", _NOT_HERE)
            return None
        memory = memory_of(record)
        if self._store.root.is_dir() and self._store.forgotten().told_in(memory.whole_text):
            self._row(ident, memory.name, "left", "it tells what was forgotten here")
            self.known[ident] = Known(_digest(record), "")
            return None
        planned = self.door.create(memory)
        if isinstance(planned, Flaw):
            self._row(ident, memory.name, "left", f"its text {planned.reason}")
            self.known[ident] = Known(_digest(record), "")
            return None
        made = planned.memory
        self._row(ident, made.name, "imported")
        pair = Known(_digest(record), _digest(record_of(made, {}, self._now)))
        self._settling[planned.path] = (ident, pair)
        if record["access_count"]:
            self._uses[made.id] = {
                "access_count": record["access_count"],
                "last_accessed": record["accessed_at"],
            }
        return made

    def _take_over(self, ident: str, record: Record, document: Document, theirs: str) -> None:
        if not self._writes:
            self._row(ident, document.name, "left", _NOT_HERE)
            return
        old = document.memory
        new = mapping.changed_by(old, record, self._now)
        removals = [Removal(text, reason=_THERE) for text in lost_between(old.body, new.body, ())]
        try:
            planned = self.door.revise(document, new, removals)
        except KeptAsItIsError as error:
            planned = Flaw(str(error.args[0]))
        if isinstance(planned, Flaw):
            self._keep_both(ident, record, document, planned.reason)
            return
        self._row(ident, document.name, "changed here")
        pair = Known(theirs, _digest(record_of(new, {}, self._now)))
        self._settling[planned.path] = (ident, pair)

    def _retire(self, ident: str, document: Document, ours: str) -> None:
        if not self._writes:
            self._row(ident, document.name, "left", _NOT_HERE)
            return
        planned = self.door.retire(document, _GONE)
        if isinstance(planned, Flaw):
            self._row(ident, document.name, "left", f"it is gone there; here it stays: {planned.reason}")
            self.known[ident] = Known(_DELETED, ours)
        else:
            self._row(ident, document.name, "archived here")

    def _keep_both(self, ident: str, record: Record, document: Document, why: str) -> None:
        """Plan that ours goes there under its id, and theirs becomes a memory of its own on both sides."""
        other = {**record, "id": derived_id("agent-memory", ident, _digest(record))}
        known_already = other["id"] in self._ours or other["id"] in self._live
        if not known_already:
            if self._bring(other) is None:
                return
            self._add.append(other)
        self._give(ident, record, self._record(document), document, deed="both kept", why=why)

    # -- into the files -------------------------------------------------------------------------------

    def _give(
        self,
        ident: str,
        record: Record,
        mine: Record,
        document: Document,
        *,
        deed: Deed = "changed there",
        why: str = "",
    ) -> None:
        new = {**record, **{name: mine[name] for name in mapping.SHARED if name in mine}}
        new |= {mapping.THEIRS: mine[mapping.THEIRS], "updated_at": stamp(self._now)}
        for name in mapping.SHARED:
            if name not in mine:
                new.pop(name, None)
        new["type"] = record["type"]  # There a memory keeps its type.
        if not self._fits(new, document.name):
            return
        self._change[ident] = new
        self._row(ident, document.name, deed, why)
        self.known[ident] = Known(_digest(new), _digest(mine))

    def _export(self, ident: str, mine: Record, name: str) -> None:
        if self._fits(mine, name):
            self._add.append(mine)
            self._row(ident, name, "exported")
            self.known[ident] = Known(_digest(mine), _digest(mine))

    def _fits(self, record: Record, name: str) -> bool:
        try:
            schema.require_sound(record)
        except AgentMemoryError as error:
            self._row(record["id"], name, "left", f"agent-memory can't hold it: {error.args[0]}")
            return False
        return True

    # -- writing --------------------------------------------------------------------------------------

    def write_ours(self) -> str:
        """Write what comes into our store as one change, and return its id, "" where nothing did."""
        if not self.door.operations:
            return ""
        change = f"mirror-{new_id()[:8]}"
        number = count(len(self.door.operations), "memory", "memories")
        lost = {*self.door.write(change, f"mirror {number} of agent-memory").conflicts}
        for path, (ident, pair) in self._settling.items():
            if path not in lost:
                self.known[ident] = pair
        if self._uses:
            self._store.take_over_uses(self._uses, now=self._now)
        return change

    def write_theirs(self) -> None:
        """Write what goes into the files: new lines, changed ones, and what is archived."""
        for kind in KINDS:
            self._append(kind, [record for record in self._add if record["type"] == kind])
            changed = {ident: new for ident, new in self._change.items() if new["type"] == kind}
            if changed:
                self._memory.rewrite(self._memory.root / FILES[kind], changed)
        if self._change:
            self._memory.rebuild()
        if self._archive:
            self._memory.archive(self._archive)
        self._note_uses()

    def _note_uses(self) -> None:
        """Tell the files when memories were last of use here, so that no rule of days archives those."""
        entries = self._memory.access()
        fresh = {}
        for ident, document in self._ours.items():
            record = self._live.get(ident)
            at = parse_time(usage.access_of(self._used, document.id, document.path).get("last_accessed"))
            if record is not None and at is not None and at > (parse_time(record["accessed_at"]) or at):
                number = record["access_count"]
                fresh[ident] = {"access_count": number, **entries.get(ident, {}), "accessed_at": stamp(at)}
        if fresh:
            self._memory.save_access({**entries, **fresh})

    def _append(self, kind: str, records: list[Record]) -> None:
        free = max(self._memory.options.most(kind) - self._memory.index().by_type[kind], 0)
        fitting = records if kind not in HARD else records[:free]
        try:
            self._memory.add(fitting)
        except AgentMemoryError as error:
            if error.code != "LIMIT_EXCEEDED":
                raise
            fitting = []
        for record in records[len(fitting) :]:
            self.known.pop(record["id"], None)
            self.rows = [row for row in self.rows if row.id != record["id"]]
            self._row(record["id"], "", "left", f"{FILES[kind]} is full: archive some of it first")

    # -- values ---------------------------------------------------------------------------------------

    def _record(self, document: Document) -> Record:
        used = usage.access_of(self._used, document.id, document.path)
        return record_of(replace(document.memory, id=document.id), used, self._now)

    def _as_taken(self, record: Record) -> Record:
        """Return what a record is once it came in here: without secrets, say."""
        return record_of(memory_of(record), {}, self._now)

    def _row(self, ident: str, name: str, deed: Deed, why: str = "") -> None:
        self.rows.append(Row(ident, name, deed, why))


def _digest(record: Mapping[str, Any]) -> str:
    return digest(orjson.dumps(shared(record), option=orjson.OPT_SORT_KEYS))[:32]


def imprint(memory: AgentMemory, of_store: str) -> str:
    """Return what changes when the files or the store, of which `of_store` says how it is, do."""
    sizes = [fingerprint(memory.root / name) for name in FILES.values()]
    return digest(f"{sizes} {of_store}")[:32]


def in_words(rows: Iterable[Row]) -> str:
    """Return in words what was done."""
    return ", ".join(f"{number} {deed}" for deed, number in Counter(row.deed for row in rows).items())
