"""The memories of one store and those of agent-memory's files kept the same, in both directions.

A memory is known by its id on both sides. What each side had when they were last the same is noted in
Reverie's home, so that a change on one side goes to the other. Where both changed, or a person's file would
have to change, both texts stay: ours under its id, the other as a memory of its own, on both sides. What one
side archived or took out, the other archives. What comes in goes through the one door, as one change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from pipeline.core import faults
from pipeline.core.clock import parse_time
from pipeline.core.errors import KeptAsItIsError
from pipeline.core.ids import derived_id, digest, new_id
from pipeline.domain.memory import Memory
from pipeline.formats.agent_memory import doubts, mapping, schema
from pipeline.formats.agent_memory.errors import AgentMemoryError
from pipeline.formats.agent_memory.fields import THEIRS
from pipeline.formats.agent_memory.layout import FILES
from pipeline.formats.agent_memory.mapping import memory_of, record_of, shared
from pipeline.formats.agent_memory.memory import AgentMemory
from pipeline.formats.agent_memory.notes import DELETED, Known, Notes, read_state, write_state
from pipeline.formats.agent_memory.options import HARD
from pipeline.formats.agent_memory.outcome import Deed, Row, Synced, Wish
from pipeline.formats.agent_memory.reading import fingerprint
from pipeline.formats.agent_memory.schema import KINDS, Record, stamp
from pipeline.revision import Door
from pipeline.revision.compose import Removal, lost_between
from pipeline.store import Document, Store, undone_runs
from pipeline.store.derived import usage
from pipeline.text.humanize import count
from pipeline.verify.flaw import Flaw

_THERE = "changed in agent-memory"
_GONE = "archived or deleted in agent-memory"
_DOUBLE = "its id, capitals aside, is that of another memory {}; both stand as they are"
_NOT_HERE = "nothing is written here in this mode"


def sync(
    memory: AgentMemory, store: Store, state: Path, *, now: datetime, wish: Wish | None = None
) -> Synced:
    """Bring the store and the files in step, as far as nothing says that what is missing was lost.

    Raises AgentMemoryError and StoreError as their parts do; what was not written is found again next time.
    """
    wish = wish or Wish()
    notes = read_state(state)
    missing = set() if wish.bring_back else doubts.missing(memory, notes, sure=wish.yes)
    if not memory.exists and (missing or wish.dry_run):
        # Whoever holds the folder's lock makes its files, and empty ones would say that all was deleted.
        plan = _Plan(memory, store, notes, now, wish, missing)
        if not missing:
            plan.make()
        return plan.outcome("")
    with memory.writer():
        plan = _Plan(memory, store, notes, now, wish, missing)
        plan.make()
        if wish.dry_run:
            plan.door.drop()
            return plan.outcome("")
        change = plan.write_ours()
        faults.reach("mirror.after_ours")
        plan.write_theirs()
        faults.reach("mirror.after_theirs")
        plan.note_kinds()
        write_state(state, Notes(plan.known, "", doubts.rejected_sizes(memory.root)))
    return plan.outcome(change)


class _Plan:
    """What has to be done on each side."""

    def __init__(
        self, memory: AgentMemory, store: Store, notes: Notes, now: datetime, wish: Wish, missing: set[str]
    ) -> None:
        self.known = {ident.lower(): pair for ident, pair in sorted(notes.known.items())}
        self.rows: list[Row] = []
        self.door = Door(store, now=now)
        self._memory, self._store, self._now, self._wish = memory, store, now, wish
        self._missing, self._unread = missing, doubts.unread(memory, notes)
        self._misplaced = doubts.misplaced(memory)
        self._notices = [doubts.of_missing(memory, missing)] if missing else []
        self._only_there = 0
        self._used = usage.read_state(store.root) if store.root.is_dir() else {}
        self._live: dict[str, Record] = {}
        for record in (record for kind in KINDS for record in memory.records(kind)):
            if self._live.setdefault(record["id"].lower(), record) is not record:
                self._row(record["id"], "", "left", _DOUBLE.format("there"))
        self._archived = {record["id"].lower() for record in memory.archived()}
        documents = store.scan().documents if store.root.is_dir() else []
        self._ours: dict[str, Document] = {}
        for item in (item for item in documents if item.id and not item.retired):
            if self._ours.setdefault(mapping.ident_of(item.id), item) is not item:
                self._row(item.id, item.name, "left", _DOUBLE.format("here"))
        self._retired = {mapping.ident_of(item.id) for item in store.retired() if item.id}
        self._undone = undone_runs(store.root) if any(pair.former for pair in self.known.values()) else set()
        self._add: list[Record] = []
        self._change: dict[str, Record] = {}
        self._archive: list[str] = []
        self._gone: dict[str, Document] = {}
        self._uses: dict[str, dict[str, Any]] = {}
        self._settling: dict[str, tuple[str, str, str]] = {}
        """By the path of a file that is written here: the id, and the digests noted once it is."""

    def outcome(self, change: str) -> Synced:
        """Return what was done, or would be."""
        return Synced(self.rows, change, self._notices, self._only_there)

    # -- deciding -------------------------------------------------------------------------------------

    def make(self) -> None:
        """Decide about every memory of either side."""
        for ident in dict.fromkeys([*self._live, *self._ours, *self.known]):
            record, document = self._live.get(ident), self._ours.get(ident)
            if record is not None and document is not None:
                self._both(ident, record, document)
            elif record is not None:
                self._theirs_alone(ident, record)
            elif ident in self._misplaced or self._kind_of(ident) in self._missing:
                continue
            elif document is not None:
                self._ours_alone(ident, document)
            elif ident not in self._retired or self.known[ident].theirs != DELETED:
                self.known.pop(ident)
        self._let_leave()

    def _kind_of(self, ident: str) -> str:
        """Return the type there of a memory that is not in the files."""
        noted, document = self.known.get(ident), self._ours.get(ident)
        if noted is not None and noted.kind:
            return noted.kind
        return str(self._record(document)["type"]) if document is not None else ""

    def _both(self, ident: str, record: Record, document: Document) -> None:
        mine = self._record(document)
        theirs, ours = _digest(record), _digest(mine)
        known = self.known.get(ident)
        if theirs == ours or (known is None and ours == _digest(self._as_taken(record))):
            self.known[ident] = Known(theirs, ours, former=known.former if known else [])
        elif known is None:
            self._keep_both(ident, record, document, "both sides changed")
        elif known.ours == ours or self._was_undone(known, ours):
            self._follow(known, record, document, theirs, ours)
        elif known.theirs == theirs and not known.apart:
            self._give(ident, record, mine, document)
        else:
            self._keep_both(ident, record, document, "both sides changed")

    def _follow(self, known: Known, record: Record, document: Document, theirs: str, ours: str) -> None:
        """Decide where ours is as it was, or as it was before a change of the mirror that was undone."""
        if known.theirs != theirs:
            self._take_over(record["id"].lower(), record, document, theirs)
        elif known.ours != ours:
            self._row(record["id"], document.name, "left", "taken back here; the files keep their text")
        if known.ours != ours:
            known.ours, known.apart = ours, True

    def _was_undone(self, known: Known, ours: str) -> bool:
        return any(text == ours and change in self._undone for text, change in known.former)

    def _theirs_alone(self, ident: str, record: Record) -> None:
        known, theirs = self.known.get(ident), _digest(record)
        if ident in self._retired:
            if known is not None and known.theirs == theirs and known.ours:
                self._archive.append(ident)
            elif known is None or known.theirs != theirs:
                why = "it left this store; `reverie restore` brings it back, and its text there is kept"
                self._row(ident, "", "left", why)
                self.known[ident] = Known(theirs, "")
        elif known is None or known.theirs != theirs or (known.ours and self._wish.bring_back):
            self._bring(record)
        elif known.ours:
            # Its file vanished here by an undo or by hand: it stays there, and does not come back unasked.
            self._only_there += 1

    def _ours_alone(self, ident: str, document: Document) -> None:
        known, mine = self.known.get(ident), self._record(document)
        ours = _digest(mine)
        undone = known is not None and self._was_undone(known, ours)
        if known is not None and (known.ours == ours or undone):
            if known.theirs != DELETED:
                self._leave(ident, document, mine)
            elif known.ours != ours:
                self._row(
                    ident, document.name, "left", "its archiving was taken back; the files don't get it"
                )
                self.known[ident] = Known(DELETED, ours)
        elif ident in self._archived and (known is None or not known.ours):
            self._row(ident, document.name, "left", "it is archived there, and in use here")
            self.known[ident] = Known(DELETED, ours)
        else:
            self._export(ident, mine, document)

    def _leave(self, ident: str, document: Document, mine: Record) -> None:
        """Decide about a memory that the files don't have any more."""
        if ident not in self._archived and self._kind_of(ident) in self._unread:
            self._export(ident, mine, document, "lines of its file there can't be read")
        elif ident not in self._archived and self._wish.bring_back:
            self._export(ident, mine, document)
        else:
            self._gone[ident] = document

    def _let_leave(self) -> None:
        """Let memories leave the side where they still are, unless too many would do so at once, unasked."""
        mirrored = sum(pair.theirs != DELETED for pair in self.known.values())
        lost = [ident for ident in self._gone if ident not in self._archived]
        if not self._wish.yes and doubts.are_many(len(lost), mirrored):
            self._notices.append(doubts.of_many(len(lost), mirrored, "there"))
            self._gone = {ident: item for ident, item in self._gone.items() if ident in self._archived}
        if not self._wish.yes and doubts.are_many(len(self._archive), mirrored):
            self._notices.append(doubts.of_many(len(self._archive), mirrored, "here"))
            self._archive = []
        for ident, document in self._gone.items():
            self._retire(ident, document)
        for ident in self._archive:
            self._row(ident, "", "archived there")
            self.known.pop(ident)

    # -- into our store -------------------------------------------------------------------------------

    def _bring(self, record: Record) -> Memory | None:
        """Plan a new memory of ours; None where it may not come in."""
        ident = record["id"].lower()
        if not self._wish.writes:
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
        ours = _digest(record_of(made, {}, self._now))
        self._settling[planned.path] = (ident, _digest(record), ours)
        if record["access_count"]:
            self._uses[made.id] = {
                "access_count": record["access_count"],
                "last_accessed": record["accessed_at"],
            }
        return made

    def _take_over(self, ident: str, record: Record, document: Document, theirs: str) -> None:
        if not self._wish.writes:
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
        self._settling[planned.path] = (ident, theirs, _digest(record_of(new, {}, self._now)))

    def _retire(self, ident: str, document: Document) -> None:
        if not self._wish.writes:
            self._row(ident, document.name, "left", _NOT_HERE)
            return
        planned = self.door.retire(document, _GONE)
        if isinstance(planned, Flaw):
            self._row(ident, document.name, "left", f"it is gone there; here it stays: {planned.reason}")
            self.known[ident] = Known(DELETED, _digest(self._record(document)))
        else:
            self._row(ident, document.name, "archived here")
            self._settling[planned.path] = (ident, DELETED, "")

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
        new |= {THEIRS: mine[THEIRS], "updated_at": stamp(self._now)}
        for name in mapping.SHARED:
            if name not in mine:
                new.pop(name, None)
        new["type"] = record["type"]  # There a memory keeps its type.
        if not self._fits(new, document.name):
            return
        self._change[record["id"]] = new
        self._row(ident, document.name, deed, why or _left_out(document))
        self.known[ident] = Known(_digest(new), _digest(mine))

    def _export(self, ident: str, mine: Record, document: Document, why: str = "") -> None:
        if self._fits(mine, document.name):
            self._add.append(mine)
            self._row(ident, document.name, "exported", why or _left_out(document))
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
        for path, (ident, theirs, ours) in self._settling.items():
            if path not in lost:
                known = self.known.get(ident)
                self.known[ident] = known.followed(theirs, ours, change) if known else Known(theirs, ours)
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
            self._memory.archive([self._live[ident]["id"] for ident in self._archive])
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
                entry = {"access_count": number, **entries.get(record["id"], {})}
                fresh[record["id"]] = {**entry, "accessed_at": stamp(at)}
        if fresh:
            self._memory.save_access({**entries, **fresh})

    def note_kinds(self) -> None:
        """Note of what type each memory is there, and which of them are lost with their file."""
        for ident, pair in self.known.items():
            record = self._live.get(ident)
            pair.kind = record["type"] if record is not None else pair.kind or self._kind_of(ident)
            pair.lost = record is None and pair.kind in self._missing and pair.theirs != DELETED

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


def _left_out(document: Document) -> str:
    return "a secret in it was left out" if mapping.holds_secret(document.memory) else ""


def imprint(memory: AgentMemory, of_store: str) -> str:
    """Return what changes when the files or the store, of which `of_store` says how it is, do."""
    sizes = [fingerprint(memory.root / name) for name in FILES.values()]
    return digest(f"{sizes} {of_store}")[:32]
