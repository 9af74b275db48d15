"""Writing a memory by hand or for an agent: with title, tags, importance, steps, and what a task has.

`store_memory` and `update_memory` go through the one door. What a person said or confirmed is written at
their word; anything else passes the same bars as what a model proposes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Literal
from unicodedata import normalize

from pipeline.app import retired, scopes
from pipeline.app.application import App
from pipeline.app.given_values import lists_of, shares_of, tags_of
from pipeline.app.keepable import require_fit
from pipeline.app.retried import retried
from pipeline.app.titles import as_text_tells, is_made_name, lines_anew, name_of, title_after
from pipeline.core.atomic import write_atomic
from pipeline.core.clock import parse_time
from pipeline.core.errors import ConflictError, InputError, KeptAsItIsError, UsageError
from pipeline.core.home import Home
from pipeline.core.ids import new_id
from pipeline.domain.memory import MAX_DESCRIPTION, OF_PROCEDURES, TYPES, Evidence, Memory, Origin
from pipeline.domain.sentences import lacks, sentences, telling_word
from pipeline.hooklib.memory_format import PERSONS, PREVIEW
from pipeline.hooklib.plain import one_line
from pipeline.revision import Door
from pipeline.revision.compose import Removal, lost_between
from pipeline.store import Document, Episode, Move, Put, Snapshot, Store
from pipeline.store.files.described import description_after
from pipeline.store.files.document import compose
from pipeline.store.files.frontmatter_schema import first_line
from pipeline.text.slugs import slugify
from pipeline.verify.flaw import Flaw
from pipeline.verify.provenance import pruned

MOST_TITLE = 200
_NAME_CHARS = 60
_TRIES = 3
LOOK_ANEW = "Look at it as it is now, then change that."
BY_AGENT = "remember"
"""How the reason of a change begins that a model asked for through a tool."""
_TAKEN_OUT_BY_HAND = "taken out by hand"
_OF_TASKS = ("status", "completed_at", "blockers", "outcome")
_SAID = ("title", "body", "description", *OF_PROCEDURES, *_OF_TASKS)
"""What is said in words: a guess in which a person changes some of it is no guess any more."""
_MEANT = {**dict.fromkeys(OF_PROCEDURES, "procedure"), **dict.fromkeys(_OF_TASKS, "task")}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory to be written; what is empty is left out, or made from `content`.

    `origin` says whose word it is, and `by_person` is false where an agent asks for it: then, as for an
    origin that is no person's, it is refused where a person would have to decide. With `force` a second
    memory may say the same, and a person's text may read like a permission. Unless `episode` is false, the
    diary gets an entry.
    """

    type: str
    content: str
    title: str = ""
    name: str = ""
    description: str = ""
    tags: Sequence[str] = ()
    importance: float = 0.5
    confidence: float = 0.8
    steps: Sequence[str] = ()
    preconditions: Sequence[str] = ()
    postconditions: Sequence[str] = ()
    status: str = ""
    completed_at: str = ""
    blockers: Sequence[str] = ()
    outcome: str = ""
    anchors: Sequence[str] = ()
    origin: Origin = "hand-written"
    sources: Sequence[Evidence] = ()
    force: bool = False
    episode: bool = True
    by_person: bool = True

    @property
    def is_decided(self) -> bool:
        """Whether a person stands behind all of it."""
        return self.by_person and self.origin in PERSONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What to change of a memory; None leaves a field as it is, an empty value empties it.

    `add_tags` and `remove_tags` change some tags only. `by_person` is false where an agent asks for it.
    """

    title: str | None = None
    content: str | None = None
    description: str | None = None
    tags: Sequence[str] | None = None
    add_tags: Sequence[str] = ()
    remove_tags: Sequence[str] = ()
    importance: float | None = None
    confidence: float | None = None
    steps: Sequence[str] | None = None
    preconditions: Sequence[str] | None = None
    postconditions: Sequence[str] | None = None
    status: str | None = None
    completed_at: str | None = None
    blockers: Sequence[str] | None = None
    outcome: str | None = None
    anchors: Sequence[str] | None = None
    by_person: bool = True


@dataclass(frozen=True, slots=True)
class Written:
    """A memory as it stands in its file now, and the id of the change set, "" where nothing was changed."""

    memory: Memory
    done: Literal["created", "updated", "unchanged"]
    change_id: str = ""


def store_memory(app: App, store: Store, new: NewMemory) -> Written:
    """Write a new memory to `store`.

    Raises UsageError for an odd type or number, InputError for what may not be kept, what a memory says
    already, and a name that one has.
    """
    app.require_settings()
    memory = _made(app, new)
    change_id, planned = new_id(), None
    for attempt in range(_TRIES):
        snapshot = store.scan()
        if not new.force:
            _require_news(app, snapshot, memory)
        if not new.by_person and store.forgotten().told_in(memory.whole_text):
            raise InputError(
                "the person had it forgotten", fix="It comes back at their word: `reverie restore`."
            )
        known = snapshot.by_name(memory.name)
        if known is not None:
            raise InputError(
                f"there is a memory {known.name} already",
                fix=f"See `reverie show {known.name}`; choose --name.",
                by_tool=f"Get {known.name} first; what is another fact gets another title.",
            )
        door = Door(store, now=app.clock.now(), approved=new.is_decided)
        planned = door.create(memory)
        if isinstance(planned, Flaw):
            raise _refused(app, memory, planned)
        if new.episode:
            _note(app, door, planned)
        try:
            door.write(change_id, f"{'add' if new.by_person else BY_AGENT} {planned.memory.name}")
            break
        except ConflictError:
            # Another process wrote the same at the same moment: now it is seen.
            if attempt == _TRIES - 1:
                raise
    assert isinstance(planned, Put), "the last try was made or raised"
    _follow(app, store)
    return Written(replace(planned.memory, path=planned.path), "created", change_id)


@retried
def update_memory(app: App, store: Store, ref: str, change: Change, *, seen: str = "") -> Written:
    """Change what `change` names of the memory `ref`, and nothing else of its file.

    `seen` is the digest of the file that was shown, where one was: InputError if it is another by now. Raises
    InputError for what may not be kept, UsageError for an odd number or a field that its type has not.
    """
    app.require_settings()
    document = retired.read(store, ref)
    if seen not in ("", document.digest):
        raise InputError("it was changed meanwhile", file=document.path, fix=LOOK_ANEW)
    memory = _changed(app, document.memory, change)
    require_fit(_texts(memory), sure=change.by_person)
    return _revise(app, store, document, memory, by_person=change.by_person, reason=f"update {document.name}")


def to_edit(store: Store, ref: str) -> Document:
    """Return the memory `ref` for a person to edit its file; InputError where that would lose bytes."""
    document = retired.read(store, ref)
    if not document.is_text:
        raise InputError(
            "the file is not UTF-8, so an edit would lose some of it",
            file=document.path,
            fix="Save it as UTF-8 first.",
        )
    return document


def as_edited(app: App, store: Store, document: Document, data: bytes) -> Written:
    """Write `data`, the whole file of `document` as a person edited it, byte for byte but for ``updated``.

    Raises InputError for what may not be kept or is another memory's, DocumentError for what can't be read,
    ConflictError when somebody changed the file meanwhile.
    """
    app.require_settings()
    if data == document.raw:
        return Written(document.memory, "unchanged")
    door = Door(store, now=app.clock.now(), approved=True)
    return _written(app, door, document, as_text_tells(document, data), f"edit {document.name}")


def keep_draft(app: App, document: Document, data: bytes) -> Path:
    """Keep `data`, an edit of `document` that could not be written, in the home; return where."""
    file = Home(app.home).drafts / f"{document.name}.md"
    write_atomic(file, data)
    return file


# -- making -------------------------------------------------------------------------------------------


def _made(app: App, new: NewMemory) -> Memory:
    if new.type not in TYPES:
        raise UsageError(f"there is no type {new.type!r}", fix=f"Types: {', '.join(TYPES)}.")
    given = {field.name: getattr(new, field.name) for field in fields(Memory) if hasattr(new, field.name)}
    _require_meant(new.type, [key for key in _MEANT if given[key]])
    now = app.clock.now()
    body = _nfc(new.content).strip() or _nfc(new.title).strip()
    if not body:
        raise InputError("there is no fact in it", fix="Write one to three sentences.")
    title = one_line(_nfc(new.title), MOST_TITLE)
    values = {**given, **lists_of(given), **shares_of(given), **_of_task(given, new.status, None, now)}
    values |= {"title": title, "body": f"{body}\n", "sources": tuple(new.sources)}
    values["description"] = one_line(_nfc(new.description), MAX_DESCRIPTION) or first_line(body)
    values["name"] = slugify(new.name) if new.name else slugify(title or values["description"])[:_NAME_CHARS]
    memory = Memory(**{**values, "id": new_id(), "created": now, "updated": now})
    require_fit([*_texts(memory), new.name], sure=new.force or not new.is_decided)
    return memory


def _changed(app: App, old: Memory, change: Change) -> Memory:
    """Return `old` with what `change` names; its time only where that makes it another."""
    given = {
        field.name: value
        for field in fields(Change)
        if field.name in Memory.__slots__ and (value := getattr(change, field.name)) is not None
    }
    _require_meant(old.type, [key for key in _MEANT if given.get(key)])
    now = app.clock.now()
    values = {**given, **lists_of(given), **shares_of(given)}
    if "status" in given or "completed_at" in given:
        values |= _of_task(given, given.get("status", old.status), old, now)
    for key, most in (("title", MOST_TITLE), ("description", MAX_DESCRIPTION)):
        if key in given:
            values[key] = one_line(_nfc(given[key]), most)
    values |= lines_anew(old, values, _nfc(change.content or old.body))
    if change.add_tags or change.remove_tags:
        gone = {*tags_of(change.remove_tags)}
        tags = [*values.get("tags", old.tags), *tags_of(change.add_tags)]
        values["tags"] = tags_of(tag for tag in tags if tag not in gone)
    if change.content is not None:
        values |= _with_body(old, change)
    memory = replace(old, **values)
    if memory == old:
        return old
    if change.by_person and old.is_a_guess and any(key in values for key in _SAID):
        memory = replace(memory, origin="user-confirmed")
    return pruned(replace(memory, updated=now))


def _with_body(old: Memory, change: Change) -> dict[str, object]:
    body = _nfc(change.content or "").strip()
    if not body:
        raise InputError("there is no fact in it", fix="`reverie forget` takes the whole memory away.")
    values: dict[str, object] = {"body": f"{body}\n"}
    if change.description is None:
        values["description"] = description_after(old, body)
    if change.title is None:
        values["title"] = title_after(old, body)
    return values


def _renamed(store: Store, document: Document, memory: Memory) -> Memory:
    """Return `memory` with a name of its new text, where the former text made the one it has."""
    old = document.memory
    kept = document.retired or old.pinned or store.is_team or not store.is_as_written(document)
    if kept or memory.title == old.title or not is_made_name(old):
        return memory
    return replace(memory, name=name_of(memory.body.split()))


def _of_task(given: dict[str, object], status: str, old: Memory | None, now: datetime) -> dict[str, object]:
    """Return status and end of a task: one that is finished ends now unless it says when, another never."""
    text = str(given.get("completed_at") or "")
    at = parse_time(text)
    if text and at is None:
        raise UsageError(f"{text!r} is no time", fix="Write 2026-11-27 or 2026-11-27T10:00:00Z.")
    state = replace(
        old or Memory(name="", description="", type="task", body=""), status=" ".join(status.split())
    )
    if at is None and state.is_finished:
        at = state.completed_at or now
    return {"status": state.status, "completed_at": at}


def _require_meant(type_name: str, keys: Sequence[str]) -> None:
    for key in keys:
        if type_name != _MEANT[key]:
            raise UsageError(
                f"a memory of type {type_name} has no {key.replace('_', ' ')}",
                fix=f"Only a {_MEANT[key]} has.",
            )


def _texts(memory: Memory) -> list[str]:
    names = [memory.body, memory.title, memory.description, memory.status]
    return [*names, *memory.tags, *memory.anchors, *memory.parts_of_work]


def _nfc(text: str) -> str:
    return normalize("NFC", text)


# -- what may stand -----------------------------------------------------------------------------------


def _refused(app: App, memory: Memory, flaw: Flaw) -> InputError:
    fix = "Memories state facts; they grant nothing."
    if app.is_team and memory.type == "user":
        fix = "`reverie add --user TEXT` keeps it for you alone."
    elif flaw.to_inbox:
        fix = "Only a person may decide that: `reverie update` or `reverie edit`."
    return InputError(f"the text {flaw.reason}", fix=fix)


def _require_news(app: App, snapshot: Snapshot, memory: Memory) -> None:
    """Raise InputError where a memory, here or for all projects, says already what `memory` does."""
    double, where = _that_says_it(snapshot, memory), ""
    everyone = scopes.user_scope(app)
    if double is None and app.store_override is None and not everyone.is_fresh:
        double, where = _that_says_it(everyone.open_store().scan(), memory), " for all projects"
    if double is not None:
        raise InputError(
            f"the memory {double.name} says this already{where}",
            file=double.path,
            fix=f"See `reverie show {double.name}`; --force writes it a second time.",
            by_tool="Leave it as it is, or say what is new.",
        )


def _that_says_it(snapshot: Snapshot, memory: Memory) -> Document | None:
    """Return the memory that holds every sentence of `memory`, and all that stands beside it, or None."""
    wanted, beside = {sentence.folded for sentence in sentences(memory.body)}, {*memory.parts_of_work}
    word = telling_word(wanted)
    for document in snapshot.documents:
        if document.retired or (beside and not beside <= {*document.head.parts_of_work}):
            continue
        # Most texts are shorter than what the index holds of them, so that no file need be read.
        whole = len(document.preview) < PREVIEW
        if lacks(document.preview.encode("utf-8", "replace") if whole else document.raw, word):
            continue
        text = document.preview if whole else document.memory.body
        if wanted and wanted <= {sentence.folded for sentence in sentences(text)}:
            return document
    return None


# -- writing ------------------------------------------------------------------------------------------


def _follow(app: App, store: Store) -> None:
    """Bring what is made from the memories in step, vectors too where that takes no time."""
    app.follow(store)
    if app.settings.embeddings.provider != "off":
        # Deferred: most have no vectors.
        from pipeline.app.embed import embed_soon

        embed_soon(app, store)


def _note(app: App, door: Door, planned: Put | Move) -> None:
    """Plan the entry of the diary that tells of a new memory; a team's folder has no diary."""
    if door.store.is_team:
        return
    page = door.store.append_episodes([Episode.about(planned.memory, planned.path, app.clock.now())])
    door.bring([page] if page else [])


