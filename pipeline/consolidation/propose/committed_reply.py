"""A question put to the model once: its answer is in the ledger before anybody acts on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from pydantic import BaseModel

from pipeline.context import PhaseContext
from pipeline.core import faults
from pipeline.core.ids import new_id
from pipeline.domain.action import RunSummary
from pipeline.ledger import runs
from pipeline.llm import Request
from pipeline.safety.redaction import redact_values

KIND = "dream_group"
Answer = TypeVar("Answer", bound=BaseModel)


def committed(phase: PhaseContext, key: str, schema: type[Answer]) -> Answer | None:
    """Return the answer to the question `key` that was bought and not yet used, or None."""
    earlier = runs.pending_run(phase.ledger, phase.store_key, phase.store_key, _strategy(key))
    return schema.model_validate_json(earlier.reply_json) if earlier and earlier.reply_json else None


def run_id(phase: PhaseContext, key: str) -> str:
    """Return the id of the run whose answer to the question `key` is not used yet, "" where there is none."""
    pending = runs.pending_run(phase.ledger, phase.store_key, phase.store_key, _strategy(key))
    return pending.id if pending else ""


def was_used(phase: PhaseContext, key: str) -> bool:
    """Whether the question `key` was answered and its answer used, or found of no use."""
    return runs.last_finished(phase.ledger, phase.store_key, _strategy(key)) is not None


def complete(phase: PhaseContext, key: str, request: Request, schema: type[Answer]) -> Answer:
    """Ask `request`, commit the answer under `key` without secrets, and return it.

    Raises ModelError or SpendError with nothing changed.
    """
    assert phase.client is not None
    answered = phase.client.complete(request, schema)
    faults.reach("dream.after_call")
    reply = schema.model_validate(redact_values(answered.value.model_dump()))
    own_id = new_id()
    with phase.ledger.transaction():
        runs.start_run(
            phase.ledger,
            id=own_id,
            kind=KIND,
            key=phase.store_key,
            store=phase.store_key,
            strategy=_strategy(key),
            from_row=0,
            through_row=0,
            now=phase.clock.now(),
        )
        runs.commit_reply(
            phase.ledger,
            own_id,
            reply.model_dump_json(),
            prompt_digest=answered.digest,
            model=answered.model,
            provider=answered.provider,
            now=phase.clock.now(),
        )
    faults.reach("dream.after_group_commit")
    return reply


def close(phase: PhaseContext, keys: Iterable[str], *, word: str) -> None:
    """Mark the committed answers to the questions `keys` as used; inside a transaction."""
    for key in keys:
        pending = runs.pending_run(phase.ledger, phase.store_key, phase.store_key, _strategy(key))
        if pending is not None:
            runs.finish_run(
                phase.ledger, pending.id, outcome=word, summary=RunSummary(), now=phase.clock.now()
            )


def _strategy(key: str) -> str:
    return f"dream:{key}"
