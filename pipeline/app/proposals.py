"""What a yes to a proposal would do: planned as it stands now, shown before, and its text edited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import SequenceMatcher
from typing import Any

from pipeline.app import offered
from pipeline.app.application import App
from pipeline.app.changes import MemoryChange, memory_changes
from pipeline.consolidation.commit import changes, diary
from pipeline.consolidation.commit.execute import promote
from pipeline.consolidation.commit.proposals import decode
from pipeline.core.errors import ConflictError, InputError, ReverieError, StoreError
from pipeline.core.ids import derived_id
from pipeline.core.zone import minute
from pipeline.domain.body import Body
from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.sentences import Sentence, folded, sentences
from pipeline.extraction.screened_candidate import MAX_PART, Screened
from pipeline.ledger.inbox import CITED, OFFERED, SYNCED, InboxItem
from pipeline.revision import Door
from pipeline.revision.compose import Removal, lost_between
from pipeline.sharing.wording import without
from pipeline.store import (
    Applied,
    Document,
    FileDiff,
    Move,
    Operation,
    Put,
    Restore,
    Retire,
    Snapshot,
    Store,
    journal_entry,
)
from pipeline.store.files.described import description_after, gist
from pipeline.store.files.layout import bytes_at
from pipeline.verify.barred import forbidden
from pipeline.verify.flaw import Flaw
from pipeline.verify.provenance import replace_bears

_SETTLED = "another machine said it otherwise"
WITH_TEXT = ("new", "update")
"""The kinds of proposals that have a text of their own."""
EDITABLE = (*WITH_TEXT, OFFERED)
"""Those of which a person can change what they propose."""
_LABELS = {
    "gives way": "gives way",
    "reason": "because",
    "until": "holds until",
    "relation": "how they are linked",
    "type": "type",
    "title": "title",
    "description": "in the index",
    "origin": "who says it",
    "tags": "tags",
    "anchors": "is about",
    "cues": "is found by",
    "flags": "doubts",
    "edited": "edited",
    "by": "by",
    "shares": "the team gets",
    "quotes": "along with",
    "sentence": "it said",
    "changed": "changed to",
    "later": "written later",
    "earlier": "written earlier",
}
"""Parts of a proposal that a person is told, in their order, and how each is called."""
_TEXTS = {"statement": "text", "why": "why", "how_to_apply": "how to apply"}
"""Those that are shown as a change, but for proposals of earlier versions, which nothing else shows."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What a yes does: the changes at `door`, and the memories that also go to all projects."""

    app: App
    item: InboxItem
    door: Door
    promoted: Sequence[Memory] = ()

    def write(self) -> Applied:
        """Do it as one change set, and one more in the user scope where something goes there."""
        change_id = self.item.change_ids[-1]
        promote(self.app.home, self.app.settings, change_id, self.promoted, now=self.app.clock.now())
        return self.door.write(change_id, f"inbox {self.item.kind}")


@dataclass(frozen=True, slots=True)
class Preview:
    """What a yes would do now, old beside new, and why it can't be done, "" where it can.

    `everywhere` are the memories that would be kept for all projects as well. With `is_aside` the old side is
    the file as it is, and the new one what Reverie had for it and put aside.
    """

    changes: list[MemoryChange] = field(default_factory=list)
    everywhere: list[MemoryChange] = field(default_factory=list)
    problem: str = ""
    is_aside: bool = False


def preview(app: App, found: InboxItem) -> Preview:
    """Return what a yes to `found` would do to the memories as they are now; nothing is written."""
    if not app.store_path.is_dir():
        # In propose mode the first yes makes it.
        if found.kind != "new":
            return Preview(problem="the memory folder is gone")
        memory = Screened.from_json(found.payload).memory("", app.clock.now())
        return Preview([MemoryChange(None, memory)])
    store = app.open_store()
    problem = ""
    try:
        planned = planned_by(app, store, found)
    except ReverieError as error:
        problem = f"{error}. {error.fix}".strip()
        store.drop_plans()
        if found.kind == "conflict":
            return _conflict(store, found, problem)
        if found.kind != "update" or not isinstance(error, ConflictError):
            return Preview(_present(store, found), problem=problem)
        # It is shown all the same what it would make of the memory as it is.
        planned = planned_by(app, store, found, seen=True)
    files = [
        diff for operation in planned.door.operations for diff in _outcome(planned.door.store, operation)
    ]
    planned.door.drop()
    everywhere = [MemoryChange(None, memory) for memory in planned.promoted]
    return Preview(memory_changes(files), everywhere, problem)


