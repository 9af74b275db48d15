import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from pipeline.config import ModelSettings
from pipeline.core.errors import (
    InvalidReplyError,
    ModelError,
    OverloadedError,
    RefusedError,
    SpendError,
    TimedOutError,
    TooLongError,
    TruncatedError,
    UnauthorisedError,
)
from pipeline.llm.budget import Usage
from pipeline.llm.client import Client
from pipeline.llm.fakes import MemoryMeter, ScriptedProvider
from pipeline.llm.request import Message, RawReply, Request, request_digest
from pipeline.llm.retry import LEAST_SHARE, asked_wait, pause


class Item(BaseModel):
    name: str


class Answer(BaseModel):
    memories: list[Item]


REQUEST = Request("extract", "claude-haiku-4-5", "Be brief.", (Message("user", "Hello."),), 500)
GOOD = {"memories": [{"name": "a"}]}


def client(script: Any, meter: Any = None, **settings: Any) -> tuple[Client, MemoryMeter, list[float]]:
    slept: list[float] = []
    meter = meter or MemoryMeter()
    made = Client(ScriptedProvider(script), meter, settings=ModelSettings(**settings), sleep=slept.append)
    return made, meter, slept


def sent(asked: Client) -> list[Request]:
    assert isinstance(asked.provider, ScriptedProvider)
    return asked.provider.history


def raw(text: str, stop: str = "end_turn", left: float | None = None, provider: str = "x") -> RawReply:
    return RawReply(text, stop, Usage(1_000_000, 0), provider, "claude-haiku-4-5", left, 99.0)


def test_a_good_reply_is_one_metered_call() -> None:
    asked, meter, _ = client([GOOD])
    reply = asked.complete(REQUEST, Answer)
    assert [item.name for item in reply.value.memories] == ["a"]
    [call] = meter.calls
    assert (call.purpose, call.provider, call.outcome) == ("extract", "scripted", "ok")
    assert call.prompt_digest == reply.digest and call.usage == reply.usage
    assert call.estimate.output_tokens == 500 and call.estimate.estimated


@pytest.mark.parametrize("bad", ["I can’t help with that.", '{"memories": null}', '{"memories": [{}]}'])
def test_an_unfit_reply_goes_back_once_with_what_is_wrong(bad: str) -> None:
    asked, meter, _ = client([bad, GOOD])
    reply = asked.complete(REQUEST, Answer)
    first, second = sent(asked)
    assert second.messages[: len(first.messages)] == first.messages
    assert second.messages[1] == Message("assistant", bad)
    assert second.messages[2].role == "user" and "does not fit the schema" in second.messages[2].content
    assert [call.outcome for call in meter.calls] == ["invalid", "ok"]
    assert reply.usage.total == sum(call.usage.total for call in meter.calls)
    assert reply.digest == meter.calls[0].prompt_digest != meter.calls[1].prompt_digest


def test_bug_063_an_empty_reply_is_asked_again_without_an_empty_turn() -> None:
    asked, _, _ = client(["", GOOD])
    asked.complete(REQUEST, Answer)
    second = sent(asked)[1]
    assert [message.role for message in second.messages] == ["user", "user"]


def test_bug_063_a_second_unfit_reply_is_an_error_and_there_is_no_third() -> None:
    asked, meter, _ = client(["no", "no", GOOD])
    with pytest.raises(InvalidReplyError, match="after a repair round"):
        asked.complete(REQUEST, Answer)
    assert [call.outcome for call in meter.calls] == ["invalid", "invalid"]


def test_bug_063_no_memories_is_an_answer() -> None:
    asked, meter, _ = client([{"memories": []}])
    assert asked.complete(REQUEST, Answer).value.memories == []
    assert [call.outcome for call in meter.calls] == ["ok"]


