"""The Messages API, and the only module that imports anthropic (at the first call, since it takes a second).

The SDK's own retries are off: `llm.retry` is the one that waits. A reply comes back whole, with its stop
reason, for `Client` to judge; only what prevented a reply is raised here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pipeline.core.clock import parse_time
from pipeline.core.errors import (
    ModelError,
    OverloadedError,
    QuotaError,
    TimedOutError,
    TooLongError,
    UnauthorisedError,
    UnavailableError,
)
from pipeline.core.ids import digest
from pipeline.llm import error_phrases, logins, model_names, retry
from pipeline.llm.budget import Usage
from pipeline.llm.live_guard import forbid_live
from pipeline.llm.request import RawReply, Request

if TYPE_CHECKING:
    import anthropic
    from anthropic.types import Message as ApiMessage
    from anthropic.types import MessageParam, TextBlockParam
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
    from anthropic.types.messages import MessageBatch

    from pipeline.llm.batching import BatchRequest, BatchResult, BatchState

_LIMITS = ("tokens", "input-tokens", "output-tokens", "requests")


class AnthropicProvider:
    """Asks the Messages API at `base_url` (Anthropic's own when empty) with `api_key`, or with `auth_token`.

    The SDK chooses the header: 2.14 sends both a key and a token as ``Authorization: Bearer``. The one that
    was not given is never sent.
    """

    name = "anthropic"

    def __init__(
        self, api_key: str = "", *, auth_token: str = "", base_url: str = "", timeout_seconds: float = 180
    ) -> None:
        self._api_key, self._auth_token = api_key, auth_token
        self._base_url = base_url or logins.OWN_URL
        self._timeout = timeout_seconds
        self._client: anthropic.Anthropic | None = None

    def send(self, request: Request, schema: dict[str, Any]) -> RawReply:
        """Return the API's reply to one request.

        Raises UnauthorisedError, QuotaError, TooLongError, OverloadedError, TimedOutError,
        UnavailableError, or plain ModelError for a request the API calls wrong.
        """
        forbid_live("the anthropic provider", base_url=self._base_url)
        try:
            return self._answered(request, schema)
        except ModelError as error:
            error.hide((self._api_key, self._auth_token))
            raise

    def _answered(self, request: Request, schema: dict[str, Any]) -> RawReply:
        import anthropic

        with self._translated(request.model):
            answer = self._open().messages.with_raw_response.create(**_params(request, schema))
            message: object = answer.parse()
        if not isinstance(message, anthropic.types.Message) or not isinstance(message.content, list):
            if isinstance(message, str) and error_phrases.is_web_page(message):
                raise self._a_page(answer.status_code)
            raise self._not_the_api("it answered with something other than a message")
        return _reply(message, request.model, answer.headers)

    @contextmanager
    def _translated(self, model: str) -> Iterator[None]:
        """Raise what the SDK raises inside as an error of ours."""
        import anthropic

        try:
            yield
        except anthropic.APITimeoutError as error:
            raise TimedOutError(
                f"No answer in {self._timeout:g} s.", fix="Raise model.timeout_seconds."
            ) from error
        except anthropic.APIConnectionError as error:
            raise UnavailableError(
                f"{self._base_url} can't be reached: {error}", fix="Check the network and model.base_url."
            ) from error
        except anthropic.APIStatusError as error:
            raise self._status_error(error, model) from error
        except anthropic.AnthropicError as error:
            raise self._not_the_api(str(error)) from error

    # -- batches ----------------------------------------------------------------------------------

    @property
    def login(self) -> str:
        """Return what tells this key and address from others; no secret is in it."""
        return digest(f"{self._base_url}\n{self._api_key}\n{self._auth_token}")[:12]

    @contextmanager
    def _asked(self, model: str = "") -> Iterator[anthropic.Anthropic]:
        """Yield the SDK's client for one request about batches; errors are ours and hold no secret."""
        forbid_live("the anthropic provider", base_url=self._base_url)
        try:
            with self._translated(model):
                yield self._open()
        except ModelError as error:
            error.hide((self._api_key, self._auth_token))
            raise

    def submit(self, requests: Sequence[BatchRequest]) -> BatchState:
        """Send a batch, each of its requests as `send` would.

        Raises what `send` raises; `sent` of the error is False where the API surely has not taken it.
        """
        import anthropic

        try:
            with self._asked(requests[0].request.model) as client:
                made = client.messages.batches.create(
                    requests=[
                        {"custom_id": each.custom_id, "params": _params(each.request, each.schema)}
                        for each in requests
                    ]
                )
        except ModelError as error:
            cause = error.__cause__
            if isinstance(cause, anthropic.APIStatusError) and cause.status_code not in (408, 409):
                error.sent = cause.status_code >= 500
            raise
        return self._state(made)

    def batch(self, batch_id: str) -> BatchState | None:
        """Return the batch of that id, None where the API does not know it. Raises as `send` does."""
        import anthropic

        try:
            with self._asked() as client:
                return self._state(client.messages.batches.retrieve(batch_id))
        except UnavailableError as error:
            if isinstance(error.__cause__, anthropic.NotFoundError):
                return None
            raise

    def recent_batches(self, since: float) -> Iterator[BatchState]:
        """Yield the batches made since then (epoch seconds), newest first. Raises as `send` does."""
        with self._asked() as client:
            for made in client.messages.batches.list(limit=100):
                state = self._state(made)
                if state.created_at < since:
                    return
                yield state

    def cancel_batch(self, batch_id: str) -> None:
        """Ask that a batch be ended early; one that has ended stays as it is. Raises as `send` does."""
        import anthropic

        try:
            with self._asked() as client:
                client.messages.batches.cancel(batch_id)
        except ModelError as error:
            if not isinstance(error.__cause__, anthropic.BadRequestError | anthropic.ConflictError):
                raise

    def batch_results(self, batch_id: str) -> Iterator[BatchResult]:
        """Yield the results of a batch that has ended, read line by line. Raises as `send` does.

        They are asked for at `base_url`, whatever address the API names for them: a key goes nowhere else.
        """
        import httpx2  # what the SDK speaks HTTP with
        from anthropic._decoders.jsonl import JSONLDecoder
        from anthropic.types.messages import MessageBatchIndividualResponse

        from pipeline.llm import batch_lines

        with self._asked() as client:
            lines = client.get(
                f"/v1/messages/batches/{batch_id}/results",
                cast_to=JSONLDecoder[MessageBatchIndividualResponse],
                options={"headers": {"Accept": "application/binary"}},
                stream=True,
            )
            try:
                # The SDK's own decoder ends at the first line that is odd, and loses all behind it.
                for line in batch_lines.lines_of(lines.http_response.iter_bytes()):
                    yield batch_lines.result_of(line, _succeeded)
            except (httpx2.HTTPError, ValueError) as error:
                raise UnavailableError(
                    f"The results of the batch can't be read to their end: {type(error).__name__}.",
                    fix="Nothing to do: they are read again.",
                ) from error
            finally:
                lines.close()

    def _state(self, made: MessageBatch) -> BatchState:
        from pipeline.llm.batching import BatchState

        counts = getattr(made, "request_counts", None)
        if not isinstance(getattr(made, "id", None), str) or counts is None:
            raise self._not_the_api("it answered with something other than a batch")
        numbers = (counts.processing, counts.succeeded, counts.errored, counts.canceled, counts.expired)
        return BatchState(
            made.id,
            made.created_at.timestamp(),
            made.processing_status == "ended",
            sum(numbers),
            made.archived_at is not None,
        )

    def _open(self) -> anthropic.Anthropic:
        import anthropic

        if self._client is None:
            key, token = self._api_key or None, self._auth_token or None
            client = anthropic.Anthropic(
                api_key=key,
                auth_token=None if key else token,
                base_url=self._base_url,
                max_retries=0,
                timeout=self._timeout,
                # What is sent goes to the address in the settings, and nowhere that this one names.
                http_client=anthropic.DefaultHttpxClient(follow_redirects=False),
            )
            # Whatever the SDK found in the environment besides is not sent.
            client.api_key, client.auth_token = key, None if key else token
            self._client = client
        return self._client

    def _not_the_api(self, reason: str) -> UnavailableError:
        return UnavailableError(
            f"{self._base_url} is no Messages API: {reason}", fix="Check model.base_url (without /v1)."
        )

    def _a_page(self, status: int) -> UnavailableError:
        return UnavailableError(
            f"HTTP {status}: {self._base_url} answers with a web page, as a network or a gateway does to"
            " which one must log in first.",
            fix="Open the address in a browser and log in there, or mend model.base_url (without /v1).",
        )

    def _status_error(self, error: anthropic.APIStatusError, model: str) -> ModelError:
        """Return our error for an HTTP status of 400 or more."""
        status = error.status_code
        text = error.api_message or error.message
        if error_phrases.is_web_page(text) and status < 500 and status not in (408, 413, 429):
            return self._a_page(status)
        if error_phrases.is_web_page(text):
            text = "a web page"
        message = f"HTTP {status}: {text}"
        if status in (400, 413) and (status == 413 or error_phrases.is_too_long(text)):
            return TooLongError(message, fix="Ask about less at once.")
        if status == 402 or (status < 500 and error_phrases.is_quota(text)):
            return QuotaError(message, fix="Add credit, or wait until the allowance is renewed.")
        if status in (401, 403):
            return self._refused(message, status)
        if status == 404 or (status < 500 and error_phrases.is_wrong_model(text)):
            return self._not_there(message, text, model)
        if status in (408, 409, 429) or status >= 500:
            headers = error.response.headers
            return OverloadedError(
                message,
                retry_after=retry.asked_wait(headers.get("retry-after"), headers.get("date")),
                fix="Nothing to do: it is tried again.",
            )
        return ModelError(message, fix="Report this: Reverie sent a request the API calls wrong.")

    def _refused(self, message: str, status: int) -> UnauthorisedError:
        where = "" if self._base_url == logins.OWN_URL else f" by the gateway at {self._base_url}"
        if status == 403:
            return UnauthorisedError(
                f"{message} (The key is known{where}, and is not allowed to do this.)",
                fix="Ask who gave you the key what it may do, or name another variable in model.api_key_env"
                " or model.auth_token_env.",
            )
        return UnauthorisedError(
            f"{message} (The key is not accepted{where}.)",
            fix="Check what the variable holds that model.api_key_env or model.auth_token_env names"
            f"{', and that it is meant for model.base_url' if where else ''}.",
        )

    def _not_there(self, message: str, text: str, model: str) -> UnavailableError:
        if error_phrases.is_wrong_model(text) or model_names.for_api(model) in text:
            return UnavailableError(
                f"{message} (There is no model called {model} at {self._base_url}.)",
                fix="Set model.model to a model that is there.",
            )
        return UnavailableError(
            f"{message} ({self._base_url} has nothing there.)",
            fix="Check model.base_url (without /v1), and model.model.",
        )


def _params(request: Request, schema: dict[str, Any]) -> MessageCreateParamsNonStreaming:
    """Return what is sent for `request`, alone or in a batch."""
    return {
        "model": model_names.for_api(request.model),
        "max_tokens": request.max_tokens,
        "system": _system(request.system),
        "messages": _messages(request),
        "output_config": {"format": {"type": "json_schema", "schema": schema}},
    }


def _counts(usage: Usage) -> tuple[int, ...]:
    return (usage.input_tokens, usage.output_tokens, usage.cache_write_tokens, usage.cache_read_tokens)


def _succeeded(message: dict[str, Any]) -> RawReply:
    """Return the reply of a batch's line. Raises one of ODD_DATA for what is no message."""
    from anthropic._models import construct_type_unchecked
    from anthropic.types import Message

    made = construct_type_unchecked(value=message, type_=Message)
    reply = _reply(made, made.model, {})
    if (
        not isinstance(reply.text, str)
        or not isinstance(reply.stop_reason, str)
        or not isinstance(reply.model, str)
    ):
        raise TypeError("it is no message")
    if not all(isinstance(number, int) and number >= 0 for number in _counts(reply.usage)):
        raise TypeError("its tokens are no numbers")
    return reply


def _system(text: str) -> list[TextBlockParam]:
    """Return the system prompt as a cached block, or none at all, since an empty block is refused."""
    if not text:
        return []
    return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]


