"""One memory: the reading pane beside the list."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from starlette.responses import Response

from pipeline.app import reading
from pipeline.app.application import App
from pipeline.app.reading import Reading
from pipeline.app.retried import retried
from pipeline.app.scopes import SHOWN
from pipeline.app.waiting import about
from pipeline.core.clock import parse_time
from pipeline.core.errors import UnknownMemoryError
from pipeline.core.zone import minute
from pipeline.domain.sentences import sentences
from pipeline.hooklib.memory_format import is_teams
from pipeline.store import turns_of
from pipeline.web import memory_form
from pipeline.web.listed import kept, listed
from pipeline.web.visit import Visit
from pipeline.web.words import author, doer, says, undo_line

if TYPE_CHECKING:
    from pipeline.app import history

_CHANGES = 20
"""Changes of a memory that are shown."""


def pane(visit: Visit) -> Response:
    """Return one memory with all that is known of it; what became of one that left."""
    return shown(visit, visit.request.path_params["ref"], visit.asked("scope"))


@retried
def shown(
    visit: Visit, ref: str, scope: str, *, draft: dict[str, str] | None = None, trouble: str = ""
) -> Response:
    """Return the memory that `ref` means; with a `draft` of it that could not be kept, and the `trouble`."""
    app = visit.app
    try:
        found = reading.read(app, ref, scope)
    except UnknownMemoryError as error:
        return _gone(visit, app, ref, scope, error)
    memory = found.document.memory
    values = listed(visit, app, visit.number("from", 0, most=1_000_000), by_meaning=False)
    given = draft or memory_form.draft_of(memory, found.document.digest)
    return visit.page(
        "memory.html",
        "memories",
        memory.shown_title,
        status=409 if trouble else 200,
        **{**values, "current": found.document.path},
        found=found,
        memory=memory,
        author=_author(found),
        person=_person(found),
        times=_times(found),
        is_single=len(sentences(memory.body)) == 1,
        undo_of=_undo_of,
        waits=about(app, str(reading.scoped(app, found.scope, found.ref).store_path), memory),
        changes=found.changes[:_CHANGES],
        more=max(0, len(found.changes) - _CHANGES),
        draft={**memory_form.draft_of(memory, ""), **given},
        form_fields=memory_form.fields_of(memory),
        is_edited=draft is not None,
        failure=trouble,
        scopes=SHOWN,
        can_move=app.store_override is None and found.scope != "team",
        list_asked=kept(visit),
    )  # fmt: skip


def _author(found: Reading) -> str:
    known = found.why.author
    return author(known.by, known.sign) if known else ""


def _person(found: Reading) -> str:
    """Return who said what a person said for the memory: whoever reads the page, but for a colleague's."""
    return says(found.document.memory) if is_teams(found.why.by) else "you"


def _times(found: Reading) -> list[tuple[str, str]]:
    """Return when the memory was said, noted and changed, each with its word; a moment stands there once.

    The day of its text is among them where an undo, a pin or a link came after it.
    """
    memory, changes = found.document.memory, found.changes
    moments = [parse_time(source.get("at")) for source in found.why.sources]
    first_words = min((moment for moment in moments if moment is not None), default=None)
    by_dictation = memory.dictated_at is not None and found.why.ours
    touched = _touched(found)
    is_known = changes and changes[0].entry.at == touched
    changed = f"changed by {doer(changes[0].entry.by)}" if is_known else "changed"
    rows = (
        ("said", first_words),
        (
            "dictated by you" if by_dictation else "noted",
            memory.dictated_at if by_dictation else memory.created,
        ),
        ("its text changed", memory.updated),
        (changed, touched),
    )
    shown: dict[str, str] = {}
    for word, moment in rows:
        text = minute(moment) if moment else ""
        if text and (text not in shown or (word == changed and shown[text] == "its text changed")):
            shown[text] = word
    return [(word, text) for text, word in sorted(shown.items())]


def _touched(found: Reading) -> datetime | None:
    """Return when the memory was changed last: an undo, a pin or a link leaves the day of its text."""
    moments = [found.document.memory.updated, *(change.entry.at for change in found.changes[:1])]
    return max((moment for moment in moments if moment is not None), default=None)


def _undo_of(entry: history.Entry) -> str:
    """Return what `entry` turned round, "" where it is no undo."""
    turns = turns_of(entry.generation.run)[1] if entry.generation else 0
    return undo_line(entry.what, turns) if turns else ""


def _gone(visit: Visit, app: App, ref: str, scope: str, error: UnknownMemoryError) -> Response:
    return visit.page(
        "memory_gone.html",
        "memories",
        "Not here",
        status=404,
        gone=reading.gone(app, ref, scope),
        message=str(error),
        fix=error.fix,
        scopes=SHOWN,
    )
