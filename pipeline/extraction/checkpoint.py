"""The replies of a run as they are kept in the ledger before the store is touched, and back after a crash.

The first reply is kept with the lines and memories it is judged by; each later step (what the second reader
said, the plan) is added under its name, so that no call is made and nothing planned twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel

from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.speech import Utterance
from pipeline.extraction.render import Rendering
from pipeline.extraction.schema import Extraction
from pipeline.extraction.screen import AROUND
from pipeline.extraction.strategies import Span
from pipeline.ledger import Ledger, runs
from pipeline.safety.redaction import redact_values

R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply with the numbered lines it cites, and the memories it was shown in full, by name.

    `provisional` names those it may take back unquoted; `by_rules` says that no model gave it.
    """

    reply: Extraction
    rendering: Rendering
    shown: Mapping[str, Memory] = field(default_factory=dict)
    provisional: frozenset[str] = frozenset()
    by_rules: bool = False


class Checkpoint:
    """What one run has kept so far."""

    def __init__(self, ledger: Ledger, run_id: str, packed: dict[str, Any]) -> None:
        self.run_id = run_id
        self.dollars = 0.0
        self._ledger = ledger
        self._packed = packed

    def kept(self, step: str) -> Any:
        """Return what was kept under `step`, or None."""
        return self._packed.get(step)

    def keep(self, step: str, value: Any, *, now: datetime) -> None:
        """Keep `value`, which JSON holds, under `step`."""
        self._packed[step] = value
        text = json.dumps(self._packed, ensure_ascii=False)
        runs.extend_reply(self._ledger, self.run_id, text, now=now)


def without_secrets(reply: R) -> R:
    """Return `reply` with the secrets in its texts taken out, fit to be kept.

    A model can hand on what the redaction of the dialogue missed, put together from pieces.
    """
    return type(reply).model_validate(redact_values(reply.model_dump()))


def pack(answer: Answer, span: Span) -> dict[str, Any]:
    """Return `answer` as JSON holds it, with the lines it cites: all it takes to go on after a crash."""
    reply, rendering = answer.reply, answer.rendering
    cited = [citation for item in reply.memories for citation in item.evidence]
    cited += [citation for item in reply.withdrawals for citation in item.evidence]
    near = {line for citation in cited for line in range(citation.line - AROUND, citation.line + AROUND + 1)}
    if reply.withdrawals:
        near |= {n for n, line in rendering.lines.items() if line.speaker == "person" and rendering.is_new(n)}
    named = {item.update_of.strip() for item in reply.memories} | {item.name for item in reply.withdrawals}
    return {
        "reply": reply.model_dump(),
        "lines": {number: asdict(line) for number, line in rendering.lines.items() if number in near},
        "first_new": rendering.first_new,
        "shown": {name: kept_memory(memory) for name, memory in answer.shown.items() if name in named},
        "provisional": sorted(answer.provisional),
        "by_rules": answer.by_rules,
        "conversation": span.conversation,
        "last": span.last,
        "ended_at": span.ended_at,
        "context_room": span.context_room,
        "spoken": span.spoken,
    }


def pack_question(answer: Answer, span: Span) -> dict[str, Any]:
    """Return what a reply yet to come is judged by, as JSON holds it; `answer` has an empty one."""
    return {
        "lines": {number: asdict(line) for number, line in answer.rendering.lines.items()},
        "first_new": answer.rendering.first_new,
        "shown": {name: kept_memory(memory) for name, memory in answer.shown.items()},
        "provisional": sorted(answer.provisional),
        "conversation": span.conversation,
        "last": span.last,
        "ended_at": span.ended_at,
        "context_room": span.context_room,
        "spoken": span.spoken,
        "from_row": span.from_row,
        "through_row": span.through_row,
    }


def answered(kept: Mapping[str, Any], reply: Extraction, key: str) -> tuple[Answer, Span]:
    """Return `reply` to the question that `pack_question` kept, and its span of the file `key`."""
    answer = Answer(
        without_secrets(reply),
        Rendering("", "", _lines(kept), kept["first_new"]),
        {name: memory_of(values) for name, values in kept["shown"].items()},
        frozenset(kept["provisional"]),
    )
    return answer, _span(kept, key, kept["from_row"], kept["through_row"])


def unpack(run: runs.Run, schema: type[Extraction], words: str) -> tuple[Answer, Span]:
    """Return what `pack` kept in `run`; the span has its bounds but none of its dialogue.

    `words` is all that was said in the span.
    """
    packed = json.loads(run.reply_json or "{}")
    span = _span(packed, run.key, run.from_row, run.through_row)
    answer = Answer(
        schema.model_validate(packed["reply"]),
        Rendering("", "", _lines(packed), packed["first_new"], words),
        {name: memory_of(values) for name, values in packed.get("shown", {}).items()},
        frozenset(packed["provisional"]),
        packed.get("by_rules", run.provider == "offline"),
    )
    return answer, span


def _lines(packed: Mapping[str, Any]) -> dict[int, Utterance]:
    return {
        int(number): Utterance(**{key: _frozen(value) for key, value in values.items()})
        for number, values in packed["lines"].items()
    }


def _span(packed: Mapping[str, Any], key: str, from_row: int, through_row: int) -> Span:
    return Span(
        key=key,
        new=(),
        context=(),
        from_row=from_row,
        through_row=through_row,
        conversation=packed["conversation"],
        last=packed["last"],
        ended_at=packed["ended_at"],
        context_room=packed.get("context_room"),
        lines_counted=packed.get("spoken", 0),
    )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def kept_memory(memory: Memory) -> dict[str, Any]:
    """Return what of a memory that was shown is kept with the reply."""
    keys = ("name", "title", "description", "type", "body", "origin")
    sources = [source.as_values() for source in memory.sources]
    return {**{key: getattr(memory, key) for key in keys}, "sources": sources}


def memory_of(values: Mapping[str, Any]) -> Memory:
    """Return what `kept_memory` gave, read back."""
    return Memory(**{**values, "sources": tuple(map(Evidence.of, values["sources"]))})
