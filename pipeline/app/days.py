"""What happened on a day, and on which days of a month anything did: by the clocks of the zone.

Conversations come from the ledger, the diary from its pages, what was learned, changed and forgotten from
the changes that the stores keep, and what came to mind from the log of recall. What a person did to a file by
hand is in no change, and not told here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from pipeline.app import dialogue, diary, scopes, transcripts
from pipeline.app.application import App
from pipeline.app.changes import MemoryChange, memory_changes
from pipeline.context import known_stores, open_store
from pipeline.core import zone
from pipeline.core.clock import iso
from pipeline.core.errors import InputError, StoreError, UsageError
from pipeline.core.home import Home
from pipeline.domain.memory import OF_PROCEDURES
from pipeline.ledger import Ledger, conversations, dialogue_rows, files, recalls
from pipeline.store import Episode, Generation, Store
from pipeline.store.history.generations import turns_of
from pipeline.text.dates import parse_day
from pipeline.text.since import since as moment_of
from pipeline.worker import recall_log

LEARNED = ("created", "restored")
FORGOTTEN = ("retired", "removed")
BECAME = ("learned", "changed", "touched", "forgotten")
"""What became of memories on a day: those that were touched say what they said, and are pinned, say, now."""
_SAYS = ("name", "title", "description", "body", *OF_PROCEDURES, "blockers", "status", "outcome")
"""What a memory says, by its fields."""
FIRST_YEAR = 1970
_BEGINNING = 120
_MONTH_CHARS = 7


@dataclass(slots=True)
class Counts:
    """What happened on one day, in numbers; `turns` counts what a person typed."""

    day: str
    conversations: int = 0
    turns: int = 0
    episodes: int = 0
    learned: int = 0
    changed: int = 0
    forgotten: int = 0
    recalled: int = 0
    touched: int = 0


@dataclass(frozen=True, slots=True)
class Month:
    """The days of a month on which anything happened, and all of them together."""

    month: str
    zone: str
    days: tuple[Counts, ...]
    total: Counts


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation on one day: since when and until when (ISO 8601), turns of that day, how it begins."""

    id: int
    session: str
    project: str
    status: str
    first: str
    last: str
    turns: int
    begins: str


@dataclass(frozen=True, slots=True)
class Deed:
    """What became of one memory: its name, the word for it, and when (ISO 8601)."""

    memory: str
    word: str
    at: str
    description: str


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory that came to mind: how often it was put into a context or asked for, and when last."""

    memory: str
    at: str
    times: int


@dataclass(frozen=True, slots=True)
class Day:
    """All that happened on one local day."""

    day: str
    entries: tuple[Episode, ...] = ()
    conversations: tuple[Talk, ...] = ()
    learned: tuple[Deed, ...] = ()
    changed: tuple[Deed, ...] = ()
    touched: tuple[Deed, ...] = ()
    forgotten: tuple[Deed, ...] = ()
    recalled: tuple[Recalled, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing happened."""
        return not any(getattr(self, name) for name in Day.__slots__ if name != "day")


@dataclass(slots=True)
class _Spoken:
    """What was said on one day, by conversation: first and last time, and turns."""

    by_conversation: dict[int, list[str]] = field(default_factory=dict)
    turns: dict[int, int] = field(default_factory=dict)


def month(app: App, text: str = "", *, everywhere: bool = False) -> Month:
    """Return the days of the month `text` (``2026-11``; this one for "") on which anything happened.

    Here, or with `everywhere` in all projects. Raises UsageError for what is no month.
    """
    first = _month_of(app, text)
    after = _month_after(first)
    name = first.isoformat()[:_MONTH_CHARS]
    found: dict[str, Counts] = {}

    def of(day: str) -> Counts:
        return found.setdefault(day, Counts(day))

    with app.ledger(to_look=True) as ledger:
        for day, spoken in _spoken(app, ledger, first, after, everywhere).items():
            of(day).conversations = len(spoken.by_conversation)
            of(day).turns = sum(spoken.turns.values())
        stores = list(_stores(app, ledger, everywhere))
        for day, memories in _recalled(app, ledger, first, after, stores, everywhere).items():
            of(day).recalled = len(memories)
    for store in stores:
        for page in diary.pages(
            store.root, app.clock.now(), since=first.isoformat(), until=after.isoformat()
        ):
            of(page.day).episodes += len(page.entries)
        for generation in _standing(store.history()):
            day = zone.day(generation.at)
            if first.isoformat() <= day < after.isoformat():
                _count(of(day), store, generation)
    days = [counts for _, counts in sorted(found.items()) if _happened(counts)]
    return Month(name, zone.zone_name(app.clock.now()), tuple(days), _total(name, days))


