"""Model calls of a team's worker: in the team's books beside its own, and none paid for twice.

    begin: another machine's by now? ─► it stops
           a reply that was paid for? ─► it is taken, nothing is asked
           else reserved in the database at the most it may cost ─► asked
    end:   what it cost is settled together with the reply, before anything is done with it;
           where the database is away both wait in the home (`unsettled.py`), and the work for the database

So no number of workers passes a cap of the team together, and whoever goes on with the work of one that died
asks nothing again that had an answer.
"""

from __future__ import annotations

import logging
from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import orjson

from pipeline.core import faults
from pipeline.core.errors import (
    PROVIDER_DOWN,
    BusyError,
    LeaseLostError,
    ModelError,
    PausedError,
    SpendError,
    TeamError,
)
from pipeline.llm import budget, retry
from pipeline.llm.budget import Usage
from pipeline.llm.request import RawReply, request_digest
from pipeline.record import changing, field
from pipeline.team import outages, spending

if TYPE_CHECKING:
    from pipeline.llm.request import Meter, Provider, Request
    from pipeline.worker.team_table import Held, Table

LOG = logging.getLogger("reverie.worker")
TAKEN_OVER = "another machine goes on with it"
CAP = "the team's cap is reached"


@changing
class TeamCalls:
    """The calls of one worker for the team of `table`, under the leases `held`.

    `project` is whose dialogue is read now.
    """

    table: Table
    machine: str
    held: Held
    project: str
    made: dict[int, _Made] = field(default_factory=dict)
    paid: dict[str, RawReply] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)

    def meter(self, inner: Meter) -> Meter:
        """Return a meter that enters each call with `inner` and in the team's books."""
        return _TeamMeter(self, inner)

    def provider(self, inner: Provider) -> Provider:
        """Return a provider that asks `inner` only what has no reply yet."""
        return _TeamProvider(self, inner)


@changing
class _Made:
    """A call that is under way: its entry in the team's books, and its digest."""

    entry: spending.Call
    digest: str
    purpose: str
    provider: str


class _TeamProvider:
    """Gives a reply that was paid for, and asks the rest."""

    def __init__(self, calls: TeamCalls, inner: Provider) -> None:
        self._calls = calls
        self._inner = inner

    @property
    def name(self) -> str:
        return self._inner.name

    def send(self, request: Request, schema: dict[str, Any]) -> RawReply:
        digest = request_digest(request, schema)
        known = self._calls.paid.pop(digest, None)
        if known is not None:
            return known
        reply = self._inner.send(request, schema)
        self._calls.paid[digest] = reply
        return reply


class _TeamMeter:
    """Keeps both books. Raises what the inner meter does, and LeaseLostError where the work is another's."""

    def __init__(self, calls: TeamCalls, inner: Meter) -> None:
        self._calls = calls
        self._inner = inner

    def begin(self, *, purpose: str, provider: str, model: str, prompt_digest: str, estimate: Usage) -> int:
        calls = self._calls
        most = Decimal(str(budget.dollars(model, estimate)))
        entry = spending.Call(str(uuid4()), calls.machine, calls.project, purpose, prompt_digest)
        known = self._reserved(entry, most, provider)
        if known is not None:
            calls.paid[prompt_digest] = known
            return self._inner.begin(
                purpose=purpose, provider=provider, model=model, prompt_digest=prompt_digest, estimate=Usage()
            )
        try:
            number = self._inner.begin(
                purpose=purpose,
                provider=provider,
                model=model,
                prompt_digest=prompt_digest,
                estimate=estimate,
            )
        except SpendError:
            calls.table.ask(spending.release, entry)
            raise
        calls.made[number] = _Made(entry, prompt_digest, purpose, provider)
        faults.reach("team.reserved")
        return number

    def _reserved(self, entry: spending.Call, most: Decimal, provider: str) -> RawReply | None:
        """Reserve what a call may cost, or return the reply that was paid for before."""
        calls, held = self._calls, self._calls.held
        if not held.is_ours():
            raise LeaseLostError(TAKEN_OVER)
        found = calls.table.ask(spending.begin, entry, most, provider=provider, holding=held.tokens())
        if not found.is_ours:
            raise LeaseLostError(TAKEN_OVER)
        known = None if found.reply is None else reply_of(found.reply)
        if known is not None:
            return known
        if found.wait:
            raise PausedError(found.why, fix="Another machine of yours found out; the work waits.")
        # Beside a reply that nobody can read nothing was reserved.
        if not (
            found.is_reserved or (found.reply is not None and calls.table.ask(spending.reserve, entry, most))
        ):
            raise SpendError(CAP, fix="Nothing is lost: the work waits. `reverie team cap` shows it.")
        return None

    def end(self, call_id: int, *, outcome: str, usage: Usage, dollars: float, sent: bool = True) -> None:
        made = self._calls.made.pop(call_id, None)
        try:
            if made is not None:
                reply = self._calls.paid.pop(made.digest, None)
                if sent:
                    self._settle(made, reply if outcome == "ok" else None, usage, dollars)
                else:
                    self._calls.table.ask(spending.release, made.entry)
            faults.reach("team.settled")
        finally:
            # Paid is paid, also where the team does not know it yet.
            self._inner.end(call_id, outcome=outcome, usage=usage, dollars=dollars, sent=sent)

    def _settle(self, made: _Made, reply: RawReply | None, usage: Usage, dollars: float) -> None:
        """Keep what a call cost with its reply: in the home, as long as the database is away."""
        table = self._calls.table
        text = None if reply is None else text_of(reply)
        cost, tokens = Decimal(str(dollars)), tokens_of(usage)
        try:
            table.ask(spending.settle, made.entry, text, dollars=cost, **tokens)
        except TeamError:
            table.unsettled.keep(made.entry, text, cost, tokens)
            raise
        if reply is not None and self._calls.failures.pop(made.provider, 0):
            table.ask(outages.end, made.provider)

    def note_failure(self, provider: str, error: ModelError) -> None:
        self._inner.note_failure(provider, error)
        if isinstance(error, PROVIDER_DOWN) and not isinstance(error, BusyError):
            failures = self._calls.failures
            failures[provider] = failures.get(provider, 0) + 1
            seconds = retry.pause(error.outcome, failures[provider], None, retry.share())
            self._calls.table.ask(outages.note, provider, str(error), seconds=seconds)

    def note_limit(self, remaining_fraction: float, *, resets_at: float | None) -> None:
        self._inner.note_limit(remaining_fraction, resets_at=resets_at)


def reply_of(text: str) -> RawReply | None:
    """Return a reply that the database has kept as `text`; it costs nothing any more.

    None for what is no reply, as another client of this login may have written it.
    """
    try:
        made = RawReply(**{**orjson.loads(text), "usage": Usage()})
    except (TypeError, ValueError) as error:
        LOG.warning("a reply in the team's books can't be read: %s", error)
        return None
    words = (made.text, made.stop_reason, made.provider, made.model)
    numbers = (made.remaining_fraction, made.resets_at)
    if all(isinstance(word, str) for word in words) and all(
        number is None or isinstance(number, (int, float)) for number in numbers
    ):
        return made
    LOG.warning("a reply in the team's books is none")
    return None


def text_of(reply: RawReply) -> str:
    """Return `reply` as the database keeps it; `reply_of` reads it back."""
    return orjson.dumps(asdict(reply)).decode()


def tokens_of(usage: Usage) -> dict[str, int]:
    """Return tokens as the team's books count them: read and written."""
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return {"read_tokens": read, "written_tokens": usage.output_tokens}
