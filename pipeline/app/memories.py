"""What a person writes or takes away by hand: `add` and `forget`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from unicodedata import normalize

from pipeline.app import retired, scopes
from pipeline.app.application import App
from pipeline.app.retired import FORGOTTEN
from pipeline.core.errors import InputError, UsageError
from pipeline.core.ids import new_id
from pipeline.domain.body import Body
from pipeline.domain.memory import MAX_DESCRIPTION, TYPES, Memory
from pipeline.domain.sentences import sentences
from pipeline.extraction.offline_cues import type_of
from pipeline.extraction.screen import MAX_PART
from pipeline.hooklib.memory_format import PREVIEW
from pipeline.hooklib.plain import one_line
from pipeline.revision import Door
from pipeline.store import Document, Snapshot
from pipeline.text.slugs import slugify
from pipeline.text.tokens import SMALL_WORDS
from pipeline.verify.barred import TAKEN_OUT, doubt, forbidden, holds_secret
from pipeline.verify.flaw import Flaw

_MADE_NAME_CHARS = 60
_MOST_WORDS = 40
_FEWEST_WORDS = 3
_SMALL = frozenset(SMALL_WORDS.split())
_TITLE_CHARS = 70
_PROJECT, _EVERYWHERE = "project", "feedback"
"""Types of a sentence that has no cue of another: of the project, or for all projects."""


def add(
    app: App, statement: str, *, kind: str, name: str, description: str, why: str, force: bool = False
) -> Memory:
    """Write a memory a person dictates; without a `kind` its words tell the type (`guessed_type`).

    Refuses secrets and what must never be kept, and for a team what is about the person; unless `force` is
    given also what reads like a permission or an instruction, and what a memory says already.
    """
    if kind and kind not in TYPES:
        raise UsageError(f"there is no type {kind!r}", fix=f"Types: {', '.join(TYPES)}.")
    statement, why, description = (normalize("NFC", text) for text in (statement, why, description))
    _require_fit(statement, why, description, name, sure=force)
    app.require_settings()
    store = app.open_store(create=not app.is_team)
    now = app.clock.now()
    words = statement.split()
    memory = Memory(
        name=slugify(name) if name else name_of(words),
        description=one_line(description or statement, MAX_DESCRIPTION),
        type=kind or guessed_type(statement, everywhere=app.is_user_scope),
        body=Body(statement, why).render(),
        id=new_id(),
        title=title_of(statement),
        created=now,
        updated=now,
        origin="hand-written",
        confidence=1.0,
    )
    snapshot = store.scan()
    double, where = (None, "") if force else double_of(app, snapshot, memory.body)
    if double is not None:
        raise InputError(
            f"the memory {double.name} says this already{where}",
            file=double.path,
            fix=f"See `reverie show {double.name}`; --force writes it a second time.",
        )
    known = snapshot.by_name(memory.name)
    if known is not None:
        raise InputError(
            f"there is a memory {known.name} already",
            fix=f"See `reverie show {known.name}`; choose --name.",
        )
    door = Door(store, now=now, approved=True)
    planned = door.create(memory)
    if isinstance(planned, Flaw):
        yours = app.is_team and memory.type == "user"
        raise _refused(planned.reason, "`reverie add --user TEXT` keeps it for you alone." if yours else "")
    door.write(new_id(), f"add {planned.memory.name}")
    app.follow(store)
    return replace(planned.memory, path=planned.path)


def guessed_type(statement: str, *, everywhere: bool) -> str:
    """Return the type that the first sentence with a cue speaks for, as extraction without a model reads it.

    What is meant `everywhere` belongs to no project: without a better cue it is how the person wants work
    done.
    """
    kinds = (type_of(sentence.text) for sentence in sentences(statement))
    kind = next(filter(None, kinds), _PROJECT)
    return _EVERYWHERE if everywhere and kind == _PROJECT else kind


def forget(app: App, name: str) -> str:
    """Move a memory to the archive, where the words it rests on leave it; returns the memory's name."""
    app.require_settings()
    store = app.open_store()
    document = retired.read(store, name)
    memory, now = document.memory, app.clock.now()
    # First what it rests on: if we die between the two, the memory is still there to be forgotten.
    store.note_forgotten(memory.sources, name=memory.name, text=memory.body, reason=FORGOTTEN, now=now)
    door = Door(store, now=now, approved=True)
    planned = door.retire(document, FORGOTTEN)
    if isinstance(planned, Flaw):
        raise InputError(planned.reason, file=document.path, fix="See `reverie show`.")
    door.write(new_id(), f"forget {document.name}")
    app.follow(store)
    return document.name


