"""Where a memory comes from: its sources, what the ledger has of them, its runs, what became of its file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.app import history, retired
from pipeline.app.application import App
from pipeline.app.changes import compare
from pipeline.app.run_rows import run_row
from pipeline.core.clock import parse_time
from pipeline.core.home import Home
from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.quotes import quotes_of
from pipeline.domain.sentences import sentences
from pipeline.hooklib.memory_format import author_of, speaker
from pipeline.hooklib.ownership import TEAMS, TOLD
from pipeline.intake.authors import note_authors
from pipeline.ledger import Ledger, runs, utterances
from pipeline.safety.invisible import visible_line, visible_name
from pipeline.search.refresh import borne_out
from pipeline.store import Document, HandEdit, Store, is_arrival, turns_of
from pipeline.store.files.document import parse
from pipeline.store.files.identity import Identity
from pipeline.store.ownership.permission import is_adoptable, why_left
from pipeline.text.quotes import in_one_line

if TYPE_CHECKING:
    from pipeline.sharing.told import Told


@dataclass(frozen=True, slots=True)
class Why:
    """A memory, and for each of its sources what the transcript says there.

    The ``sentences`` of a source are those it stands for, none where it stands for all; `unsourced` are
    sentences that no source stands for, though there are some. `by` is who says it as far as that is borne
    out, `by_hand` are the sentences that somebody wrote into a file of ours. `note` says so where the name
    asked for was another memory's; `accepted` is the day of a person's yes in the inbox, "" without one;
    `edit` what somebody did to its file since Reverie wrote it. `author` is who wrote the file and by what
    sign that is known, None for one that is as Reverie wrote it. A source without a quote is a file that
    Claude wrote; its ``after`` are the last things the person said before. `waits` says that a person's yes
    to all (`reverie adopt`) is needed before Reverie changes the file, `left` why it is not changed even so,
    "" where neither is. `told` is its newest revision where it is kept in step with others. `later` are the
    changes of its words since it was written, newest first, as far as they are kept. `quotes` are what a
    team's file has of what was said for it: who said it (``teller``), on which day, in which words, and for
    which sentences, none where that is all of it.
    """

    memory: Memory
    path: Path
    sources: tuple[dict[str, Any], ...]
    runs: tuple[dict[str, Any], ...]
    ours: bool
    by: str
    unsourced: tuple[str, ...] = ()
    note: str = ""
    accepted: str = ""
    edit: HandEdit | None = None
    author: Identity | None = None
    by_hand: tuple[str, ...] = ()
    waits: bool = False
    left: str = ""
    told: Told | None = None
    later: tuple[Reworded, ...] = ()
    quotes: tuple[dict[str, Any], ...] = ()

    @property
    def by_sentences(self) -> list[tuple[tuple[str, ...], list[int]]]:
        """Return which sentences sources stand for, and which of them those are, by number from 0."""
        found: dict[tuple[str, ...], list[int]] = {}
        for number, source in enumerate(self.sources):
            found.setdefault((*source["sentences"],), []).append(number)
        return list(found.items())


@dataclass(frozen=True, slots=True)
class Reworded:
    """One change of the words of a memory: when and by whom, its short id, and what became what.

    `at` is None where nobody knows. `words` are pairs of old and new, of which one may be "".
    """

    at: datetime | None
    by: str
    run: str
    words: tuple[tuple[str, str], ...]


def why(app: App, name: str) -> Why:
    """Return where the memory `name` of the store of `app` comes from: lines, speakers, runs, models."""
    store = app.open_store()
    with app.ledger(to_look=True) as ledger:
        document = retired.read(store, name)
        if note_authors(ledger, store, now=app.clock.now(), keep=False, documents=[document]):
            document = retired.read(store, name)
        sources_given = document.memory.sources
        found = sentences(document.memory.body)
        sources = tuple(
            {
                **source_row(ledger, source),
                "sentences": [part.text for part in found if source.bears and source.is_for(part.key)],
                "after": () if source.quote else _said_before(ledger, source),
            }
            for source in sources_given
        )
        made = tuple(
            run_row(run)
            for run_id in runs.of_memory(ledger, document.memory.id)
            if (run := runs.run(ledger, run_id)) is not None
        )
    edit = next((edit for edit in store.hand_edits() if _still_stands(edit, document)), None)
    newest = _newest_revision(app, store, document)
    hand = TOLD if borne_out(app.home, [document]) else document.hand
    return Why(
        document.memory,
        store.path / document.path,
        sources,
        made,
        store.is_as_written(document),
        speaker(document.memory.origin, hand, author_of(document.memory.extra)),
        tuple(
            part.text
            for part in found
            if sources_given and not any(source.is_for(part.key) for source in sources_given)
        ),
        note=retired.note_on(store, name, document),
        accepted=retired.accepted_on(store, document),
        edit=edit,
        by_hand=_written_into(store, edit, document.memory) if edit else (),
        author=document.identity,
        waits=is_adoptable(document, store),
        left=why_left(document, store),
        told=newest,
        later=_reworded(app, document, newest),
        quotes=_quotes(document),
    )


def _quotes(document: Document) -> tuple[dict[str, Any], ...]:
    """Return what a team's file has of what was said; in another the key means nothing."""
    if document.hand != TEAMS:
        return ()
    parts = sentences(document.memory.body)
    rows = []
    for item in quotes_of(document.memory):
        borne = [part.text for part in parts if not item.bears or part.key in item.bears]
        if borne:
            row = {"teller": visible_name(item.teller), "speaker": item.speaker, "by": visible_name(item.by)}
            row |= {"day": visible_name(item.day), "quote": visible_line(item.quote)}
            rows.append({**row, "sentences": borne if len(borne) < len(parts) else []})
    return tuple(rows)


