"""The reply as it is kept in the ledger before the store is touched, and back again after a crash."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TypeVar

from pipeline.domain.speech import Utterance
from pipeline.extraction.render import Rendering
from pipeline.extraction.schema import Extraction
from pipeline.extraction.strategies import Span
from pipeline.ledger.runs import Run
from pipeline.safety.redaction import redact_values

R = TypeVar("R", bound=Extraction)


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply with the numbered lines it cites and the names of the memories it may take back unquoted."""

    reply: Extraction
    rendering: Rendering
    provisional: frozenset[str]
    dollars: float = 0.0


def without_secrets(reply: R) -> R:
    """Return `reply` with the secrets in its texts taken out, fit to be kept.

    A model can hand on what the redaction of the dialogue missed, put together from pieces.
    """
    return type(reply).model_validate(redact_values(reply.model_dump()))


def pack(answer: Answer, span: Span) -> str:
    """Return `answer` as JSON, with the lines it cites: all that is needed to go on after a crash."""
    reply, rendering = answer.reply, answer.rendering
    cited = {citation.line for item in reply.memories for citation in item.evidence}
    cited |= {citation.line for item in reply.withdrawals for citation in item.evidence}
    lines = {number: asdict(utterance) for number, utterance in rendering.lines.items() if number in cited}
    return json.dumps(
        {
            "reply": reply.model_dump(),
            "lines": lines,
            "first_new": rendering.first_new,
            "provisional": sorted(answer.provisional),
            "conversation": span.conversation,
            "last": span.last,
            "ended_at": span.ended_at,
        },
        ensure_ascii=False,
    )


def unpack(run: Run, schema: type[Extraction]) -> tuple[Answer, Span]:
    """Return what `pack` kept in `run`; the span has its bounds but none of its dialogue."""
    packed = json.loads(run.reply_json or "{}")
    lines = {
        int(number): Utterance(**{**values, "tool_names": tuple(values["tool_names"])})
        for number, values in packed["lines"].items()
    }
    span = Span(
        key=run.key,
        new=(),
        context=(),
        from_row=run.from_row,
        through_row=run.through_row,
        conversation=packed["conversation"],
        last=packed["last"],
        ended_at=packed["ended_at"],
    )
    rendering = Rendering(context="", new="", lines=lines, first_new=packed["first_new"])
    reply = schema.model_validate(packed["reply"])
    return Answer(reply, rendering, frozenset(packed["provisional"])), span
