"""`reverie import` and `reverie export`: memories of another format taken in, and ours written in it.

All that comes in is one change set, through the one door; all that goes out is written file by file, with
what stood there kept in the home. Nothing is written over unless a person says so, here or there.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pipeline.app.application import App
from pipeline.app.carried_here import (
    Carrying,
    Here,
    Row,
    admitted,
    begin,
    differing,
    onto,
    require_elsewhere,
    require_unchanged,
    revised,
    save,
    store_of,
    with_links,
)
from pipeline.app.secrets_out import without_secrets
from pipeline.core.ids import new_id
from pipeline.domain.memory import Memory
from pipeline.formats.carried import IMPORTED_FROM, Carried, Format, Reading, in_words
from pipeline.formats.registry import format_named
from pipeline.revision import Door
from pipeline.revision.door import barred
from pipeline.store import Document, Store
from pipeline.text.humanize import count
from pipeline.text.slugs import slugify
from pipeline.verify.flaw import Flaw

OTHER_TEXT = "another text of it is here ({}); --replace takes this"
_OTHER_TEXT_THERE = "another text of it is there ({}); --force writes over it"


def import_from(
    app: App, name: str, path: Path, *, dry_run: bool = False, instead: bool = False, force: bool = False
) -> Carrying:
    """Take in what stands in the format `name` at `path`; a `dry_run` only says what would be done.

    With `instead` a text takes the place of the one here; with `force` what reads like an instruction or a
    permission comes in, too. Raises UsageError for a format that there is not, InputError for what can't be
    read at all.
    """
    app.require_settings()
    format_ = format_named(name)
    path = require_elsewhere(app, path)
    seen = format_.read(path)
    store = store_of(app, dry_run=dry_run)
    done = Carrying(name, path)
    done.note_faults(seen)
    taking = _Taking(app, store, format_, done, instead=instead or force, force=force)
    taking.plan(seen.records)
    if dry_run or not taking.door.operations:
        taking.door.drop()
        return done
    reason = f"import {name}: {count(done.number('new', 'replaced'), 'memory', 'memories')}"
    change = f"import-{new_id()[:8]}"
    lost = {*taking.door.write(change, reason).conflicts}
    done.change = change
    done.asleep = begin(app, store, taking.door, lost)
    done.rows = [
        replace(row, deed="refused", why="somebody wrote it at the same moment")
        if taking.paths.get(row.where) in lost
        else row
        for row in done.rows
    ]
    app.follow(store)
    return done


class _Taking:
    """The plan of one import."""

    def __init__(
        self, app: App, store: Store, format_: Format, done: Carrying, *, instead: bool, force: bool
    ) -> None:
        # What is doubtful is judged here, once; the person's word to the door is for --replace.
        self.door = Door(store, now=app.clock.now(), approved=True)
        self.paths: dict[str, str] = {}
        self._now = app.clock.now()
        self._here = Here(store, format_)
        self._format, self._done, self._instead, self._force = format_, done, instead, force
        self._ids: set[str] = set()

    def plan(self, records: list[Carried]) -> None:
        """Plan all `records`."""
        found: list[tuple[Carried, Memory]] = []
        for record in records:
            memory, secrets = admitted(record, self._format)
            self._done.redacted += secrets
            same = self._here.same(record, memory)
            found.append((record, replace(memory, id=same.id) if same else memory))
        for (record, _), memory in zip(found, with_links(found), strict=True):
            deed, why = self._one_of(memory)
            if deed in ("new", "replaced"):
                self.paths[record.where] = self.door.operations[-1].path
            self._done.rows.append(Row(memory.name, record.where, deed, why))

    def _one_of(self, memory: Memory) -> tuple[str, str]:
        if memory.id in self._ids:
            return "refused", "another memory of the import has its id, or says the same"
        self._ids.add(memory.id)
        document = self._here.by_id(memory.id)
        if document is not None:
            return self._beside(document, memory)
        flaw = barred(memory, approved=self._force)
        why = self._here.barred(memory) or _reason(flaw)
        if not why:
            memory = replace(memory, created=memory.created or self._now)
            memory = replace(memory, updated=memory.updated or memory.created)
            planned = self.door.create(memory)
            if not isinstance(planned, Flaw):
                return "new", ""
            why = _reason(planned)
        return "refused", why

    def _beside(self, document: Document, memory: Memory) -> tuple[str, str]:
        names = differing(self._format, without_secrets(document.memory)[0], memory)
        if not names:
            return "there", ""
        if not self._instead:
            return "differs", OTHER_TEXT.format(in_words(names))
        why = _reason(barred(memory, approved=self._force)) or self._here.barred(memory, is_new=False)
        why = why or revised(self.door, document, memory, names, now=self._now)
        return ("refused", why) if why else ("replaced", "")


def _reason(flaw: Flaw | None) -> str:
    if flaw is None:
        return ""
    return f"{flaw.reason}; --force takes it" if flaw.to_inbox else flaw.reason


def export_to(app: App, name: str, path: Path, *, dry_run: bool = False, force: bool = False) -> Carrying:
    """Write the memories of `app` in the format `name` at `path`; a `dry_run` only says what would be done.

    What stands there already stays; of a memory that is there with another text it says so, and with `force`
    writes over it. Raises UsageError for a format that there is not, InputError where it can't be written.
    """
    format_ = format_named(name)
    path = require_elsewhere(app, path)
    seen = format_.read(path) if path.exists() else Reading()
    store = app.open_store()
    done = Carrying(name, path)
    done.note_faults(seen)
    out: list[Carried] = []
    there = There(format_, seen)
    for document in Here(store, format_).documents:
        memory, secrets = without_secrets(document.memory)
        done.redacted += secrets
        record = there.same(document)
        names = differing(format_, memory, record.memory) if record else []
        if record is not None and (not names or not force):
            why = _OTHER_TEXT_THERE.format(in_words(names)) if names else ""
            done.rows.append(Row(document.name, record.where, "differs" if names else "there", why))
            continue
        why = format_.why_not(memory)
        if why:
            done.rows.append(Row(document.name, "", "refused", why))
            continue
        done.note_lost(format_, memory)
        out.append(Carried(memory) if record is None else onto(format_, record, memory, names))
        done.rows.append(Row(document.name, "", "new" if record is None else "replaced"))
    if out:
        written = format_.write(path, out, (), seen)
        require_unchanged(written.files, seen)
        if not dry_run:
            save(app, f"export-{new_id()[:8]}", format_, written.files, seen, done)
    return done


class There:
    """The records of a reading, and which of them a memory here is."""

    def __init__(self, format_: Format, seen: Reading) -> None:
        self._format = format_
        self._by_id = {item.memory.id: item for item in seen.records if item.memory.id}
        self._by_source = {f"{format_.name}:{item.key}": item for item in seen.records}
        self._by_name = {slugify(item.memory.name): item for item in seen.records if item.memory.name}
        self._by_text: dict[str, list[Carried]] = {}
        for item in seen.records:
            text = format_.there_and_back(item.memory).body.strip("\n")
            self._by_text.setdefault(text, []).append(item)
        self._taken: set[str] = set()

    def same(self, document: Document) -> Carried | None:
        """Return the record that `document` is, each one once; None where there is none."""
        memory = document.memory
        known = (
            self._by_id.get(document.id)
            or self._by_source.get(str(memory.extra.get(IMPORTED_FROM) or ""))
            or self._by_name.get(document.name)
        )
        text = self._format.there_and_back(without_secrets(memory)[0]).body.strip("\n")
        free = (item for item in self._by_text.get(text, []) if item.key not in self._taken)
        found = known if known is not None and known.key not in self._taken else next(free, None)
        if found is not None:
            self._taken.add(found.key)
        return found
