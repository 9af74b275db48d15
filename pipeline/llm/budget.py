"""The spend governor's arithmetic: what a call may cost, and whether the caps allow it. Pure.

Prices are US dollars per million tokens (input, output, cache write, cache read) as published for each
model family; an unknown model is priced as the dearest of its kind, so that a cap errs on the safe side.
Token estimates are characters / 3.5, rounded up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.record import record

if TYPE_CHECKING:
    from pipeline.config import SpendSettings


_PRICES: tuple[tuple[str, tuple[float, float, float, float]], ...] = (
    ("haiku", (1.0, 5.0, 1.25, 0.10)),
    ("sonnet", (3.0, 15.0, 3.75, 0.30)),
    ("opus", (5.0, 25.0, 6.25, 0.50)),
    ("text-embedding-3-small", (0.02, 0.0, 0.0, 0.0)),
    ("embed", (0.20, 0.0, 0.0, 0.0)),
)
_DEAREST = (15.0, 75.0, 18.75, 1.50)
BATCH_SHARE = 0.5
"""What a request costs in a batch, of what it costs alone."""


@record
class Usage:
    """Tokens of one model call; `estimated` when the provider did not count them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        """Return all tokens that count against the hourly cap."""
        return self.input_tokens + self.output_tokens + self.cache_write_tokens + self.cache_read_tokens


@record
class Spent:
    """What was spent so far: this run's calls, the last hour's calls and tokens, the last day's dollars."""

    run_calls: int
    hour_calls: int
    hour_tokens: int
    day_dollars: float


def estimate_tokens(text: str) -> int:
    """Return about how many tokens `text` has (characters / 3.5, rounded up)."""
    return -(-len(text) * 2 // 7)


def dollars(model: str, usage: Usage, *, batched: bool = False) -> float:
    """Return what `usage` costs on `model`, alone or in a batch, in US dollars."""
    price = next((row for part, row in _PRICES if part in model), _DEAREST)
    counts = (usage.input_tokens, usage.output_tokens, usage.cache_write_tokens, usage.cache_read_tokens)
    whole = sum(count * each for count, each in zip(counts, price, strict=True)) / 1_000_000
    return whole * BATCH_SHARE if batched else whole


def _money(amount: float) -> str:
    """Return dollars with cents, or with as many places as show that a small sum is not nothing."""
    return f"${amount:.2f}" if amount >= 0.01 or not amount else f"${amount:.6f}".rstrip("0")


def refusal(
    caps: SpendSettings, spent: Spent, estimate: Usage, model: str, *, batched: bool = False
) -> str | None:
    """Return why a call of about `estimate`, alone or in a batch, may not be made now; None when it may."""
    if spent.run_calls + 1 > caps.calls_per_run:
        return f"this run has made {spent.run_calls} of {caps.calls_per_run} calls (spend.calls_per_run)"
    if spent.hour_calls + 1 > caps.calls_per_hour:
        return f"{spent.hour_calls} of {caps.calls_per_hour} calls in the last hour (spend.calls_per_hour)"
    tokens = spent.hour_tokens + estimate.total
    if tokens > caps.tokens_per_hour:
        return f"{tokens:,} tokens would pass {caps.tokens_per_hour:,} an hour (spend.tokens_per_hour)"
    cost = spent.day_dollars + dollars(model, estimate, batched=batched)
    if cost > caps.dollars_per_day:
        return f"{_money(cost)} would pass {_money(caps.dollars_per_day)} a day (spend.dollars_per_day)"
    return None