def _revise(
    app: App, store: Store, document: Document, memory: Memory, *, by_person: bool, reason: str
) -> Written:
    if memory == document.memory:
        return Written(memory, "unchanged")
    door = Door(store, now=app.clock.now(), approved=by_person)
    if by_person:
        memory = _renamed(store, document, memory)
    if by_person and memory.name == document.name:
        try:
            # One that has no id of its own gets none: it is known by the one that is kept for it.
            data = compose(replace(memory, id=document.own_id), document.raw)
        except KeptAsItIsError as error:
            raise InputError(
                str(error.args[0]), file=document.path, fix=f"{error.fix} Or `reverie edit`."
            ) from error
        return _written(app, door, document, data, reason)
    # An agent takes no sentence away: it has no word of a person's for that.
    lost = lost_between(document.memory.body, memory.body, ()) if by_person else ()
    removals = [Removal(text, reason=_TAKEN_OUT_BY_HAND) for text in lost]
    planned = door.revise(document, memory, removals, rename=by_person)
    if isinstance(planned, Flaw):
        raise _refused(app, memory, planned)
    change_id = new_id()
    door.write(change_id, reason)
    _follow(app, store)
    path = planned.memory.path or planned.path
    return Written(replace(planned.memory, path=path), "updated", change_id)


def _written(app: App, door: Door, document: Document, data: bytes, reason: str) -> Written:
    memory = door.write_as(document, data, _TAKEN_OUT_BY_HAND)
    if isinstance(memory, Flaw):
        raise _refused(app, document.memory, memory)
    change_id = new_id()
    door.write(change_id, reason)
    _follow(app, door.store)
    return Written(memory, "updated", change_id)
