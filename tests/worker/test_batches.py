"""A backlog read in batches: the memories of single calls at half the price, each request charged once."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.app import spending
from pipeline.app.application import App
from pipeline.consolidation.second_reader.reading import PURPOSE
from pipeline.ledger import calls
from pipeline.llm import Message, Request, budget
from tests.support.batch_api import ROOT, Batch, BatchApi, serving_batches
from tests.support.hooks import LIMIT
from tests.support.loopback import KEY_VARIABLE, fact, new_dialogue, person_lines, well
from tests.support.model import is_second
from tests.support.second_reader import Truth, second_reader
from tests.support.transcripts import Transcript
from tests.support.workshop import Workshop

FACTS = (
    "The staging database is reset every Monday at 06:00 UTC.",
    "Keep the payment retries at 3, the gateway bans us at 5.",
    "Releases are cut from the branch called stable only.",
    "The build box has twelve cores and no swap.",
)
DUE = "UPDATE jobs SET run_after = 0 WHERE kind = 'batch'"
WHEN = "2026-03-09T08:00:00+00:00"
ROOMY = {
    "REVERIE_NOW": WHEN,
    "REVERIE_SPEND__CALLS_PER_HOUR": "500",
    "REVERIE_SPEND__TOKENS_PER_HOUR": "9000000",
    "REVERIE_SPEND__DOLLARS_PER_DAY": "20",
}


@pytest.fixture
def api() -> Iterator[BatchApi]:
    with serving_batches(facts) as api:
        api.ping = well
        yield api


def backlog(place: Path, api: BatchApi, facts: tuple[str, ...] = FACTS, **env: str) -> Workshop:
    """Return a workshop with one old session a fact, each of one conversation, read by nobody."""
    shop = Workshop(place, {**api.environment, **ROOMY, **env})
    for number, text in enumerate(facts, start=1):
        session = shop.session(number, start=f"2026-01-0{number}T09:00:00Z")
        talk(session, text)
        shop.write(session)
    assert shop.reverie("ingest", "--dir", str(shop.projects)).returncode == 0
    return shop


def talk(session: Transcript, text: str) -> None:
    session.user(text)
    session.assistant("Understood.")
    session.user("Thanks, go on then please.")
    session.assistant("Done.")
    session.user("Good.")
    session.assistant("Anything else?")


def told(shop: Workshop, *arguments: str, **env: str) -> dict[str, Any]:
    done = shop.reverie("process", "--all", "--batch", *arguments, "--json", **env)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def at(minutes: int) -> dict[str, str]:
    """Return the environment of so many minutes later."""
    return {"REVERIE_NOW": (datetime.fromisoformat(WHEN) + timedelta(minutes=minutes)).isoformat()}


def finish(shop: Workshop, begin: int = 1) -> dict[str, Any]:
    """Look in every quarter of an hour until the order has ended, and then let the worker do what is left."""
    for turn in range(begin, begin + 12):
        found = told(shop, **at(15 * turn))
        if found["state"] not in ("open", "canceling"):
            assert shop.reverie("work", **at(15 * turn + 1)).returncode == 0
            return found
    raise AssertionError(f"no end: {found}")


def first_asked(api: BatchApi) -> list[int]:
    """Return for each fact how many first readers' answers were charged for its conversation."""
    return [
        sum(
            number for prompt, number in api.charged.items() if not is_second(prompt) and text in said(prompt)
        )
        for text in FACTS
    ]


def said(prompt: str) -> str:
    return new_dialogue(prompt) if "<conversation>" in prompt or "<new_dialogue>" in prompt else ""


def seconds_asked(api: BatchApi) -> int:
    return sum(number for prompt, number in api.charged.items() if is_second(prompt))


def dollars(shop: Workshop) -> float:
    with shop.ledger() as ledger:
        return float(ledger.value("SELECT sum(dollars) FROM model_calls"))


def facts(prompt: str) -> dict[str, Any]:
    """Play the model: it keeps what is one of FACTS."""
    kept = [fact("-".join(text.split()[:3]), text, n) for n, text in person_lines(prompt) if text in FACTS]
    return {"memories": kept}


