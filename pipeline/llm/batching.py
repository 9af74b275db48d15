"""Requests that are asked in batches: the provider's half of it as plain values, and how a question is got.

`Asking` is a `Client` that asks nothing: it raises what it would have asked as `Deferred`, with the very
text that the single call would have sent. `submit` and the rest of `BatchProvider` ask nothing twice: what
is tried again, and when, is the worker's to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, Protocol, runtime_checkable

from pydantic import BaseModel

from pipeline.core.errors import ConfigError
from pipeline.llm import structured
from pipeline.llm.client import Client
from pipeline.llm.request import Provider, RawReply, Reply, Request, T
from pipeline.record import record

UNREADABLE = "unreadable"
"""The kind of a result of which nobody can say what it is."""


class Deferred(Exception):  # noqa: N818 - no error
    """A question that is asked in a batch and answered another time."""

    def __init__(self, request: Request, schema: type[BaseModel]) -> None:
        super().__init__(request.purpose)
        self.request = request
        self.schema = schema


class Asking(Client):
    """A client whose questions are raised instead of asked."""

    def complete(self, request: Request, schema: type[T]) -> Reply[T]:
        """Raise `request` as Deferred, as it would be sent."""
        self.raise_as_sent(request, schema)

    def raise_as_sent(self, request: Request, schema: type[BaseModel]) -> NoReturn:
        """Raise `request` as Deferred."""
        raise Deferred(self.as_sent(request), schema)


@record
class BatchRequest:
    """One request of a batch, with the id by which its result is told from others."""

    custom_id: str
    request: Request
    schema: dict[str, Any]


@record
class BatchState:
    """A batch as the provider has it; `created_at` in epoch seconds, `requests` how many it holds.

    `gone` says that its results can't be had any more.
    """

    id: str
    created_at: float
    ended: bool
    requests: int
    gone: bool = False


@record
class BatchResult:
    """What came of one request: ``succeeded`` with a reply, or ``errored``, ``canceled`` or ``expired``.

    One that can't be read is ``unreadable``; its `custom_id` is "" where nobody can say whose it is.
    """

    custom_id: str
    kind: str
    reply: RawReply | None
    reason: str = ""


@runtime_checkable
class BatchProvider(Provider, Protocol):
    """A provider that takes batches."""

    @property
    def login(self) -> str:
        """Return what tells the key and address that it asks with from others; no secret is in it."""
        ...

    def submit(self, requests: Sequence[BatchRequest]) -> BatchState:
        """Send a batch. Raises ModelError; its `sent` is False where the provider surely has not got it."""
        ...

    def batch(self, batch_id: str) -> BatchState | None:
        """Return the batch of that id, None where the provider does not know it."""
        ...

    def recent_batches(self, since: float) -> Iterator[BatchState]:
        """Yield the batches made since then (epoch seconds), newest first."""
        ...

    def cancel_batch(self, batch_id: str) -> None:
        """Ask that a batch be ended early; one that has ended stays as it is."""
        ...

    def batch_results(self, batch_id: str) -> Iterator[BatchResult]:
        """Yield the results of a batch that has ended, one by one as they are read, odd ones too."""
        ...


def schema_for(deferred: Deferred) -> dict[str, Any]:
    """Return the schema that goes with a question."""
    return structured.schema_of(deferred.schema)


def takes_batches(provider: Provider) -> BatchProvider:
    """Return `provider` as one that takes batches. Raises ConfigError where it takes none."""
    if isinstance(provider, BatchProvider):
        return provider
    raise ConfigError(
        f"{provider.name} takes no batches",
        fix="Set model.provider to anthropic and model.api_key_env to the name of the variable with the key.",
    )
