"""Plain search for a person: the words of a question in the memories of one store, or of all.

Unlike recall it has no floor and no budget, and it looks at the files first, so it finds what was written
a moment ago.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path

from pipeline.app import scopes
from pipeline.app.application import App
from pipeline.app.scopes import Scope, Where, scope_of
from pipeline.context import known_stores, open_store
from pipeline.core.clock import iso
from pipeline.core.errors import ConfigError, EmbeddingError, InputError, SpendError
from pipeline.core.home import Home
from pipeline.hooklib.asleep import ARCHIVED, DORMANT, hidden_in
from pipeline.hooklib.plain import clipped, lines_of
from pipeline.ledger import calls
from pipeline.safety.invisible import visible
from pipeline.search import index_reader, ranking, semantic, ties
from pipeline.search.index_reader import Reader, Row
from pipeline.search.refresh import refresh_archive_index, refresh_changed_archive_index, refresh_index
from pipeline.store import ARCHIVE, Document, Store, is_retired, scan_archive
from pipeline.text.tokens import terms
from pipeline.verify.provenance import said_at

SNIPPET = 100
"""Characters of a memory's text that are shown beside its name."""
FURTHER = 3
"""Memories shown by way of others, beside those that the question led to."""
EXPANDED = 6
"""The same where a model gave further phrases."""
PER_PHRASE = 10


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory found.

    `scope` is ``user`` for one of all projects, ``team`` for a team's, else ``project``, or ``both`` where
    the project here and all projects have it word for word. `score` is the share of the question that it
    holds, from 0 to 1, rare words weighing more; `said` is when it was last said (ISO 8601), or "" when
    nobody knows; `path` is relative to `store`; `via` is the memory, or the phrase, by way of which it was
    found, "" where the question led to it.
    """

    name: str
    type: str
    said: str
    score: float
    snippet: str
    description: str
    store: str
    path: str
    retired: bool
    scope: Where = "project"
    via: str = ""


@dataclass(slots=True)
class _Shelf:
    """The memories of one store, or of its archive, with what the question's terms weigh in it."""

    store: Store
    reader: Reader
    folder: str
    asked: ranking.Asked
    rows: list[tuple[Row, ranking.Ranked]] = field(default_factory=list)
    hidden: Mapping[str, str] = field(default_factory=dict)
    """The band of each memory that is not told of, by path."""

    def tellable(self, *, retired: bool) -> Iterator[tuple[Row, ranking.Ranked]]:
        """Yield what was found and may be told of, the best first."""
        return (found for found in self.rows if self.tells_of(found[0], retired=retired))

    def tells_of(self, row: Row, *, retired: bool = False) -> bool:
        """Whether `row` may be told of, with `retired` also if it is no longer in use."""
        return row.path not in self.hidden and (retired or not row.shown["archived"])

    def hit(
        self,
        row: Row,
        share: float,
        via: str = "",
        asked: ranking.Asked | None = None,
        *,
        snippet: bool = True,
    ) -> Hit:
        """Return what is told of `row`."""
        shown = row.shown
        text = _snippet(shown["body"], (asked or self.asked).words) if snippet else ""
        return Hit(
            name=shown["name"],
            type=shown["type"],
            said=shown["said"],
            score=round(share, 4),
            snippet=text or shown["description"],
            description=shown["description"],
            store=str(self.store.path),
            path=row.path,
            retired=bool(self.folder) or shown["archived"],
            via=via,
        )