@pytest.fixture(scope="module")
def singly(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], float, list[Any]]:
    """Return what single calls make of the backlog, what that cost, and the first request."""
    with serving_batches(facts) as api:
        shop = backlog(tmp_path_factory.mktemp("single"), api)
        assert shop.reverie("process", "--all").returncode == 0
        assert first_asked(api) == [1, 1, 1, 1] and seconds_asked(api) == 4
        return plain(shop), dollars(shop), api.single


def plain(shop: Workshop) -> dict[str, str]:
    """Return the memories of a workshop's store, and the lines of its index, whose order goes by chance."""
    files = shop.knowledge()
    # When it was written is told to the minute: an answer that comes later is written later.
    found = {name: re.sub(r"2026-03-09T\d\d:\d\d", "", files[f"{name}.md"]) for name in shop.memories()}
    return {**found, "index": "\n".join(sorted(files["MEMORY.md"].splitlines()))}


# -- the ordinary way -------------------------------------------------------------------------------


def test_batches_bring_what_single_calls_do_at_half_the_price(
    tmp_path: Path, api: BatchApi, singly: tuple[dict[str, str], float, list[Any]]
) -> None:
    shop = backlog(tmp_path, api)
    offered = told(shop, "--estimate")
    assert offered["calls"] == 8 and offered["dollars"] == pytest.approx(offered["single_dollars"] / 2)
    ordered = told(shop, "--yes")
    assert (ordered["state"], ordered["requests"]) == ("open", 4)
    assert 0 < ordered["reserved_dollars"] < ordered["most_dollars"] == offered["most_dollars"]
    done = finish(shop)
    assert (done["state"], done["readings"]) == ("done", {"done": 4})
    assert [len(batch.requests) for batch in api.batches] == [4, 4] and not api.single
    assert first_asked(api) == [1, 1, 1, 1] and seconds_asked(api) == 4
    memories, cost, requests = singly
    assert plain(shop) == memories and len(shop.memories()) == 4
    assert dollars(shop) == pytest.approx(cost / 2) == pytest.approx(done["spent_dollars"])
    assert api.batches[0].requests[0]["params"] == requests[0]
    ids = [one["custom_id"] for batch in api.batches for one in batch.requests]
    assert len(set(ids)) == 8 and all(re.fullmatch(r"rv-[0-9a-f]{16}-\d", name) for name in ids)


TWICE = (
    "Keep the payment retries at 3.",
    "Keep the payment retries at 3.",
    "Retries of payments are kept at 3.",
    "The build box has twelve cores.",
)
"""What four sessions say: one thing three times, once of them in other words."""


def say_twice(prompt: str) -> dict[str, Any]:
    """Play the model: it keeps what is said, and in a dream merges what says the same."""
    if said(prompt):
        kept = [(number, text) for number, text in person_lines(prompt) if text in TWICE]
        return {"memories": [fact("-".join(text.split()[:3]), text, number) for number, text in kept]}
    if "<questions>" in prompt:
        same = Truth(covers=about_retries, one_fact=about_retries)
        asked = second_reader(same)(Request(PURPOSE, "", "", (Message("user", prompt),), 1))
        assert isinstance(asked, dict)
        return asked
    shown = {name: handle for handle, name in re.findall(r"^\[(m\d+)\] (\S+) \(", prompt, re.MULTILINE)}
    if not {"keep-the-payment", "retries-of-payments"} <= shown.keys():
        return {"operations": []}
    first, other = shown["keep-the-payment"], shown["retries-of-payments"]
    covered = [{"sentence": f"{other}.1", "by": f"{first}.1"}]
    merge = {"op": "merge", "ids": [first, other], "into": first, "covered": covered, "reason": "the same"}
    return {"operations": [merge]}


def about_retries(text: str, other: str) -> bool:
    return "at 3" in text and "at 3" in other


def test_what_conversations_of_one_batch_bring_twice_becomes_one(tmp_path: Path) -> None:
    with serving_batches(say_twice) as api:
        api.ping = well
        shop = backlog(tmp_path, api, TWICE)
        told(shop, "--yes")
        assert finish(shop)["state"] == "done"
        assert len(api.batches[0].requests) == 4 and not api.single
        # Equal sentences are met as known; the others wait for the dream.
        assert sorted(shop.memories()) == ["keep-the-payment", "retries-of-payments", "the-build-box"]
        dreamt = shop.reverie("consolidate", "--force", **at(600))
        assert dreamt.returncode == 0, dreamt.stderr
        assert sorted(shop.memories()) == ["keep-the-payment", "the-build-box"], dreamt.stdout
        assert "Retries of payments" not in shop.knowledge()["keep-the-payment.md"].rpartition("---")[2]


