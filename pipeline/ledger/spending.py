"""What model calls took, summed by quarter of an hour: days begin at such a moment in every zone."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.ledger.connection import Ledger, Moment, seconds
from pipeline.record import names_of, record

QUARTER = 900
_RESERVED = "sum(iif(ended_at IS NULL, dollars, 0.0)) AS reserved_dollars"
_BATCHED = "batch <> '' AS batched"


@record
class Spell:
    """The calls of one purpose and model in one quarter of an hour, which begins at `at` (epoch seconds).

    `estimated` counts those whose tokens no provider counted; their part of the dollars is by itself.
    `failed` counts those that brought no usable reply, and `running` those under way, for which
    `reserved_dollars` is set aside: nobody knows yet what they cost. `batched` says that all were asked in
    batches.
    """

    at: float
    purpose: str
    model: str
    batched: int
    calls: int
    failed: int
    running: int
    estimated: int
    input_tokens: int
    output_tokens: int
    cache_write_tokens: int
    cache_read_tokens: int
    dollars: float
    estimated_dollars: float
    reserved_dollars: float


def spells(ledger: Ledger, *, since: Moment) -> Iterator[Spell]:
    """Yield what was spent from `since` on, in order of time; what was sent nowhere is left out."""
    for row in ledger.execute(
        f"SELECT CAST(started_at / {QUARTER} AS INTEGER) * {QUARTER} AS at, purpose, model, {_BATCHED},"
        " count(*) AS calls, sum(outcome NOT IN ('ok', 'started')) AS failed,"
        " sum(ended_at IS NULL) AS running,"
        " sum(estimated) AS estimated, sum(input_tokens) AS input_tokens,"
        " sum(output_tokens) AS output_tokens, sum(cache_write_tokens) AS cache_write_tokens,"
        " sum(cache_read_tokens) AS cache_read_tokens, sum(dollars) AS dollars,"
        " sum(iif(estimated, dollars, 0.0)) AS estimated_dollars,"
        f" {_RESERVED} FROM model_calls WHERE started_at >= ? AND sent"
        " GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4",
        (seconds(since),),
    ):
        yield Spell(**{name: row[name] for name in names_of(Spell)})