def planned_by(app: App, store: Store, found: InboxItem, *, seen: bool = False) -> Planned:
    """Plan what `found` proposes on the store as it is now.

    Raises InputError for what may not be kept, StoreError where the memory is gone, ConflictError where
    somebody edited it by hand since, unless that was `seen`.
    """
    if found.kind.startswith("dream:"):
        return _dreamt(app, store, found)
    if found.kind == OFFERED:
        shared, door = offered.planned(app, store, found)
        return Planned(shared, found, door)
    now = app.clock.now()
    door = Door(store, now=now, approved=True)
    snapshot = store.scan()
    if found.kind == "conflict":
        raise StoreError(
            "our version of that file is kept in .reverie/conflicts",
            file=found.payload["name"],
            fix=f"Compare the two by hand, then `reverie inbox reject {found.id}`.",
        )
    if found.kind == "retire":
        flaw = _retired(door, snapshot, found)
    elif found.kind == SYNCED:
        flaw = _settled(door, snapshot, found, now)
    elif found.kind == CITED:
        from pipeline.extraction import cited_writes

        flaw = cited_writes.confirmed(_named(snapshot, found), found, door, "user-confirmed")
    else:
        flaw = _accepted(app, door, snapshot, found, seen=seen)
    if flaw is not None:
        raise InputError(f"it may not be kept: {flaw.reason}", fix=f"`reverie inbox reject {found.id}`.")
    return Planned(app, found, door)


def body_of(app: App, found: InboxItem) -> str:
    """Return the text that the memory of `found` would have; InputError where it proposes none."""
    if found.kind == OFFERED:
        return offered.text_of(found)
    if found.kind not in WITH_TEXT:
        raise InputError(
            f"a proposal to {found.kind.partition(':')[2] or found.kind} has no text to edit",
            fix=f"`reverie inbox accept {found.id}` or `… reject {found.id}`, then edit the file.",
        )
    candidate = Screened.from_json(found.payload)
    target = _target(app, found)
    if target is None:
        return candidate.body
    changed = candidate.amending(target.memory, app.clock.now())
    return changed[0].body if changed else target.memory.body


def edited(app: App, found: InboxItem, text: str) -> dict[str, Any]:
    """Return the payload of `found` with `text` as the whole text of the memory it proposes.

    For an update that is what it replaces, leaves out and adds, held against the memory as it is now. The
    sources stay, each for what it stood for: no source stands for a sentence that the person wrote. It counts
    as confirmed at least.
    """
    if found.kind == OFFERED:
        return offered.picked(found, text)
    body = Body.parse(text)
    _require_fit(body, max(MAX_PART, len(body_of(app, found))))
    candidate, target = Screened.from_json(found.payload), _target(app, found)
    origin = "user-confirmed" if candidate.origin == "assistant-inferred" else candidate.origin
    whole = body.render()
    description = description_after(target.memory, whole) if target else gist(whole)
    candidate = replace(candidate, origin=origin, description=description)
    held = {sentence.key for sentence in sentences(target.memory.body)} if target else set()
    proposed = [s.key for s in sentences(body_of(app, found)) if s.key not in held]
    candidate = replace(candidate, sources=_still_for(candidate.sources, proposed))
    if target is None:
        changed = replace(
            candidate,
            statement=body.statement,
            why=body.why,
            how_to_apply=body.how_to_apply,
            replaces=(),
        )
        more: dict[str, Any] = {}
    else:
        pairs, added = _differences(target.memory.body, body.render())
        changed = replace(
            candidate,
            statement=added.statement,
            why=added.why,
            how_to_apply=added.how_to_apply,
            replaces=pairs,
        )
        more = {"was": target.digest, "old_body": target.memory.body, "body": body.render()}
    kept = {key: value for key, value in found.payload.items() if key not in changed.to_json()}
    return {**kept, **changed.to_json(), **more}


def _still_for(sources: Iterable[Evidence], proposed: Sequence[str]) -> tuple[Evidence, ...]:
    """Return `sources`, each bound to the sentences that were `proposed`, where it stood for all of them."""
    return tuple(source if source.bears else replace_bears(source, proposed) for source in sources)


