"""What a person writes or takes away by hand: `add` and `forget`."""

from __future__ import annotations

from typing import Any
from unicodedata import normalize

from pipeline.app import retired
from pipeline.app.application import App
from pipeline.app.keepable import require_keepable
from pipeline.app.retired import FORGOTTEN
from pipeline.app.retried import retried
from pipeline.app.titles import name_of, title_of
from pipeline.app.writing import NewMemory, store_memory
from pipeline.core.errors import InputError, UsageError
from pipeline.core.ids import new_id
from pipeline.domain.body import Body
from pipeline.domain.memory import TYPES, Memory
from pipeline.domain.sentences import sentences
from pipeline.extraction.offline_cues import type_of
from pipeline.extraction.screened_candidate import MAX_PART
from pipeline.revision import Door
from pipeline.verify.flaw import Flaw

_PROJECT, _EVERYWHERE = "project", "feedback"
"""Types of a sentence that has no cue of another: of the project, or for all projects."""


def add(app: App, statement: str, *, kind: str, why: str = "", title: str = "", **more: Any) -> Memory:
    """Write a memory a person dictates; without a `kind` its words tell the type (`guessed_type`).

    `more` are other fields of `writing.NewMemory`. Refuses secrets and what must never be kept, and for a
    team what is about the person; unless `force` is given also what reads like a permission or an
    instruction, and what a memory says already.
    """
    if kind and kind not in TYPES:
        raise UsageError(f"there is no type {kind!r}", fix=f"Types: {', '.join(TYPES)}.")
    statement, why = (normalize("NFC", text) for text in (statement, why))
    sure = bool(more.get("force"))
    _require_fit(statement, why, more.get("description", ""), more.get("name", ""), sure=sure)
    app.require_settings()
    store = app.open_store(create=not app.is_team)
    more["name"] = more.get("name") or name_of(statement.split())
    more["description"] = more.get("description") or statement
    new = NewMemory(
        type=kind or guessed_type(statement, everywhere=app.is_user_scope),
        content=Body(statement, why).render(),
        title=title or title_of(statement),
        **{"confidence": 1.0, **more},
    )
    return store_memory(app, store, new).memory


def guessed_type(statement: str, *, everywhere: bool) -> str:
    """Return the type that the first sentence with a cue speaks for, as extraction without a model reads it.

    What is meant `everywhere` belongs to no project: without a better cue it is how the person wants work
    done.
    """
    kinds = (type_of(sentence.text) for sentence in sentences(statement))
    kind = next(filter(None, kinds), _PROJECT)
    return _EVERYWHERE if everywhere and kind == _PROJECT else kind


@retried
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
    if not statement.strip() or max(len(statement), len(why)) > MAX_PART:
        raise InputError(
            "there is no fact in it" if not statement.strip() else "it is too long for one fact",
            fix=f"Write one to three sentences, at most {MAX_PART:,} characters.",
        )
    require_keepable("\n".join((statement, why, *more)), sure=sure)
