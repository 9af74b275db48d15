"""What an extraction did is in the history and comes back whole, and its words do not do it again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.app import history
from pipeline.app import inbox as decisions
from pipeline.app.application import App
from pipeline.app.pins import pin
from pipeline.config import Settings
from pipeline.core.clock import iso
from pipeline.core.errors import ConflictError
from pipeline.domain.memory import Evidence
from pipeline.extraction.strategies import ConversationStrategy
from pipeline.ledger import conversations, inbox
from tests.support.extraction import NOTHING, NOW, Bench, fact, reply
from tests.support.stores import memory, save, tree
from tests.support.transcripts import Transcript

SAID = "deploys use make ship since Tuesday"
BEFORE = Evidence(
    session="old", uuid="u1", quote="port 8443, 3 retries at most", at="2026-01-05T10:00:00+00:00"
)
OLD = memory(
    "deploys",
    type="project",
    description="Deploys go through port 8443.",
    body="Deploys go through port 8443 with at most 3 retries.\n\n**Why:** the gateway bans us at 5.\n",
    sources=(BEFORE,),
)
NEW = {
    "name": "deploys",
    "update_of": "deploys",
    "title": "",
    "description": "Deploys use make ship.",
    "statement": "",
    "replaces": [{"number": 1, "text": "Deploys use make ship since 2026-02-24."}],
}
FRESH = {
    "name": "ship-with-make",
    "description": NEW["description"],
    "statement": "Deploys use make ship since 2026-02-24.",
}


@pytest.fixture
def app(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> App:
    """The same home and store as a command sees them."""
    monkeypatch.setenv("REVERIE_HOME", str(bench.root))
    monkeypatch.setenv("REVERIE_NOW", iso(NOW))
    return App(store=bench.store.path)


def heard(bench: Bench, *lines: str) -> str:
    session = Transcript()
    for line in lines:
        session.user(line)
    return bench.hear(session)


def whole(bench: Bench, key: str) -> ConversationStrategy:
    (found,) = conversations.list_conversations(bench.ledger, key=key)
    return ConversationStrategy(found, bench.settings.extraction)


def memories(root: Path) -> dict[str, bytes]:
    return {name: raw for name, raw in tree(root).items() if name.endswith(".md") and name.islower()}


def test_an_update_stands_in_the_history_and_comes_back_byte_for_byte(bench: Bench, app: App) -> None:
    save(bench.store, OLD)
    key, before = heard(bench, SAID), memories(bench.store.root)
    bench.script([reply(fact(1, SAID, **NEW))])
    (outcome,) = bench.run(bench.turns(key))
    assert [action.action for action in outcome.actions] == ["updated"]
    assert "8443" not in bench.store.read("deploys").memory.body, "a person said something later"
    (kept,) = history.history(app)
    assert (kept.generation.run, kept.generation.reason) == (outcome.run_id, f"extraction of {key}")
    assert (kept.by, kept.what) == ("extraction", "changed deploys")
    (change,) = (item for item in history.diff(app, outcome.run_id[:8]) if item.path == "deploys.md")
    assert b"8443" in (change.before or b"") and b"make ship" in (change.after or b"")
    assert history.undo(app, "").run == outcome.run_id
    assert memories(bench.store.root) == before
    assert bench.run(bench.turns(key)) == [], "the turn has been read"


def test_what_was_withdrawn_comes_back_byte_for_byte(bench: Bench, app: App) -> None:
    save(bench.store, OLD)
    key, before = heard(bench, "forget port 8443, that gateway is gone"), memories(bench.store.root)
    taken_back = {"name": "deploys", "reason": "over", "evidence": [{"line": 1, "quote": "forget port 8443"}]}
    bench.script([reply(withdrawals=[taken_back])])
    bench.run(bench.turns(key))
    assert bench.names() == []
    history.undo(app, "")
    assert memories(bench.store.root) == before


def test_a_memory_pinned_since_is_not_left_behind_in_silence(bench: Bench, app: App) -> None:
    key = heard(bench, SAID, "the gateway bans us at 5 retries")
    banned = "The gateway bans us at 5 retries."
    second = {"name": "gateway-bans-at-5", "statement": banned, "description": banned}
    bench.script([reply(fact(1, SAID, **FRESH), fact(2, "the gateway bans us at 5", **second))])
    (outcome,) = bench.run(bench.turns(key))
    assert len(bench.names()) == 2
    pin(app, "ship-with-make", pinned=True)
    before = memories(bench.store.root)
    with pytest.raises(ConflictError, match=r"ship-with-make\.md was moved by .*pin") as refused:
        history.undo(app, outcome.run_id)
    assert memories(bench.store.root) == before
    history.undo(app, refused.value.fix.split("`")[1].removeprefix("reverie undo "))
    history.undo(app, outcome.run_id)
    assert bench.names() == []


def test_what_was_withdrawn_and_undone_its_own_words_never_withdraw_again(bench: Bench, app: App) -> None:
    save(bench.store, OLD)
    key = heard(bench, "forget port 8443, that gateway is gone", "b", "c", "d", "e")
    taken_back = {"name": "deploys", "reason": "over", "evidence": [{"line": 1, "quote": "forget port 8443"}]}
    bench.script([reply(withdrawals=[taken_back])] * 2)
    bench.run(bench.turns(key))
    history.undo(app, "")
    (again,) = bench.run(whole(bench, key))
    assert again.actions == () and "undone" in again.rejected[0]["reason"]
    assert bench.names() == ["deploys"]


def test_what_was_made_and_undone_its_own_words_never_make_again(bench: Bench, app: App) -> None:
    key = heard(bench, SAID, "b", "c", "d", "e")
    made = reply(fact(1, SAID, **FRESH))
    bench.script([made, made])
    bench.run(bench.turns(key))
    assert bench.names() == ["ship-with-make"]
    history.undo(app, "")
    assert memories(bench.store.root) == {}
    (again,) = bench.run(whole(bench, key))
    assert again.actions == () and "undone" in again.rejected[0]["reason"]
    assert bench.names() == []


@pytest.mark.parametrize("kind", ["new", "retire"])
def test_what_was_accepted_and_undone_its_own_words_never_do_again(bench: Bench, app: App, kind: str) -> None:
    bench.settings = Settings.model_validate({"store": {"mode": "propose"}})
    if kind == "retire":
        save(bench.store, OLD)
    key, before = heard(bench, SAID, "b", "c", "d", "e"), memories(bench.store.root)
    taken_back = {"name": "deploys", "reason": "over", "evidence": [{"line": 1, "quote": SAID}]}
    proposed = reply(fact(1, SAID, **FRESH)) if kind == "new" else reply(withdrawals=[taken_back])
    bench.script([proposed, proposed])
    bench.run(bench.turns(key))
    (item,) = inbox.list_inbox(bench.ledger)
    assert item.kind == kind
    decisions.accept(app, item.id)
    assert memories(bench.store.root) != before
    history.undo(app, "")
    bench.settings = Settings()
    (again,) = bench.run(whole(bench, key))
    assert again.actions == () and "undone" in again.rejected[0]["reason"]
    assert memories(bench.store.root) == before


def test_an_undo_that_is_undone_lifts_what_it_forbade(bench: Bench, app: App) -> None:
    key = heard(bench, SAID, "b", "c", "d", "e")
    more = {**FRESH, "update_of": "ship-with-make", "why": "One command does it all, the last step too."}
    bench.script([reply(fact(1, SAID, **FRESH)), reply(fact(1, SAID, **more))])
    (outcome,) = bench.run(bench.turns(key))
    history.undo(app, outcome.run_id)
    history.undo(app, f"undo-{outcome.run_id}")
    assert bench.names() == ["ship-with-make"]
    (again,) = bench.run(whole(bench, key))
    assert [action.action for action in again.actions] == ["updated"]


def test_u4_an_update_by_older_words_is_dropped_with_its_reason(bench: Bench) -> None:
    since = replace(BEFORE, at="2026-03-05T10:00:00+00:00")
    save(bench.store, replace(OLD, sources=(since,)))
    key, before = heard(bench, SAID), memories(bench.store.root)
    bench.script([reply(fact(1, SAID, **NEW))])
    (outcome,) = bench.run(bench.turns(key))
    assert outcome.actions == () and memories(bench.store.root) == before
    assert [item["reason"] for item in outcome.rejected] == ["said later otherwise"]
    assert inbox.list_inbox(bench.ledger) == []


def test_an_update_of_words_without_a_time_waits_with_both_texts(bench: Bench) -> None:
    save(bench.store, replace(OLD, sources=(replace(BEFORE, at=None),)))
    key, before = heard(bench, SAID), memories(bench.store.root)
    bench.script([reply(fact(1, SAID, **NEW))])
    (outcome,) = bench.run(bench.turns(key))
    assert outcome.word == "proposed" and memories(bench.store.root) == before
    (item,) = inbox.list_inbox(bench.ledger)
    assert (item.kind, item.payload["old_body"]) == ("update", OLD.body)
    assert item.payload["body"] == OLD.body.replace(
        "Deploys go through port 8443 with at most 3 retries.", "Deploys use make ship since 2026-02-24."
    )
    assert "nobody knows when" in item.reason


def test_a_page_of_the_diary_alone_is_no_change_to_undo(bench: Bench) -> None:
    key = heard(bench, "a", "b", "c", "d", "e")
    bench.script([{**NOTHING, "episode": {"title": "Small talk", "summary": ["Nothing else."]}}])
    bench.run(whole(bench, key))
    assert list((bench.store.root / "episodes").rglob("*.md")) and bench.store.history() == []


def test_in_propose_mode_nothing_is_written_in_the_diary_either(bench: Bench) -> None:
    bench.settings = Settings.model_validate({"store": {"mode": "propose"}})
    key = heard(bench, SAID, "b", "c", "d", "e")
    before = tree(bench.store.root)
    episode: dict[str, Any] = {"title": "Shipping", "summary": ["One command."]}
    bench.script([reply(fact(1, SAID, **FRESH), episode=episode)])
    bench.run(whole(bench, key))
    assert tree(bench.store.root) == before and len(inbox.list_inbox(bench.ledger)) == 1


def test_many_extractions_push_no_other_change_out_of_the_history(bench: Bench, app: App) -> None:
    save(bench.store, OLD)
    most = bench.settings.dream.generations
    pin(app, "deploys", pinned=True)
    for number in range(most + 2):
        text = f"shelf {number} of the pantry holds jar{number}"
        session = Transcript(session_id=f"5e55{number:04}")
        session.user(text)
        key = bench.hear(session)
        bench.script([reply(fact(1, text, name=f"shelf-{number}", description=text, statement=f"{text}."))])
        bench.run(bench.turns(key))
    reasons = [item.reason.partition(" ")[0] for item in bench.store.history()]
    assert reasons.count("extraction") == most and reasons.count("pin") == 1