def test_conversations_of_one_file_and_windows_of_one_conversation_are_read_once_each(tmp_path: Path) -> None:
    found, asked = [], []
    for way in ("single", "batch"):
        with serving_batches(facts) as api:
            shop = Workshop(
                tmp_path / way, {**api.environment, **ROOMY, "REVERIE_EXTRACTION__WINDOW_CHARS": "300"}
            )
            session = shop.session(1, start="2026-01-01T09:00:00Z")
            for pair in (FACTS[:2], FACTS[2:]):
                for text in pair:
                    talk(session, text)
                session.gap(300)
            shop.write(session)
            assert shop.reverie("ingest", "--dir", str(shop.projects)).returncode == 0
            if way == "batch":
                told(shop, "--yes")
                assert len(api.batches[0].requests) == 2, "both conversations at once"
                assert finish(shop)["readings"] == {"done": 2} and not api.single
            else:
                assert shop.reverie("process", "--all").returncode == 0
            found.append(plain(shop))
            asked.append(
                (sorted(said(prompt) for prompt in api.charged if not is_second(prompt)), first_asked(api))
            )
    assert found[0] == found[1] and len(found[0]) == 5
    windows = [[text.partition("] ")[2] for text in "".join(texts).splitlines()] for texts, _ in asked]
    assert sorted(windows[0]) == sorted(windows[1]) and asked[0][1] == asked[1][1] == [1, 1, 1, 1]
    assert len(asked[0][0]) > 2


