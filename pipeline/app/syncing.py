"""`reverie sync`: our memories and those of another format kept in step, both ways, field by field.

What both sides had last is kept in the home, as digests. So a field that only one side changed goes to the
other; where both changed the same one, both stand and it is said. What left one side stays on the other
unless a person says `--force`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from pipeline.app.application import App
from pipeline.app.carried_here import (
    Carrying,
    Here,
    Row,
    admitted,
    begin,
    onto,
    require_elsewhere,
    require_unchanged,
    revised,
    save,
    store_of,
    with_links,
)
from pipeline.app.carrying import There
from pipeline.app.secrets_out import without_secrets
from pipeline.core.atomic import write_atomic
from pipeline.core.errors import InputError
from pipeline.core.home import Home
from pipeline.core.ids import digest, new_id
from pipeline.domain.memory import Memory
from pipeline.formats.carried import Carried, Format, Reading, compared, in_words
from pipeline.formats.registry import format_named
from pipeline.revision import Door
from pipeline.revision.door import barred
from pipeline.safety.invisible import visible_name
from pipeline.store import Document, Store
from pipeline.verify.flaw import Flaw

_STATE_VERSION = 1
_BOTH = "both sides changed its {}; both stand. Make them equal, or use --replace of `import`"
_NEITHER_KNOWN = "it is on both sides with another {}, and which is the later nobody knows; both stand"
_UNREAD = "it is not there, but {} can't be read: nothing counts as gone before that is mended"
_AWAY = 2
"""So many known memories that are all gone at once are no deletions: their folder is away."""
_STEPS = "its steps stand in the text there; change them here"

Base = dict[str, str]
"""Field → digest of what both sides had last."""


@dataclass(slots=True)
class _Pair:
    """A memory here and its record there; None where one side has it no more. `base` is empty at first."""

    ident: str
    key: str
    base: Base
    document: Document | None = None
    record: Carried | None = None


def sync_with(app: App, name: str, path: Path, *, dry_run: bool = False, force: bool = False) -> Carrying:
    """Bring our memories and those of the format `name` at `path` in step; a `dry_run` only says how.

    With `force` what left one side leaves the other, too, and what reads like an instruction comes in.
    Errors are those of `carrying.import_from` and `carrying.export_to`.
    """
    app.require_settings()
    format_ = format_named(name)
    path = require_elsewhere(app, path)
    state = Home(app.home).syncs / f"{digest(f'{name}|{path}|{app.store_path}')[:16]}.json"
    known = _held(state)
    if known:
        _require_there(path, app.store_path, state)
    seen = format_.read(path) if path.exists() else Reading()
    store = store_of(app, dry_run=dry_run)
    done = Carrying(name, path)
    done.note_faults(seen)
    step = _Step(app, store, format_, seen, done, force=force)
    step.require_any(known, path, store.path, state)
    step.plan(known)
    written = format_.write(path, step.out, step.gone, seen) if step.out or step.gone else None
    if written is not None:
        require_unchanged(written.files, seen)
    if dry_run:
        step.door.drop()
        return done
    label = f"format-{new_id()[:8]}"
    if step.door.operations:
        conflicts = step.door.write(label, f"sync with {name}: {path.name}").conflicts
        done.change = label
        done.asleep = begin(app, store, step.door, conflicts)
        app.follow(store)
        if conflicts:
            raise InputError(
                "somebody wrote it at the same moment; theirs stayed", file=conflicts[0], fix="Sync again."
            )
    if written is not None:
        save(app, label, format_, written.files, seen, done)
        for pair, key in zip(step.going, written.keys, strict=True):
            pair.key = key
    _keep(state, name, path, step.settled)
    return done


def _require_there(path: Path, here: Path, state: Path) -> None:
    """Raise InputError where one of both sides, which were in step before, is not there at all."""
    for side in (path, here):
        if not side.exists():
            raise _away(side, state)


def _away(side: Path, state: Path) -> InputError:
    return InputError(
        "all that was in step is gone from it at once, which is no deletion",
        file=str(side),
        fix=f"Mount it, or put it back. To begin anew without it, delete {state}.",
    )


class _Step:
    """The plan of one sync. `out` are records to write there, each for the pair of `going`."""

    def __init__(
        self, app: App, store: Store, format_: Format, seen: Reading, done: Carrying, *, force: bool
    ) -> None:
        self.door = Door(store, now=app.clock.now(), approved=True)
        self.out: list[Carried] = []
        self.going: list[_Pair] = []
        self.gone: list[str] = []
        self.settled: list[_Pair] = []
        self._now = app.clock.now()
        self._here = Here(store, format_)
        self._format, self._seen, self._done, self._force = format_, seen, done, force
        self._memories: dict[str, Memory] = {}
        self._unread_there = [fault.where for fault in seen.faults if fault.unread]

    def require_any(self, known: list[_Pair], path: Path, here: Path, state: Path) -> None:
        """Raise InputError where nothing at all is left on a side of what was `known` on both."""
        if len(known) < _AWAY:
            return
        if not self._seen.records and not self._unread_there:
            raise _away(path, state)
        left = [pair for pair in known if self._here.has_left(pair.ident)]
        if not self._here.documents and not self._here.unread and not left:
            raise _away(here, state)

    def plan(self, known: list[_Pair]) -> None:
        """Plan all that is on either side; `known` are the pairs of the last sync."""
        records = {record.key: record for record in self._seen.records}
        pairs = known
        for pair in pairs:
            document = self._here.by_id(pair.ident)
            pair.document = None if document is None or document.retired else document
            pair.record = records.pop(pair.key, None)
        paired = {pair.ident for pair in pairs}
        there = There(self._format, Reading(records=[*records.values()]))
        for document in self._here.documents:
            if document.id not in paired:
                record = there.same(document)
                key = record.key if record else ""
                pairs.append(_Pair(document.id, key, {}, document, record))
                records.pop(key, None)
        self._admit({pair.key: pair.ident for pair in pairs if pair.record is not None})
        for pair in pairs:
            self._pair(pair)
        for record in records.values():
            self._create(record, self._memories[record.key])

    def _admit(self, ids: dict[str, str]) -> None:
        """Make of each record the memory that may stand here, with the id of the one here that it is."""
        found = []
        for record in self._seen.records:
            memory, secrets = admitted(record, self._format)
            self._done.redacted += secrets
            found.append((record, replace(memory, id=ids.get(record.key, memory.id))))
        self._memories = {
            record.key: memory for (record, _), memory in zip(found, with_links(found), strict=True)
        }

    def _note(self, name: str, where: str, deed: str, why: str = "") -> None:
        self._done.rows.append(Row(name, where, deed, why))

    # -- one pair -------------------------------------------------------------------------------------

    def _pair(self, pair: _Pair) -> None:
        if pair.document is None or pair.record is None:
            self._half(pair)
            return
        memory = self._memories[pair.key]
        ours, theirs = self._digests(without_secrets(pair.document.memory)[0]), self._digests(memory)
        differing = [name for name in ours if ours[name] != theirs[name]]
        here = [name for name in differing if ours[name] != pair.base.get(name)]
        there = [name for name in differing if theirs[name] != pair.base.get(name)]
        both = [name for name in here if name in there]
        name, where = pair.document.name, pair.record.where
        self.settled.append(pair)
        if both:
            why = (_BOTH if pair.base else _NEITHER_KNOWN).format(in_words(both))
            self._note(name, where, "conflict", why)
            return
        why = self._to_us(pair.document, memory, there, pair.key)
        if why:
            self._note(name, where, "refused", why)
            return
        self._to_them(pair, pair.record, here)
        pair.base = {name: theirs[name] if name in there else ours[name] for name in ours}
        self._note(
            name, where, "both" if here and there else "there" if here else "here" if there else "same"
        )

    def _to_us(self, document: Document, memory: Memory, names: list[str], key: str) -> str:
        if not names:
            return ""
        if "body" in names and document.memory.parts_of_work and not memory.parts_of_work:
            return _STEPS
        flaw = barred(memory, approved=self._force)
        why = flaw.reason if flaw else self._here.barred(memory, is_new=False)
        source = f"{self._format.name}:{key}"
        return why or revised(self.door, document, memory, names, now=self._now, source=source)

    def _to_them(self, pair: _Pair, record: Carried, names: list[str]) -> None:
        if names and pair.document is not None:
            memory, secrets = without_secrets(pair.document.memory)
            self._done.redacted += secrets
            self.out.append(onto(self._format, record, memory, names))
            self.going.append(pair)

    # -- what is on one side --------------------------------------------------------------------------

    def _half(self, pair: _Pair) -> None:
        if pair.document is not None and not pair.key:
            self._send(pair, pair.document)
        elif pair.document is not None:
            self._left_there(pair, pair.document)
        elif pair.record is not None:
            self._left_here(pair, pair.record)

    def _send(self, pair: _Pair, document: Document) -> None:
        memory, secrets = without_secrets(document.memory)
        self._done.redacted += secrets
        why = self._format.why_not(memory)
        if why:
            self._note(document.name, "", "refused", why)
            return
        self._done.note_lost(self._format, memory)
        self.out.append(Carried(memory))
        self.going.append(pair)
        pair.base = self._digests(memory)
        self.settled.append(pair)
        self._note(document.name, "", "new there")

    def _left_there(self, pair: _Pair, document: Document) -> None:
        if (
            self._digests(without_secrets(document.memory)[0]) == pair.base
            and self._force
            and not self._unread_there
        ):
            planned = self.door.retire(document, f"it left {self._format.name}")
            if not isinstance(planned, Flaw):
                self._note(document.name, "", "gone here")
                return
        self.settled.append(pair)
        why = _first_of(self._unread_there) or "it left there, and stays here; --force takes it away"
        self._note(document.name, "", "left", why)

    def _left_here(self, pair: _Pair, record: Carried) -> None:
        memory = self._memories[record.key]
        unread = "" if self._here.has_left(pair.ident) else _first_of(self._here.unread)
        if self._digests(memory) == pair.base and self._force and not unread:
            self.gone.append(record.key)
            self._note(memory.name, record.where, "gone there")
            return
        self.settled.append(pair)
        why = unread or "it left here, and stays there; --force takes it away"
        self._note(memory.name, record.where, "left", why)

    def _create(self, record: Carried, memory: Memory) -> None:
        flaw = barred(memory, approved=self._force)
        taken = self._here.by_id(memory.id) is not None
        why = self._here.barred(memory) or (flaw.reason if flaw else "")
        known = self._here.same(record, memory)
        why = why or ("it is marked here as out of use" if known is not None and known.retired else "")
        why = why or ("another memory here has its id" if taken else "")
        if not why:
            made = replace(memory, created=memory.created or self._now)
            planned = self.door.create(replace(made, updated=made.updated or made.created))
            why = planned.reason if isinstance(planned, Flaw) else ""
        if why:
            self._note(memory.name, record.where, "refused", why)
            return
        self.settled.append(_Pair(memory.id, record.key, self._digests(memory)))
        self._note(memory.name, record.where, "new here")

    def _digests(self, memory: Memory) -> Base:
        found = compared(self._format, memory)
        return {
            name: digest(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))[:16]
            for name, value in found.items()
        }


def _first_of(unread: list[str]) -> str:
    """Return why nothing counts as gone, "" where all can be read."""
    return _UNREAD.format(visible_name(unread[0])) if unread else ""


def _held(state: Path) -> list[_Pair]:
    """Return the pairs of the last sync; none where it can't be read, which costs only what is known."""
    try:
        held: Any = orjson.loads(state.read_bytes())
        if isinstance(held, dict) and held.get("version") == _STATE_VERSION:
            return [_pair_of(item) for item in held["pairs"]]
    except FileNotFoundError:
        return []
    except (AttributeError, OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(
            "what the last sync left can't be read", file=str(state), fix="Delete it, and sync again."
        ) from error
    raise InputError(
        "it is of another version of Reverie", file=str(state), fix="Update Reverie, or delete the file."
    )


def _pair_of(item: dict[str, Any]) -> _Pair:
    """Return a pair as it was kept; raises what a damaged one makes it raise."""
    texts = (item["id"], item["key"], *item["base"], *item["base"].values())
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a pair is made of texts")
    return _Pair(item["id"], item["key"], item["base"])


def _keep(state: Path, name: str, path: Path, pairs: list[_Pair]) -> None:
    rows = [
        {"id": pair.ident, "key": pair.key, "base": pair.base} for pair in pairs if pair.base and pair.key
    ]
    value = {"version": _STATE_VERSION, "format": name, "path": str(path), "pairs": rows}
    write_atomic(state, orjson.dumps(value))
