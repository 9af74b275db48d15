"""What model calls cost: by day and by purpose, against the caps, in all projects together."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta

from pipeline.app.application import App
from pipeline.core import zone
from pipeline.core.clock import iso
from pipeline.ledger import calls, spending
from pipeline.ledger.spending import Spell
from pipeline.text.since import since as moment_of

MOST_DAYS = 365
PURPOSES = {
    "extract.turn": "Reading turns",
    "extract.conversation": "Reading a conversation whole",
    "extract.verify": "Second reader of a conversation",
    "consolidate.cluster": "Dream",
    "dream.plan": "Dream",
    "dream.verify": "Second reader of a dream",
    "consolidate.verify": "Second reader of a dream",
    "consolidate.cues": "Cues for recall, in a dream",
    "consolidate.procedure": "Procedures, in a dream",
    "recall.select": "Choosing what to recall",
    "search.expand": "Other words for a search",
    "embed": "Vectors",
    "doctor.ping": "The small question of doctor",
}
"""What a call was for, in words, where its own name does not tell."""


@dataclass(slots=True)
class Taken:
    """Calls and what they took; `name` is the day or the purpose they are of.

    `estimated` counts the calls whose tokens no provider counted, `estimated_dollars` what those cost;
    `reserved_dollars` is what is set aside of it for the `running` ones.
    """

    name: str
    calls: int = 0
    failed: int = 0
    running: int = 0
    estimated: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    dollars: float = 0.0
    estimated_dollars: float = 0.0
    reserved_dollars: float = 0.0

    @property
    def tokens(self) -> int:
        """Return all tokens, those of caches too."""
        return self.asked_tokens + self.output_tokens

    @property
    def asked_tokens(self) -> int:
        """Return the tokens of the questions."""
        return self.input_tokens + self.cache_write_tokens + self.cache_read_tokens

    @property
    def cached_share(self) -> float:
        """Return which part of the questions' tokens a cache had, from 0 to 1."""
        return self.cache_read_tokens / self.asked_tokens if self.asked_tokens else 0.0

    def add(self, spell: Spell) -> None:
        """Add the calls of one spell."""
        for number in fields(self):
            if number.name != "name":
                setattr(self, number.name, getattr(self, number.name) + getattr(spell, number.name))


@dataclass(frozen=True, slots=True)
class Cap:
    """A limit: what is counted, in which time, how much of it is spent, and the setting that says so.

    What is `reserved` of that is set aside for calls under way, and not spent yet.
    """

    what: str
    window: str
    spent: float
    most: float
    setting: str
    reserved: float = 0.0

    @property
    def is_reached(self) -> bool:
        """Whether the work waits for it."""
        return self.spent >= self.most


@dataclass(frozen=True, slots=True)
class Spending:
    """What was spent in some days up to today: every day, also those without a call, oldest first.

    `purposes` are the dearest first; `paused` says why calls pause for the account's own limit, "" if they
    don't.
    """

    days: tuple[Taken, ...]
    purposes: tuple[Taken, ...]
    models: tuple[Taken, ...]
    total: Taken
    caps: tuple[Cap, ...]
    paused: str
    zone: str
    calls_per_run: int


def spent(app: App, days: int = 30) -> Spending:
    """Return what model calls took in the last `days` local days, today included."""
    now = app.clock.now()
    today = date.fromisoformat(zone.day(iso(now)))
    names = [(today - timedelta(days=back)).isoformat() for back in reversed(range(days))]
    by_day = {name: Taken(name) for name in names}
    by_purpose: dict[str, Taken] = {}
    by_model: dict[str, Taken] = {}
    total = Taken("all")
    with app.ledger(to_look=True) as ledger:
        for spell in spending.spells(ledger, since=moment_of(names[0], now).timestamp()):
            day = zone.day(datetime.fromtimestamp(spell.at, UTC))
            # A clock that was ahead may have left a call of tomorrow.
            by_day.get(day, by_day[names[-1]]).add(spell)
            purpose = f"{spell.purpose} (batch)" if spell.batched else spell.purpose
            by_purpose.setdefault(purpose, Taken(purpose)).add(spell)
            by_model.setdefault(spell.model, Taken(spell.model)).add(spell)
            total.add(spell)
        aside = calls.reserved(ledger, now=now)
        so_far, paused = calls.spent(ledger, now=now), calls.paused(ledger, now=now)
    limits = app.settings.spend
    caps = (
        Cap("calls", "in the last hour", so_far.hour_calls, limits.calls_per_hour, "spend.calls_per_hour"),
        Cap(
            "tokens", "in the last hour", so_far.hour_tokens, limits.tokens_per_hour, "spend.tokens_per_hour"
        ),
        Cap(
            "dollars",
            "in 24 hours",
            so_far.day_dollars,
            limits.dollars_per_day,
            "spend.dollars_per_day",
            aside,
        ),
    )
    return Spending(
        tuple(by_day.values()),
        _dearest_first(by_purpose),
        _dearest_first(by_model),
        total,
        caps,
        paused or "",
        zone.zone_name(now),
        limits.calls_per_run,
    )


def _dearest_first(found: dict[str, Taken]) -> tuple[Taken, ...]:
    return tuple(sorted(found.values(), key=lambda taken: (-taken.dollars, -taken.tokens, taken.name)))