def search(
    app: App,
    query: str,
    *,
    limit: int = 10,
    further: int = 0,
    phrases: Sequence[str] = (),
    everywhere: bool = False,
    retired: bool = False,
    dormant: bool = False,
    snippets: bool = True,
    by_meaning: bool = True,
    weighed: int = 0,
    archived: bool = False,
    left_out: Counter[str] | None = None,
    problems: list[str] | None = None,
) -> list[Hit]:
    """Return up to `limit` memories that hold words of `query`, best first.

    After them, and never in their place, come up to `further` more: those that hold words of `phrases`, and
    those tied to the first ones (`search.ties`).

    Where ``[embeddings]`` names a provider, those whose vectors are like the query's count as well, if
    `by_meaning`; why that could not be is added to `problems`. Without `snippets` nothing is read for them.
    Of each store at most `weighed` memories (0: all) that hold a word are weighed, the best by BM25: words
    that are in thousands need it while somebody types.

    A query of stop words and single letters, such as `R` or `WHO`, is looked for as it is written.
    With `archived` those of that band count too; `left_out` gets how many sleep by band, where a line of
    `problems` would say it.
    Looked at are the store here, its team's and the user-scope one, and every known store if
    `everywhere`; retired and dormant ones only when asked for, and `problems` tells how many sleep. What the
    project here and all projects both say is said once, as the project's. Raises InputError when `query` is
    empty or there is no store, and SearchError.
    """
    query = visible(query)
    hidden = partial(_hidden, dormant=dormant, archived=archived)
    sleeping = partial(_note_sleeping, left_out, problems)
    if not terms(query):
        return _literal(app, query, hidden, sleeping, limit=limit, everywhere=everywhere, retired=retired)
    stores = list(_stores(app, everywhere))
    likeness = partial(_likeness, app, by_meaning)
    with ExitStack() as stack:
        shelves = [
            shelf
            for store in stores
            for shelf in _opened(app, stack, store, query, retired, likeness(store, query, problems), weighed)
        ]
        for shelf in shelves:
            shelf.hidden = {} if shelf.folder else hidden(shelf.store)
        sleeping(shelf.hidden.get(row.path) for shelf in shelves for row, _ in shelf.rows)
        found = [
            (row, rank, shelf)
            for shelf in shelves
            for row, rank in islice(shelf.tellable(retired=retired), limit)
        ]
        found.sort(key=lambda item: (-item[1].worth, -item[1].share, str(item[2].store.path), item[0].path))
        direct = [shelf.hit(row, rank.share, snippet=snippets) for row, rank, shelf in found]
        once = _once(app, stores, direct)
        hits = once[:limit]
        more: list[Hit] = []
        if further > 0 and hits:
            kept = {(hit.store, hit.path) for hit in once}
            known = [*hits, *(hit for hit in direct if (hit.store, hit.path) not in kept)]
            more = _by_phrases(shelves, phrases, known, further)
            more += _tied(shelves, hits, [*known, *more], further - len(more))
    return [*hits, *(hit for hit in _once(app, stores, [*direct, *more]) if hit.via)] if more else hits


def _opened(
    app: App,
    stack: ExitStack,
    store: Store,
    query: str,
    retired: bool,
    alike: Mapping[str, float],
    weighed: int,
) -> Iterator[_Shelf]:
    """Yield `store`, and its archive where that is asked for, with what they hold of the question."""
    now = app.clock.now()
    refresh_index(app.home, store, now)
    yield _open_shelf(app.home, stack, store, "", query, alike, weighed)
    if retired:
        refresh_archive_index(app.home, store, now)
        yield _open_shelf(app.home, stack, store, ARCHIVE, query, {}, weighed)


def _open_shelf(
    home: Path,
    stack: ExitStack,
    store: Store,
    folder: str,
    query: str,
    alike: Mapping[str, float],
    weighed: int,
) -> _Shelf:
    file = index_reader.index_path(str(home), str(store.root / folder))
    reader = stack.enter_context(Reader(file))
    asked = ranking.Asked(query, reader)
    # What is hidden must not take the place of what is shown, so all are asked for.
    rows = asked.candidates(weighed or reader.count())
    if alike:
        rows = semantic.fused(reader, rows, alike)
    by_path = {row.path: row for row in rows}
    scores = {row.path: row.score for row in rows}
    ranked = ranking.ranked(scores, lambda path: asked.held(by_path[path]), asked.weights)
    return _Shelf(store, reader, folder, asked, [(by_path[rank.path], rank) for rank in ranked])


def archived_hits(app: App, query: str, *, everywhere: bool = False) -> int:
    """Return how many memories in the archives of the stores that `search` looks at hold words of `query`."""
    query, now, found = visible(query), app.clock.now(), 0
    if not terms(query):
        return 0
    for store in _stores(app, everywhere):
        if not refresh_changed_archive_index(app.home, store, now):
            continue
        with Reader(index_reader.index_path(str(app.home), str(store.root / ARCHIVE))) as reader:
            found += len(ranking.Asked(query, reader).candidates(reader.count()))
    return found


