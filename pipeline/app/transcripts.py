"""Searching what was said, and reading it: the dialogue in the ledger, also of transcripts that are gone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from pipeline.app import dialogue
from pipeline.app.application import App
from pipeline.core import zone
from pipeline.core.clock import iso
from pipeline.core.errors import InputError, UsageError
from pipeline.core.home import Home
from pipeline.domain.speech import Utterance
from pipeline.ledger import Ledger, conversations, dialogue_rows, files, utterances
from pipeline.search import derived_file
from pipeline.search.dialogue_index import DialogueIndex, Wanted
from pipeline.text.dates import parse_day
from pipeline.text.since import since as moment_of

SPEAKERS = ("person", "assistant")
_LISTS = "`reverie conversations` and `reverie dialogue list` list what there is."
_WAIT_SECONDS = 60.0
"""For another process that makes the index: a few seconds for each 100,000 utterances."""
MOST_READ = 500
"""Utterances of a transcript that are given at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What of the dialogue is meant: all that is given must hold.

    `session` is an id or the start of one; `since` and `until` are days or how long ago, `until` a day whole.
    `conversation` is the id of one.
    """

    project: Path | None = None
    session: str = ""
    speaker: str = ""
    since: str = ""
    until: str = ""
    conversation: int | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One utterance that was found: `excerpt` has the words that were asked for between « and »."""

    row: int
    session: str
    conversation: int | None
    speaker: str
    at: str
    project: str
    excerpt: str
    score: float
    uuid: str
    file: str


@dataclass(frozen=True, slots=True)
class Search:
    """What was found; `partly` says that nothing holds all the words, and this holds some of them."""

    hits: tuple[Hit, ...]
    partly: bool
    more: bool


def search(app: App, query: str, scope: Scope, *, limit: int = 20, offset: int = 0) -> Search:
    """Return up to `limit` utterances that hold the words of `query`, the best first, behind `offset`.

    Words of it in quotation marks stand together; one that ends in ``*`` is the start of a word. Raises
    UsageError for a speaker or a day that there is not, InputError for no word and for several sessions,
    SearchError where the index can't be used.
    """
    if not any(char.isalnum() for char in query):
        raise InputError("there is no word to look for", fix="Give a word that was said.")
    with app.ledger(to_look=True) as ledger, DialogueIndex(app.home, wait=_WAIT_SECONDS) as index:
        index.refresh(ledger)
        wanted = _wanted(app, ledger, scope)
        found, partly = index.find(query, wanted, offset + limit + 1)
        found = found[offset:]
        places = dialogue_rows.places(ledger, [item.row for item in found])
        projects: dict[str, str] = {}
        hits = []
        for item in found:
            standing = places.get(item.row)
            if standing is None:
                continue
            if standing.source_file not in projects:
                projects[standing.source_file] = dialogue.project_of(ledger, standing.source_file)
            hits.append(
                Hit(
                    standing.row,
                    standing.session_id,
                    standing.conversation,
                    standing.speaker,
                    standing.at or "",
                    projects[standing.source_file],
                    item.excerpt,
                    item.score,
                    standing.uuid,
                    standing.path,
                )
            )
    return Search(tuple(hits[:limit]), partly, len(hits) > limit)


def rebuild(app: App) -> int:
    """Make the index anew; return how many utterances it holds. Raises SearchError, OSError."""
    derived_file.discard(Home(app.home).dialogue_index)
    with app.ledger(to_look=True) as ledger, DialogueIndex(app.home) as index:
        return index.refresh(ledger)


@dataclass(frozen=True, slots=True)
class Read:
    """A piece of a transcript: what was said, oldest first, and whether there is more behind it."""

    session: str
    project: str
    conversation: int | None
    status: str
    lines: tuple[Utterance, ...]
    more: bool


