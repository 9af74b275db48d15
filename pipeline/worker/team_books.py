"""Batches in a team's books: a request is there before it is sent, and its reply before it is used.

A question is known again by the words it is about, on whatever machine it is put: that is all a reply is
judged by, and what else a machine shows a model, such as the memories it has, may differ.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core.errors import LeaseLostError
from pipeline.core.ids import text_digest
from pipeline.ledger.batch_writing import custom_id
from pipeline.llm import budget
from pipeline.llm.budget import Usage
from pipeline.team import batches
from pipeline.team.spending import PROJECT_CHARS
from pipeline.worker.batch_books import Asked, Written
from pipeline.worker.team_calls import CAP, TeamCalls, reply_of, text_of, tokens_of

if TYPE_CHECKING:
    from pipeline.ledger.batch_writing import Wanted
    from pipeline.llm.batching import BatchProvider
    from pipeline.llm.request import RawReply


class TeamBooks:
    """A team's books for one worker, which asks by `calls` and under their leases."""

    def __init__(self, calls: TeamCalls) -> None:
        self._calls = calls

    def write(self, batch_id: str, wanted: Sequence[Wanted], provider: BatchProvider) -> Written:
        """Write down what is not asked yet and fits below the caps.

        Raises LeaseLostError where another machine goes on with some of it.
        """
        requests = [_request(batch_id, number, item) for number, item in enumerate(wanted, start=1)]
        answers = self._calls.table.ask(
            batches.write,
            batch_id,
            self._calls.machine,
            requests,
            provider=provider.name,
            login=provider.login,
            holding=self._calls.held.tokens(),
        )
        if not answers:
            raise LeaseLostError("another machine goes on with some of it")
        asked = [request for request in requests if answers[request.number] == batches.ASKED]
        return Written(
            [number for number, answer in answers.items() if answer == batches.TAKEN],
            self._known({request.number: wanted[request.number - 1] for request in asked}, asked),
            CAP if batches.FULL in answers.values() else "",
        )

    def _known(self, wanted: dict[int, Wanted], asked: Sequence[batches.Request]) -> list[Asked]:
        if not asked:
            return []
        found = self._calls.table.ask(
            batches.find, [request.work for request in asked], [request.digest for request in asked]
        )
        by_name = {name: row for row in reversed(found) for name in (row.work, row.digest) if name}
        known = []
        for request in asked:
            row = by_name.get(request.work) or by_name.get(request.digest)
            if row is not None:
                known.append(_asked(wanted[request.number], row))
        return known

    def still_ours(self, batch_id: str, those: Sequence[str]) -> bool:
        """Whether the leases are held and a batch of `those` requests stands; they are kept from now on."""
        return bool(self._calls.table.ask(batches.still_ours, batch_id, those, self._calls.held.tokens()))

    def sent(self, batch_id: str, provider_id: str) -> None:
        """Note under which id the provider has a batch."""
        self._calls.table.ask(batches.note_sent, batch_id, provider_id)

    def drop(self, batch_id: str, those: Sequence[str] | None = None) -> None:
        """Note that the provider never got a batch, or `those` of its requests."""
        self._calls.table.ask(batches.drop, batch_id, those)

    def settle(self, custom_id: str, reply: RawReply | None, *, usage: Usage, dollars: float | None) -> None:
        """Keep what came of a request."""
        self._calls.table.ask(
            batches.settle,
            custom_id,
            None if reply is None else text_of(reply),
            dollars=None if dollars is None else Decimal(str(dollars)),
            **tokens_of(usage),
        )


def _request(batch_id: str, number: int, wanted: Wanted) -> batches.Request:
    most = budget.dollars(wanted.model, wanted.estimate, batched=True)
    return batches.Request(
        number,
        custom_id(batch_id, number),
        _work(wanted),
        wanted.digest,
        str(Path(wanted.key).parent)[:PROJECT_CHARS],
        wanted.purpose,
        Decimal(str(most)),
    )


def _work(wanted: Wanted) -> str:
    """Return what tells a question: a first reader's by the dialogue, a second one's by all it is shown."""
    if not wanted.asked_json:
        return wanted.digest
    kept = json.loads(wanted.asked_json)
    lines = [
        (number, line["uuid"], line["speaker"], line["text"])
        for number, line in sorted(kept["lines"].items())
    ]
    return text_digest(json.dumps([wanted.purpose, wanted.key, kept["first_new"], lines]))


def _asked(wanted: Wanted, row: batches.Found) -> Asked:
    return Asked(
        wanted,
        reply_of(row.reply) if row.reply is not None else None,
        row.custom_id,
        row.batch_id,
        row.provider_id,
        row.provider,
        row.login,
        row.requests,
        row.age,
    )