def _by_phrases(
    shelves: Sequence[_Shelf], phrases: Sequence[str], known: Sequence[Hit], limit: int
) -> list[Hit]:
    """Return up to `limit` memories that hold words of `phrases`, each phrase's best in turn.

    Who gave the phrases has taken out what nobody sees (`app.expanding`).
    """
    seen = {(hit.store, hit.path) for hit in known}
    found: list[tuple[int, float, Hit]] = []
    for phrase in phrases:
        best = []
        for shelf in shelves:
            if shelf.folder:
                continue
            asked = ranking.Asked(phrase, shelf.reader)
            rows = {row.path: row for row in asked.candidates(PER_PHRASE)}
            held = {path: asked.held(row) for path, row in rows.items()}
            scores = {path: row.score for path, row in rows.items()}
            for rank in ranking.ranked(scores, held.__getitem__, asked.weights):
                row = rows[rank.path]
                if shelf.tells_of(row):
                    best.append((rank.worth, shelf.hit(row, rank.share, f"“{phrase}”", asked)))
        best.sort(key=lambda item: (-item[0], item[1].store, item[1].path))
        new = [(worth, hit) for worth, hit in best if (hit.store, hit.path) not in seen]
        for turn, (worth, hit) in enumerate(new[:limit]):
            found.append((turn, -worth, hit))
    listed: dict[tuple[str, str], Hit] = {}
    for _, _, hit in sorted(found, key=lambda item: item[:2]):
        listed.setdefault((hit.store, hit.path), hit)
    return list(listed.values())[:limit]


def _tied(shelves: Sequence[_Shelf], seeds: Sequence[Hit], known: Sequence[Hit], limit: int) -> list[Hit]:
    """Return up to `limit` memories tied to the first of `seeds`, none of `known`."""
    live = [shelf for shelf in shelves if not shelf.folder]
    numbers = {str(shelf.store.path): number for number, shelf in enumerate(live)}
    rows = []
    for hit in [hit for hit in seeds if not hit.retired][: ties.SEEDS]:
        number = numbers[hit.store]
        rows += [(number, row, hit.score) for row in live[number].reader.rows([hit.path])]
    seen = {(numbers[hit.store], hit.path) for hit in known if not hit.retired}
    seen |= {(number, path) for number, shelf in enumerate(live) for path in shelf.hidden}
    found = ties.further([shelf.reader for shelf in live], rows, seen, [shelf.asked for shelf in live], limit)
    listed = []
    for rank in found:
        shelf = live[rank.store]
        share = ranking.share_of(shelf.asked.held(rank.row), shelf.asked.weights)
        listed.append(shelf.hit(rank.row, share, str(rank.via.shown["name"])))
    return listed


def _hidden(store: Store, *, dormant: bool, archived: bool) -> Mapping[str, str]:
    """Return those of `store` that are not to be told of, with the band of each."""
    return {} if archived else hidden_in(str(store.root), dormant=dormant)


def _note_sleeping(
    left_out: Counter[str] | None, problems: list[str] | None, bands: Iterable[str | None]
) -> None:
    """Note hits that are left out, each with its band, in `left_out` if it is given, else in `problems`."""
    number = Counter(filter(None, bands))
    if left_out is not None:
        left_out.update(number)
    elif problems is not None:
        problems += _asleep(number)


def _asleep(number: Mapping[str, int]) -> list[str]:
    """Return a line about hits that are left out, by the number of each band; none where there are none."""
    parts = []
    for band, how in (
        (DORMANT, "--dormant shows them"),
        (ARCHIVED, "--asleep shows them, `reverie show NAME` wakes one"),
    ):
        if count := number.get(band, 0):
            parts.append(f"{count} more {'is' if count == 1 else 'are'} {band}: {how}")
    return [f"{'; '.join(parts)}."] if parts else []


def _literal(
    app: App,
    query: str,
    hidden_of: Callable[[Store], Mapping[str, str]],
    sleeping: Callable[[Iterable[str]], None],
    *,
    limit: int,
    everywhere: bool,
    retired: bool,
) -> list[Hit]:
    """Return the memories in which `query` stands as it is, no letter or digit beside it.

    A query with a capital letter means just that one: `IT` is not “it”.
    """
    wanted = query.strip(" \t\n\"'`“”")
    if not wanted:
        raise InputError("there is no word to look for", fix="Give a word of the memory.")
    exact = any(char.isupper() for char in wanted)
    pattern = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)", 0 if exact else re.IGNORECASE)
    hits: list[Hit] = []
    left: list[str] = []
    stores = list(_stores(app, everywhere))
    for store in stores:
        hidden = hidden_of(store)
        documents = [(document, is_retired(document.front)) for document in store.scan().documents]
        documents += [(document, True) for document in scan_archive(store.root).documents] if retired else []
        for document, gone in documents:
            memory = document.memory
            lines = [" ".join(line.split()) for line in lines_of(memory.body) if pattern.search(line)]
            fields = (memory.name, memory.title, memory.description, *memory.tags)
            if not (retired or not gone) or not (lines or any(map(pattern.search, fields))):
                continue
            if document.path in hidden:
                left.append(hidden[document.path])
            else:
                moment = said_at(memory)
                snippet = clipped((lines or [memory.description])[0], SNIPPET)
                hits.append(
                    Hit(
                        memory.name,
                        memory.type,
                        iso(moment) if moment else "",
                        1.0,
                        snippet,
                        memory.description,
                        str(store.path),
                        document.path,
                        gone,
                    )
                )
    sleeping(left)
    return sorted(_once(app, stores, hits), key=lambda hit: (hit.store, hit.path))[:limit]


