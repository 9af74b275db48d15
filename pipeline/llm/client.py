"""The model seam: ask a request, get a validated value, with every call metered.

`Client` owns what is the same for every provider: estimate, meter, retry, the reading of the stop reason,
validation, and one repair round. Providers own only how an answer is fetched.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic

from pipeline.core.errors import (
    InvalidReplyError,
    ModelError,
    RefusedError,
    TimedOutError,
    TooLongError,
    TruncatedError,
)
from pipeline.hooklib.plain import well_formed
from pipeline.llm import budget, structured
from pipeline.llm.budget import Usage
from pipeline.llm.cassette import is_replayed
from pipeline.llm.request import (
    Message,
    Meter,
    Provider,
    RawReply,
    Reply,
    Request,
    T,
    estimate,
    request_digest,
)
from pipeline.llm.retry import retrying
from pipeline.safety.redaction import redact
from pipeline.safety.unbroken import written_out

if TYPE_CHECKING:
    from pipeline.config import ModelSettings

_REPLY_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class _Answer(Generic[T]):
    """One metered call that brought a whole reply: its value, or what is wrong with it."""

    raw: RawReply
    dollars: float
    value: T | None
    fault: InvalidReplyError | None


class Client:
    """Asks one provider, and books every call with one meter.

    `sleep` is what a retry waits with, given seconds. `mask` takes what is known as a
    secret out of a text; it goes over every request and every reply.
    """

    def __init__(
        self,
        provider: Provider,
        meter: Meter,
        *,
        settings: ModelSettings,
        sleep: Callable[[float], None] = time.sleep,
        mask: Callable[[str], str] = str,
    ) -> None:
        self.provider = provider
        self._meter = meter
        self._attempts = settings.attempts
        self._sleep = sleep
        self._mask = mask
        self.between: Callable[[], object] = int
        """Called before each question; what it raises is the asker's."""

    def complete(self, request: Request, schema: type[T]) -> Reply[T]:
        """Return `request`'s answer as a value of type `schema`.

        A reply that does not fit is sent back once with what is wrong with it: a second call, metered
        as such. Raises SpendError before a call that a cap forbids, and a ModelError kind when no usable
        value came: RefusedError, TruncatedError, TooLongError, InvalidReplyError, or what the provider
        raised.
        """
        self.between()
        request = self.as_sent(request)
        wanted = structured.schema_of(schema)
        answer = first = self._call(request, wanted, schema)
        usage, dollars = first.raw.usage, first.dollars
        if first.fault is not None:
            answer = self._call(_repair(request, first.raw.text, first.fault), wanted, schema)
            usage, dollars = _sum(usage, answer.raw.usage), dollars + answer.dollars
        if answer.value is None:
            useless = InvalidReplyError(
                f"{answer.fault} It was so after a repair round too.",
                fix="Try again, or name another model in model.model.",
            )
            useless.reply = answer.raw.text[:_REPLY_CHARS]
            raise useless from answer.fault
        raw = answer.raw
        digest = request_digest(request, wanted)
        return Reply(answer.value, raw.text, usage, dollars, raw.provider, raw.model, digest)

    def as_sent(self, request: Request) -> Request:
        """Return `request` as it leaves this machine: text that UTF-8 can carry, without secrets."""
        return _sendable(request, self._mask)

    def taken(self, raw: RawReply, schema: type[T]) -> T:
        """Return the value in a reply that came otherwise than by `complete`, read as that reads one.

        Raises RefusedError, TruncatedError, TooLongError or InvalidReplyError for one of no use.
        """
        raw = replace(raw, text=self._mask(written_out(raw.text)))
        _check_stop(raw)
        return structured.parse(raw.text, schema)

    def _call(self, request: Request, wanted: dict[str, Any], schema: type[T]) -> _Answer[T]:
        """Ask until there is a reply or no use in asking again, each try metered, and read the reply."""
        try:
            return retrying(
                lambda: self._try(request, wanted, schema), attempts=self._attempts, sleep=self._sleep
            )
        except ModelError as error:
            self._meter.note_failure(self.provider.name, error)
            raise

    def _try(self, request: Request, wanted: dict[str, Any], schema: type[T]) -> _Answer[T]:
        """Ask once and book it.

        An error that is no ModelError leaves the call unended in the books, so that it keeps counting
        at its estimate, as it does when the process dies.
        """
        expected = estimate(request, wanted)
        call = self._meter.begin(
            purpose=request.purpose,
            provider=self.provider.name,
            model=request.model,
            prompt_digest=request_digest(request, wanted),
            estimate=expected,
        )
        usage, dollars, sent = Usage(), 0.0, True
        try:
            raw = self.provider.send(request, wanted)
            raw = replace(raw, text=self._mask(written_out(raw.text)))
            usage, dollars = raw.usage, _cost(raw)
            _check_stop(raw)
        except ModelError as error:
            sent = error.sent
            if not sent:
                pass  # whatever a provider made up for its tokens, none were used
            elif isinstance(error.usage, Usage):
                usage, dollars = error.usage, budget.dollars(request.model, error.usage)
            elif isinstance(error, TimedOutError):
                # The provider may well have worked, and charged, for an answer nobody waited for.
                usage, dollars = expected, budget.dollars(request.model, expected)
            self._meter.end(call, outcome=error.outcome, usage=usage, dollars=dollars, sent=sent)
            raise
        value, fault = _read(raw.text, schema)
        self._meter.end(call, outcome=fault.outcome if fault else "ok", usage=usage, dollars=dollars)
        if raw.remaining_fraction is not None:
            self._meter.note_limit(raw.remaining_fraction, resets_at=raw.resets_at)
        return _Answer(raw, dollars, value, fault)


