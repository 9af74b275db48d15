"""What goes to a model and what comes back, as plain values, and the two protocols around a call."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel

from pipeline.core.errors import ModelError
from pipeline.core.ids import digest
from pipeline.llm.budget import Usage, estimate_tokens

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of the exchange."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model.

    `purpose` is a short word for the ledger and for cassette names, `manner` tells a cassette that the reply
    was to be wrong on purpose; neither is sent. `system` is the stable prefix, which providers that can will
    cache. `max_tokens` bounds the reply.
    """

    purpose: str
    model: str
    system: str
    messages: tuple[Message, ...]
    max_tokens: int
    manner: str = ""


@dataclass(frozen=True, slots=True)
class RawReply:
    """A provider's answer before anyone looked at its text.

    `stop_reason` is the Messages API's word. `remaining_fraction` is how much of the account's rate
    limit is left, 0 to 1, and `resets_at` the epoch second at which it is whole again; both None when
    the provider does not say.
    """

    text: str
    stop_reason: str
    usage: Usage
    provider: str
    model: str
    remaining_fraction: float | None = None
    resets_at: float | None = None


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """A validated answer. `usage` and `dollars` cover the repair round too; `digest` names the request."""

    value: T
    text: str
    usage: Usage
    dollars: float
    provider: str
    model: str
    digest: str


class Provider(Protocol):
    """Something that answers one request, once: no retries, no validation, no ledger."""

    @property
    def name(self) -> str:
        """Return the provider's name, as the settings spell it."""
        ...

    def send(self, request: Request, schema: dict[str, Any]) -> RawReply:
        """Ask `request`, wanting JSON that fits `schema`; raise a ModelError kind when there is no reply."""
        ...


class Meter(Protocol):
    """Keeps the books on calls, and forbids those that would pass a cap."""

    def begin(self, *, purpose: str, provider: str, model: str, prompt_digest: str, estimate: Usage) -> int:
        """Note that a call starts and return its number; raises SpendError when it may not be made now."""
        ...

    def end(self, call_id: int, *, outcome: str, usage: Usage, dollars: float, sent: bool = True) -> None:
        """Note how the call ended: ``ok`` or a ModelError's ``outcome``.

        One that was not `sent` counts towards no cap.
        """
        ...

    def note_failure(self, provider: str, error: ModelError) -> None:
        """Note that `provider` gave no reply after all tries of a call, as `error` says."""
        ...

    def note_limit(self, remaining_fraction: float, *, resets_at: float | None) -> None:
        """Note how much of the account's own rate limit is left."""
        ...


def request_digest(request: Request, schema: dict[str, Any]) -> str:
    """Return the digest of all that is sent: model, system, messages, reply limit and schema.

    Non-ASCII text is escaped first, so that text with lone surrogates has a digest too.
    """
    whole = {
        "model": request.model,
        "system": request.system,
        "messages": [asdict(message) for message in request.messages],
        "max_tokens": request.max_tokens,
        "schema": schema,
    }
    return digest(json.dumps(whole, sort_keys=True, separators=(",", ":")))


def estimate(request: Request, schema: dict[str, Any]) -> Usage:
    """Return the most that `request` should use: its own text, and a reply as long as it may be."""
    text = request.system + "".join(message.content for message in request.messages) + json.dumps(schema)
    return Usage(estimate_tokens(text), request.max_tokens, estimated=True)