def _require_fit(statement: str, why: str, *more: str, sure: bool) -> None:
    """Raise InputError where no memory may say this; `more` are a name and a description.

    What is only doubtful passes when the person is `sure`.
    """
    text = "\n".join((statement, why, *more))
    if not statement.strip() or max(len(statement), len(why)) > MAX_PART:
        raise InputError(
            "there is no fact in it" if not statement.strip() else "it is too long for one fact",
            fix=f"Write one to three sentences, at most {MAX_PART:,} characters.",
        )
    if TAKEN_OUT in text:
        raise InputError(
            "the text holds the mark of a secret that was taken out",
            fix=f"Leave out `{TAKEN_OUT}…]`; say where the secret is kept.",
        )
    if holds_secret(text):
        raise InputError("the text holds a secret", fix="Leave the secret out; say where it is kept.")
    barred = forbidden(text)
    if barred:
        raise _refused(barred)
    reads = "" if sure else doubt(text)
    if reads:
        raise InputError(
            f"the text {reads}",
            fix="Memories state facts; they grant nothing. --force keeps it all the same.",
        )


def _that_says_it(snapshot: Snapshot, body: str) -> Document | None:
    """Return the memory that holds every sentence of `body`, or None."""
    wanted = {sentence.folded for sentence in sentences(body)}
    for document in snapshot.documents:
        if document.retired:
            continue
        # Most texts are shorter than what the index holds of them, so that no file need be read.
        whole = len(document.preview) < PREVIEW
        text = document.preview if whole else document.memory.body
        if wanted and wanted <= {sentence.folded for sentence in sentences(text)}:
            return document
    return None


def double_of(app: App, snapshot: Snapshot, body: str) -> tuple[Document | None, str]:
    """Return the memory, here or for all projects, that says `body` already, and where, as words."""
    double, everyone = _that_says_it(snapshot, body), scopes.user_scope(app)
    if double is None and app.store_override is None and not everyone.is_fresh:
        return _that_says_it(everyone.open_store().scan(), body), " for all projects"
    return double, ""


def name_of(words: Sequence[str]) -> str:
    """Return the name of a memory that begins with `words`: as many whole words as `_MADE_NAME_CHARS` hold.

    A word alone that is longer, as in scripts without spaces, is cut. Small words at the end of a beginning
    are left off.
    """
    name, fitting = slugify(words[0][:_MADE_NAME_CHARS]), 1
    for end in range(2, min(len(words), _MOST_WORDS) + 1):
        if len(f"{name}-{slugify(words[end - 1])}") > _MADE_NAME_CHARS:
            break
        name, fitting = slugify(" ".join(words[:end])), end
    if fitting < len(words):
        while fitting > _FEWEST_WORDS and words[fitting - 1].casefold() in _SMALL:
            fitting -= 1
            name = slugify(" ".join(words[:fitting]))
    return name


def title_of(statement: str) -> str:
    """Return the first sentence of `statement`, with ``…`` in place of what a title has no room for."""
    return one_line(sentences(statement)[0].text, _TITLE_CHARS).rstrip(".,;:")


def _refused(reason: str, fix: str = "") -> InputError:
    return InputError(f"the text {reason}", fix=fix or "Memories state facts; they grant nothing.")
