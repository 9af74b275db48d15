import json
import re

import pytest
from pydantic import BaseModel

from pipeline.config import ModelSettings
from pipeline.core.errors import (
    InvalidReplyError,
    LiveCallError,
    ModelError,
    OverloadedError,
    QuotaError,
    RefusedError,
    TimedOutError,
    TooLongError,
    TruncatedError,
    UnauthorisedError,
    UnavailableError,
)
from pipeline.llm.anthropic_client import AnthropicProvider
from pipeline.llm.client import Client
from pipeline.llm.fakes import MemoryMeter
from pipeline.llm.request import Message, Request
from tests.support.model import Api


class Answer(BaseModel):
    memories: list[str]


REQUEST = Request(
    "extract", "claude-haiku-4-5", "The rules.", (Message("user", "Q"), Message("assistant", "A")), 500
)
GOOD = json.dumps({"memories": ["x"]})


def provider(api: Api, seconds: float = 20) -> AnthropicProvider:
    return AnthropicProvider("key-1", base_url=api.url, timeout_seconds=seconds)


def complete(api: Api) -> list[str]:
    slept: list[float] = []
    client = Client(provider(api), MemoryMeter(), settings=ModelSettings(), sleep=slept.append)
    return client.complete(REQUEST, Answer).value.memories


def test_the_request_carries_schema_cached_system_and_only_our_key(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "found-by-chance")
    api.say(GOOD)
    provider(api).send(REQUEST, {"type": "object"})
    [sent] = api.requests
    assert sent["output_config"] == {"format": {"type": "json_schema", "schema": {"type": "object"}}}
    cached = {"type": "text", "text": "The rules.", "cache_control": {"type": "ephemeral"}}
    assert sent["system"] == [cached]
    assert [(m["role"], m["content"]) for m in sent["messages"]] == [("user", "Q"), ("assistant", "A")]
    assert (sent["model"], sent["max_tokens"]) == ("claude-haiku-4-5", 500)
    assert "key-1" in json.dumps(api.headers) and "found-by-chance" not in json.dumps(api.headers)


def test_the_reply_comes_back_whole(api: Api) -> None:
    limits = {"anthropic-ratelimit-tokens-remaining": "800", "anthropic-ratelimit-tokens-limit": "1000"}
    limits |= {"anthropic-ratelimit-requests-remaining": "5", "anthropic-ratelimit-requests-limit": "50"}
    limits |= {"anthropic-ratelimit-requests-reset": "2026-11-27T10:00:00Z"}
    api.say(GOOD, headers=limits)
    reply = provider(api).send(REQUEST, {})
    assert (reply.text, reply.stop_reason, reply.provider) == (GOOD, "end_turn", "anthropic")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cache_read_tokens) == (11, 7, 5)
    assert not reply.usage.estimated
    assert (reply.remaining_fraction, reply.resets_at) == (0.1, 1795773600.0)


def test_a_key_is_sent_as_the_docstring_says(api: Api) -> None:
    api.say(GOOD)
    provider(api).send(REQUEST, {})
    headers = {
        name: value for name, value in api.headers[0].items() if name in ("authorization", "x-api-key")
    }
    assert list(headers) == ["authorization"] and headers["authorization"].startswith("Bearer ")
    assert "``Authorization: Bearer``" in str(AnthropicProvider.__doc__)


def test_without_limit_headers_nothing_is_said_about_limits(api: Api) -> None:
    api.say(GOOD, headers={"anthropic-ratelimit-tokens-remaining": "many"})
    reply = provider(api).send(REQUEST, {})
    assert (reply.remaining_fraction, reply.resets_at) == (None, None)


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "prompt is too long: 210000 tokens > 200000 maximum", TooLongError),
        (400, "Your credit balance is too low to access the Anthropic API.", QuotaError),
        (400, "You have reached your specified API usage limits.", QuotaError),
        (400, "output_config: unknown field", ModelError),
        (401, "invalid x-api-key", UnauthorisedError),
        (402, "payment required", QuotaError),
        (403, "not allowed", UnauthorisedError),
        (404, "model: claude-nothing", UnavailableError),
        (408, "slow", OverloadedError),
        (413, "Request exceeds the maximum size", TooLongError),
        (422, "odd", ModelError),
        (429, "This request would exceed your organization's rate limit of 50 requests", OverloadedError),
        (429, "Number of request tokens has exceeded your per-minute rate limit", OverloadedError),
        (429, "You have hit your monthly spend limit", QuotaError),
        (500, "Internal server error", OverloadedError),
        (503, "billing backend down", OverloadedError),
        (529, "Overloaded", OverloadedError),
    ],
)
def test_bug_073_every_status_has_its_own_error(
    api: Api, status: int, message: str, kind: type[ModelError]
) -> None:
    api.refuse(status, message)
    with pytest.raises(ModelError) as caught:
        provider(api).send(REQUEST, {})
    assert type(caught.value) is kind
    assert message in str(caught.value) and caught.value.fix
    assert len(api.requests) == 1  # the SDK's own retries are off


