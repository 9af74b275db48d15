"""When what a proposal rests on was said, beside when what it changes was: later words win."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipeline.app.changes import MemoryChange
from pipeline.core.clock import latest
from pipeline.core.zone import minute
from pipeline.domain.sentences import folded, sentences
from pipeline.verify.provenance import said_at, sentence_said_at


@dataclass(frozen=True, slots=True)
class SaidWhen:
    """When the words that a proposal changes were said last, `was`, and when those it rests on, `now`.

    Either is None where nobody knows. With `goes` what it changes is put away.
    """

    was: datetime | None = None
    now: datetime | None = None
    goes: bool = False

    @property
    def is_earlier(self) -> bool:
        """Whether earlier words would take the place of later ones."""
        return self.was is not None and self.now is not None and self.now < self.was

    @property
    def warning(self) -> str:
        """What a person is told before they say yes to earlier words, "" where they are none."""
        return "Earlier words would take the place of later ones." if self.is_earlier else ""

    @property
    def explained(self) -> str:
        """The two moments of `warning`, and what speaks for which."""
        return (
            f"What it rests on was said {minute(self.now)}; what it {'puts away' if self.goes else 'changes'}"
            f" was said after that, {minute(self.was)}. Usually the later word holds."
        )


def said_when(row: dict[str, Any], changes: Sequence[MemoryChange]) -> SaidWhen:
    """Return when both sides of the proposal in `row` were said; `changes` are what a yes to it does."""
    payload = row["payload"]
    before = next((change.before for change in changes if change.before is not None), None)
    if before is None or row["kind"] not in ("update", "retire"):
        return SaidWhen()
    now = latest(source.get("at") for source in payload.get("sources") or ())
    if row["kind"] == "retire":
        return SaidWhen(said_at(before), now, goes=True)
    replaced = {folded(str(old)) for old, _ in payload.get("replaces") or ()}
    moments = [
        sentence_said_at(before, part.text) for part in sentences(before.body) if part.folded in replaced
    ]
    return SaidWhen(max((moment for moment in moments if moment is not None), default=None), now)