def _reworded(app: App, document: Document, newest: Told | None) -> tuple[Reworded, ...]:
    memory = document.memory
    if not memory.created or not memory.updated:
        return ()
    found: list[Reworded] = []
    for change in history.of_memory(app, document):
        generation = change.entry.generation
        if generation is None or generation.undone or turns_of(generation.run)[1]:
            continue
        lines = [line for item in change.shown if item.before and item.after for line in compare(item, ())]
        words = [(line.text, line.by) for line in lines if line.state == "gone"]
        spoken = {new for _, new in words}
        words += [("", line.text) for line in lines if line.state == "new" and line.text not in spoken]
        if words:
            at = change.entry.at
            if not found and newest is not None and not newest.here and is_arrival(generation.run):
                at = parse_time(newest.at) or at  # Not when it came here.
            found.append(Reworded(at, change.entry.by, change.entry.short, tuple(words)))
    elsewhere = newest is not None and not (newest.here or newest.author)
    if not found and newest is not None and elsewhere and memory.updated > memory.created:
        # It came as it is, and what was changed before is known where that was done.
        found.append(Reworded(memory.updated, f"machine {newest.machine}", "", ()))
    return tuple(found)


def _newest_revision(app: App, store: Store, document: Document) -> Told | None:
    if not Home(app.home).sharing.is_dir():
        return None
    from pipeline.sharing.told import told_of  # Few homes keep anything in step.

    return told_of(app.home, store, document)


def _said_before(ledger: Ledger, source: Evidence) -> tuple[str, ...]:
    if source.speaker != "assistant":
        return ()
    return tuple(utterances.said_before(ledger, source.session, source.uuid, source.at))


def _written_into(store: Store, edit: HandEdit, memory: Memory) -> tuple[str, ...]:
    """Return the sentences of `memory` that Reverie did not write into its file; none if that is lost."""
    diff = store.hand_edit_diff(edit)
    if diff is None or diff.before is None:
        return ()
    before = {sentence.folded for sentence in sentences(parse(diff.before, edit.path).body)}
    return tuple(sentence.text for sentence in sentences(memory.body) if sentence.folded not in before)


def _still_stands(edit: HandEdit, document: Document) -> bool:
    return edit.path == document.path and edit.found_by is None


def source_row(ledger: Ledger, source: Evidence) -> dict[str, Any]:
    """Return one source of a memory with the line of the transcript it quotes, if the ledger has it.

    ``quoted`` is false where that line does not have the words, as somebody changed them in the file.
    """
    row = utterances.find_entry(ledger, source.session, source.uuid)
    text = (row.text or None) if row else None
    return {
        **source.as_values(),
        "text": text,
        "quoted": text is None or in_one_line(source.quote) in in_one_line(text),
        "file": row.source_file if row else None,
        "is_session_held": row is not None or utterances.holds_session(ledger, source.session),
        "cwd": row.cwd if row else None,
        "branch": row.branch if row else "",
    }
