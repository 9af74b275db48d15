"""Plain search for a person: the words of a question in the memories of one store, or of all.

Unlike recall it has no floor and no budget, and it looks at the files first, so it finds what was written
a moment ago.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal

from pipeline.app import scopes
from pipeline.app.application import App
from pipeline.app.scopes import Scope, scope_of
from pipeline.context import open_store
from pipeline.core.clock import iso
from pipeline.core.errors import ConfigError, EmbeddingError, InputError, SpendError
from pipeline.core.home import Home
from pipeline.hooklib.plain import clipped, lines_of
from pipeline.ledger import calls, files
from pipeline.search import index_reader, semantic
from pipeline.search.refresh import refresh_archive_index, refresh_index
from pipeline.store import ARCHIVE, Document, Store, is_retired, scan_archive
from pipeline.text import stems
from pipeline.text.tokens import terms
from pipeline.verify.provenance import said_at

SNIPPET = 100
"""Characters of a memory's text that are shown beside its name."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory found.

    `scope` is ``user`` for one of all projects, ``team`` for a team's, else ``project``, or ``both`` where
    the project here and all projects have it word for word. `score` is the share of the question that it
    holds, from 0 to 1, rare words weighing more; `said` is when it was last said (ISO 8601), or "" when
    nobody knows; `path` is relative to `store`.
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
    scope: Literal[Scope, "both"] = "project"


def search(
    app: App,
    query: str,
    *,
    limit: int = 10,
    everywhere: bool = False,
    retired: bool = False,
    problems: list[str] | None = None,
) -> list[Hit]:
    """Return up to `limit` memories that hold words of `query`, best first.

    Where ``[embeddings]`` names a provider, those whose vectors are like the query's count as well; why that
    could not be is added to `problems`.

    A query of stop words and single letters, such as `R` or `WHO`, is looked for as it is written.
    Looked at are the store here, its team's and the user-scope one, and every store the ledger knows if
    `everywhere`; retired ones only when asked for. What the project here and all projects both say is said
    once, as the project's. Raises InputError when `query` is empty or there is no store, and SearchError.
    """
    if not terms(query):
        return _literal(app, query, limit=limit, everywhere=everywhere, retired=retired)
    hits: list[Hit] = []
    stores = list(_stores(app, everywhere))
    for store in stores:
        now = app.clock.now()
        refresh_index(app.home, store, now)
        alike = _likeness(app, store, query, problems)
        hits += _hits(app.home, store, query, limit, retired, alike=alike)
        if retired:
            refresh_archive_index(app.home, store, now)
            hits += _hits(app.home, store, query, limit, retired, ARCHIVE)
    return sorted(_once(app, stores, hits), key=lambda hit: (-hit.score, hit.store, hit.path))[:limit]


def _literal(app: App, query: str, *, limit: int, everywhere: bool, retired: bool) -> list[Hit]:
    """Return the memories in which `query` stands as it is, no letter or digit beside it.

    A query with a capital letter means just that one: `IT` is not “it”.
    """
    wanted = query.strip(" \t\n\"'`“”")
    if not wanted:
        raise InputError("there is no word to look for", fix="Give a word of the memory.")
    exact = any(char.isupper() for char in wanted)
    pattern = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)", 0 if exact else re.IGNORECASE)
    hits: list[Hit] = []
    stores = list(_stores(app, everywhere))
    for store in stores:
        documents = [(document, is_retired(document.front)) for document in store.scan().documents]
        documents += [(document, True) for document in scan_archive(store.root).documents] if retired else []
        for document, gone in documents:
            memory = document.memory
            lines = [" ".join(line.split()) for line in lines_of(memory.body) if pattern.search(line)]
            fields = (memory.name, memory.title, memory.description, *memory.tags)
            if (retired or not gone) and (lines or any(map(pattern.search, fields))):
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
    return sorted(_once(app, stores, hits), key=lambda hit: (hit.store, hit.path))[:limit]


