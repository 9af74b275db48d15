"""P18: what a merge left in MEMORY.md and in memories."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.diagnostics.audit import audit
from pipeline.hooklib.memory_format import conflicts
from pipeline.search.index_reader import Reader, index_path
from pipeline.store import ChangeSet, Store, fsck
from pipeline.store.files.memory_index import BEGIN, END
from tests.support.recall import Desk
from tests.support.stores import NOW, index, memory, save

INSIDE = """{BEGIN}
<<<<<<< HEAD
{tabs}
=======
{port}
- [Gone](gone.md) — Theirs, and not here.
>>>>>>> theirs
{END}
"""
THREE_WAY = INSIDE.replace("=======", "||||||| base\n- [Old](old.md) — Was.\n=======")
AROUND = """<<<<<<< HEAD
{BEGIN}
{tabs}
{END}
=======
{BEGIN}
{port}
{END}
>>>>>>> theirs
"""
UNION = """{BEGIN}
{tabs}
{port}
{tabs}
{END}
"""
TWO_BLOCKS = AROUND.replace("<<<<<<< HEAD\n", "").replace("=======\n", "").replace(">>>>>>> theirs\n", "")
MARKS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store.open(tmp_path / "memory", create=True)
    save(
        made, memory(), memory("mailer-port", type="project", description="The mailer listens on port 8025.")
    )
    return made


def filled(text: str, settled: str) -> str:
    """Return `text` with our own lines for the two memories, as they stand in `settled`."""
    lines = {
        path: line
        for line in settled.splitlines()
        for path in ("prefers-tabs", "mailer-port")
        if path in line
    }
    return text.format(BEGIN=BEGIN, END=END, tabs=lines["prefers-tabs"], port=lines["mailer-port"])


@pytest.mark.parametrize(
    "merged",
    [INSIDE, THREE_WAY, AROUND, UNION, TWO_BLOCKS],
    ids=["inside", "three-way", "around", "union", "two blocks"],
)
def test_p18_our_block_is_made_anew_without_marks_or_litter(store: Store, merged: str) -> None:
    settled = index(store)
    whole = filled(f"# Memory\n\nmine, above\n\n{merged}\nmine, below\n", settled)
    (store.root / "MEMORY.md").write_text(whole, "utf-8")
    assert store.reindex(now=NOW) != []
    text = index(store)
    assert not any(mark in text for mark in MARKS)
    assert text.count(BEGIN) == text.count(END) == text.count("prefers-tabs.md") == 1
    assert text.count("mailer-port.md") == 1
    assert text.index("mine, above") < text.index(BEGIN) < text.index(END) < text.index("mine, below")
    block = settled[settled.index(BEGIN) : settled.index(END)]
    assert block in text
    # Nobody can tell who wrote these: they are in no record, and no memory there is or was has such a line.
    unknown = [line for line in whole.splitlines() if line.startswith(("- [Gone]", "- [Old]"))]
    assert text.partition(f"{END}\n")[2].startswith("".join(f"{line}\n" for line in unknown))
    assert store.reindex(now=NOW) == []


def torn(store: Store, *theirs: str) -> str:
    """Write our block as a merge leaves it, `theirs` on the other side; returns the index as it was."""
    settled = index(store)
    begin, end = settled.index(BEGIN) + len(BEGIN) + 1, settled.index(END)
    other = "".join(f"{line}\n" for line in theirs)
    both = f"<<<<<<< HEAD\n{settled[begin:end]}=======\n{other}>>>>>>> theirs\n"
    whole = settled[:begin] + both + settled[end:]
    (store.root / "MEMORY.md").write_text(whole, "utf-8")
    return settled


PERSONS = [
    "- [Ask Mona](mona.md) — she knows the gulls",
    "- [The mailer listens on port 8026.](mailer-port.md)",
    "- [Use tabs](prefers-tabs.md)",
    "- 3 more in my other list",
    "prose",
]


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("line", PERSONS)
def test_a_persons_line_of_our_shape_between_the_marks_is_never_lost(
    store: Store, line: str, recorded: bool
) -> None:
    torn(store, line)
    if not recorded:
        (store.root / ".reverie/index-lines").unlink()
    store.reindex(now=NOW)
    text = index(store)
    assert text.endswith(f"{END}\n{line}\n") and text.count(line) == 1
    assert not any(mark in text for mark in MARKS)
    assert store.reindex(now=NOW) == []


def test_the_audit_names_each_line_that_a_merge_left_within_our_block(store: Store) -> None:
    torn(store, *PERSONS[:2])
    store.reindex(now=NOW)
    seen = audit(store.root, now=NOW, project=None)
    found = [(f.level, f.path, f.line) for f in seen.findings if f.code == "merged-line"]
    number = len(index(store).splitlines())
    assert found == [("note", "MEMORY.md", number - 1), ("note", "MEMORY.md", number)]
    kept = index(store).replace(f"{PERSONS[0]}\n", "").replace(f"{PERSONS[1]}\n", "")
    (store.root / "MEMORY.md").write_text(kept, "utf-8")
    assert not [f for f in audit(store.root, now=NOW, project=None).findings if f.code == "merged-line"]


def test_lines_that_claude_adds_within_our_block_are_no_finding(store: Store) -> None:
    (store.root / "MEMORY.md").write_text(index(store).replace(END, f"- prose\n{END}"), "utf-8")
    store.reindex(now=NOW)
    assert index(store).endswith(f"{END}\n- prose\n")
    assert not [f for f in audit(store.root, now=NOW, project=None).findings if f.code == "merged-line"]


def line_of(store: Store, path: str) -> str:
    return next(line for line in index(store).splitlines() if f"]({path})" in line)


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("generation", [True, False])
def test_lines_that_we_wrote_before_go_whatever_became_of_their_memory(
    store: Store, generation: bool, recorded: bool
) -> None:
    former = [line_of(store, "prefers-tabs.md"), line_of(store, "mailer-port.md")]
    old = store.read("mailer-port")
    other = store.put(replace(old.memory, description="The mailer listens on 8026."), existing=old)
    gone = store.retire(store.read("prefers-tabs"), year=2026, reason="outdated")
    store.apply(ChangeSet("run-2", "test", [other, gone]), generation=generation)
    settled = torn(store, *former)
    if not recorded:
        (store.root / ".reverie/index-lines").unlink()
    store.reindex(now=NOW)
    if generation or recorded:
        assert index(store) == settled
    else:
        # A former text that is kept nowhere tells nothing: its line may be anybody's.
        assert former[0] not in index(store)
        assert index(store).endswith(f"{END}\n{former[1]}\n")


def test_what_another_machine_wrote_is_ours_as_long_as_its_memory_tells_it(store: Store) -> None:
    port = line_of(store, "mailer-port.md")
    file = store.root / "mailer-port.md"
    text = file.read_text("utf-8")
    theirs = text.replace("8025", "8026")
    file.write_text(f"{text.partition('description')[0]}", "utf-8")
    lines = [
        f"<<<<<<< HEAD\n{one}=======\n{other}>>>>>>> theirs\n" if one != other else one
        for one, other in zip(text.splitlines(True), theirs.splitlines(True), strict=True)
    ]
    file.write_text("".join(lines), "utf-8")
    assert store.scan().unsettled == ["mailer-port.md"]
    torn(store, port, port.replace("8025", "8026"))
    (store.root / ".reverie/index-lines").unlink()
    store.reindex(now=NOW)
    assert "8025" not in index(store) and "8026" not in index(store)


def test_a_damaged_generation_makes_us_keep_more_and_stops_nothing(store: Store) -> None:
    former = line_of(store, "mailer-port.md")
    old = store.read("mailer-port")
    other = store.put(replace(old.memory, description="The mailer listens on 8026."), existing=old)
    store.apply(ChangeSet("run-2", "test", [other]), generation=True)
    for kept in (store.root / ".reverie/generations/run-2").iterdir():
        if kept.suffix != ".json":
            kept.unlink()
    (store.root / ".reverie/index-lines").unlink()
    torn(store, former)
    store.reindex(now=NOW)
    assert index(store).endswith(f"{END}\n{former}\n")


def test_marks_among_a_persons_own_lines_are_theirs(store: Store) -> None:
    own = "<<<<<<< HEAD\n- mine\n=======\n- theirs\n>>>>>>> theirs\n"
    (store.root / "MEMORY.md").write_text(index(store) + own, "utf-8")
    store.reindex(now=NOW)
    assert index(store).endswith(own)


def test_p18_lines_of_a_person_that_a_union_merge_doubled_stay(store: Store) -> None:
    twice = "- mine\n- mine\n"
    (store.root / "MEMORY.md").write_text(twice + filled(UNION, index(store)) + twice, "utf-8")
    store.reindex(now=NOW)
    text = index(store)
    assert text.startswith(twice) and text.endswith(twice)
    assert text.count("prefers-tabs.md") == 1


def test_a_memory_that_tells_of_a_conflict_is_no_conflict(store: Store) -> None:
    body = "git shows it so:\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> theirs\n"
    save(store, memory("how-git-shows-it", body=body), id="run-2")
    written = "git shows it so:\n <<<<<<< HEAD\none\n =======\ntwo\n >>>>>>> theirs\n"
    assert store.read("how-git-shows-it").memory.body == written
    assert store.scan().unsettled == []


def test_p18_audit_and_doctor_name_file_and_line(store: Store) -> None:
    (store.root / "MEMORY.md").write_text("# Memory\n" + filled(INSIDE, index(store)), "utf-8")
    path = store.root / "mailer-port.md"
    text = path.read_text("utf-8") + "<<<<<<< HEAD\nIt is 8025.\n=======\nIt is 8026.\n>>>>>>> theirs\n"
    path.write_text(text, "utf-8")
    line = text.splitlines().index("<<<<<<< HEAD") + 1
    found = {(f.path, f.message) for f in fsck(store) if f.code == "merge-conflict"}
    assert found == {
        ("MEMORY.md", "a merge left both sides of a conflict, from line 3 to 8"),
        ("mailer-port.md", f"a merge left both sides of a conflict, from line {line} to {line + 4}"),
    }
    seen = audit(store.root, now=NOW, project=None)
    listed = {(f.path, f.line, f.level) for f in seen.findings if f.code == "merge-conflict"}
    assert listed == {("MEMORY.md", 3, "error"), ("mailer-port.md", line, "error")}


@pytest.mark.parametrize(
    "text",
    [
        "Title\n=======\nText.",
        ">>>>>>> theirs",
        "<<<<<<< HEAD\nNo end.",
        "<<<<<<<\n=======\n>>>>>>>",
        "a <<<<<<< b",
    ],
)
def test_what_only_looks_like_marks_is_text(text: str) -> None:
    assert conflicts(text.splitlines()) == []


@pytest.mark.parametrize("indexed", [False, True])
def test_p18_a_memory_with_both_sides_is_put_before_no_prompt(
    sealed_environment: Path, tmp_path: Path, indexed: bool
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    desk = Desk(project)
    desk.write("mailer-port", "The mailer listens on port 8025.", "Said in a review.")
    assert desk.hook(prompt="which port does the mailer listen on?", session_id="before")
    file = desk.store / "mailer-port.md"
    both = "<<<<<<< HEAD\nIt is 8025.\n=======\nIt is 8026.\n>>>>>>> theirs\n"
    file.write_text(file.read_text("utf-8") + both, "utf-8")
    if indexed:
        desk.index()
        # Not of this moment any more: what the index has is not read again.
        assert Store.open(desk.store).scan().documents == []
        with Reader(index_path(str(desk.home), str(desk.store))) as reader:
            assert list(reader.all_paths()) == ["mailer-port.md"]
    assert desk.hook(prompt="which port does the mailer listen on?", session_id="after") == ""