@pytest.mark.parametrize(
    ("stop", "kind"),
    [
        ("refusal", RefusedError),
        ("max_tokens", TruncatedError),
        ("model_context_window_exceeded", TooLongError),
        ("pause_turn", TruncatedError),
        ("length", TruncatedError),
        ("a word nobody knows", TruncatedError),
    ],
)
def test_a_stop_reason_outranks_a_text_that_parses(stop: str, kind: type[ModelError]) -> None:
    asked, meter, _ = client([raw('{"memories": []}', stop)])
    with pytest.raises(kind):
        asked.complete(REQUEST, Answer)
    [call] = meter.calls
    assert (call.outcome, call.dollars) == (kind.outcome, pytest.approx(1.0))


def test_only_overload_is_tried_again_and_each_try_is_a_call_in_the_books() -> None:
    script = [OverloadedError(retry_after=7), OverloadedError(), OverloadedError(retry_after=60), GOOD]
    asked, meter, slept = client(script, attempts=4)
    asked.complete(REQUEST, Answer)
    assert (slept[0], slept[2]) == (7.0, 60.0), "to the second"
    assert 4 * LEAST_SHARE <= slept[1] <= 4, "doubled, and not by all homes at once"
    assert [call.outcome for call in meter.calls] == ["overloaded"] * 3 + ["ok"]
    assert meter.failures == []


def test_bug_i9_a_longer_retry_after_is_not_slept_through() -> None:
    asked, meter, slept = client([OverloadedError(retry_after=61), GOOD], attempts=3)
    with pytest.raises(OverloadedError):
        asked.complete(REQUEST, Answer)
    assert slept == [] and [call.outcome for call in meter.calls] == ["overloaded"]


def test_overload_to_the_end_comes_through_and_is_noted_once() -> None:
    asked, meter, slept = client([OverloadedError(), OverloadedError(), GOOD], attempts=2)
    with pytest.raises(OverloadedError) as caught:
        asked.complete(REQUEST, Answer)
    assert len(slept) == 1 and [call.outcome for call in meter.calls] == ["overloaded"] * 2
    assert meter.failures == [("scripted", caught.value)]


@pytest.mark.parametrize("failures", [1, 2, 3, 6, 7, 99])
@pytest.mark.parametrize("part", [LEAST_SHARE, 1.0])
def test_the_wait_for_a_provider_doubles_to_an_hour(failures: int, part: float) -> None:
    seconds = {1: 60, 2: 120, 3: 240, 6: 1_920}.get(failures, 3_600)
    for outcome in ("overloaded", "timeout", "unavailable"):
        assert pause(outcome, failures, None, part) == seconds * part
    for outcome in ("unauthorised", "quota", "invalid"):
        assert pause(outcome, failures, None, part) == 3_600 * part
    assert pause("overloaded", failures, 5_000.0, part) == 5_000, "kept to the second"
    assert pause("overloaded", failures, 17.0, part) == max(17, seconds * part), "and never shortens a wait"


