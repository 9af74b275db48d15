"""Forgotten means forgotten: the words a memory rested on do not bring it back, under no name."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from pipeline.app import history
from pipeline.app import inbox as decisions
from pipeline.app.application import App
from pipeline.app.memories import add, forget
from pipeline.consolidation import vetoes
from pipeline.core.errors import ConflictError, StoreError
from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.operations import Operation
from pipeline.ledger import inbox
from pipeline.revision import Door
from pipeline.store import Document, Store
from pipeline.verify.flaw import Flaw
from tests.support.extraction import NOW, Bench
from tests.support.stores import memory, save

SAID = "2026-01-05T10:00:00+00:00"
FIRST = Evidence(session="s", uuid="u1", quote="three retries at most", at=SAID)
SECOND = Evidence(session="s", uuid="u2", quote="and log each of them", at=SAID)
RETRIES = memory("retries", body="Use 3 retries.\n", sources=(FIRST,), type="project")


def extracted(
    bench: Bench, *planned: Memory | tuple[Document, Memory] | Document, run: str = "made-1"
) -> None:
    """Write what an extraction would: new memories, changed ones, withdrawn ones."""
    door = Door(bench.store, now=NOW)
    for item in planned:
        if isinstance(item, Memory):
            done: Any = door.create(item)
        elif isinstance(item, tuple):
            done = door.revise(*item)
        else:
            done = door.retire(item, "withdrawn")
        assert not isinstance(done, Flaw)
    door.write(run, "extraction of x")


def barred(bench: Bench, *sources: Evidence, name: str = "") -> bool:
    return Store.open(bench.store.path).forgotten().bars(sources, name)


def test_what_is_forgotten_its_words_do_not_bring_back(bench: Bench, app: App) -> None:
    extracted(bench, RETRIES)
    assert forget(app, "retries") == "retries"
    assert bench.names() == [] and barred(bench, FIRST, name="anything")
    later = replace(FIRST, uuid="u9", at="2026-04-01T10:00:00+00:00")
    assert not barred(bench, FIRST, later)


def test_it_is_known_before_it_is_gone(bench: Bench, app: App) -> None:
    extracted(bench, RETRIES)
    file = bench.store.root / "archive"
    file.write_text("in the way\n")
    with pytest.raises((StoreError, OSError)):
        forget(app, "retries")
    assert bench.names() == ["retries"] and barred(bench, FIRST)


def test_restored_it_may_be_learned_again(bench: Bench, app: App) -> None:
    extracted(bench, RETRIES)
    forget(app, "retries")
    history.restore(app, "retries")
    assert bench.names() == ["retries"] and not barred(bench, FIRST)
    history.undo(app, "")
    assert bench.names() == [] and barred(bench, FIRST)
    history.undo(app, f"undo-{_newest_standing(app)}")
    assert bench.names() == ["retries"] and not barred(bench, FIRST)


@pytest.mark.parametrize("kept", [True, False])
def test_restored_it_counts_as_what_it_was(bench: Bench, app: App, kept: bool) -> None:
    extracted(bench, RETRIES)
    before = bench.store.read("retries")
    (bench.store.root / "notes.md").write_bytes(b"---\nname: notes\n---\nBy hand.\n")
    forget(app, "notes")
    forget(app, "retries")
    if not kept:
        shutil.rmtree(bench.store.root / ".reverie/generations")
    for name in ("notes", "retries"):
        history.restore(app, name)
    store = app.open_store()
    after, notes = store.read("retries"), store.read("notes")
    assert (after.raw, after.hand, after.foreign) == (before.raw, "ours", False) and store.is_ours(after)
    assert notes.foreign and notes.hand != "ours"


def test_restored_no_dream_takes_it_away_as_it_is(bench: Bench, app: App) -> None:
    extracted(bench, RETRIES)
    forget(app, "retries")
    history.restore(app, "retries")
    store = app.open_store()
    held = store.read("retries")
    wish = Operation(op="retire", ids=(held.id,), reason="over", until="2026-01-01")
    present = {held.id: held.digest}
    allowed, refused = vetoes.sift([wish], vetoes.read(store), present)
    assert not allowed and "you took this back" in refused[0].reason
    assert vetoes.sift([wish], vetoes.read(store), {held.id: "other"})[0] == [wish]


def _newest_standing(app: App) -> str:
    (entry,) = [item for item in history.history(app) if item.generation.reason.startswith("restore")]
    return entry.generation.run


def test_an_undone_forget_lifts_it_and_undoing_that_forgets_again(bench: Bench, app: App) -> None:
    extracted(bench, RETRIES)
    forget(app, "retries")
    run = history.undo(app, "").run
    assert bench.names() == ["retries"] and not barred(bench, FIRST)
    history.undo(app, f"undo-{run}")
    assert bench.names() == [] and barred(bench, FIRST)


def test_by_hand_there_is_a_name_to_forget(bench: Bench, app: App) -> None:
    add(app, "Ship on Mondays.", kind="project", name="ship", description="", why="")
    forget(app, "ship")
    assert barred(bench, FIRST, name="ship") and not barred(bench, FIRST, name="other")
    history.restore(app, "ship")
    assert not barred(bench, FIRST, name="ship")


def test_by_hand_its_sentences_are_forgotten_under_any_name(bench: Bench, app: App) -> None:
    said = Evidence(session="s", uuid="u7", quote="ship on Mondays", at=SAID)
    add(app, "Ship on Mondays.", kind="project", name="ship", description="", why="")
    forget(app, "ship")
    assert barred(bench, said, name="other") and not barred(bench, FIRST, name="other")
    run = history.undo(app, "").run
    assert not barred(bench, said, name="other")
    history.undo(app, f"undo-{run}")
    assert barred(bench, said, name="other")
    history.restore(app, "ship")
    assert not barred(bench, said, name="other")


def test_an_undone_creation_is_known_by_its_words(bench: Bench, app: App) -> None:
    extracted(bench, RETRIES)
    history.undo(app, "")
    assert bench.names() == [] and barred(bench, FIRST, name="other")
    history.undo(app, "undo-made-1")
    assert bench.names() == ["retries"] and not barred(bench, FIRST)
    history.undo(app, "made-1")
    assert bench.names() == [] and barred(bench, FIRST)
    assert history.undo(app, "made-1").already


def test_an_undone_update_bars_the_new_words_and_not_the_old(bench: Bench, app: App) -> None:
    save(bench.store, RETRIES)
    (old,) = bench.store.scan().documents
    more = RETRIES.body + "\nLog each.\n"
    extracted(bench, (old, replace(old.memory, body=more, sources=(SECOND, FIRST))))
    history.undo(app, "")
    assert barred(bench, SECOND) and not barred(bench, FIRST)


def test_an_undone_withdrawal_is_known_by_its_name(bench: Bench, app: App) -> None:
    save(bench.store, RETRIES)
    extracted(bench, bench.store.read("retries"))
    history.undo(app, "")
    assert bench.names() == ["retries"]
    assert barred(bench, SECOND, name="retries") and not barred(bench, FIRST)


def test_an_undo_that_is_refused_forgets_nothing(bench: Bench, app: App) -> None:
    extracted(bench, RETRIES)
    file = bench.store.root / "retries.md"
    file.write_bytes(file.read_bytes() + b"By hand.\n")
    with pytest.raises(ConflictError):
        history.undo(app, "made-1")
    assert not barred(bench, FIRST)


def test_an_undone_pin_or_dream_forgets_no_words(bench: Bench, app: App) -> None:
    extracted(bench, RETRIES)
    door = Door(bench.store, now=NOW)
    door.retire(bench.store.read("retries"), "r")
    door.write("run-2", "dream")
    history.undo(app, "run-2")
    assert not barred(bench, FIRST, name="retries")


def waits(bench: Bench, kind: str, payload: dict[str, Any]) -> int:
    return inbox.add_inbox(
        bench.ledger, str(bench.store.path), kind=kind, payload_json=json.dumps(payload), reason="r",
        run_id="run", now=NOW,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["new", "update"])
def test_a_rejected_proposal_is_known_by_its_words(bench: Bench, app: App, kind: str) -> None:
    payload = {"name": "retries", "sources": [FIRST.as_values(), SECOND.as_values()]}
    decisions.reject(app, waits(bench, kind, payload))
    assert barred(bench, FIRST) and barred(bench, SECOND, name="other")
    assert decisions.waiting(app) == []


@pytest.mark.parametrize("sources", [[], [5], [{"session": "s"}], None])
def test_one_without_sources_that_can_be_read_is_known_by_its_name(
    bench: Bench, app: App, sources: Any
) -> None:
    decisions.reject(app, waits(bench, "new", {"name": "retries", "sources": sources}))
    assert barred(bench, FIRST, name="retries") and not barred(bench, FIRST)


def test_a_rejected_withdrawal_bars_no_words_of_the_memory(bench: Bench, app: App) -> None:
    save(bench.store, RETRIES)
    payload = {"name": "retries", "reason": "over", "sources": [FIRST.as_values()]}
    decisions.reject(app, waits(bench, "retire", payload))
    assert barred(bench, SECOND, name="retries") and not barred(bench, FIRST)


def test_a_rejected_operation_of_a_dream_is_refused_on_the_same_bytes(bench: Bench, app: App) -> None:
    puts = save(bench.store, RETRIES, memory("other", body="Log each.\n"))
    ids = tuple(put.memory.id for put in puts)
    operation = Operation("merge", ids=ids, into=ids[0])
    decisions.reject(app, waits(bench, "dream:merge", {"name": "a, b", "operation": operation.to_json()}))
    present = {item.id: item.digest for item in bench.store.scan().documents}
    found = vetoes.read(bench.store)
    allowed, refused = vetoes.sift([operation], found, present)
    assert allowed == [] and "turned this down" in refused[0].reason
    assert vetoes.sift([operation], found, {**present, ids[1]: "changed"})[0] == [operation]
    assert bench.store.forgotten().quotes == {}


def test_what_a_dream_proposed_in_an_older_shape_can_be_rejected_too(bench: Bench, app: App) -> None:
    decisions.reject(app, waits(bench, "dream:merge", {"name": "a, b"}))
    assert decisions.waiting(app) == [] and vetoes.read(bench.store) == []


def test_a_conflict_is_rejected_without_a_trace(bench: Bench, app: App) -> None:
    decisions.reject(app, waits(bench, "conflict", {"name": "retries"}))
    assert bench.store.forgotten().names == {}


def test_names_that_an_earlier_version_kept_are_carried_over_once(bench: Bench, app: App) -> None:
    for name, at in (("retries", NOW.timestamp()), ("log", 1.0)):
        bench.ledger.execute(
            "INSERT INTO tombstones (store, name, memory_id, at, reason) VALUES (?, ?, '', ?, 'asked')",
            (str(bench.store.path), name, at),
        )
    worker = bench.worker(store=bench.store.path)
    for _ in range(2):
        worker.extraction.phase("a.jsonl")
    found = Store.open(bench.store.path).forgotten()
    assert {name: [line.at for line in lines] for name, lines in found.names.items()} == {
        "retries": [NOW],
        "log": [datetime.fromtimestamp(1, UTC)],
    }