def read(
    app: App,
    *,
    conversation: int | None = None,
    source: str = "",
    project: Path | None = None,
    limit: int = MOST_READ,
    offset: int = 0,
) -> Read:
    """Return what was said in a conversation, or in the transcript of the session or key `source`.

    With `project` only of that one. Raises InputError where there is none.
    """
    if (conversation is None) == (not source):
        raise UsageError("it does not say what to read", fix="Name a conversation, or a session.")
    with app.ledger(to_look=True) as ledger:
        status, number = "", conversation
        if conversation is not None:
            held = conversations.conversation(ledger, conversation)
            key, status = (held.source_file, held.status) if held else ("", "")
        else:
            key = _key_of(ledger, source)
        found = key and dialogue.project_of(ledger, key)
        if not key or (project is not None and not dialogue.is_below(found, dialogue.root_of(project))):
            what = f"conversation {conversation}" if conversation is not None else f"transcript {source!r}"
            raise InputError(
                f"there is no {what} here",
                fix="`reverie conversations` and `reverie dialogue list` list them.",
            )
        if conversation is not None:
            every = utterances.utterances_of_conversation(ledger, conversation)
        else:
            every = utterances.utterances(ledger, key, after_row=0)
        lines = tuple(every[offset : offset + limit])
        session = lines[0].session_id if lines else Path(key).stem
        return Read(session, found, number, status, lines, len(every) > offset + limit)


def files_of_project(ledger: Ledger, project: Path) -> tuple[int, ...]:
    """Return the ids of the transcripts that began in `project`, or in a folder below it."""
    wanted = dialogue.root_of(project)
    within: dict[str, bool] = {}
    found = []
    for number, key, _ in files.listed(ledger):
        cwd = utterances.first_cwd(ledger, key) or ""
        if cwd not in within:
            # To find the root of a project takes longer than all else here.
            within[cwd] = bool(cwd) and dialogue.is_below(dialogue.root_of(Path(cwd)), wanted)
        if within[cwd]:
            found.append(number)
    return tuple(found)


def _key_of(ledger: Ledger, source: str) -> str:
    """Return the key of the transcript that `source` names: its key, or a session's id or its start."""
    listed = files.listed(ledger)
    for _, key, session in listed:
        if source in (key, session):
            return key
    begun = [key for _, key, session in listed if session.startswith(source)]
    if len(begun) > 1:
        raise InputError(
            f"{len(begun)} sessions have an id that begins with {source!r}", fix="Write more of it."
        )
    return begun[0] if begun else ""


def _wanted(app: App, ledger: Ledger, scope: Scope) -> Wanted:
    if scope.speaker and scope.speaker not in SPEAKERS:
        raise UsageError(f"there is no speaker {scope.speaker!r}", fix=f"Speakers: {', '.join(SPEAKERS)}.")
    now = app.clock.now()
    until = moment_of(scope.until, now) if scope.until else None
    if until is not None and (parse_day(scope.until) or scope.until.lower() in ("today", "yesterday")):
        until = moment_of(_day_after(zone.day(until)), now)
    chosen = None if scope.project is None else files_of_project(ledger, scope.project)
    chosen, rows = _within(ledger, scope.conversation, chosen)
    return Wanted(
        chosen,
        _session(ledger, scope.session, chosen),
        scope.speaker,
        iso(moment_of(scope.since, now)) if scope.since else "",
        iso(until) if until else "",
        rows,
    )


def _within(
    ledger: Ledger, number: int | None, chosen: tuple[int, ...] | None
) -> tuple[tuple[int, ...] | None, tuple[int, int] | None]:
    """Return the transcripts among `chosen` and the rows in which the conversation `number` stands."""
    if number is None:
        return chosen, None
    item = conversations.conversation(ledger, number)
    own = [file for file, key, _ in files.listed(ledger) if item is not None and key == item.source_file]
    if item is None or (chosen is not None and not set(own) <= set(chosen)):
        raise InputError(f"there is no conversation {number} here", fix=_LISTS)
    return tuple(own), (item.first_row, item.last_row)


def _day_after(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


def _session(ledger: Ledger, text: str, chosen: tuple[int, ...] | None) -> str:
    """Return the session that `text` means in the transcripts `chosen`: of others not even an id is told."""
    if not text:
        return ""
    listed = files.listed(ledger)
    ids = {session for file, _, session in listed if chosen is None or file in chosen}
    return dialogue.whole_session(sorted(ids), text)
