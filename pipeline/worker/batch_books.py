"""The books that batches are in beside the ledger: none for one person, a team's for its workers.

A team's know what other machines of the login have asked. So they say, of each request that is about to be
written down, whether it was asked already, and hold its reply or the batch it is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from pipeline.llm.budget import Usage
from pipeline.record import changing, field, record

if TYPE_CHECKING:
    from pipeline.ledger.batch_writing import Wanted
    from pipeline.llm.batching import BatchProvider
    from pipeline.llm.request import RawReply


@record
class Asked:
    """A request that was asked before: by its `reply`, or else under `custom_id` in the batch of that id.

    With neither its reply was kept, and can't be read.

    The batch was written down `age` seconds ago with so many `requests`; `provider_id` is "" where nobody
    knows whether it was sent, and `login` as in `ledger.batches.Batch`.
    """

    wanted: Wanted
    reply: RawReply | None
    custom_id: str = ""
    batch_id: str = ""
    provider_id: str = ""
    provider: str = ""
    login: str = ""
    requests: int = 0
    age: float = 0.0


@changing
class Written:
    """What became of requests that were to be written down: the numbers of those `taken`, those `asked`
    before, and why the others were `refused`."""

    taken: list[int] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    refused: str = ""


class BatchBooks(Protocol):
    """Books for batches. Each call is safe to repeat."""

    def write(self, batch_id: str, wanted: Sequence[Wanted], provider: BatchProvider) -> Written:
        """Write down a batch of `wanted` before it is sent; the first has the number 1."""
        ...

    def still_ours(self, batch_id: str, those: Sequence[str]) -> bool:
        """Whether a batch of `those` requests may be sent now: no other machine has taken it over."""
        ...

    def sent(self, batch_id: str, provider_id: str) -> None:
        """Note under which id the provider has a batch."""
        ...

    def drop(self, batch_id: str, those: Sequence[str] | None = None) -> None:
        """Note that the provider never got a batch, or `those` of its requests."""
        ...

    def settle(self, custom_id: str, reply: RawReply | None, *, usage: Usage, dollars: float | None) -> None:
        """Keep what came of a request: a `reply` of use, and its cost, None where nobody knows that."""
        ...


class NoBooks:
    """The ledger is all."""

    def write(self, batch_id: str, wanted: Sequence[Wanted], provider: BatchProvider) -> Written:
        """Take all."""
        return Written(list(range(1, len(wanted) + 1)))

    def still_ours(self, batch_id: str, those: Sequence[str]) -> bool:
        """Yes: nobody else works in this home meanwhile."""
        return True

    def sent(self, batch_id: str, provider_id: str) -> None:
        """Do nothing."""

    def drop(self, batch_id: str, those: Sequence[str] | None = None) -> None:
        """Do nothing."""

    def settle(self, custom_id: str, reply: RawReply | None, *, usage: Usage, dollars: float | None) -> None:
        """Do nothing."""