def episodes(app: App, text: str = "") -> dict[str, tuple[Episode, ...]]:
    """Return the diary's entries of the month `text` by day, here. Raises UsageError for what is no month."""
    first = _month_of(app, text)
    if app.is_fresh:
        return {}
    root, after = app.open_store().root, _month_after(first).isoformat()
    pages = diary.pages(root, app.clock.now(), since=first.isoformat(), until=after)
    return {page.day: page.entries for page in pages}


def on(app: App, name: str, *, everywhere: bool = False) -> Day:
    """Return what happened on the day `name` (``2026-11-20``), which may be nothing.

    Raises UsageError for what is no day.
    """
    if parse_day(name) is None or not _is_reckoned(date.fromisoformat(name)):
        raise UsageError(f"{name!r} is no day", fix="Write it as 2026-11-20.")
    return _whole(app, name, diary.entries(app, name), everywhere)


def today(app: App) -> str:
    """Return the day it is, by the clocks of the zone."""
    return zone.day(iso(app.clock.now()))


def whole(app: App, text: str = "", *, everywhere: bool = False) -> Day:
    """Return what happened on a day: ``2026-11-20``, ``today``, ``yesterday``; the diary's newest for "".

    Raises UsageError for what is no day, InputError where nothing happened on it.
    """
    refused: InputError | None = None
    try:
        page = diary.day(app, text)
        name, entries = page.day, page.entries
    except InputError as error:
        refused, entries = error, ()
        name = zone.day(iso(moment_of(text, app.clock.now()))) if text else ""
    found = _whole(app, name, entries, everywhere) if name else Day("")
    if refused and found.is_empty:
        raise refused
    return found


def _whole(app: App, name: str, entries: Sequence[Episode], everywhere: bool) -> Day:
    first = date.fromisoformat(name)
    after = first + timedelta(days=1)
    with app.ledger(to_look=True) as ledger:
        spoken = _spoken(app, ledger, first, after, everywhere).get(name, _Spoken())
        talks = [_talk(ledger, number, spoken) for number in spoken.by_conversation]
        stores = list(_stores(app, ledger, everywhere))
        recalled = _recalled(app, ledger, first, after, stores, everywhere).get(name, {})
    deeds: dict[str, list[Deed]] = {kind: [] for kind in BECAME}
    for store in stores:
        for generation in reversed(_standing(store.history())):
            if zone.day(generation.at) == name:
                for change in _changes(store, generation):
                    deeds[_kind(change)].append(_deed(change, generation))
    return Day(
        name,
        tuple(entries),
        tuple(sorted(talks, key=lambda talk: talk.first)),
        recalled=tuple(sorted(recalled.values(), key=lambda each: (-each.times, each.memory))),
        **{kind: tuple(found) for kind, found in deeds.items()},
    )


def _standing(history: Sequence[Generation]) -> list[Generation]:
    """Return `history` without what a day took back itself: a change and its undo, an undo and its redo.

    A change that was undone and done again on its own day stands once.
    """
    groups: dict[tuple[str, str], list[Generation]] = {}
    for generation in history:
        groups.setdefault((zone.day(generation.at), turns_of(generation.run)[0]), []).append(generation)
    # Each turn takes back the one before it, so that an odd number of them comes to one.
    runs = {min(group, key=lambda item: item.number).run for group in groups.values() if len(group) % 2}
    return [generation for generation in history if generation.run in runs]


def _month_of(app: App, text: str) -> date:
    if not text:
        return date.fromisoformat(today(app)).replace(day=1)
    try:
        if len(text) != _MONTH_CHARS:
            raise ValueError(text)
        first = date.fromisoformat(f"{text}-01")
        if not _is_reckoned(first):
            raise ValueError(text)
        return first
    except ValueError:
        raise UsageError(f"{text!r} is no month", fix="Write it as 2026-11.") from None