def _once(app: App, stores: Sequence[Store], hits: Sequence[Hit]) -> list[Hit]:
    """Return `hits` of `stores` with their scopes; what the project here and all projects say comes once."""
    everyone = str(Home(app.home).user_store)
    folders: dict[str, Scope] = {str(app.store_path): scope_of(app), everyone: "user"}
    live: dict[tuple[str, str], Hit] = {(hit.store, hit.path): hit for hit in hits if not hit.retired}
    alike: list[tuple[Scope, Document]] = []
    if all(any(hit.store == folder for hit in live.values()) for folder in folders):
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
            more += [store_path for store_path in map(Path, files.stores(ledger)) if store_path.is_dir()]
    seen = set[Path]()
    if app.store_path.is_dir() or not more:
        here = app.open_store()
        seen.add(here.root)
        yield here
    if app.store_override is None and app.team_path is not None:
        more.insert(0, app.team_path)
    for store_path in more:
        store = open_store(store_path, app.settings)
        if store.root not in seen:
            seen.add(store.root)
            yield store


def _hits(
    home: Path,
    store: Store,
    query: str,
    limit: int,
    retired: bool,
    folder: str = "",
    alike: Mapping[str, float] | None = None,
) -> Iterator[Hit]:
    with index_reader.Reader(index_reader.index_path(str(home), str(store.root / folder))) as reader:
        forms, small = stems.asked(query, reader.languages())
        asked = [term for term in terms(query) if term not in small] or terms(query)
        # What is hidden must not take the place of what is shown, so all are asked for.
        rows = reader.candidates(asked, reader.count(), forms)
        if alike:
            rows = semantic.fused(reader, rows, alike)
        weights = {
            term: math.log(1 + reader.count() / max(1, reader.document_count(term, forms.get(term, ()))))
            for term in asked
        }
    for row in rows:
        row.score = _share(stems.met(row.fields, row.stems, forms), weights)
    rows.sort(key=lambda row: -row.score)  # those of equal scores stay as BM25 has them
    for row in islice((row for row in rows if retired or not row.shown["archived"]), limit):
        shown = row.shown
        yield Hit(
            name=shown["name"],
            type=shown["type"],
            said=shown["said"],
            score=round(row.score, 4),
            snippet=_snippet(shown["body"], {*asked, *(form for found in forms.values() for form in found)})
            or shown["description"],
            description=shown["description"],
            store=str(store.path),
            path=row.path,
            retired=bool(folder) or shown["archived"],
        )


def _share(fields: Sequence[str], weights: Mapping[str, float]) -> float:
    held = set(" ".join(fields).split())
    found = [term for term in weights if term in held or (index_reader.is_lone(term) and _begins(term, held))]
    return math.fsum(weights[term] for term in found) / math.fsum(weights.values())


def _begins(term: str, held: set[str]) -> bool:
    return any(other.startswith(term) for other in held)


def _likeness(app: App, store: Store, query: str, problems: list[str] | None) -> dict[str, float]:
    """Return how like `query` each memory is, by path; nothing while vectors are off or can't be had."""
    if store.is_team or not semantic.is_on(app.settings.embeddings):
        return {}
    try:
        app.require_settings()
        with app.ledger() as ledger:
            meter = calls.LedgerMeter(ledger, app.settings.spend, app.clock)
            return semantic.cosines(store, store.scan().documents, query, app.settings.embeddings, meter)
    except (ConfigError, EmbeddingError, SpendError) as error:
        if problems is not None:
            problems.append(f"{store.path}: by words alone: {error} {error.fix}")
        return {}


def _snippet(body: str, asked: set[str]) -> str:
    """Return the line of `body` that holds most of the words, cut to fit; the first of equals, "" if none."""
    lines = [" ".join(line.split()) for line in lines_of(body)]
    best = max(lines, key=lambda line: len(asked & set(terms(line))), default="")
    if not asked & set(terms(best)):
        return ""
    return clipped(best, SNIPPET)