def _differences(old: str, new: str) -> tuple[tuple[tuple[str, str], ...], Body]:
    """Return which sentences of `old` give way to what in `new`, and what `new` adds to each part."""
    before, after = sentences(old), sentences(new)
    stays = {sentence.folded for sentence in after}
    pairs: list[tuple[str, str]] = []
    added: dict[str, list[str]] = {"statement": [], "why": [], "how to apply": []}
    matcher = SequenceMatcher(None, [s.folded for s in before], [s.folded for s in after], autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag == "equal":
            continue
        gone = [part for part in before[old_from:old_to] if part.folded not in stays]
        fresh = list(after[new_from:new_to])
        for part in gone:
            words = _taking_its_place(part, fresh, last=part is gone[-1])
            pairs.append((part.text, words))
        for part in fresh:
            added.get(part.part, added["statement"]).append(part.text)
    return tuple(pairs), Body(*(" ".join(texts) for texts in added.values()))


def _taking_its_place(gone: Sentence, fresh: list[Sentence], *, last: bool) -> str:
    """Take out of `fresh` what stands for `gone` now, all of its part where it is the `last`."""
    fits = [part for part in fresh if part.part == gone.part]
    taken = fits if last else fits[:1]
    for part in taken:
        fresh.remove(part)
    return " ".join(part.text for part in taken)


def _require_fit(body: Body, room: int) -> None:
    """Raise InputError where no memory may say this, or a part of it is longer than `room` characters."""
    text = body.render()
    if not body.statement.strip():
        raise InputError("there is no fact in it", fix="Write the fact first, then **Why:** and the rest.")
    longest = max(len(body.statement), len(body.why), len(body.how_to_apply))
    if longest > room:
        raise InputError(
            "it is too long for one fact", fix=f"Write at most {room:,} characters, and the rest apart."
        )
    # What is only doubtful a person may write: their yes comes after it.
    barred = forbidden(text)
    if barred:
        raise InputError(f"the text {barred}", fix="Memories state facts; they grant nothing.")


def _target(app: App, found: InboxItem) -> Document | None:
    """Return the memory that `found` would update, None for a new one. StoreError when it is gone."""
    if found.kind != "update":
        return None
    name = str(found.payload.get("update_of") or "")
    target = None if app.is_fresh else app.open_store().scan().by_name(name)
    if target is None:
        raise StoreError("the memory is gone", fix=f"`reverie inbox reject {found.id}`.")
    return target


def _accepted(app: App, door: Door, snapshot: Snapshot, found: InboxItem, *, seen: bool) -> Flaw | None:
    from pipeline.extraction import write

    candidate = Screened.from_json(found.payload)
    target = snapshot.by_name(candidate.update_of) if found.kind == "update" else None
    if found.kind == "update" and target is None:
        raise StoreError("the memory is gone", fix=f"`reverie inbox reject {found.id}`.")
    other = target is not None and target.digest != found.payload.get("was")
    # What Reverie itself wrote since, at a yes to another proposal, was shown; an edit was not.
    if target is not None and other and not seen and not door.store.is_as_written(target):
        raise _changed(target, found)
    memory_id = derived_id(found.change_ids[0], candidate.name)
    return write.accept(candidate, door, target, memory_id=memory_id, now=app.clock.now())


def _changed(target: Document, found: InboxItem) -> ConflictError:
    show, edit, reject = (f"`reverie inbox {word} {found.id}`" for word in ("show", "edit", "reject"))
    if found.kind == "retire":
        edit = f"`reverie forget {target.name}`"
    fix = f"See {show}, then {edit} or {reject}."
    return ConflictError("it changed since this was proposed", file=target.path, fix=fix)


def _dreamt(app: App, store: Store, found: InboxItem) -> Planned:
    now, snapshot = app.clock.now(), store.scan()
    operation = decode(found.payload, found.id, snapshot)
    planned = changes.plan([operation], store, snapshot, run_id=f"inbox-{found.id}", now=now, approved=True)
    for refused in planned.refused:
        raise InputError(
            f"it can't be done: {refused.reason}",
            fix=f"Edit the memory by hand if it is right, then `reverie inbox reject {found.id}`.",
        )
    planned.door.bring(diary.page(planned, store, snapshot, now, whole=False))
    return Planned(app, found, planned.door, planned.promoted)


def _named(snapshot: Snapshot, found: InboxItem) -> Document:
    target = snapshot.by_name(found.payload["name"])
    if target is None:
        raise StoreError("the memory is gone", fix=f"`reverie inbox reject {found.id}`.")
    return target


def _retired(door: Door, snapshot: Snapshot, found: InboxItem) -> Flaw | None:
    target = _named(snapshot, found)
    for edit in door.store.hand_edits():
        later = edit.at is not None and edit.at.timestamp() > found.created_at
        if edit.path == target.path and edit.found_by is None and later:
            raise _changed(target, found)
    planned = door.retire(target, found.payload.get("reason", "accepted"))
    return planned if isinstance(planned, Flaw) else None


def _conflict(store: Store, found: InboxItem, problem: str) -> Preview:
    """Return the file as it is, beside what the run had for it and put aside."""
    path = str(found.payload.get("name") or "")
    ours = journal_entry.set_aside(store.root, found.run_id, path)
    if ours is None:
        return Preview(_present(store, found), problem=problem)
    shown = memory_changes([FileDiff(path, bytes_at(store.root, path), ours)])
    return Preview(shown or _present(store, found), problem=problem, is_aside=bool(shown))


def _settled(door: Door, snapshot: Snapshot, found: InboxItem, now: datetime) -> Flaw | None:
    """Plan what a person says to two changes of one memory on two machines: one of them leaves."""
    target = _named(snapshot, found)
    if found.payload.get("leaves"):
        planned: object = door.retire(target, "taken away on another machine")
        return planned if isinstance(planned, Flaw) else None
    gone = {folded(text) for text in found.payload["without"]}
    memory = without(target.memory, gone, now=now)
    if memory is None:
        raise StoreError("what it is about has changed since", fix=f"`reverie inbox reject {found.id}`.")
    removals = [Removal(text, reason=_SETTLED) for text in lost_between(target.memory.body, memory.body, ())]
    planned = door.revise(target, memory, removals)
    return planned if isinstance(planned, Flaw) else None


def _present(store: Store, found: InboxItem) -> list[MemoryChange]:
    """Return the memories that `found` is about, as they are: nothing of it can be done."""
    names = [found.payload.get("update_of"), *str(found.payload.get("name") or "").split(", ")]
    snapshot = store.scan()
    documents = {d.path: d.memory for name in names if name and (d := snapshot.by_name(str(name)))}
    return [MemoryChange(memory, memory) for memory in documents.values()]


def _outcome(store: Store, operation: Operation) -> Iterator[FileDiff]:
    """Yield each path that `operation` touches with its bytes before and after."""
    if isinstance(operation, Retire):
        raw = bytes_at(store.root, operation.path)
        yield FileDiff(operation.path, raw, None)
        yield FileDiff(operation.target, None, raw)
    elif isinstance(operation, Move):
        yield FileDiff(operation.path, bytes_at(store.root, operation.path), None)
        yield FileDiff(operation.target, None, operation.data)
    elif isinstance(operation, Put | Restore):
        yield FileDiff(operation.path, bytes_at(store.root, operation.path), operation.data)


def brief(row: dict[str, Any]) -> str:
    """Return in one line what the item in `row` proposes: the words it brings, or why something leaves."""
    payload = row["payload"]
    if row["kind"] in WITH_TEXT:
        replaced = [
            f"“{old}” → “{new}”" if new else f"without “{old}”" for old, new in payload.get("replaces") or ()
        ]
        text = " ".join([*replaced, str(payload.get("statement") or "")]) or str(payload.get("body") or "")
        return " ".join(text.split()) or " ".join(str(payload.get("body") or "").split())
    operation = payload.get("operation") or {}
    if row["kind"] == SYNCED:
        return str(payload.get("text") or "") or _words_of_both(payload)
    if row["kind"] == OFFERED:
        return ", ".join(item["name"] for item in payload["memories"])
    if row["kind"] == CITED:
        return " ".join(str(payload["statement"]).split())
    return " ".join(str(payload.get("reason") or operation.get("reason") or "").split())


def _words_of_both(payload: dict[str, Any]) -> str:
    """Return what two machines wrote of one sentence, the later first."""
    later, earlier = (" ".join(payload.get(key) or ()) for key in ("later", "earlier"))
    if later:
        return f"“{later}” or “{earlier}”"
    return f"“{payload.get('sentence', '')}” → “{' '.join(payload.get('changed') or ())}”"


def facts_of(row: dict[str, Any], preview: Preview | None = None) -> dict[str, str]:
    """Return what the proposal in `row` says beside its `preview`, by names that a person reads."""
    payload = row["payload"]
    shown = {**payload, **(payload.get("operation") or {})}
    labels = _LABELS if row["kind"] in WITH_TEXT else {**_LABELS, **_TEXTS}
    twice = {"shares"} if preview is not None and preview.changes else set()
    return {label: _words(shown[key]) for key, label in labels.items() if shown.get(key) and key not in twice}


def proposer(row: dict[str, Any]) -> str:
    """Return who made the proposal in `row`."""
    if row["kind"] == CITED:
        return "Claude, by tool"
    if row["kind"] == SYNCED:
        return str(row.get("by") or "another machine")
    if row["kind"] == OFFERED:
        return "the worker, as team.share says"
    if row["payload"].get("steps"):
        return "commands that came back"
    return "a dream" if row["kind"].startswith("dream:") else "what was said in a session"


def _words(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def words_said(payload: dict[str, Any]) -> list[str]:
    """Return who said what when, for each source of a proposal."""
    return [
        f"{source.get('speaker', '')} {minute(source.get('at'))}: “{source.get('quote', '')}”".strip()
        for source in payload.get("sources") or ()
    ]
