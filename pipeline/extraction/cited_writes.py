"""What a model wrote by tool and ascribed to a person, read again: do their words bear it out as it stands?

Until then it is the assistant's word. It waits in the inbox, where a person's yes settles it as well.

    borne out, and it is their word     theirs from now on
    stretched, not said, passing, …     stays the assistant's; nothing waits any more
    no clear answer                     stays the assistant's, and waits for the person

It is one question of the second reader's, in the very form in which extraction asks it. Nothing is reworded:
the memory stands as the model wrote it, or is nobody's word but its own.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

from pipeline.context import PhaseContext
from pipeline.core.errors import PROVIDER_DOWN, CassetteError, LiveCallError, ModelError
from pipeline.domain.body import Body
from pipeline.domain.memory import Memory, Origin
from pipeline.domain.sentences import folded
from pipeline.extraction.known_memories import nearest
from pipeline.extraction.render import Rendering, words_of
from pipeline.extraction.schema import Candidate, Cited
from pipeline.extraction.screen import AROUND, LENGTH, Case, Rejected, Screen
from pipeline.extraction.second_page import LEGEND, Page
from pipeline.extraction.second_reader import NEAREST, UNCLEAR, ask, heard_as
from pipeline.ledger import Ledger, dialogue, utterances
from pipeline.ledger.inbox import AGAIN, CITED, TAKEN_BACK, InboxItem, add_inbox, amend_inbox, decide_inbox
from pipeline.revision import Door
from pipeline.store import Document
from pipeline.text.quotes import quoted_in
from pipeline.verify.barred import in_inbox
from pipeline.verify.flaw import Flaw

WRITTEN: Origin = "assistant-written"
UNREAD = "a model says that these are your words; the second reader has not read it yet"
GONE = "what was said around the quote is not kept any more"
_AROUND_CHARS = 4_000
"""Characters of what was said before the quote and after it, from which the lines around it are taken."""
_READ = "read"
"""The key of a payload that says why the second reader did not settle it: a person does."""


def note(ledger: Ledger, store: str, memory: Memory, *, run_id: str, now: datetime) -> int:
    """Let `memory`, written by tool with a person's words as its source, wait to be read again."""
    payload: dict[str, Any] = {
        "name": memory.name,
        "type": memory.type,
        "statement": memory.whole_text.strip(),
        "text": _words_of(memory),
        "sources": [source.as_values() for source in memory.sources],
    }
    text = json.dumps(payload, ensure_ascii=False)
    return add_inbox(ledger, store, kind=CITED, payload_json=text, reason=UNREAD, run_id=run_id, now=now)


def is_unread(item: InboxItem) -> bool:
    """Whether the second reader has still to be asked about `item`; not where a person decided once."""
    return item.kind == CITED and not {_READ, AGAIN, TAKEN_BACK} & item.payload.keys()


def confirmed(document: Document, item: InboxItem, door: Door, origin: Origin) -> Flaw | None:
    """Plan at `door` that the memory of `item` is a person's word from now on; return why it may not be."""
    if not _stands(document, item):
        return Flaw("the memory changed since it was written")
    planned = door.revise(document, replace(document.memory, origin=origin))
    return planned if isinstance(planned, Flaw) else None


def read_again(phase: PhaseContext, item: InboxItem) -> bool:
    """Ask the second reader about `item` and settle it; return whether the store was changed.

    Raises ModelError and SpendError where nothing was answered, with nothing changed.
    """
    document = phase.store.scan().by_name(str(item.payload["name"]))
    if document is None or not _stands(document, item):
        _close(phase, item, "rejected")
        return False
    screen = _lines(phase, document.memory)
    if screen is None:
        _leave(phase, item, GONE)
        return False
    case = screen.examine("c1", _candidate(screen, document.memory))
    ruling = case if isinstance(case, Rejected) else _asked(phase, item, screen, case, document)
    if isinstance(ruling, Rejected):
        # What is too long for a fact nobody read: it is no less theirs for that.
        if ruling.to_inbox or ruling.check == LENGTH:
            _leave(phase, item, ruling.reason)
        else:
            _close(phase, item, "rejected")
        return False
    door = Door(phase.store, now=phase.clock.now())
    flaw = confirmed(document, item, door, ruling)
    if flaw is not None:
        _leave(phase, item, flaw.reason)
        return False
    door.write(f"{CITED}-{item.id}-{item.run_id}", f"{CITED} {document.name}")
    _close(phase, item, "accepted")
    return True


