"""Vectors in use: those of a store kept in step, and asked. Nothing is done while ``[embeddings]`` is off.

Each question that leaves the machine is booked and bounded like any model call; what is made here or by a
server on this machine costs nothing and is not.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from pipeline.core.clock import Clock
from pipeline.core.errors import EmbeddingError, ReverieError, UnavailableError, cause
from pipeline.core.ids import digest, new_id
from pipeline.ledger import Ledger, calls, outages
from pipeline.llm.budget import Usage, dollars, estimate_tokens
from pipeline.search import index_reader
from pipeline.search import vectors as embeddings
from pipeline.search.vectors import Embedder, Nearest, Refreshed
from pipeline.search.vectors.embedder import BATCH
from pipeline.search.vectors.remote import PROBE_SECONDS, Server, is_remote
from pipeline.store import Document, Store

if TYPE_CHECKING:
    from pipeline.config import EmbeddingSettings, Settings
    from pipeline.llm import Meter

LOG = logging.getLogger("reverie.search")
_OUTAGE = "embeddings"
PER_PASS = 500
"""Vectors made in one pass of the worker, so that a large store's first ones don't hold up the rest."""


class Metered:
    """An embedder whose questions are booked with `meter`, which may refuse one (SpendError)."""

    def __init__(self, embedder: Embedder, meter: Meter) -> None:
        self._embedder = embedder
        self._meter = meter

    @property
    def name(self) -> str:
        """Return the provider's name."""
        return self._embedder.name

    @property
    def model(self) -> str:
        """Return the model's name."""
        return self._embedder.model

    @property
    def dim(self) -> int:
        """Return how many numbers a vector has, 0 while that is not known."""
        return self._embedder.dim

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a unit vector for each text. Raises EmbeddingError, and SpendError at a cap."""
        vectors: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            vectors += self._ask(texts[start : start + BATCH])
        return vectors

    def _ask(self, batch: Sequence[str]) -> list[list[float]]:
        whole = "\x1e".join(batch)
        usage = Usage(estimate_tokens(whole), estimated=True)
        call = self._meter.begin(
            purpose="embed", provider=self.name, model=self.model, prompt_digest=digest(whole), estimate=usage
        )
        try:
            vectors = self._embedder.embed(batch)
        except ReverieError:
            self._meter.end(call, outcome="failed", usage=Usage(), dollars=0.0)
            raise
        self._meter.end(call, outcome="ok", usage=usage, dollars=dollars(self.model, usage))
        return vectors


def is_on(settings: EmbeddingSettings) -> bool:
    """Whether a provider of vectors is set."""
    return settings.provider != "off"


def by_key(documents: Iterable[Document]) -> dict[str, Document]:
    """Return each memory under what names its vector: its id, or its path when it has none of its own."""
    found: dict[str, Document] = {}
    for item in documents:
        found[item.id if item.id and item.id not in found else f"path:{item.path}"] = item
    return found


def texts(documents: Iterable[Document]) -> dict[str, str]:
    """Return the text that stands for each memory, by its key. No file is read."""
    return {key: embeddings.text_of(item.head, item.preview) for key, item in by_key(documents).items()}


def refresh(
    store: Store,
    settings: EmbeddingSettings,
    now: datetime,
    meter: Meter,
    *,
    most: int | None = None,
    anew: bool = False,
    change: bool = False,
    within: float = 0.0,
) -> Refreshed:
    """Give every memory of `store` a vector of its present text; see `embeddings.refresh`.

    With `change` another provider may take over from one that does not answer. A server may take `within`
    seconds for an answer, 0 for as long as usual. Raises EmbeddingError when
    nobody can make vectors, and for a team's store, ConfigError, and StoreError or OSError for the store.
    """
    if store.is_team:
        raise EmbeddingError(
            "vectors lie beside the memories, and others write in this folder too",
            fix="What is in it is found by its words.",
        )
    made_by = "" if anew else embeddings.load(store.root).provider
    embedder = embeddings.open_embedder(settings, store.root, made_by=made_by, change=change or anew)
    if within and isinstance(embedder, Server):
        embedder.patience = within
    wanted = texts(store.scan().documents)
    return embeddings.refresh(store.root, wanted, _booked(embedder, meter), now, most=most, anew=anew)


def keep_fresh(store: Store, settings: Settings, ledger: Ledger, clock: Clock, *, run_id: str = "") -> bool:
    """Do in the background what `refresh` does, in bounded steps; return whether no step is left.

    The boundary for its errors.
    What can't be made now is pending; a later pass tries again. A server that does not answer counts as down,
    as a model's provider would, and is not asked by each pass.
    """
    if not is_on(settings.embeddings):
        return True
    held_for = _held_for(settings)
    if outages.in_force(ledger, _OUTAGE, now=clock.now(), held_for=held_for):
        return False
    meter = calls.LedgerMeter(ledger, settings.spend, clock, run_id=run_id)
    try:
        done = refresh(store, settings.embeddings, clock.now(), meter, most=PER_PASS)
    except (ReverieError, OSError) as error:
        LOG.warning("%s: no vectors: %s", store.path, error)
        reason = str(error) if isinstance(error, EmbeddingError) else ""
        pending = True
    else:
        reason, pending = done.reason, bool(done.pending)
        if reason:
            LOG.warning("%s: %d memories without a vector: %s", store.path, done.pending, reason)
        else:
            outages.clear(ledger, _OUTAGE)
    if reason:
        outages.note(ledger, _OUTAGE, UnavailableError(reason), now=clock.now(), held_for=held_for)
    return not pending and not reason


def soon(store: Store, settings: Settings, ledger: Ledger, clock: Clock) -> str:
    """Make the vectors of what was just written, where whoever makes them answers within two seconds.

    Return why some are pending, "" for no such reason: the worker makes them. So it does where more are
    missing than one question holds, or the server is known to be down.
    """
    limits = settings.embeddings
    if not is_on(limits) or store.is_team:
        return ""
    if outages.in_force(ledger, _OUTAGE, now=clock.now(), held_for=_held_for(settings)):
        return "the server is down"
    wanted = texts(store.scan().documents)
    if len(wanted) - len(embeddings.load(store.root).fresh(wanted)) > BATCH:
        return "many are missing"
    meter = calls.LedgerMeter(ledger, settings.spend, clock, run_id=new_id())
    try:
        done = refresh(store, limits, clock.now(), meter, most=BATCH, within=PROBE_SECONDS)
    except (ReverieError, OSError) as error:
        LOG.info("%s: vectors are pending: %s", store.path, error)
        return cause(error)
    return done.reason


def _held_for(settings: Settings) -> str:
    return digest(json.dumps(settings.embeddings.model_dump()))[:16]


def cosines(
    store: Store, documents: Iterable[Document], query: str, settings: EmbeddingSettings, meter: Meter
) -> dict[str, float]:
    """Return, by path, how like `query` each memory is whose vector is fresh (-1 to 1).

    Raises EmbeddingError when there are no vectors to ask, or nobody to make one of `query`.
    """
    held = embeddings.load(store.root)
    if not held.entries:
        raise EmbeddingError("no vectors were made yet", fix="Make them: `reverie embed`.")
    embedder = embeddings.open_embedder(settings, store.root, made_by=held.provider)
    keys = by_key(documents)
    fresh = held.fresh({key: embeddings.text_of(item.head, item.preview) for key, item in keys.items()})
    fits = held.fits(embedder.name, embedder.model, embedder.dim)
    vector = _booked(embedder, meter).embed([query])[0] if fits and query.strip() else []
    if len(vector) != held.dim:
        raise EmbeddingError("the vectors were made by another model", fix="Make them anew: `reverie embed`.")
    return {keys[key].path: score for key, score in Nearest(fresh).scores(vector).items()}


def fused(
    reader: index_reader.Reader, rows: Sequence[index_reader.Row], cosines: Mapping[str, float]
) -> list[index_reader.Row]:
    """Return `rows`, which words found, and those like the question, by their common score, best first.

    Each row's `score` becomes that one, 0 to 1. Raises NoIndexError.
    """
    found = {row.path: row for row in rows}
    scores = embeddings.fuse({row.path: row.score for row in rows}, cosines)
    found |= {row.path: row for row in reader.rows(path for path in scores if path not in found)}
    for path, row in found.items():
        row.score = scores[path]
    return [found[path] for path in scores if path in found]


def _booked(embedder: Embedder, meter: Meter) -> Embedder:
    return Metered(embedder, meter) if is_remote(embedder) else embedder