def _once(app: App, stores: Sequence[Store], hits: Sequence[Hit]) -> list[Hit]:
    """Return `hits` of `stores` with their scopes; what two of them say word for word here comes once."""
    everyone = str(Home(app.home).user_store)
    folders: dict[str, Scope] = {str(app.store_path): scope_of(app), everyone: "user"}
    if app.team_path is not None:
        folders[str(app.team_path)] = "team"
    live: dict[tuple[str, str], Hit] = {(hit.store, hit.path): hit for hit in hits if not hit.retired}
    alike: list[tuple[Scope, Document]] = []
    if len({hit.store for hit in live.values()} & folders.keys()) > 1:
        for store in stores:
            documents = store.scan().documents if str(store.path) in folders else []
            alike += [
                (folders[str(store.path)], document)
                for document in documents
                if (str(store.path), document.path) in live
            ]
    kept = {id(document): where for where, document in scopes.once(alike)}
    scope_by_path = {(scope, document.path): kept.get(id(document)) for scope, document in alike}
    teams = {str(store.path) for store in stores if store.is_team}
    found = []
    for hit in hits:
        own: Scope = "user" if hit.store == everyone else "team" if hit.store in teams else "project"
        scope = scope_by_path.get((own, hit.path), own) if hit.store in folders and not hit.retired else own
        if scope is not None:
            found.append(replace(hit, scope=scope))
    return found


def _stores(app: App, everywhere: bool) -> Iterator[Store]:
    """Yield the stores to look at, each once."""
    everyone = Home(app.home).user_store
    more = [everyone] if everyone.is_dir() else []
    if everywhere and Home(app.home).ledger.exists():
        with app.ledger(to_look=True) as ledger:
            more += known_stores(ledger)
    elif everywhere:
        more += known_stores(None)
    seen = set[Path]()
    if app.store_path.is_dir() or not more:
        here = app.open_store()
        seen.add(here.root)
        yield here
    if app.store_override is None and app.team_path is not None:
        more.insert(0, app.team_path)
    # Those of a server stay open; one that was named is alone.
    kept = {scope.store_path: scope for scope in scopes.all_of(app) if not scope.is_fresh}
    for store_path in more:
        scope = kept.get(store_path)
        store = scope.open_store() if scope is not None else open_store(store_path, app.settings)
        if store.root not in seen:
            seen.add(store.root)
            yield store


def _likeness(
    app: App, by_meaning: bool, store: Store, query: str, problems: list[str] | None
) -> dict[str, float]:
    """Return how like `query` each memory is, by path; nothing while vectors are off or can't be had."""
    if not by_meaning or store.is_team or not semantic.is_on(app.settings.embeddings):
        return {}
    try:
        app.require_settings()
        with app.ledger() as ledger:
            meter = calls.LedgerMeter(ledger, app.settings.spend, app.clock)
            return semantic.cosines(store, store.scan().documents, query, app.settings.embeddings, meter)
    except (ConfigError, EmbeddingError, SpendError) as error:
        if problems is not None:
            problems.append(f"{store.path}: by words alone: {error}. {error.fix}")
        return {}


def _snippet(body: str, asked: set[str]) -> str:
    """Return the line of `body` that holds most of the words, cut to fit; the first of equals, "" if none."""
    lines = [" ".join(line.split()) for line in lines_of(body)]
    best = max(lines, key=lambda line: len(asked & set(terms(line))), default="")
    if not asked & set(terms(best)):
        return ""
    return clipped(best, SNIPPET)