def _asked(
    phase: PhaseContext, item: InboxItem, screen: Screen, case: Case, document: Document
) -> Origin | Rejected:
    """Return whose word the second reader says it is, or why it is not a person's."""
    (found,) = nearest(phase, [f"{case.item.description}\n{case.item.body}"], limit=NEAREST + 1)
    near = [known for known in found if known.memory.id != document.id][:NEAREST]
    page = Page(screen)
    rows = [page.item(case, near)]
    rows[:0] = [f"{LEGEND}\n"] if page.has_pasted else []
    try:
        answered = ask(phase, rows)
    except ModelError as error:
        if isinstance(error, (*PROVIDER_DOWN, CassetteError, LiveCallError)):
            raise
        answered = None
    if answered is None:
        return Rejected(case.item.name, UNCLEAR, to_inbox=True)
    return heard_as(case, answered.value, near)


def _lines(phase: PhaseContext, memory: Memory) -> Screen | None:
    """Return the line that `memory` cites with those around it; None where it is not kept any more."""
    source = next((source for source in memory.sources if source.speaker == "person"), None)
    ledger = phase.ledger
    entry = source and utterances.find_entry(ledger, source.session, source.uuid)
    if not entry or not entry.text:
        return None
    key = entry.source_file
    before = dialogue.context_before(ledger, key, row=entry.row, max_chars=_AROUND_CHARS)[-AROUND:]
    room = len(entry.text) + _AROUND_CHARS
    spoken = utterances.utterances(ledger, key, after_row=entry.row - 1, limit_chars=room)[: AROUND + 1]
    lines = dict(enumerate([*before, *spoken], start=1))
    rendering = Rendering("", "", lines, len(before) + 1, words_of(list(lines.values())))
    return Screen(rendering, phase.store.forgotten())


def _candidate(screen: Screen, memory: Memory) -> Candidate:
    """Return what `memory` says as a first reader would have proposed it, with the lines that it cites."""
    title = f"{memory.title}. " if folded(memory.title).rstrip(".") not in folded(memory.body) else ""
    body = Body.parse(replace(memory, body=f"{title}{memory.body}").whole_text)
    return Candidate(
        name=memory.name,
        type=memory.type,
        statement=body.statement,
        why=body.why,
        how_to_apply=body.how_to_apply,
        importance=memory.importance,
        confidence=memory.confidence,
        evidence=[
            Cited(line=number, quote=source.quote)
            for source in memory.sources
            for number, line in screen.rendering.lines.items()
            if line.uuid == source.uuid and quoted_in(source.quote, line.text)
        ],
    )


def _words_of(memory: Memory) -> str:
    """Return all that `memory` says in words: what a person would stand behind."""
    return "\n".join((memory.title, memory.description, memory.whole_text))


def _stands(document: Document, item: InboxItem) -> bool:
    """Whether the memory is still what the model wrote, and its word."""
    return document.memory.origin == WRITTEN and _words_of(document.memory) == item.payload.get("text")


def _leave(phase: PhaseContext, item: InboxItem, reason: str) -> None:
    """Let `item` wait for the person, who is told why nobody else settled it."""
    amend_inbox(phase.ledger, item, {**item.payload, _READ: reason}, reason=in_inbox(reason))


def _close(phase: PhaseContext, item: InboxItem, state: str) -> None:
    decide_inbox(phase.ledger, item.id, state, now=phase.clock.now())
