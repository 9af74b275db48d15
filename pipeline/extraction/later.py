"""Extraction whose questions are put now and answered another time, as they are in a batch.

The questions are those of `run.extract`, text for text. A reply is committed with its run as it is after a
call, and from then on the run is one that was interrupted right behind its commit: it goes on in the
ordinary way, whoever takes it up.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from pipeline.context import PhaseContext
from pipeline.extraction import reading
from pipeline.extraction.checkpoint import answered, pack, pack_question, without_secrets
from pipeline.extraction.outcome import Outcome
from pipeline.extraction.run import books_of, finished
from pipeline.extraction.schema import ConversationExtraction, Verification
from pipeline.extraction.strategies import ConversationStrategy
from pipeline.ledger import Ledger, runs
from pipeline.llm import Request
from pipeline.record import record

STRATEGY = "conversation"
SECOND = "extract.verify"
"""Purpose of the second reader's questions."""


@record
class Put:
    """A first reader's question, and what the reply to it is judged by."""

    request: Request
    kept: dict[str, Any]


def next_question(phase: PhaseContext, strategy: ConversationStrategy) -> tuple[list[Outcome], Put | None]:
    """Pass over what needs no model; return how that went and the next question, None where nothing is left.

    Raises StoreError where the store could not be written in.
    """
    from pipeline.store import require_writable

    passed: list[Outcome] = []
    window = phase.settings.extraction.window_chars
    while span := strategy.next_span(phase.ledger, phase.store_key, max_chars=window, now=phase.clock.now()):
        if span.skip:
            passed.append(books_of(phase).pass_over(strategy, span, "skipped", span.skip))
            continue
        if not phase.proposes_only:
            require_writable(phase.store.root)
        shown, rendering = reading.look(phase, strategy, span)
        asked = reading.request(phase, strategy, span, shown, rendering)
        blank = reading.answer_to(shown, rendering, ConversationExtraction(memories=[]))
        return passed, Put(asked, pack_question(blank, span))
    return passed, None


def commit_first(
    ledger: Ledger,
    run_id: str,
    key: str,
    kept: dict[str, Any],
    reply: ConversationExtraction,
    *,
    store: str,
    digest: str,
    model: str,
    provider: str,
    now: datetime,
) -> None:
    """Keep a first reader's `reply` as the run `run_id` over the file `key` for `store`, begun by that.

    Call it in one transaction with what settles the request.
    """
    answer, span = answered(kept, reply, key)
    runs.start_run(
        ledger,
        id=run_id,
        kind="extract",
        key=key,
        store=store,
        strategy=STRATEGY,
        from_row=span.from_row,
        through_row=span.through_row,
        now=now,
    )
    text = json.dumps(pack(answer, span), ensure_ascii=False)
    runs.commit_reply(ledger, run_id, text, prompt_digest=digest, model=model, provider=provider, now=now)


def commit_second(ledger: Ledger, run_id: str, reply: Verification, *, now: datetime) -> None:
    """Keep what the second reader says beside the reply of its run.

    Raises LedgerError where the run has ended, or is not there any more.
    """
    run = runs.run(ledger, run_id)
    packed = json.loads((run.reply_json if run else None) or "{}")
    packed["verified"] = without_secrets(reply).model_dump()
    runs.extend_reply(ledger, run_id, json.dumps(packed, ensure_ascii=False), now=now)


def go_on(phase: PhaseContext, strategy: ConversationStrategy, run_id: str) -> Outcome | None:
    """Finish a run whose reply is there; None for one that has ended, or is not there any more.

    Raises Deferred with the second reader's question where that was not answered yet.
    """
    run = runs.run(phase.ledger, run_id)
    if run is None or run.outcome is not None:
        return None
    return finished(phase, strategy, reading.resumed(phase, strategy, run))
