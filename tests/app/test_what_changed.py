"""What a change did, as a person reads it: who, what, and each sentence old beside new."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipeline.app import history
from pipeline.app.application import App
from pipeline.app.changes import Line, compare, memory_changes
from pipeline.app.explaining import why
from pipeline.app.memories import add, forget
from pipeline.app.pins import pin
from pipeline.core.errors import InputError, StoreError
from pipeline.diagnostics.doctor import memories as doctor
from pipeline.domain.body import Body
from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.sentences import key_of
from pipeline.revision import Door, Replacement, amended
from pipeline.store import FileDiff, Store
from pipeline.store.files import document
from tests.support.extraction import NOW, Bench
from tests.support.stores import memory

OLD = "Use 3 retries. Log each.\n\n**Why:** At 5 it bans us.\n"
EARLY, LATE = "2026-01-05T10:00:00+00:00", "2026-02-05T10:00:00+00:00"


def source(uuid: str, at: str = EARLY, *bears: str) -> Evidence:
    keys = tuple(key_of(text) for text in bears)
    return Evidence(session="s", uuid=uuid, quote=f"quote {uuid}", at=at, bears=keys)


def fact(name: str = "retries", body: str = OLD, **more: Any) -> Memory:
    return memory(name, **{"body": body, "type": "project", "sources": (source("a"),), **more})


def write(bench: Bench, run: str, reason: str, *memories: Memory) -> None:
    door = Door(bench.store, now=NOW)
    for item in memories:
        door.create(item)
    door.write(run, reason)


def lives(app: App) -> None:
    """Let a memory be made, changed, pinned, forgotten, brought back, and some of it undone."""
    store = app.open_store(create=True)
    door = Door(store, now=NOW)
    door.create(fact())
    door.create(fact("other", "Tell Mara.\n"))
    door.create(fact("third", "Tell Ben.\n"))
    door.write("11111111-aaaa", "extraction of x")
    kept = store.read("retries")
    made, gone = amended(
        kept.memory, [Replacement(1, "Use 4 retries.")], Body(""), [source("b", LATE)], now=NOW
    )
    door = Door(store, now=NOW)
    door.revise(kept, replace(made, name="four-retries"), gone, rename=True)
    door.write("inbox-7-22222222-bbbb", "inbox update")
    add(app, "Ship on Mondays.", kind="project", name="ship", description="", why="")
    pin(app, "ship", pinned=True)
    forget(app, "other")
    history.restore(app, "other")
    door = Door(store := app.open_store(), now=NOW)
    door.retire(store.read("third"), "over")
    door.write("11111111-cccc", "dream")
    history.undo(app, "11111111-cccc")
    history.undo(app, "undo-11111111-cccc")


def test_the_history_says_who_did_what(bench: Bench, app: App) -> None:
    lives(app)
    assert [(item.by, item.what) for item in history.history(app)] == [
        ("you", "redid 11111111-c: dream"),
        ("you", "undid 11111111-c: dream"),
        ("dream", "retired third"),
        ("you", "restored other"),
        ("you", "forgot other"),
        ("you", "pinned ship"),
        ("you", "created ship"),
        ("you, inbox", "renamed retries as four-retries"),
        ("extraction", "created other, retries, third"),
    ]


def test_every_id_that_is_shown_means_that_change(bench: Bench, app: App) -> None:
    lives(app)
    store = app.open_store()
    shown = history.history(app)
    assert len({item.short for item in shown}) == len(shown)
    for item in shown:
        assert history.whole_id(store, item.short) == item.generation.run
        assert len(item.short) <= 22
    # One that undid an undo can be undone by what is shown of it.
    newest = shown[0]
    assert newest.generation.run == "redo-11111111-cccc"
    assert "third" not in bench.names()
    history.undo(app, newest.short)
    assert "third" in bench.names()


def test_the_history_of_much_names_some(bench: Bench, app: App) -> None:
    write(bench, "run-1", "extraction of x", *(fact(f"fact-{n}", f"Text {n}.\n") for n in range(5)))
    (item,) = history.history(app)
    assert item.what == "created fact-0, fact-1, fact-2 and 2 more"


def test_the_search_index_follows_a_person_s_change(bench: Bench, app: App) -> None:
    def out_of_date() -> list[str]:
        return [f.message for f in doctor.check(app) if f.code == "search index" and f.level != "ok"]

    lives(app)
    assert out_of_date() == []
    (bench.store.root / "ship.md").write_text("By hand.\n")
    assert out_of_date() != []


def test_a_search_index_that_can_not_be_written_holds_up_no_change(bench: Bench, app: App) -> None:
    (app.home / "search").write_text("a file in its place\n")
    add(app, "Ship on Mondays.", kind="project", name="ship", description="", why="")
    assert bench.names() == ["ship"]


def test_what_lives_on_is_not_restored_beside_itself(bench: Bench, app: App) -> None:
    write(bench, "run-1", "extraction of x", fact())
    raw = bench.store.read("retries").raw
    forget(app, "retries")
    (bench.store.root / "by-hand.md").write_bytes(raw)
    with pytest.raises(StoreError, match="lives on"):
        history.restore(app, "retries")


def test_a_former_name_means_the_memory_to_every_command(bench: Bench, app: App) -> None:
    lives(app)
    assert pin(app, "retries", pinned=True).name == "four-retries"
    assert why(app, "retries").memory.name == "four-retries"
    with pytest.raises(InputError, match="four-retries already"):
        add(app, "Use 9 retries.", kind="project", name="retries", description="", why="")
    pin(app, "retries", pinned=False)
    assert forget(app, "retries") == "four-retries"
    assert history.restore(app, "retries").startswith("four-retries")


# -- sentence by sentence -----------------------------------------------------------------------------


def diffed(
    before: Memory | None, after: Memory | None, path: str = "m.md", *, archive: str = ""
) -> list[FileDiff]:
    raw = [None if item is None else document.compose(item) for item in (before, after)]
    files = [FileDiff(path, *raw)]
    return files + ([FileDiff(archive, None, raw[0])] if archive else [])


def lines_of(before: Memory, body: str) -> list[Line]:
    (change,) = memory_changes(diffed(before, replace(before, body=body)))
    return compare(change, [change])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            OLD.replace("3", "4"),
            [
                Line("gone", "Use 3 retries.", "Use 4 retries."),
                Line("kept", "Log each."),
                Line("kept", "Why: At 5 it bans us."),
            ],
        ),
        (
            OLD.replace(" Log each.", ""),
            [
                Line("kept", "Use 3 retries."),
                Line("gone", "Log each."),
                Line("kept", "Why: At 5 it bans us."),
            ],
        ),
        (
            OLD.replace("Log each.", "Log each. Tell Mara."),
            [
                Line("kept", "Use 3 retries."),
                Line("kept", "Log each."),
                Line("new", "Tell Mara."),
                Line("kept", "Why: At 5 it bans us."),
            ],
        ),
        (
            "Log each. Use 3 retries.\n\n**Why:** At 5 it bans us.\n",
            [
                Line("kept", "Log each."),
                Line("kept", "Use 3 retries."),
                Line("kept", "Why: At 5 it bans us."),
            ],
        ),
    ],
)
def test_each_sentence_is_kept_gone_or_new(body: str, expected: list[Line]) -> None:
    found = lines_of(fact(), body)
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert found[0] == expected[0] or body.startswith("Log")


def test_what_a_merge_left_out_is_shown_with_what_speaks_for_it() -> None:
    one, two = (
        fact("one", "Use 3 retries.\n"),
        fact("two", "Tell Mara. Three retries it is.\n", sources=(source("b"),)),
    )
    survivor = replace(
        one,
        body="Use 3 retries.\n\n**Also:** Tell Mara.\n",
        sources=(source("a", EARLY, "Use 3 retries."), source("b", EARLY, "Use 3 retries.", "Tell Mara.")),
    )
    survivor = replace(survivor, sources=(survivor.sources[0], source("b", EARLY, "Use 3 retries.")))
    files = [*diffed(one, survivor, "one.md"), *diffed(two, None, "two.md", archive="archive/2026/two.md")]
    first, second = memory_changes(files)
    assert (first.word, second.word, second.memory.name) == ("changed", "retired", "two")
    assert compare(first, [first, second]) == [Line("kept", "Use 3 retries."), Line("new", "Tell Mara.")]
    assert compare(second, [first, second]) == [
        Line("kept", "Tell Mara.", heir="one", has_moved=True),
        Line("gone", "Three retries it is.", "Use 3 retries.", heir="one"),
    ]


def test_a_sentence_that_another_memory_had_before_has_not_moved_there() -> None:
    one, two = fact("one", "Use 3 retries.\n"), fact("two", "Use 3 retries.\n")
    other = replace(one, tags=("x",))
    files = [*diffed(one, other, "one.md"), *diffed(two, None, "two.md", archive="archive/2026/two.md")]
    first, second = memory_changes(files)
    assert compare(second, [first, second]) == [Line("kept", "Use 3 retries.", heir="one")]


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        (None, fact(), "created"),
        (fact(), None, "removed"),
        (fact(), replace(fact(), pinned=True), "pinned"),
        (replace(fact(), pinned=True), fact(), "unpinned"),
        (fact(), replace(fact(), name="four"), "renamed"),
        (fact(), replace(fact(), description="Other."), "changed"),
    ],
)
def test_what_was_done_in_one_word(before: Memory | None, after: Memory | None, word: str) -> None:
    (change,) = memory_changes(diffed(before, after))
    assert change.word == word


def test_fields_that_differ_are_told() -> None:
    old = fact()
    (change,) = memory_changes(diffed(old, replace(old, description="Other.", tags=("x",))))
    assert change.fields == (("description", old.description, "Other."), ("tags", "", ""))
    assert compare(change, [change]) == [
        Line("kept", "Use 3 retries."),
        Line("kept", "Log each."),
        Line("kept", "Why: At 5 it bans us."),
    ]


def test_pages_and_damaged_files_are_no_memories() -> None:
    files = [
        FileDiff("episodes/2026-11-27.md", None, b"# 2026-11-27\n"),
        FileDiff("MEMORY.md", b"x", b"y"),
        FileDiff("broken.md", b"---\na: '\n---\n", None),
    ]
    assert memory_changes(files) == []


def test_damaged_bytes_are_named_in_the_history(bench: Bench, app: App) -> None:
    write(bench, "run-1", "extraction of x", fact())
    for file in (bench.store.root / ".reverie/generations/run-1").iterdir():
        if file.suffix != ".json":
            file.write_bytes(b"damaged")
    (item,) = history.history(app)
    assert item.what.startswith("extraction of x (") and "not the bytes" in item.what
    assert Store.open(bench.store.path).history()


def seen(*changes: tuple[str, str | None, str | None]) -> list[tuple[str, str]]:
    """What is told of files, each by path, its text before and after: the id, "" for none at all."""

    def raw(path: str, ident: str | None) -> bytes | None:
        line = f"id: {ident}\n" if ident else ""
        return None if ident is None else f"---\nname: {path[0]}\n{line}---\n\nSays.\n".encode()

    diffs = [FileDiff(path, raw(path, before), raw(path, after)) for path, before, after in changes]
    return [(change.word, change.memory.path) for change in memory_changes(diffs)]


def test_a_memory_that_gets_an_id_is_changed_and_not_another() -> None:
    assert seen(("a.md", "", "one")) == [("changed", "a.md")]
    assert seen(("a.md", "one", "")) == [("changed", "a.md")], "taken back"
    assert seen(("a.md", "same", "same"), ("b.md", "same", "own")) == [
        ("changed", "a.md"),
        ("changed", "b.md"),
    ]


def test_one_that_took_the_place_of_another_is_another() -> None:
    moved = seen(("a.md", "one", "two"), ("b.md", "two", None), ("vault/a.md", None, "one"))
    assert {word for word, _ in moved} == {"pinned", "renamed"}