def _spoken(app: App, ledger: Ledger, first: date, after: date, everywhere: bool) -> dict[str, _Spoken]:
    """Return by local day what was said from `first` on and before `after`."""
    now = app.clock.now()
    begin, end = (iso(moment_of(day.isoformat(), now)) for day in (first, after))
    chosen = None if everywhere else _transcripts(app, ledger)
    found: dict[str, _Spoken] = {}
    for conversation, at, speaker in dialogue_rows.between(ledger, begin, end, chosen):
        spoken = found.setdefault(zone.day(at), _Spoken())
        times = spoken.by_conversation.setdefault(conversation, [at, at])
        times[0], times[1] = min(times[0], at), max(times[1], at)
        spoken.turns[conversation] = spoken.turns.get(conversation, 0) + (speaker == "person")
    return found


def _is_reckoned(day: date) -> bool:
    """Whether clocks can tell the moments around `day`: those of a zone can't at the ends of the calendar."""
    return FIRST_YEAR <= day.year < date.max.year


def _month_after(first: date) -> date:
    return (first.replace(day=28) + timedelta(days=7)).replace(day=1)


def _recalled(
    app: App, ledger: Ledger, first: date, after: date, stores: Sequence[Store], everywhere: bool
) -> dict[str, dict[tuple[str, str], Recalled]]:
    """Return by local day which memories came to mind, by store and name: in sessions here, or everywhere."""
    now = app.clock.now()
    if not ledger.note:
        recall_log.take(ledger, app.home, now.timestamp())
    ours = {str(store.root) for store in stores}
    begin, end = (moment_of(day.isoformat(), now) for day in (first, after))
    found: dict[str, dict[tuple[str, str], Recalled]] = {}
    for given in recalls.given(ledger, begin, end):
        where = given.store if given.use else given.session_store
        if everywhere or where in ours:
            at = datetime.fromtimestamp(given.at, UTC)
            memories, key = found.setdefault(zone.day(at), {}), (given.store, given.name)
            before = memories[key].times if key in memories else 0
            memories[key] = Recalled(given.name, iso(at), before + given.times)
    return found


def _transcripts(app: App, ledger: Ledger) -> tuple[int, ...]:
    """Return the ids of the transcripts of the project here, or of those read for a store that was named."""
    if app.store_override is None:
        return transcripts.files_of_project(ledger, app.here)
    return files.read_for(ledger, str(app.store_path))


def _stores(app: App, ledger: Ledger, everywhere: bool) -> Iterator[Store]:
    """Yield the stores whose changes count: those of here, or all that are known."""
    if not everywhere:
        yield from (scope.open_store() for scope in scopes.keepers(app) if not scope.is_fresh)
        return
    for path in dict.fromkeys([*known_stores(ledger), Home(app.home).user_store]):
        if path.is_dir():
            yield open_store(path, app.settings)


def _talk(ledger: Ledger, number: int, spoken: _Spoken) -> Talk:
    item = conversations.conversation(ledger, number)
    assert item is not None, "a row that was just read is in it"
    first, last = spoken.by_conversation[number]
    words = dialogue_rows.first_words(ledger, item.source_file, item.first_row, item.last_row)
    return Talk(
        item.id,
        item.session_id,
        dialogue.project_of(ledger, item.source_file),
        item.status,
        first,
        last,
        spoken.turns[number],
        _clipped(words),
    )


def _clipped(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _BEGINNING else f"{line[: _BEGINNING - 1].rstrip()}…"


def _changes(store: Store, generation: Generation) -> list[MemoryChange]:
    try:
        return memory_changes(store.diff_of(generation))
    except StoreError:
        return []  # Its bytes are damaged: `reverie diff` with its id says so.


def _kind(change: MemoryChange) -> str:
    word = change.word
    if word in LEARNED:
        return "learned"
    if word in FORGOTTEN:
        return "forgotten"
    sides = [side for side in (change.before, change.after) if side is not None]
    return "changed" if len({tuple(getattr(side, key) for key in _SAYS) for side in sides}) > 1 else "touched"


def _deed(change: MemoryChange, generation: Generation) -> Deed:
    at = iso(generation.at) if generation.at else ""
    return Deed(change.memory.name, change.word, at, change.memory.description)


def _count(counts: Counts, store: Store, generation: Generation) -> None:
    """Count the memories of one change, as the page of its day lists them."""
    for change in _changes(store, generation):
        kind = _kind(change)
        setattr(counts, kind, getattr(counts, kind) + 1)


def _happened(counts: Counts) -> bool:
    return any(getattr(counts, name) for name in Counts.__slots__ if name != "day")


def _total(name: str, days: Iterable[Counts]) -> Counts:
    total = Counts(name)
    for counts in days:
        for number in Counts.__slots__:
            if number != "day":
                setattr(total, number, getattr(total, number) + getattr(counts, number))
    return total