def _messages(request: Request) -> list[MessageParam]:
    return [
        {"role": "user", "content": message.content}
        if message.role == "user"
        else {"role": "assistant", "content": message.content}
        for message in request.messages
    ]


def _reply(message: ApiMessage, model: str, headers: Mapping[str, str]) -> RawReply:
    used = message.usage
    usage = Usage(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cache_write_tokens=used.cache_creation_input_tokens or 0,
        cache_read_tokens=used.cache_read_input_tokens or 0,
    )
    text = "".join(block.text for block in message.content if block.type == "text")
    remaining, resets_at = _remaining(headers)
    return RawReply(
        text,
        message.stop_reason or "end_turn",
        usage,
        AnthropicProvider.name,
        message.model or model,
        remaining,
        resets_at,
    )


def _remaining(headers: Mapping[str, str]) -> tuple[float | None, float | None]:
    """Return the scarcest rate limit's remaining fraction and reset time, from the reply's headers."""
    found: list[tuple[float, float | None]] = []
    for limit in _LIMITS:
        left = _number(headers.get(f"anthropic-ratelimit-{limit}-remaining"))
        most = _number(headers.get(f"anthropic-ratelimit-{limit}-limit"))
        if left is None or not most:
            continue
        reset = parse_time(headers.get(f"anthropic-ratelimit-{limit}-reset"))
        found.append((min(max(left / most, 0.0), 1.0), reset.timestamp() if reset else None))
    return min(found, key=lambda pair: pair[0]) if found else (None, None)


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None
