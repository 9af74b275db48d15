"""The memories as one browses them: by words, by filters, or by both; each with its band.

What has words comes from the search index, the best first; what has none from the catalogue, in an order that
is chosen. The rest of a memory is read only for the rows that are shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline.app import listing, scopes, search
from pipeline.app.application import App, problems_of
from pipeline.app.listing import LONG_AGO, Listed
from pipeline.app.scopes import Scope, scope_of
from pipeline.app.selecting import MOST
from pipeline.core.errors import UsageError
from pipeline.domain.memory import TYPES
from pipeline.hooklib.asleep import ARCHIVED, asleep_in
from pipeline.hooklib.memory_format import EDITED_BY_HAND, SPEAKERS, THE_TEAM, UNVERIFIED, is_teams
from pipeline.search.refresh import borne_out
from pipeline.store import Document
from pipeline.store.catalogue.sieve import Sieve
from pipeline.store.catalogue.sleep import AWAKE, WORDS
from pipeline.store.files.kept import micros

SPOKEN_BY = (*dict.fromkeys(SPEAKERS.values()), THE_TEAM, EDITED_BY_HAND, UNVERIFIED)
"""Who says a memory, as far as that is borne out: what one can filter by."""
AGES = {
    "1": "in the last day",
    "7": "in the last 7 days",
    "30": "in the last 30 days",
    "365": "in the last year",
    "over-30": "more than 30 days ago",
    "over-365": "more than a year ago",
}
"""When a memory was last written, by what stands for it in an address."""
EVERY = 1_000_000
"""Hits of a search in which nothing is left out for its rank."""
_OVER = "over-"
_WEIGHED = 2
"""For each memory of the list so many that BM25 alone thinks best are looked into."""
_Found = tuple[str, Document]
"""A memory, and the scope it is in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is looked for; an empty field stands for all. `by` is one of `SPOKEN_BY`, `age` one of `AGES`."""

    words: str = ""
    type: str = ""
    scope: str = ""
    by: str = ""
    age: str = ""
    band: str = ""
    sort: str = "changed"

    @property
    def is_narrowed(self) -> bool:
        """Whether not all memories are meant."""
        return bool(self.words.strip()) or self.is_filtered

    @property
    def is_filtered(self) -> bool:
        """Whether something but words narrows it."""
        return any((self.type, self.scope, self.by, self.age, self.band))


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory of the list: what is told of it, its band ("" where it is awake), the name that means it."""

    row: Listed
    band: str
    ref: str

    @property
    def scope(self) -> str:
        """Return the scope to look for it in; of one that two scopes have, the project's."""
        return _home_of(self.row.scope)


def browse(
    app: App,
    wanted: Wanted,
    *,
    start: int = 0,
    limit: int,
    most: int = MOST,
    by_meaning: bool = True,
    left_out: Counter[str] | None = None,
) -> tuple[list[Shown], int, list[str]]:
    """Return `limit` of what is `wanted` after the first `start`, how many there are, and lines about what
    could not be looked at.

    With words at most `most`, the best first; where filters take some of them away, of the best `MOST`. Of
    words the archived memories are found only where that band is asked for; `left_out` gets their number.
    Without `by_meaning` no embedding is asked for. Raises UsageError for a filter that there is not, and what
    `search.search` raises.
    """
    _require_known(wanted)
    problems: list[str] = []
    there: dict[str, App] = {scope_of(scope): scope for scope in scopes.all_of(app) if not scope.is_fresh}
    if wanted.words.strip():
        left_out = Counter[str]() if left_out is None else left_out
        found = list(_searched(app, there, wanted, problems, by_meaning, most, left_out))
    else:
        found = _every(there, wanted, problems)
    bands = {name: _bands(scope, wanted.band) for name, scope in there.items()}
    rows = _chosen(app, wanted, found)
    if wanted.band:
        rows = [item for item in rows if bands[_home_of(item[0])].get(item[1].path, "") == wanted.band]
    if not wanted.words.strip():
        rows = _in_order(rows, wanted.sort)
    part = rows[start : start + limit]
    names = _counted(rows, {document.name for _, document in part})
    Sieve.bring(document for _, document in part)
    # Who says it is looked up for what is shown alone: the ledger is asked for each.
    proved = _proved(app, part)
    shown = []
    for where, document in part:
        clear = names[_home_of(where), document.name] == 1 and document.name.strip(".")
        row = listing.listed(document, where, proved)
        band = bands[_home_of(where)].get(document.path, "")
        shown.append(Shown(row, band, row.name if clear else row.path))
    return shown, len(rows), problems


def _counted(rows: Iterable[_Found], names: Collection[str]) -> Counter[tuple[str, str]]:
    """Return how often each of `names` is there, by the scope it is in."""
    return Counter((_home_of(where), document.name) for where, document in rows if document.name in names)


