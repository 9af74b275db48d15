"""Stand-ins for a provider and a meter, for tests and demonstrations: typed, scripted, with a history."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.core.errors import CassetteError, ModelError
from pipeline.llm.budget import Usage, estimate_tokens
from pipeline.llm.request import RawReply, Request

Scripted = str | Mapping[str, Any] | RawReply | ModelError
"""A reply: its text, a value to send as JSON, the whole raw reply, or the error to raise."""


class ScriptedProvider:
    """Answers from a queue, or from a function of the request, and remembers every request.

    `history` holds the requests and `schemas` the schemas that came with them, in order.
    """

    name = "scripted"

    def __init__(self, script: Iterable[Scripted] | Callable[[Request], Scripted]) -> None:
        self._answer = script if callable(script) else None
        self._queue = [] if callable(script) else list(script)
        self.history: list[Request] = []
        self.schemas: list[dict[str, Any]] = []

    def send(self, request: Request, schema: dict[str, Any]) -> RawReply:
        """Return the next reply or raise the next error; an empty queue raises CassetteError."""
        self.history.append(request)
        self.schemas.append(schema)
        if self._answer is not None:
            return _raw(self._answer(request), request)
        if not self._queue:
            raise CassetteError(f"the script has no reply for call {len(self.history)} ({request.purpose})")
        return _raw(self._queue.pop(0), request)

    def unplayed(self) -> int:
        """Return how many replies are left in the queue."""
        return len(self._queue)


def _raw(scripted: Scripted, request: Request) -> RawReply:
    if isinstance(scripted, ModelError):
        raise scripted
    if isinstance(scripted, RawReply):
        return scripted
    text = scripted if isinstance(scripted, str) else json.dumps(scripted, ensure_ascii=False)
    asked = request.system + "".join(message.content for message in request.messages)
    usage = Usage(estimate_tokens(asked), estimate_tokens(text), estimated=True)
    return RawReply(text, "end_turn", usage, "scripted", request.model)


@dataclass(slots=True)
class Call:
    """One metered call; `outcome` is empty while it runs."""

    purpose: str
    provider: str
    model: str
    prompt_digest: str
    estimate: Usage
    outcome: str = ""
    usage: Usage = field(default_factory=Usage)
    dollars: float = 0.0
    sent: bool = True


class MemoryMeter:
    """A Meter without caps that keeps its books in `calls`, `limits` and `failures` (provider and error)."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.limits: list[tuple[float, float | None]] = []
        self.failures: list[tuple[str, ModelError]] = []

    def begin(self, *, purpose: str, provider: str, model: str, prompt_digest: str, estimate: Usage) -> int:
        """Add a call and return its index."""
        self.calls.append(Call(purpose, provider, model, prompt_digest, estimate))
        return len(self.calls) - 1

    def end(self, call_id: int, *, outcome: str, usage: Usage, dollars: float, sent: bool = True) -> None:
        """Complete the call."""
        call = self.calls[call_id]
        call.outcome, call.usage, call.dollars, call.sent = outcome, usage, dollars, sent

    def note_failure(self, provider: str, error: ModelError) -> None:
        """Keep both."""
        self.failures.append((provider, error))

    def note_limit(self, remaining_fraction: float, *, resets_at: float | None) -> None:
        """Keep the value."""
        self.limits.append((remaining_fraction, resets_at))
