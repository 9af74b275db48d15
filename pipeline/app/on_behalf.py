"""What a model asks to be written or taken away, through a tool: nobody's word but its own, unless it cites.

What it writes is *assistant-written*: no person stands behind it, it may be of no type that only a person's
words can support, and it changes nothing that a person wrote, edited or pinned. Where the model cites what
the person typed, the quote must stand in the dialogue of this very project that the ledger holds, and what is
written may name nothing that the person did not. Then it may be of any type and for all projects, with the
quote as its source; theirs it is once the second reader says that their words bear it out
(`extraction.cited_writes`), or they themselves say so in the inbox.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from unicodedata import normalize

from pipeline.app import retired, scopes
from pipeline.app.application import App
from pipeline.app.memories import guessed_type
from pipeline.app.retired import FORGOTTEN
from pipeline.app.retried import retried
from pipeline.app.titles import name_of, title_of
from pipeline.app.writing import Change, NewMemory, Written, store_memory, update_memory
from pipeline.core import paths
from pipeline.core.clock import latest
from pipeline.core.errors import InputError, UnreadableError
from pipeline.core.ids import new_id
from pipeline.domain.action import MemoryAction, RunSummary
from pipeline.domain.body import Body
from pipeline.domain.memory import HUMAN_ONLY, MAX_QUOTE, TYPES, Evidence, Memory
from pipeline.extraction.cited_writes import note
from pipeline.formats.claudia import sections
from pipeline.ledger import Ledger, runs, utterances
from pipeline.ledger.utterances import EntryRow
from pipeline.recall.prepared import hook_state
from pipeline.revision import Door
from pipeline.safety.invisible import visible
from pipeline.text import bearing
from pipeline.text.pasted import typed
from pipeline.text.quotes import typed_in
from pipeline.text.slugs import slugify
from pipeline.verify.flaw import Flaw
from pipeline.verify.floor import ACTED_ON, Ground, Line

MOST = 2_000
"""Characters of one fact."""
_LOOKED_THROUGH = 2_000
"""Entries of a person's, the latest, in which a quote is looked for."""
_NEWEST = 3
"""Transcripts of the project that are read on where a quote stands in none that was read."""
_PROJECT = "project"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a model wants kept: `text` in at most `most` characters, and what the person typed for it.

    With a `section` the text stands under that heading.
    """

    text: str
    kind: str = ""
    title: str = ""
    why: str = ""
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 0.8
    quote: str = ""
    steps: tuple[str, ...] = ()
    preconditions: tuple[str, ...] = ()
    postconditions: tuple[str, ...] = ()
    episode: bool = True
    most: int = MOST
    section: str = ""


def remember(app: App, wish: Wish) -> Memory:
    """Write what `wish` says as a memory of the scope that `app` acts on.

    Raises InputError, with what to do instead, for what may not be kept, or not without the person's words.
    """
    app.require_settings()
    _require_mode(app)
    wish = replace(wish, text=normalize("NFC", wish.text).strip(), why=normalize("NFC", wish.why).strip())
    _require_fit(wish)
    cited = cite(app, wish.quote) if wish.quote.strip() else None
    kind = _kind_of(app, wish, cited)
    if cited is not None:
        _require_said(wish, kind, cited)
    new = NewMemory(
        name=slugify(wish.title) if wish.title.strip() else name_of(wish.text.split()),
        description=wish.text,
        type=kind,
        content=sections.added("", wish.section, Body(wish.text, wish.why).render()),
        title=wish.title.strip() or title_of(wish.text),
        tags=wish.tags,
        importance=wish.importance,
        confidence=wish.confidence,
        origin="assistant-written",
        sources=(cited.evidence,) if cited else (),
        steps=wish.steps,
        preconditions=wish.preconditions,
        postconditions=wish.postconditions,
        episode=wish.episode,
        by_person=False,
    )
    store = app.open_store(create=not app.is_team)
    made = store_memory(app, store, new)
    _tell(app, made.change_id, "created", made.memory, cited=cited is not None)
    return made.memory


def _tell(app: App, change_id: str, deed: str, memory: Memory, *, cited: bool = False) -> None:
    """Note what a model did as a run of its own, so that the next session's start tells of it.

    What it `cited` waits to be read by the second reader.
    """
    now, store = app.clock.now(), str(app.store_path)
    with app.ledger() as ledger:
        with ledger.transaction():
            if cited:
                note(ledger, store, memory, run_id=change_id, now=now)
            runs.start_run(
                ledger,
                id=change_id,
                kind="tool",
                key=store,
                store=store,
                strategy=deed,
                from_row=0,
                through_row=0,
                now=now,
            )
            action = MemoryAction(deed, memory.name, memory.id)
            runs.finish_run(
                ledger, change_id, outcome="applied", summary=RunSummary(actions=(action,)), now=now
            )
        hook_state.refresh(ledger, app.home, app.settings, app.clock)


@retried
def extend(app: App, name: str, section: str, content: str) -> Written:
    """Add `content` to the memory `name`, in its section of about that name; what is there already stays.

    Raises InputError for a memory behind which a person stands, and for what may not be kept.
    """
    app.require_settings()
    _require_mode(app)
    store = app.open_store()
    document = retired.read(store, name)
    if not document.memory.holds_no_persons_words or document.memory.pinned:
        raise InputError(
            f"a person's words stand behind {document.name}",
            file=document.path,
            fix="Write it as a memory of its own, under another filename.",
        )
    body = sections.added(document.memory.body, section, normalize("NFC", content))
    done = update_memory(app, store, document.name, Change(content=body, by_person=False))
    if done.change_id:
        _tell(app, done.change_id, "updated", done.memory)
    return done


@retried
def forget(asked: App, name: str, quote: str = "") -> tuple[str, App]:
    """Move the memory `name` to the archive; return its name, and the scope it was in.

    Without the person's words, in `quote`, only what Reverie wrote of itself and nobody changed or pinned.
    """
    asked.require_settings()
    _require_mode(asked)
    app = scopes.holder(asked, name)
    if app.is_team:
        raise InputError(f"{name} is the team's", fix="A person forgets it: `reverie forget --team`.")
    cited = cite(asked, quote) if quote.strip() else None
    store = app.open_store()
    document = retired.read(store, name)
    memory, now = document.memory, app.clock.now()
    if cited is not None and (
        memory.pinned or not bearing.asks_removal(quote.strip(), cited.typed, _about(memory))
    ):
        raise InputError(
            f"{memory.name} is pinned" if memory.pinned else "the cited words don't ask for that",
            file=document.path,
            fix=f"The person takes it away: `reverie forget {scopes.option(app)}{memory.name}`.",
        )
    if cited is None and not memory.holds_no_persons_words:
        raise InputError(
            "a person's words stand behind it",
            file=document.path,
            fix="Ask the person; then cite in `quote` the words in which they want it gone.",
        )
    door = Door(store, now=now, approved=cited is not None)
    planned = door.retire(document, FORGOTTEN)
    if isinstance(planned, Flaw):
        raise InputError(
            planned.reason,
            file=document.path,
            fix="Ask the person; then cite in `quote` the words in which they want it gone.",
        )
    # As `memories.forget`: first what it rests on, so that no death in between brings it back.
    store.note_forgotten(memory.sources, name=memory.name, text=memory.body, reason=FORGOTTEN, now=now)
    change_id = new_id()
    door.write(change_id, f"drop {document.name}")
    _tell(app, change_id, "withdrawn", memory)
    app.follow(store)
    return document.name, app


# -- the person's words -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cited:
    """What the person typed: the source as a memory keeps it, and all that they typed in that entry."""

    evidence: Evidence
    line: Line
    typed: str


def cite(app: App, quote: str) -> Cited:
    """Return where the person typed `quote`, in the dialogue of the project of `app`. InputError if nowhere.

    What is new in the project's latest transcripts is read first where the ledger does not have the words:
    those of the turn that is going on.
    """
    quote = quote.strip()
    if len(quote) > MAX_QUOTE:
        raise InputError("the quote is too long", fix=f"Cite at most {MAX_QUOTE} characters of one message.")
    project = scopes.project_scope(app)
    with app.ledger() as ledger:
        found = _typed(ledger, quote, project)
        if found is None:
            _read_on(ledger, project)
            found = _typed(ledger, quote, project)
    if found is None:
        raise InputError(
            f"the person did not type “{quote}” in this project, as far as its sessions tell",
            fix="Cite their words letter for letter, a few words at least, or leave `quote` out.",
        )
    evidence = Evidence(session=found.session_id, uuid=found.uuid, quote=quote, at=found.at)
    message = typed(visible(found.text))
    return Cited(evidence, Line(message, latest([found.at])), message)


def _typed(ledger: Ledger, quote: str, project: App) -> EntryRow | None:
    from pipeline.intake.drain import is_print_session
    from pipeline.worker import store_for

    for entry in utterances.by_person(ledger, limit=_LOOKED_THROUGH):
        if not typed_in(quote, entry.text) or is_print_session(ledger, entry.source_file, project.settings):
            continue  # What a program types into a session is no person's word.
        if store_for(ledger, entry.source_file) == project.store_path:
            return entry
    return None


def _read_on(ledger: Ledger, project: App) -> None:
    """Read what is new in the latest transcripts of the project."""
    from pipeline.intake.ingest import file_key, ingest_file

    roots = (paths.projects_dir(),)
    for path in _latest(paths.project_folder(paths.project_root(project.here))):
        # One that can't be read, or is just being read by the worker, proves nothing: the next is looked at.
        with suppress(UnreadableError, InputError):
            ingest_file(
                ledger, path, key=file_key(path, roots), settings=project.settings, clock=project.clock
            )


def _latest(folder: Path) -> Iterator[Path]:
    """Yield the session files of `folder` that were written to last."""
    stamped = []
    with suppress(OSError):
        stamped = [(file.stat().st_mtime_ns, file) for file in folder.glob("*.jsonl") if file.is_file()]
    yield from (file for _, file in sorted(stamped, reverse=True)[:_NEWEST])


# -- what may be kept ---------------------------------------------------------------------------------


def _require_mode(app: App) -> None:
    """Raise InputError where the person wants nothing written but by themselves."""
    mode = app.settings.store.mode
    if mode != "auto":
        raise InputError(
            f"nothing is written in mode {mode}", fix="The person writes it, or sets `reverie mode auto`."
        )


def _about(memory: Memory) -> str:
    return "\n".join((memory.name.replace("-", " "), memory.title, memory.description, memory.body))


def _require_fit(wish: Wish) -> None:
    if not wish.text or len(wish.text) > wish.most or len(wish.why) > MOST:
        raise InputError(
            "it is too long for one memory" if wish.text else "there is no fact in it",
            fix=f"Write one fact, at most {wish.most:,} characters.",
        )


def _kind_of(app: App, wish: Wish, cited: Cited | None) -> str:
    """Return the type of what is kept; without the person's words none that only these can support."""
    if wish.kind and wish.kind not in TYPES:
        raise InputError(f"there is no type {wish.kind!r}", fix=f"Types: {', '.join(TYPES)}.")
    kind = wish.kind or guessed_type(wish.text, everywhere=app.is_user_scope)
    if cited is not None:
        return kind
    fix = "Cite in `quote` what they typed, letter for letter"
    if app.is_user_scope:
        raise InputError("for all projects only the person's words are kept", fix=f"{fix}.")
    if kind not in HUMAN_ONLY:
        return kind
    if wish.kind:
        raise InputError(
            f"a memory of type {kind} needs the person's own words", fix=f"{fix}, or choose another type."
        )
    return _PROJECT


def _require_said(wish: Wish, kind: str, cited: Cited) -> None:
    """Raise InputError where the text names what the person did not type with the words that are cited."""
    ground = Ground([cited.line])
    texts = [wish.text, wish.why, wish.title, *wish.steps, *wish.preconditions, *wish.postconditions]
    missing = ground.missing(texts, acted_on=kind in ACTED_ON)
    if missing.nowhere or missing.elsewhere:
        names = ", ".join(f"“{words}”" for words in (*missing.nowhere, *missing.elsewhere))
        raise InputError(
            f"the person did not type {names} with the words that are cited",
            fix="Say no more than they did, or leave `quote` out: then it is kept as your word.",
        )
    statement = "\n".join((wish.text, wish.why)).strip()
    why_not = bearing.missing(statement, cited.evidence.quote, cited.typed)
    if why_not:
        raise InputError(
            f"the cited words don't bear it out: {why_not}",
            fix="Say it in their words, or leave `quote` out: then it is kept as your word.",
        )