@pytest.mark.parametrize(
    ("status", "message", "told", "fix"),
    [
        (401, "invalid x-api-key", "not accepted by the gateway at http://127.0.0.1", "model.base_url"),
        (403, "not allowed", "is known by the gateway at http://127.0.0.1", "Ask who gave you the key"),
        (404, "model: claude-haiku-4-5", "no model called claude-haiku-4-5", "model.model"),
        (404, "Not Found", "has nothing there", "model.base_url"),
        (400, "The model `x` does not exist", "no model called", "model.model"),
        (429, "You have hit your monthly spend limit", "spend limit", "Add credit"),
        (401, "<html><body>Log in</body></html>", "web page", "browser"),
        (502, "<html><body>Bad Gateway</body></html>", "HTTP 502: a web page", "tried again"),
    ],
)
def test_bug_i4_what_is_wrong_is_told_apart_with_the_step_that_mends_it(
    api: Api, status: int, message: str, told: str, fix: str
) -> None:
    if message.startswith("<"):
        api.answers.append((status, {}, message))
    else:
        api.refuse(status, message)
    with pytest.raises(ModelError, match=re.escape(told)) as caught:
        provider(api).send(REQUEST, {})
    assert fix in caught.value.fix and "<html" not in str(caught.value)


def test_retry_after_is_read(api: Api) -> None:
    api.refuse(429, "slow down", retry_after="17")
    with pytest.raises(OverloadedError) as caught:
        provider(api).send(REQUEST, {})
    assert caught.value.retry_after == 17.0


def test_overload_is_retried_by_the_client_until_it_passes(api: Api) -> None:
    api.refuse(529, "Overloaded")
    api.refuse(500, "Oops")
    api.say(GOOD)
    assert complete(api) == ["x"]
    assert len(api.requests) == 3


@pytest.mark.parametrize(
    ("text", "stop", "kind"),
    [("I'm sorry.", "refusal", RefusedError), ('{"memories": ["x', "max_tokens", TruncatedError)],
)
def test_stop_reasons_are_errors_after_one_call(
    api: Api, text: str, stop: str, kind: type[ModelError]
) -> None:
    api.say(text, stop=stop)
    with pytest.raises(kind):
        complete(api)
    assert len(api.requests) == 1


@pytest.mark.parametrize("text", [None, "", "I can’t help with that.", '{"memories":'])
def test_bug_063_an_empty_or_broken_reply_is_repaired_once_or_given_up(api: Api, text: str | None) -> None:
    api.say(text)
    api.say(f"```json\n{GOOD}\n```")
    assert complete(api) == ["x"]
    api.say(text)
    api.say(text)
    with pytest.raises(InvalidReplyError):
        complete(api)
    assert len(api.requests) == 4 and api.answers == []


def test_a_page_that_is_no_api_is_told_apart(api: Api) -> None:
    api.answers.append((200, {}, "<html>Please log in to the Wi-Fi</html>"))
    with pytest.raises(UnavailableError, match=r"web page.*log in first") as caught:
        provider(api).send(REQUEST, {})
    assert "browser" in caught.value.fix and "model.base_url" in caught.value.fix
    api.answers.append((200, {}, "fine, thanks"))
    with pytest.raises(UnavailableError, match="no Messages API"):
        provider(api).send(REQUEST, {})


def test_nobody_listening_is_unavailable() -> None:
    with pytest.raises(UnavailableError, match="can't be reached"):
        AnthropicProvider("k", base_url="http://127.0.0.1:9").send(REQUEST, {})


def test_no_answer_in_time(silent_url: str) -> None:
    with pytest.raises(TimedOutError):
        AnthropicProvider("k", base_url=silent_url, timeout_seconds=0.05).send(REQUEST, {})


def test_an_empty_system_prompt_is_left_out(api: Api) -> None:
    api.say(GOOD)
    provider(api).send(Request("p", "m", "", (Message("user", "Q"),), 5), {})
    assert not api.requests[0].get("system")


@pytest.mark.parametrize(
    "url", ["", "https://example.com", "http://localhost.example.com", "http://10.0.0.1"]
)
def test_the_switch_forbids_calls_that_leave_the_machine(url: str) -> None:
    with pytest.raises(LiveCallError):
        AnthropicProvider("k", base_url=url).send(REQUEST, {})


def test_an_answer_that_names_another_address_is_not_followed(api: Api) -> None:
    other = f"{api.url.replace('127.0.0.1', 'localhost')}/v1/messages"
    api.refuse(307, "over there", location=other)
    api.say(GOOD)
    with pytest.raises(ModelError):
        provider(api).send(REQUEST, {"type": "object"})
    assert len(api.requests) == 1


def test_a_secret_that_somebody_wrote_into_a_memory_does_not_leave(api: Api) -> None:
    secret = "glpat-" + "Ab12Cd34Ef56Gh78Ij90"
    api.say(GOOD)
    asked = Request(
        "extract", "claude-haiku-4-5", "Rules.", (Message("user", f"Memory: the token is {secret}"),), 500
    )
    client = Client(provider(api), MemoryMeter(), settings=ModelSettings(), sleep=lambda seconds: None)
    client.complete(asked, Answer)
    assert secret not in json.dumps(api.requests) and "the token is" in json.dumps(api.requests)