AT = "Wed, 21 Oct 2026 07:28:00 GMT"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("190", 190.0),
        ("0", 0.0),
        ("7.5", 7.5),
        ("Wed, 21 Oct 2026 07:31:10 GMT", 190.0),
        ("Wed, 21 Oct 2026 07:27:00 GMT", None),
        ("Wed, 21 Oct 2099 07:28:00 GMT", None),
        ("nan", None),
        ("inf", None),
        ("-5", None),
        ("999999999", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_bug_i9_what_a_retry_after_header_can_mean(value: str | None, seconds: float | None) -> None:
    assert asked_wait(value, AT) == seconds


def test_a_day_without_the_servers_own_is_counted_from_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVERIE_NOW", "2026-10-21T07:28:00Z")
    assert asked_wait("Wed, 21 Oct 2026 08:28:00 GMT") == 3_600.0


def test_bad_credentials_are_never_tried_again() -> None:
    asked, meter, slept = client([UnauthorisedError("no"), GOOD])
    with pytest.raises(UnauthorisedError):
        asked.complete(REQUEST, Answer)
    assert slept == [] and meter.calls[0].outcome == "unauthorised" and meter.calls[0].usage == Usage()


def test_a_call_that_timed_out_is_booked_at_its_estimate() -> None:
    asked, meter, _ = client([TimedOutError("late")])
    with pytest.raises(TimedOutError):
        asked.complete(REQUEST, Answer)
    assert meter.calls[0].usage == meter.calls[0].estimate and meter.calls[0].dollars > 0


@pytest.mark.parametrize(
    ("script", "counts"),
    [
        ([UnauthorisedError("not logged in").unsent()], [False]),
        ([OverloadedError(), OverloadedError().unsent()], [True, False]),
        ([OverloadedError().unsent(), OverloadedError().unsent()], [False, False]),
        ([UnauthorisedError("401")], [True]),
    ],
    ids=["nothing left", "one try left", "no try left", "refused by the server"],
)
def test_each_try_counts_unless_it_stayed_here(script: list[Any], counts: list[bool]) -> None:
    script[-1].usage = Usage(1_000, 1_000, estimated=True)
    asked, meter, _ = client(script, attempts=2)
    with pytest.raises((UnauthorisedError, OverloadedError)):
        asked.complete(REQUEST, Answer)
    assert [call.sent for call in meter.calls] == counts
    spent = meter.calls[-1]
    assert (spent.usage.total > 0, spent.dollars > 0) == (counts[-1], counts[-1])


class Capped(MemoryMeter):
    def begin(self, **call: Any) -> int:
        if len(self.calls) == 1:
            raise SpendError("the cap")
        return super().begin(**call)


def test_a_cap_stops_the_repair_round_too() -> None:
    asked, meter, _ = client(["no", GOOD], Capped())
    with pytest.raises(SpendError):
        asked.complete(REQUEST, Answer)
    assert len(sent(asked)) == len(meter.calls) == 1


def test_the_remaining_limit_reaches_the_meter_when_there_is_one() -> None:
    asked, meter, _ = client([raw('{"memories": []}', left=0.1), GOOD])
    asked.complete(REQUEST, Answer)
    asked.complete(REQUEST, Answer)
    assert meter.limits == [(0.1, 99.0)]


def test_a_replayed_reply_costs_nothing() -> None:
    asked, _, _ = client([raw('{"memories": []}', provider="replay"), raw('{"memories": []}')])
    assert [asked.complete(REQUEST, Answer).dollars for _ in range(2)] == [0.0, pytest.approx(1.0)]


def test_half_a_surrogate_pair_is_never_sent() -> None:
    asked, _, _ = client([GOOD])
    asked.complete(Request("p", "m", "s\ud800", (Message("user", "u\udfff"),), 9), Answer)
    [request] = sent(asked)
    assert (request.system, request.messages[0].content) == ("s\ufffd", "u\ufffd")


@pytest.mark.parametrize(
    "other",
    [
        Request("extract", "other", "Be brief.", (Message("user", "Hello."),), 500),
        Request("extract", "claude-haiku-4-5", "Be brief", (Message("user", "Hello."),), 500),
        Request("extract", "claude-haiku-4-5", "Be brief.", (Message("assistant", "Hello."),), 500),
        Request("extract", "claude-haiku-4-5", "Be brief.", (Message("user", "Hello."),), 501),
    ],
)
def test_the_digest_is_of_the_whole_request(other: Request) -> None:
    assert request_digest(other, {}) != request_digest(REQUEST, {})
    assert request_digest(REQUEST, {"type": "object"}) != request_digest(REQUEST, {})


def test_the_seam_imports_no_sdk(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
import pipeline.llm.client
from pipeline.config import ModelSettings
from pipeline.llm import open_provider
for spec in ("auto", "offline", "replay:."):
    open_provider(spec, ModelSettings(), home=Path("."))
print([name for name in ("anthropic", "tenacity", "frontmatter") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.strip() == "[]"