def _read(text: str, schema: type[T]) -> tuple[T | None, InvalidReplyError | None]:
    try:
        return structured.parse(text, schema), None
    except InvalidReplyError as fault:
        return None, fault


# Words of the Messages API, and of servers that speak it, for a reply that came to its end.
_WHOLE = frozenset({"end_turn", "stop_sequence", "tool_use", "stop", "eos"})


def _check_stop(raw: RawReply) -> None:
    """Raise when the reply is no whole answer, whatever its text looks like."""
    if raw.stop_reason == "refusal":
        raise RefusedError(
            "The model declined to answer.", fix="See what the dialogue held with `reverie why`."
        )
    if raw.stop_reason == "max_tokens":
        raise TruncatedError(
            f"The reply was cut after {raw.usage.output_tokens} tokens.",
            fix="Raise model.max_output_tokens, or ask about less at once.",
        )
    if raw.stop_reason == "model_context_window_exceeded":
        raise TooLongError(
            "Prompt and reply together do not fit the model's window.", fix="Ask about less at once."
        )
    if raw.stop_reason not in _WHOLE:
        raise TruncatedError(
            f"The reply stopped before its end ({redact(raw.stop_reason[:40]).text}).",
            fix="Ask again, or about less at once.",
        )


def _repair(request: Request, text: str, fault: InvalidReplyError) -> Request:
    """Return `request` with the unfit reply and what is wrong with it as its last turns."""
    complaint = Message("user", f"{fault} {fault.fix}")
    # An assistant turn without text is refused by the Messages API, so an empty reply is left out.
    reply = (Message("assistant", well_formed(text.rstrip())),) if text.strip() else ()
    return replace(request, messages=(*request.messages, *reply, complaint))


def _sendable(request: Request, mask: Callable[[str], str]) -> Request:
    """Return `request` with text that UTF-8 can carry, without secrets and what `mask` takes out.

    Dialogue was redacted when it came in; a memory that somebody wrote by hand was not.
    """
    messages = tuple(replace(m, content=mask(redact(well_formed(m.content)).text)) for m in request.messages)
    return replace(request, system=well_formed(request.system), messages=messages)


def _cost(raw: RawReply) -> float:
    """Return the dollars that `raw` cost; a replayed reply was paid for when it was recorded."""
    return 0.0 if is_replayed(raw.provider) else budget.dollars(raw.model, raw.usage)


def _sum(first: Usage, second: Usage) -> Usage:
    return Usage(
        first.input_tokens + second.input_tokens,
        first.output_tokens + second.output_tokens,
        first.cache_write_tokens + second.cache_write_tokens,
        first.cache_read_tokens + second.cache_read_tokens,
        first.estimated or second.estimated,
    )