def _chosen(app: App, wanted: Wanted, found: list[_Found]) -> list[_Found]:
    """Return those of `found` that are of the age, and said by whom, one wants."""
    now, rows = app.clock.now(), found
    if wanted.age:
        rows = [item for item in rows if _is_of_age(item[1].changed_us, wanted.age, now)]
    if wanted.by:
        proved = _proved(app, rows)
        rows = [item for item in rows if _says(wanted.by, listing.listed(item[1], item[0], proved).by)]
    return rows


def _in_order(rows: list[_Found], sort: str) -> list[_Found]:
    """Return `rows` as `listing.in_order` would put them; by most orders nothing is read for it."""
    if sort == "name":
        return sorted(rows, key=lambda item: item[1].name)
    if sort == "type":
        return sorted(rows, key=lambda item: (item[1].kind, item[1].name))
    if sort == "changed":
        return sorted(rows, key=lambda item: _since(item[1].changed_us), reverse=True)
    return sorted(rows, key=lambda item: listing.when_said(item[1]), reverse=True)


def _proved(app: App, found: Iterable[tuple[str, Document]]) -> set[str]:
    return borne_out(app.home, [document for _, document in found])


def _searched(
    app: App,
    there: Mapping[str, App],
    wanted: Wanted,
    problems: list[str],
    by_meaning: bool,
    most: int,
    left_out: Counter[str],
) -> Iterator[tuple[str, Document]]:
    if not there:
        return
    # They are the last of what words find: of all that is found they are picked out.
    archived = wanted.band == ARCHIVED
    most = MOST if wanted.is_filtered else min(most, MOST)
    hits = search.search(
        app,
        wanted.words,
        limit=EVERY if archived else most,
        dormant=True,
        archived=archived,
        left_out=left_out,
        snippets=False,
        by_meaning=by_meaning,
        weighed=0 if archived else min(MOST, _WEIGHED * most),
        problems=problems,
    )
    # The search looked at every store just now.
    stores = [scope.open_store() for scope in there.values()]
    known: dict[str, dict[str, Document]] = {}
    for hit in hits:
        if (wanted.type and hit.type != wanted.type) or not scopes.in_scope(hit.scope, wanted.scope):
            continue
        if hit.store not in known:
            store = next((store for store in stores if str(store.path) == hit.store), None)
            documents = store.last_look().documents if store is not None else []
            known[hit.store] = {document.path: document for document in documents}
        document = known[hit.store].get(hit.path)
        if document is not None:
            yield hit.scope, document


def _every(there: Mapping[str, App], wanted: Wanted, problems: list[str]) -> list[_Found]:
    """Return all memories but for filters that take more."""
    found: list[tuple[Scope, Document]] = []
    for name, scope in there.items():
        look, where = scope.open_store().scan(), scope_of(scope)
        found += [(where, item) for item in look.documents if not wanted.type or item.kind == wanted.type]
        problems += problems_of(look) if scopes.in_scope(name, wanted.scope) else []
    rows = scopes.once(found) if len(there) > 1 else found
    return [(where, item) for where, item in rows if scopes.in_scope(where, wanted.scope)]


def _home_of(where: str) -> str:
    return "project" if where in ("both", "shared") else where


def _bands(scope: App, wanted: str) -> Mapping[str, str]:
    """Return the band of memories by path: those that sleep, and every other where one asks for them."""
    store = scope.open_store()
    if wanted not in AWAKE:
        return asleep_in(str(store.root))
    found = store.decay(now=scope.clock.now(), keep=False)
    return {path: found.word_of(path) for path in found.scores}


def _says(wanted: str, by: str) -> bool:
    """Whether `by` is who is `wanted`; the team is each of its members."""
    return by == wanted or (wanted == THE_TEAM and is_teams(by))


def _since(changed_us: int | None) -> int:
    return micros(LONG_AGO) if changed_us is None else changed_us


def _is_of_age(changed_us: int | None, age: str, now: datetime) -> bool:
    days = int(age.removeprefix(_OVER))
    older = _since(changed_us) < micros(now - timedelta(days=days))
    return older if age.startswith(_OVER) else not older


def _require_known(wanted: Wanted) -> None:
    known: Iterable[tuple[str, str, Iterable[str]]] = (
        ("type", wanted.type, TYPES),
        ("scope", wanted.scope, ("project", "team", "user")),
        ("speaker", wanted.by, (*SPOKEN_BY, "unknown")),
        ("age", wanted.age, AGES),
        ("band", wanted.band, WORDS),
        ("order", wanted.sort, listing.SORTS),
    )
    for what, value, values in known:
        if value and value not in values:
            raise UsageError(f"there is no {what} {value!r}", fix="Choose one of the list.")