def test_what_was_spent_tells_batches_from_single_calls(
    tmp_path: Path, api: BatchApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = backlog(tmp_path, api, FACTS[:1])
    told(shop, "--yes")
    finish(shop)
    for name, value in {**shop.env, **at(60)}.items():
        monkeypatch.setenv(name, value)
    purposes = {taken.name: taken.dollars for taken in spending.spent(App(), 7).purposes}
    each = budget.dollars("claude-haiku-4-5", budget.Usage(100, 20)) / 2
    assert purposes == {
        "extract.conversation (batch)": pytest.approx(each),
        "extract.verify (batch)": pytest.approx(each),
    }


def test_the_worker_goes_on_with_it_and_goes_away_meanwhile(tmp_path: Path, api: BatchApi) -> None:
    api.at_once = False
    shop = backlog(tmp_path, api)
    told(shop, "--yes")
    for minutes in (3, 6):
        assert shop.work(**at(minutes)) == 0
    assert api.asked.count(f"GET {ROOT}/msgbatch_0001") == 2 and not shop.memories()
    assert shop.work(**at(7)) == 0
    assert len(api.asked) == 3, "it looks again when that is due"
    status = json.loads(shop.reverie("status", "--json", **at(7)).stdout)
    assert (status["batch"]["requests"], status["batch"]["read"]) == (4, 0)
    assert "batch" in shop.reverie("status", **at(7)).stdout
    api.end()
    assert shop.work(**at(9)) == 0
    api.end()
    assert shop.work(**at(12)) == 0
    assert len(shop.memories()) == 4 and first_asked(api) == [1, 1, 1, 1]
    assert json.loads(shop.reverie("status", "--json", **at(12)).stdout)["batch"] is None


def test_between_two_looks_the_worker_holds_nothing_it_loaded(tmp_path: Path, api: BatchApi) -> None:
    api.at_once = False
    shop = backlog(tmp_path, api, FACTS[:1])
    told(shop, "--yes")
    with shop.ledger() as ledger:
        ledger.execute(DUE)
    (shop.home / "logs").mkdir(exist_ok=True)
    log = shop.home / "logs" / "worker.log"
    log.touch()
    env = {**shop.env, "REVERIE_WORKER__LINGER_SECONDS": "6000"}
    del env["REVERIE_NOW"]
    process = subprocess.Popen([sys.executable, "-m", "pipeline.worker"], env=env, cwd=shop.home)
    with subprocess.Popen(["tail", "-n", "+1", "-f", str(log)], stdout=subprocess.PIPE) as followed:
        assert followed.stdout is not None
        seen = b""
        # Each look is followed by a pass of the process that took over, which has nothing to do.
        for passes, statement in ((2, DUE), (4, "DELETE FROM jobs WHERE kind = 'batch'")):
            while seen.count(b": pass: ") < passes:
                assert select.select([followed.stdout], [], [], LIMIT)[0], seen.decode()
                seen += os.read(followed.stdout.fileno(), 4096)
            with shop.ledger() as ledger:
                ledger.execute(statement)
        assert process.wait(LIMIT) == 0
        followed.terminate()
    assert sum("waits in a new process" in line for line in shop.log()) == 2
    assert api.asked == [f"POST {ROOT}", *[f"GET {ROOT}/msgbatch_0001"] * 2]


def test_what_is_in_a_batch_is_read_by_nobody_else(tmp_path: Path, api: BatchApi) -> None:
    api.at_once = False
    shop = backlog(tmp_path, api)
    told(shop, "--yes")
    assert json.loads(shop.reverie("process", "--all", "--estimate", "--json").stdout) == []
    [transcript, *_] = sorted(shop.folder.glob("*.jsonl"))
    refused = shop.reverie("extract", "--transcript", str(transcript))
    assert refused.returncode != 0 and "is being read in a batch" in refused.stderr
    assert not api.single


# -- deaths -------------------------------------------------------------------------------------------

DEATHS = (
    "batch.written",
    "batch.sent",
    "batch.result_kept",
    "batch.result_kept#3",
    "batch.taken",
    "store.files_replaced",
    "extract.after_store",
)
OFTEN = ("batch.sent", "batch.result_kept", "batch.taken")
"""Those that always run; the others are in the sweeps."""


@pytest.mark.parametrize(
    "point",
    [*OFTEN, *(pytest.param(point, marks=pytest.mark.whole) for point in DEATHS if point not in OFTEN)],
)
def test_a_death_neither_loses_nor_pays_twice(
    tmp_path: Path, api: BatchApi, singly: tuple[dict[str, str], float, list[Any]], point: str
) -> None:
    shop = backlog(tmp_path, api)
    died = [
        shop.reverie("process", "--all", "--batch", "--yes", REVERIE_CRASH_AT=point, **at(minutes)).returncode
        for minutes in (0, 1, 3)
    ]
    assert -9 in died
    done = finish(shop, begin=2)
    assert (done["state"], done["readings"]) == ("done", {"done": 4})
    assert first_asked(api) == [1, 1, 1, 1] and seconds_asked(api) == 4 and not api.single
    assert plain(shop) == singly[0]
    assert dollars(shop) == pytest.approx(singly[1] / 2)


def test_a_batch_of_which_no_id_is_known_is_waited_for(tmp_path: Path, api: BatchApi) -> None:
    api.at_once = False
    shop = backlog(tmp_path, api)
    died = shop.reverie("process", "--all", "--batch", "--yes", REVERIE_CRASH_AT="batch.sent")
    assert died.returncode == -9 and len(api.batches) == 1
    # Somebody else's, of as many requests, which came before and has ended.
    other = [{**one, "custom_id": f"other-{n}"} for n, one in enumerate(api.batches[0].requests)]
    foreign = Batch("msgbatch_foreign", other, api.now(), ended=True)
    foreign.results = [{"custom_id": "other-0", "result": {"type": "expired"}}] * 4
    api.batches.append(foreign)
    waits = told(shop, **at(20))
    assert "nothing is sent twice" in waits["waits"] and waits["requests"] == 4 and len(api.batches) == 2
    api.end()
    api.at_once = True
    assert finish(shop, begin=2)["state"] == "done"
    assert first_asked(api) == [1, 1, 1, 1] and len(shop.memories()) == 4


def test_a_batch_that_never_left_is_sent_when_that_is_sure(tmp_path: Path, api: BatchApi) -> None:
    shop = backlog(tmp_path, api)
    died = shop.reverie("process", "--all", "--batch", "--yes", REVERIE_CRASH_AT="batch.written")
    assert died.returncode == -9 and not api.batches
    assert told(shop, **at(5))["requests"] == 4 and not api.batches
    assert told(shop, **at(11))["requests"] == 4 and len(api.batches) == 1
    with shop.ledger() as ledger:
        unsent = ledger.value("SELECT count(*) FROM model_calls WHERE NOT sent AND dollars = 0")
    assert unsent == 4


def test_another_key_is_asked_nothing_of_what_it_can_not_know(tmp_path: Path, api: BatchApi) -> None:
    shop = backlog(tmp_path, api)
    shop.reverie("process", "--all", "--batch", "--yes", REVERIE_CRASH_AT="batch.sent")
    assert "another key" in told(shop, **at(60), **{KEY_VARIABLE: "another"})["waits"]
    assert len(api.batches) == 1
    assert finish(shop, begin=5)["readings"] == {"done": 4} and first_asked(api) == [1, 1, 1, 1]


def test_results_that_break_off_are_read_again(tmp_path: Path, api: BatchApi) -> None:
    shop = backlog(tmp_path, api)
    told(shop, "--yes")
    api.cut = 2
    broken = told(shop, **at(3))
    assert broken["readings"]["answered"] in (1, 2) and len(api.batches) == 1
    api.cut = -1
    assert finish(shop)["readings"] == {"done": 4}
    assert first_asked(api) == [1, 1, 1, 1] and seconds_asked(api) == 4 and len(shop.memories()) == 4


def test_results_that_lack_some_are_read_again_and_the_others_go_on(tmp_path: Path, api: BatchApi) -> None:
    shop = backlog(tmp_path, api)
    told(shop, "--yes")
    api.lack = 2
    broken = told(shop, **at(3))
    assert "lack 2 of 4 requests" in broken["waits"] and len(api.batches) == 2
    assert broken["readings"] == {"asked": 4} and len(api.batches[1].requests) == 2
    api.lack = 0
    assert finish(shop)["readings"] == {"done": 4}
    assert first_asked(api) == [1, 1, 1, 1] and seconds_asked(api) == 4 and len(shop.memories()) == 4


# -- what fails -----------------------------------------------------------------------------------------


def test_what_expires_or_fails_is_asked_singly(
    tmp_path: Path, api: BatchApi, singly: tuple[dict[str, str], float, list[Any]]
) -> None:
    def fate(prompt: str) -> str:
        if FACTS[0] in prompt:
            return "expired"
        if FACTS[1] in prompt:
            return "errored"
        return "expired" if is_second(prompt) and FACTS[2] in prompt else "succeeded"

    api.fate = fate
    shop = backlog(tmp_path, api)
    told(shop, "--yes")
    done = finish(shop)
    assert done["readings"] == {"alone": 3, "done": 1}
    assert first_asked(api) == [1, 1, 1, 1] and seconds_asked(api) == 4
    assert len(api.single) == 5, "two conversations with both readers, one with the second alone"
    assert {*shop.memories(), "index"} == {*singly[0]}
    each = budget.dollars("claude-haiku-4-5", budget.Usage(100, 20))
    assert dollars(shop) == pytest.approx(3 * each / 2 + 5 * each)


def test_a_reply_that_does_not_fit_is_asked_singly(tmp_path: Path, api: BatchApi) -> None:
    shop = backlog(tmp_path, api, FACTS[:2])
    api.answer = lambda prompt: "Sorry, no." if not api.batches[0].ended else facts(prompt)
    told(shop, "--yes")
    done = finish(shop)
    assert done["readings"] == {"alone": 2} and len(shop.memories()) == 2
    with shop.ledger() as ledger:
        rows = ledger.plain_rows("SELECT outcome, count(*) FROM model_calls GROUP BY 1 ORDER BY 1")
    assert rows == [("invalid", 2), ("ok", 4)]


def odd(line: dict[str, Any]) -> bytes:
    """Write the result of the first fact's question in a way that nobody can read."""
    return json.dumps({**line, "result": {"type": "succeeded", "message": None}}).encode()


def without_details(line: dict[str, Any]) -> bytes:
    return json.dumps({**line, "result": {"type": "errored", "error": None}}).encode()


def no_json(line: dict[str, Any]) -> bytes:
    return b"<odd>"


@pytest.mark.parametrize("spoil", [odd, without_details, no_json])
def test_a_line_that_tells_nothing_costs_its_own_request_only(
    tmp_path: Path, api: BatchApi, spoil: Callable[[dict[str, Any]], bytes]
) -> None:
    shop = backlog(tmp_path, api)
    told(shop, "--yes")
    first = api.batches[0].requests[0]["custom_id"]
    api.line = lambda line: spoil(line) if line["custom_id"] == first else json.dumps(line).encode()
    done = finish(shop)
    assert (done["state"], done["readings"]) == ("done", {"alone": 1, "done": 3})
    assert len(shop.memories()) == 4 and len(api.single) == 2, "both readers of one conversation"
    with shop.ledger() as ledger:
        rows = dict(ledger.plain_rows("SELECT outcome, count(*) FROM model_calls GROUP BY 1"))
    # What may have been charged counts so.
    assert rows == {"ok": 8, "failed" if spoil is without_details else "lost": 1}


def test_a_canceled_order_ends_also_where_a_line_tells_nothing(tmp_path: Path, api: BatchApi) -> None:
    api.at_once = False
    shop = backlog(tmp_path, api, FACTS[:2])
    told(shop, "--yes")
    api.end()
    api.line = odd
    ended = told(shop, "--cancel", **at(3))
    assert (ended["state"], ended["readings"]) == ("canceled", {"left": 2})
    assert shop.reverie("work", **at(4)).returncode == 0
    assert not api.single, "nothing more is asked"


def test_a_provider_without_batches_is_waited_for(tmp_path: Path, api: BatchApi) -> None:
    api.at_once = False
    shop = backlog(tmp_path, api, FACTS[:1])
    told(shop, "--yes")
    other = {"REVERIE_MODEL__PROVIDER": "offline"}
    for minutes in (3, 20, 40, 60, 80):
        assert shop.work(**at(minutes), **other) == 0
    status = json.loads(shop.reverie("status", "--json", **at(81), **other).stdout)
    with shop.ledger() as ledger:
        assert ledger.plain_rows("SELECT state, attempts FROM jobs WHERE kind = 'batch'") == [("waiting", 0)]
    assert "takes no batches" in status["batch"]["waits"]
    api.end()
    api.at_once = True
    assert shop.work(**at(100)) == 0
    assert shop.work(**at(120)) == 0
    assert len(shop.memories()) == 1 and first_asked(api)[0] == 1


def test_what_was_canceled_at_the_provider_was_not_read(tmp_path: Path, api: BatchApi) -> None:
    shop = backlog(tmp_path, api, FACTS[:2])
    api.fate = lambda prompt: "canceled"
    told(shop, "--yes")
    shown = shop.reverie("process", "--all", "--batch", **at(3)).stdout
    assert "done: 0 of 2 conversations read, 2 asked singly instead" in shown


def test_small_sums_are_told_apart(tmp_path: Path, api: BatchApi) -> None:
    shop = backlog(tmp_path, api, FACTS[:1])
    shown = shop.reverie("process", "--all", "--batch", "--estimate").stdout
    half, single = re.findall(r"\$(0\.\d{4})", shown)[:2]
    assert float(half) == pytest.approx(float(single) / 2, abs=1e-4)


def test_results_that_are_gone_count_as_charged(tmp_path: Path, api: BatchApi) -> None:
    shop = backlog(tmp_path, api, FACTS[:2])
    ordered = told(shop, "--yes")
    api.batches[0].archived = True
    lost = told(shop, **at(3))
    assert lost["readings"] == {"alone": 2} and lost["state"] == "done"
    assert lost["spent_dollars"] == pytest.approx(ordered["reserved_dollars"])
    assert shop.reverie("work", **at(4)).returncode == 0
    assert len(shop.memories()) == 2


def test_a_batch_that_is_refused_reserves_nothing(tmp_path: Path, api: BatchApi) -> None:
    shop = backlog(tmp_path, api)
    api.refusal = (400, "requests: made-up fault")
    refused = told(shop, "--yes")
    assert "made-up fault" in refused["failures"][0]
    assert (refused["readings"], refused["reserved_dollars"], refused["batches"]) == ({"waiting": 4}, 0, 0)
    api.refusal = None
    assert finish(shop)["readings"] == {"done": 4}


def test_a_batch_that_is_too_large_goes_in_halves(
    tmp_path: Path, api: BatchApi, singly: tuple[dict[str, str], float, list[Any]]
) -> None:
    api.is_too_large = lambda prompts: len(prompts) > 2
    shop = backlog(tmp_path, api)
    ordered = told(shop, "--yes")
    assert (ordered["batches"], ordered["requests"]) == (2, 4) and not ordered["failures"]
    done = finish(shop)
    assert done["readings"] == {"done": 4} and plain(shop) == singly[0]
    assert [len(batch.requests) for batch in api.batches] == [2, 2, 2, 2] and not api.single
    assert api.refused == [4, 4] and first_asked(api) == [1, 1, 1, 1] and seconds_asked(api) == 4
    assert dollars(shop) == pytest.approx(singly[1] / 2), "what was refused costs nothing"


def test_a_request_that_is_too_large_alone_is_no_more_sent_in_a_batch(tmp_path: Path, api: BatchApi) -> None:
    api.is_too_large = lambda prompts: any(FACTS[2] in prompt for prompt in prompts)
    shop = backlog(tmp_path, api)
    told(shop, "--yes")
    assert api.refused == [4, 2, 1] and sorted(len(batch.requests) for batch in api.batches) == [1, 2]
    with shop.ledger() as ledger:
        [reason] = ledger.plain_rows("SELECT reason FROM batch_readings WHERE state = 'alone'")
    assert reason[0].startswith("too_long: HTTP 413: made-up limit")
    done = finish(shop)
    assert (done["readings"], len(shop.memories())) == ({"alone": 1, "done": 3}, 4)
    assert api.refused == [4, 2, 1] and len(api.single) == 2, "both readers of one conversation"


def test_cancel_asks_no_more_and_keeps_what_was_paid_for(tmp_path: Path, api: BatchApi) -> None:
    shop = backlog(tmp_path, api)
    told(shop, "--yes")
    api.at_once = False
    assert told(shop, **at(3))["requests"] == 4, "the second readers' batch"
    canceled = told(shop, "--cancel", **at(4))
    assert (canceled["state"], api.batches[1].canceling) == ("canceling", True)
    again = shop.reverie("process", "--all", "--batch", "--yes", **at(5))
    assert "It is being canceled, so nothing new is ordered." in " ".join(again.stderr.split())
    api.end()
    ended = told(shop, **at(7))
    assert (ended["state"], ended["readings"]) == ("canceled", {"left": 4}) and not shop.memories()
    assert shop.reverie("process", "--all", **at(8)).returncode == 0
    assert len(shop.memories()) == 4
    assert first_asked(api) == [1, 1, 1, 1] and seconds_asked(api) == 4 and len(api.single) == 4


# -- caps -------------------------------------------------------------------------------------------


def test_no_cap_is_passed_by_batches_and_single_calls_together(tmp_path: Path, api: BatchApi) -> None:
    cap = 0.05
    shop = backlog(tmp_path, api, REVERIE_SPEND__DOLLARS_PER_DAY=str(cap))
    seen: list[float] = []

    def look() -> None:
        with shop.ledger() as ledger:
            seen.append(calls.spent(ledger, now=datetime.fromisoformat(WHEN)).day_dollars)

    api.after_taking = look
    told(shop, "--yes")
    assert len(api.batches[0].requests) == 2, "no more has room at what it may cost at most"
    [transcript] = [shop.write(shop.session(9, start="2026-01-09T09:00:00Z"))]
    session = shop.session(9, start="2026-01-09T09:00:00Z")
    talk(session, "The pager is Dana's in odd weeks.")
    shop.write(session)
    single = shop.reverie("extract", "--transcript", str(transcript), **at(1))
    assert "spend.dollars_per_day" in single.stderr and not api.single
    done = finish(shop)
    assert done["readings"] == {"done": 4} and first_asked(api) == [1, 1, 1, 1]
    assert max(seen) <= cap and len(seen) > 2


def test_it_goes_on_only_where_the_background_can(tmp_path: Path, api: BatchApi) -> None:
    shop = backlog(tmp_path, api, FACTS[:1])
    for more, words in (
        (("--llm", "offline"), "the settings alone"),
        (("--store", str(shop.store)), "the settings alone"),
    ):
        refused = shop.reverie("process", "--batch", "--yes", *more)
        assert refused.returncode != 0 and words in refused.stderr
    refused = shop.reverie("process", "--batch", "--yes", REVERIE_STORE__MODE="observe")
    assert refused.returncode != 0 and "nothing is read in the background" in refused.stderr
    refused = shop.reverie("process", "--batch", "--yes", REVERIE_MODEL__PROVIDER="offline")
    assert refused.returncode != 0 and "takes no batches" in refused.stderr
    assert "here nobody can be asked" in shop.reverie("process", "--batch").stderr
    assert not api.batches
