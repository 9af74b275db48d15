"""One span becomes memories, exactly once, whatever goes wrong in between."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import Settings
from pipeline.core.errors import (
    ConflictError,
    OverloadedError,
    RefusedError,
    SpendError,
    StoreError,
    TooLongError,
)
from pipeline.extraction.run import extract, give_up
from pipeline.extraction.strategies import ConversationStrategy
from pipeline.ledger import calls, conversations, inbox, runs, watermarks
from pipeline.llm.budget import Usage
from pipeline.llm.fakes import Scripted
from pipeline.llm.request import RawReply, Request
from pipeline.store import Applied, ChangeSet, Document, Snapshot, Store
from pipeline.store.files.layout import FileStamp
from tests.support.extraction import NOTHING, NOW, Bench, fact, reply
from tests.support.stores import tree
from tests.support.transcripts import Transcript

SAID = "keep the retries at 3, the gateway bans us at 5"


def heard(bench: Bench, *lines: str) -> str:
    session = Transcript()
    for line in lines or (SAID,):
        session.user(line)
    return bench.hear(session)


def read_through(bench: Bench, key: str, strategy: str = "turn") -> int:
    return watermarks.watermark(bench.ledger, key, bench.desk().store_key, strategy)


def outcomes(bench: Bench, key: str) -> list[str | None]:
    return [run.outcome for run in reversed(runs.list_runs(bench.ledger, key=key, limit=1_000))]


def settings(**sections: dict[str, Any]) -> Settings:
    return Settings.model_validate(sections)


def test_a_fact_said_is_a_file_kept_with_its_run(bench: Bench) -> None:
    key = heard(bench)
    bench.script([reply(fact(1, SAID))])
    (outcome,) = bench.run(bench.turns(key))
    run = runs.run(bench.ledger, outcome.run_id)
    assert outcome.actions[0].action == "created" and bench.names() == ["retries-stay-at-three"]
    assert run is not None and (run.outcome, run.provider) == ("applied", "scripted")
    assert bench.store.read("retries-stay-at-three").memory.sources[0].quote == SAID
    assert bench.run(bench.turns(key)) == [] and len(bench.provider.history) == 1


def test_a_reply_without_facts_moves_on_and_writes_nothing(bench: Bench) -> None:
    key = heard(bench)
    before = tree(bench.store.root)
    bench.script([NOTHING])
    assert [o.word for o in bench.run(bench.turns(key))] == ["nothing"]
    assert read_through(bench, key) > 0 and tree(bench.store.root) == before


def test_a_span_that_needs_no_model_makes_no_call(bench: Bench) -> None:
    key = heard(bench, "ok", "thanks")
    (outcome,) = bench.run(bench.turns(key))
    assert (outcome.word, outcome.reason) == ("skipped", "only acknowledgements")
    assert bench.provider.history == [] and calls.list_calls(bench.ledger) == []


def test_offline_the_rules_answer(bench: Bench) -> None:
    key = heard(bench, "never mock the database")
    outcome = extract(bench.desk(offline=True), bench.turns(key))
    assert outcome is not None and outcome.word == "applied"
    run = runs.run(bench.ledger, outcome.run_id)
    assert run is not None and run.provider == "offline"


def test_what_is_rejected_or_doubtful_stays_visible(bench: Bench) -> None:
    key = heard(bench, SAID)
    doubtful = fact(2, "The cache may be stale now", confidence=0.5, name="stale-cache")
    session = Transcript()
    session.user(SAID)
    session.assistant("The cache may be stale now.")
    key = bench.hear(session)
    bench.script([reply(fact(1, "never said"), doubtful)])
    (outcome,) = bench.run(bench.turns(key))
    assert [r["reason"] for r in outcome.rejected] == [
        "no quote is found in the line it cites", "only the assistant said it, and not surely",
    ]  # fmt: skip
    (item,) = inbox.list_inbox(bench.ledger, bench.desk().store_key)
    assert (json.loads(item.payload_json)["name"], item.run_id) == ("stale-cache", outcome.run_id)


def test_propose_mode_fills_the_inbox_and_leaves_the_store(bench: Bench) -> None:
    bench.settings = settings(store={"mode": "propose"})
    key = heard(bench)
    before = tree(bench.store.root)
    bench.script([reply(fact(1, SAID))])
    assert [(o.word, o.proposals) for o in bench.run(bench.turns(key))] == [("proposed", 1)]
    assert tree(bench.store.root) == before and len(inbox.list_inbox(bench.ledger)) == 1


def test_u8_what_was_forgotten_is_not_learned_again_from_the_same_words(bench: Bench) -> None:
    key = heard(bench, SAID, "a", "b", "c", "d")
    bench.script([reply(fact(1, SAID)), reply(fact(1, SAID, name="under-another-name"))])
    bench.run(bench.turns(key))
    memory = bench.store.read("retries-stay-at-three")
    bench.store.note_forgotten(memory.memory.sources, name=memory.name, reason="asked", now=NOW)
    (bench.store.root / memory.path).unlink()
    (found,) = conversations.list_conversations(bench.ledger, key=key)
    whole = ConversationStrategy(found, bench.settings.extraction)
    assert [o.word for o in bench.run(whole)] == ["nothing"]
    assert bench.names() == []


class Failing(Store):
    """A store whose first `failures` writes end in `error`."""

    failures = 1
    error: type[StoreError] = StoreError

    def apply(self, change: ChangeSet, *, generation: bool = False) -> Applied:
        if self.failures:
            self.failures -= 1
            raise self.error("made to fail")
        return super().apply(change, generation=generation)


def test_a_committed_reply_is_applied_later_without_a_second_call(bench: Bench) -> None:
    key = heard(bench)
    path = bench.store.path
    bench.store = Failing.open(path)
    bench.script([reply(fact(1, SAID))])
    with pytest.raises(StoreError):
        bench.run(bench.turns(key))
    assert read_through(bench, key) == 0 and bench.names() == []
    bench.store = Store.open(path)
    assert [o.word for o in bench.run(bench.turns(key))] == ["applied"]
    assert bench.names() == ["retries-stay-at-three"] and len(bench.provider.history) == 1
    assert outcomes(bench, key) == ["applied"]


class Dying(Store):
    """A store that is told "no" only after the files are there, as if the process had died behind it."""

    def apply(self, change: ChangeSet, *, generation: bool = False) -> Applied:
        super().apply(change, generation=generation)
        raise StoreError("made to fail")


def test_a_change_already_made_is_not_made_twice(bench: Bench) -> None:
    key = heard(bench)
    path = bench.store.path
    bench.store = Dying.open(path)
    bench.script([reply(fact(1, SAID))])
    with pytest.raises(StoreError):
        bench.run(bench.turns(key))
    before = tree(path)
    bench.store = Store.open(path)
    (outcome,) = bench.run(bench.turns(key))
    assert tree(path) == before and len(bench.provider.history) == 1
    assert (outcome.word, outcome.actions[0].action) == ("applied", "created")


@pytest.mark.parametrize("broken", [Failing, Dying])
def test_a_resumed_conversation_writes_its_episode_once(bench: Bench, broken: type[Store]) -> None:
    key = heard(bench, SAID, "a", "b", "c", "d")
    (found,) = conversations.list_conversations(bench.ledger, key=key)
    whole = ConversationStrategy(found, bench.settings.extraction)
    path = bench.store.path
    bench.store = broken.open(path)
    bench.script([reply(fact(1, SAID), episode={"title": "Retry limits", "summary": ["Settled at 3."]})])
    with pytest.raises(StoreError):
        bench.run(whole)
    bench.store = Store.open(path)
    bench.run(whole)
    (episode,) = (path / "episodes").rglob("*.md")
    assert episode.read_text("utf-8").count("Retry limits") == 1
    assert "Settled at 3." in episode.read_text("utf-8")


@pytest.mark.parametrize("broken", [Failing, Store])
def test_what_a_conversation_took_back_is_withdrawn_at_its_end(bench: Bench, broken: type[Store]) -> None:
    key = heard(bench, SAID, "a", "b", "c", "d")
    bench.script(
        [reply(fact(1, SAID)), reply(withdrawals=[{"name": "retries-stay-at-three", "reason": "an order"}])]
    )
    bench.run(bench.turns(key))
    assert bench.names() == ["retries-stay-at-three"]
    (found,) = conversations.list_conversations(bench.ledger, key=key)
    whole = ConversationStrategy(found, bench.settings.extraction)
    path = bench.store.path
    bench.store = broken.open(path)
    with suppress(StoreError):
        bench.run(whole)
    bench.store = Store.open(path)
    bench.run(whole)
    assert bench.names() == [] and len(bench.provider.history) == 2
    assert "## retries-stay-at-three" in bench.prompt() and len(list(path.glob("archive/2026/*.md"))) == 1


class Racing(Store):
    """A store in which Claude writes `name` in the moment before our change, `times` times."""

    times = 1
    name = "retries-stay-at-three"

    def apply(self, change: ChangeSet, *, generation: bool = False) -> Applied:
        if self.times:
            self.times -= 1
            text = f"---\nname: {self.name}\ndescription: d\ntype: project\n---\ntheirs {self.times}\n"
            (self.root / f"{self.name}.md").write_text(text, "utf-8")
        return super().apply(change, generation=generation)


def test_what_claude_writes_in_between_stays_and_ours_gets_another_name(bench: Bench) -> None:
    key = heard(bench)
    bench.store = Racing.open(bench.store.path)
    bench.script([reply(fact(1, SAID))])
    (outcome,) = bench.run(bench.turns(key))
    assert "theirs" in (bench.store.root / "retries-stay-at-three.md").read_text("utf-8")
    assert outcome.word == "applied" and len(bench.provider.history) == 1
    assert bench.names() == ["retries-stay-at-three", "retries-stay-at-three-2"]


class Contested(Store):
    def apply(self, change: ChangeSet, *, generation: bool = False) -> Applied:
        raise ConflictError("changed again")


class Vanishing(Store):
    """A store that at its second look lists a memory whose file is gone when planning reads it."""

    looks = 0

    def scan(self) -> Snapshot:
        found = super().scan()
        self.looks += 1
        if self.looks == 2:
            gone = Document(self.root, "gone.md", {}, FileStamp(1, 1, 1), "0" * 64)
            return Snapshot([*found.documents, gone], [], [])
        return found


def test_a_file_deleted_while_planning_is_planned_around(bench: Bench) -> None:
    key = heard(bench)
    store: Any = Vanishing.open(bench.store.path)
    bench.store = store
    bench.script([reply(fact(1, SAID))])
    assert [o.word for o in bench.run(bench.turns(key))] == ["applied"]
    assert store.looks > 2 and len(bench.provider.history) == 1


def test_after_four_conflicts_the_reply_waits_for_the_next_try(bench: Bench) -> None:
    key = heard(bench)
    path = bench.store.path
    bench.store = Contested.open(path)
    bench.script([reply(fact(1, SAID))])
    with pytest.raises(ConflictError):
        bench.run(bench.turns(key))
    bench.store = Store.open(path)
    assert [o.word for o in bench.run(bench.turns(key))] == ["applied"]
    assert len(bench.provider.history) == 1


@pytest.mark.parametrize("error", [OverloadedError("busy"), RefusedError("no")])
def test_a_failed_call_changes_nothing_and_is_on_record(bench: Bench, error: Any) -> None:
    key = heard(bench)
    bench.settings = settings(model={"attempts": 1})
    before = tree(bench.store.root)
    bench.script([error, reply(fact(1, SAID))])
    with pytest.raises(type(error)):
        bench.run(bench.turns(key))
    assert read_through(bench, key) == 0 and tree(bench.store.root) == before
    bench.run(bench.turns(key))
    assert sorted(map(str, outcomes(bench, key))) == ["applied", f"failed:{error.outcome}"]


def test_a_cap_stops_before_the_call(bench: Bench) -> None:
    key = heard(bench)
    bench.settings = settings(spend={"calls_per_hour": 0})
    bench.script([reply(fact(1, SAID))])
    with pytest.raises(SpendError):
        bench.run(bench.turns(key))
    assert bench.provider.history == [] and outcomes(bench, key) == ["failed:spend"]


def lines_of(request: Request) -> list[str]:
    new = request.messages[0].content.split("<new_dialogue>")[1].split("</new_dialogue>")[0]
    return [line for line in new.splitlines() if line.startswith("[")]


def at_most(count: int, poison: str = "POISON") -> Callable[[Request], Scripted]:
    def answer(request: Request) -> Scripted:
        lines = lines_of(request)
        if len(lines) > count or any(poison in line for line in lines):
            return TooLongError("prompt is too long")
        return NOTHING

    return answer


@pytest.mark.parametrize("length", [20, 900])
def test_bug_073_a_span_too_long_is_halved_until_it_fits(bench: Bench, length: int) -> None:
    texts = [f"event {number} " + "x" * length for number in range(20)]
    texts[10] = "POISON " + "y" * 5_000
    key = heard(bench, *texts)
    bench.script(at_most(3))
    found = bench.run(bench.turns(key))
    assert len(bench.provider.history) <= 20
    refused = [request for request in bench.provider.history if len(lines_of(request)) > 3]
    assert len(refused) <= 4
    assert [o.reason for o in found if o.word.startswith("failed")] == ["too_long: prompt is too long"]
    accepted = [line for r in bench.provider.history if len(lines_of(r)) <= 3 for line in lines_of(r)]
    assert sorted({line.split("event ")[1].split()[0] for line in accepted if "event" in line}, key=int) == [
        str(n) for n in range(20) if n != 10
    ]
    assert bench.run(bench.turns(key)) == []


def test_bug_073_a_short_line_is_never_blamed_for_a_prompt_too_long(bench: Bench) -> None:
    key = heard(bench, "short")
    bench.script([TooLongError("prompt is too long")])
    with pytest.raises(TooLongError):
        bench.run(bench.turns(key))
    assert read_through(bench, key) == 0


def test_a_reply_cut_at_its_limit_is_asked_for_again_about_less(bench: Bench) -> None:
    key = heard(bench, "a one", "b two")
    cut = RawReply('{"memories": [', "max_tokens", Usage(1, 1), "scripted", "m")
    bench.script([cut, NOTHING, NOTHING])
    assert [o.word for o in bench.run(bench.turns(key))] == ["nothing", "nothing"]
    assert [len(lines_of(r)) for r in bench.provider.history] == [2, 1, 1]


def test_giving_up_moves_on_and_says_why(bench: Bench) -> None:
    key = heard(bench)
    outcome = give_up(bench.desk(), bench.turns(key), "refused: no")
    assert outcome is not None and (outcome.word, outcome.reason) == ("failed:unextractable", "refused: no")
    assert outcomes(bench, key) == ["failed:unextractable"]
    assert give_up(bench.desk(), bench.turns(key), "again") is None


def test_bug_052_no_model_is_paid_when_the_store_cannot_be_written(bench: Bench) -> None:
    key = heard(bench)
    (bench.store.root / ".reverie").write_text("in the way", "utf-8")
    bench.script([reply(fact(1, SAID))])
    for _ in range(5):
        with pytest.raises(StoreError, match=r"\.reverie: a file where a folder must be"):
            bench.run(bench.turns(key))
    assert bench.provider.history == [] and calls.list_calls(bench.ledger) == []
    (bench.store.root / ".reverie").unlink()
    assert [o.word for o in bench.run(bench.turns(key))] == ["applied"]


@pytest.mark.parametrize("deeper", ["", "memory", "a/memory"])
def test_bug_052_a_store_below_a_file_is_an_error_that_names_it(tmp_path: Path, deeper: str) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(StoreError) as caught:
        Store.open(tmp_path / "file" / deeper, create=True)
    assert str(tmp_path / "file") in str(caught.value) and caught.value.fix


def test_the_check_before_a_call_leaves_no_file(bench: Bench) -> None:
    key = heard(bench)
    bench.script([NOTHING])
    bench.run(bench.turns(key))
    assert sorted(p.name for p in (bench.store.root / ".reverie").iterdir()) == [".gitignore"]
