"""MEMORY.md: limits, order, and the lines of others."""

import os
import re
from dataclasses import replace
from datetime import timedelta

import pytest

from pipeline.domain.memory import MAX_DESCRIPTION
from pipeline.store import Store
from pipeline.store.derived.core_page import core_text
from pipeline.store.files.memory_index import (
    BEGIN,
    END,
    LINE_LIMIT,
    build,
    entry_of,
    index_line,
    linked_paths,
)
from tests.support.stores import NOW, apply, index, memory, save, settled


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "memory", create=True)


def entries(count, **values):
    return [entry_of(memory(f"m-{n:04}", path=f"m-{n:04}.md", **values), 0) for n in range(count)]


def test_the_empty_store_and_the_first_memory(store):
    save(store, memory())
    assert index(store) == (
        f"# Memory\n\n{BEGIN}\n- [Indent with tabs, never spaces.](prefers-tabs.md)\n{END}\n"
    )


def test_bug_090_the_index_keeps_its_limits_and_says_what_is_missing(store):
    pinned = [memory(f"pin-{n}", type="general", importance=0.01, pinned=True) for n in range(5)]
    people = [memory(f"user-{n}", type="user", importance=0.1) for n in range(20)]
    rest = [memory(f"rest-{n}", type="project", importance=1.0, description="d " * 2500) for n in range(375)]
    puts = save(store, *pinned, *people, *rest)
    text = index(store)
    lines = text.splitlines()
    assert len(lines) <= 200 and len(text.encode()) <= 25_000
    assert all(put.path in text for put in puts[:25])
    assert lines[-2].startswith(f"- {400 - (len(lines) - 5)} more in [MEMORY-more.md](MEMORY-more.md)")
    more = (store.root / "MEMORY-more.md").read_text()
    assert all((put.path in text) != (f"]({put.path})" in more) for put in puts)
    assert max(len(line) for line in lines) <= LINE_LIMIT


def test_order_is_pinned_then_people_then_worth_and_age():
    made = [
        memory("old-fix", type="fix", importance=0.9, updated=NOW.replace(year=2020), path="old-fix.md"),
        memory("new-fix", type="fix", importance=0.9, path="new-fix.md"),
        memory("poor-fix", type="fix", importance=0.1, path="poor-fix.md"),
        memory("person", type="user", importance=0.1, path="person.md"),
        memory("pin", type="fix", importance=0.1, pinned=True, path="pin.md"),
    ]
    lines = build(None, [entry_of(one, 0) for one in made]).lines
    assert [line.partition("(")[2].partition(".")[0] for line in lines] == [
        "pin", "person", "new-fix", "poor-fix", "old-fix",
    ]  # fmt: skip


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_what_a_person_wrote_stays_byte_for_byte(newline):
    theirs = newline.join(["\ufeff---", "x: 1", "---", "# Mine", "", "- [A](other.md) - y", "| t |", "end"])
    built = build(theirs.encode(), entries(3))
    assert built.index.startswith(theirs.encode())
    again = build(built.index + f"after{newline}".encode(), entries(2), ours=set(built.lines))
    assert again.index.startswith(theirs.encode()) and again.index.endswith(
        f"{END}{newline}after{newline}".encode()
    )
    ends = set(re.findall(rb"\r\n|\n|\r", again.index))
    assert ends == {newline.encode()}
    assert (b"m-0001.md" in again.index, b"m-0002.md" in again.index) == (True, False)


def test_a_file_linked_outside_is_not_listed_twice():
    theirs = b"- [Mine](m-0000.md) - own words\n- [Also](./m-0001.md#part)\n- [Sp](<m-0002.md>)\n"
    built = build(theirs, entries(4))
    assert built.lines == (entries(4)[3].line,)


def test_nothing_to_list_leaves_their_file_alone():
    theirs = b"- [Mine](m-0000.md) - own words, no newline at the end"
    assert build(theirs, entries(1)).index == theirs
    assert build(b"", []).index == b""


def test_lines_added_inside_our_block_move_below_it_and_stay():
    first = build(None, entries(2))
    text = first.index.replace(END.encode(), b"- [Claude's](claude.md) note\nprose\n" + END.encode())
    built = build(text, entries(1), ours=set(first.lines))
    assert built.lines == first.lines[:1]
    assert built.index.endswith(END.encode() + b"\n- [Claude's](claude.md) note\nprose\n")


def test_without_our_record_only_lines_that_we_would_write_now_are_ours():
    first = build(None, entries(3))
    theirs = b"- [Mine, of our shape](m-0000.md)\nprose\n"
    built = build(first.index.replace(END.encode(), theirs + END.encode()), entries(2))
    assert built.lines == first.lines[1:2]
    assert built.index.endswith(END.encode() + f"\n{first.lines[2]}\n".encode() + theirs)


def test_the_line_that_counts_the_rest_is_ours_whatever_it_counts():
    first = build(None, entries(9), max_lines=8)
    assert first.lines[-1].startswith("- 6 more in [MEMORY-more.md]")
    built = build(first.index, entries(9))
    assert b"more in" not in built.index and len(built.lines) == 9


def test_a_byte_order_mark_before_our_block_hides_no_mark():
    first = build(b"", entries(2))
    again = build(b"\xef\xbb\xbf" + first.index, entries(2))
    assert again.index == b"\xef\xbb\xbf" + first.index


@pytest.mark.parametrize("damage", [BEGIN, END])
def test_a_lost_marker_loses_no_line_of_theirs(damage):
    first = build(b"# Mine\n", entries(2))
    text = first.index.replace(damage.encode() + b"\n", b"") + b"last words\n"
    built = build(text, entries(2), ours=set(first.lines))
    assert built.index.startswith(b"# Mine\n") and b"last words\n" in built.index
    assert build(built.index, entries(2), ours=set(first.lines)).index == built.index


def test_a_long_file_of_theirs_shrinks_our_block_not_their_lines():
    theirs = b"line\n" * 190
    built = build(theirs, entries(50))
    assert built.index.startswith(theirs) and built.index.count(b"\n") <= 200
    assert (len(built.lines), built.unlisted) == (7, 44)
    over = build(b"line\n" * 300, entries(50))
    assert over.index.startswith(b"line\n" * 300) and len(over.lines) == 1


def test_the_byte_limit_counts_bytes():
    built = build(None, entries(190, description="記" * 100))
    assert len(built.index) <= 25_000 < len(built.index) + 400


@pytest.mark.parametrize(
    "description", ["a --> b", "<!-- reverie:end -->", "x](http://evil)", "two\nlines", "<!-- open"]
)
def test_a_description_can_not_break_the_block(description):
    one = entry_of(memory(path="a.md", description=description), 0)
    built = build(None, [one])
    assert built.index.count(b"\n") == 5 and built.index.count(b"<!--") == 2
    assert linked_paths(built.index.decode()) == {"a.md"}


def test_a_line_longer_than_any_of_ours_ends_with_a_sentence_else_with_a_word():
    line = index_line(memory(description="word " * 100, path="a.md"))
    assert LINE_LIMIT - 10 < len(line) <= LINE_LIMIT and line.endswith(" word…](a.md)")
    told = f"Gulls, see v2.1, are counted at dawn. {'Ask Mona first, and wait. ' * 20}"
    line = index_line(memory(description=told, path="a.md"))
    assert line.startswith("- [Gulls, see v2.1, are counted at dawn. Ask Mona")
    assert line.endswith("and wait. …](a.md)") and LINE_LIMIT - 30 < len(line) <= LINE_LIMIT


@pytest.mark.parametrize("title", ["", "Never on the release line", "Which branch", "Welcher Zweig gilt"])
@pytest.mark.parametrize("origin", ["user-stated", "assistant-inferred"])
@pytest.mark.parametrize("name", ["r", "never-on-the-release-line-without-asking-anna-first-7036dbd8"])
def test_a_fact_of_ours_stands_whole_beside_any_title_and_path(title, origin, name):
    fact = f"{'Releases are cut by Anna on the branch stable-24. ' * 3}"[:MAX_DESCRIPTION].strip()
    path = f"graph/configurations/{name}-a1b2c3.md"
    line = index_line(memory(name, title=title, description=fact, origin=origin, path=path))
    assert fact in line and f"]({path})" in line and len(line) <= LINE_LIMIT
    assert line.endswith(" (Claude, not confirmed)") == (origin == "assistant-inferred")


@pytest.mark.parametrize(
    ("name", "title", "description", "start"),
    [
        ("no-rustfmt", "No rustfmt", "Leave legacy/ as it is.", "- [Leave legacy/ as it is.]("),
        ("a", "Legacy: leave", "Leave legacy/ as it is.", "- [Leave legacy/ as it is.]("),
        ("a", "Old code", "Leave legacy/ as it is.", "- [Old code](a.md) — Leave legacy/ as it is."),
        ("a", "提交信息", "提交信息必须用英语。", "- [提交信息必须用英语。]("),
        ("a", "语言", "提交信息必须用英语。", "- [语言](a.md) — 提交信息必须用英语。"),
    ],
)
def test_a_title_stands_only_if_it_says_what_fact_and_path_do_not(name, title, description, start):
    one = memory(name, title=title, description=description, path=f"{name}.md")
    assert index_line(one).startswith(start)


@pytest.mark.parametrize(
    ("description", "shown"),
    [
        ("Lint rules stand in [tool.ruff], `src/[a-z]*` is left out.", None),
        ("A list [of [lists]] is fine.", None),
        ("See [the page](http://evil).", "See (the page)(http://evil)."),
        ("From 0 on: [0, 1).", None),
        ("Up to 1: (0, 1].", r"Up to 1: (0, 1\]."),
    ],
)
def test_brackets_stay_where_they_leave_the_link_whole(description, shown):
    line = index_line(memory("a", description=description, path="a.md"))
    assert line == f"- [{shown or description}](a.md)" and linked_paths(line) == {"a.md"}


RULE = "We count gulls by wing tags, never by colour rings, since the rings fade in the sun within two years."


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("We count gulls by wing tags, never by", f"- [{RULE}](g.md)"),
        ("We count gulls by wing tags, never…", f"- [{RULE}](g.md)"),
        ("we count gulls by wing tags never by", f"- [{RULE}](g.md)"),
        (RULE.rstrip("."), f"- [{RULE}](g.md)"),
        (f"{RULE} Ask Mona.", f"- [{RULE} Ask Mona.](g.md)"),
        ("How gulls are counted", f"- [How gulls are counted](g.md) — {RULE}"),
        ("We count", f"- [{RULE}](g.md)"),
        ("We counted gulls", f"- [We counted gulls](g.md) — {RULE}"),
    ],
)
def test_a_sentence_whose_start_is_the_title_stands_once_and_whole(title, expected):
    one = memory("gulls", title=title, description=RULE, path="g.md")
    assert index_line(one) == expected
    assert f"[{expected[3:].partition(']')[0]}](g.md)" in core_text([replace(one, type="solution")], {}, NOW)


@pytest.mark.parametrize(
    ("title", "description"),
    [
        ("Deploys happen on Tuesdays", "Deploys happen on Tuesdays."),
        ("please never mock the database", "Please never mock the database, it bit us."),
        ("Water may then fall to", "Water may then fall to -5 or .5 cm"),
        ("Never push straight to main", "Never push straight to main-line"),
        ("Tabs", "Tabs are for indenting."),
    ],
)
def test_a_line_says_the_words_of_its_title_once(title, description):
    one = memory("m", path="m.md", title=title, description=description)
    assert index_line(one) == f"- [{description}](m.md)"


def test_a_description_that_says_nothing_more_than_the_name_is_not_shown_twice():
    one = memory("ship-it", title="", description="Ship it.", path="ship-it.md")
    assert index_line(one) == "- [Ship it.](ship-it.md)"


def test_names_with_spaces_and_brackets_are_still_links(store):
    (store.root / "my (old) note.md").write_text("hello\n")
    save(store, memory())
    assert "- [hello](my%20%28old%29%20note.md)" in index(store)
    assert linked_paths(index(store)) == {"my (old) note.md", "prefers-tabs.md"}


def test_an_unreadable_memory_is_still_reachable(store):
    (store.root / "broken.md").write_text("---\na: 'b' c\n---\nx\n")
    save(store, memory())
    assert "1 more in [MEMORY-more.md]" in index(store)
    assert "[broken](broken.md)" in (store.root / "MEMORY-more.md").read_text()


def test_bug_058_a_rebuild_that_changes_nothing_writes_nothing(store):
    save(store, *[memory(f"m-{n}") for n in range(30)])
    store.reindex(now=NOW)
    settled(store.root)
    before = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in store.root.rglob("*.*")}
    for day in (1, 2, 3):
        assert Store.open(store.path).reindex(now=NOW.replace(day=day)) == []
    assert {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in store.root.rglob("*.*")} == before
    assert index(store).count("](m-") == 30


def test_the_overflow_page_is_emptied_when_all_fit_again(tmp_path):
    store = Store.open(tmp_path, index_lines=8)
    save(store, *[memory(f"m-{n}") for n in range(6)])
    assert (tmp_path / "MEMORY-more.md").read_text().count("](m-") == 3
    apply(store, *[store.retire(store.read(f"m-{n}"), year=2026, reason="x") for n in range(4)], id="run-2")
    assert index(store).count("](m-") == 2 and "more" not in index(store)
    assert "](m-" not in (tmp_path / "MEMORY-more.md").read_text()


def test_someone_elses_file_called_memory_more_is_left(tmp_path):
    (tmp_path / "MEMORY-more.md").write_text("mine\n")
    store = Store.open(tmp_path, index_lines=6)
    save(store, *[memory(f"m-{n}") for n in range(6)])
    assert (tmp_path / "MEMORY-more.md").read_text() == "mine\n"


def test_an_index_behind_a_link_inside_is_written_and_the_link_stays(store):
    (store.root / "docs").mkdir()
    (store.root / "docs/index.md").write_text("# Mine\n")
    os.symlink("docs/index.md", store.root / "MEMORY.md")
    save(store, memory())
    assert (store.root / "MEMORY.md").is_symlink()
    assert "prefers-tabs.md" in (store.root / "docs/index.md").read_text()


def test_bug_085_an_index_behind_a_link_outside_is_not_touched(store, tmp_path):
    victim = tmp_path / "victim.md"
    victim.write_text("victim\n")
    os.symlink(victim, store.root / "MEMORY.md")
    save(store, memory())
    assert victim.read_text() == "victim\n"
    assert [problem.path for problem in store.scan().problems] == ["MEMORY.md"]


def test_a_line_of_our_shape_that_claude_adds_inside_the_block_stays(store):
    save(store, memory("a"))
    added = "- [Claude's](elsewhere.md) — its own words\n"
    (store.root / "MEMORY.md").write_text(index(store).replace(END, added + END))
    save(store, memory("b"), id="run-2")
    assert index(store).endswith(f"{END}\n{added}") and "](b.md)" in index(store)


def test_what_only_the_assistant_said_is_marked_and_is_no_feedback(tmp_path):
    store = Store.open(tmp_path / "memory", create=True)
    steps = "Pull, build, then restart the pump house service. " * 3
    guess = memory(
        "pump-house", type="procedure", description=steps.strip()[:150], origin="assistant-inferred"
    )
    said = memory("wish", type="procedure", origin="user-confirmed")
    save(store, guess, said)
    lines = [line for line in index(store).splitlines() if line.startswith("- ")]
    marked = [line for line in lines if line.endswith(" (Claude, not confirmed)")]
    assert len(lines) == 2 and len(marked) == 1 and "pump-house" in marked[0] and steps.strip() in marked[0]
    classes = {d.name: d.front["metadata"]["type"] for d in Store.open(store.path).scan().documents}
    assert classes == {"pump-house": "project", "wish": "feedback"}
    apply(
        store, store.put(replace(guess, origin="user-confirmed"), existing=store.read("pump-house")), id="2"
    )
    assert store.read("pump-house").front["metadata"]["type"] == "feedback"
    assert "not confirmed" not in index(store)


@pytest.mark.parametrize("odd", ["\u2028", "\x85", "\x1c", "\x0c"])
def test_a_mark_behind_an_odd_break_is_a_part_of_their_line(odd):
    theirs = f"see{odd}{BEGIN}\nmine\n".encode()
    built = build(theirs, entries(1), ours=())
    assert built.index.startswith(theirs)
    assert build(built.index, entries(1), ours=set(built.lines)).index == built.index


@pytest.mark.parametrize("part", ["](", "[a](<", "[a](b ", "](<<", "[["])
def test_a_text_of_links_that_do_not_end_holds_none(part):
    assert linked_paths(part * 100_000) == set()
    assert linked_paths(f"{part * 100_000}\n[a](<b c.md> 'title') [x](y.md)") >= {"y.md"}


def crowd(count):
    """Entries whose facts have the length of real ones, the first the most useful."""
    made = []
    for n in range(count):
        never = "never by the script " * (2 + n % 4)
        fact = f"Station {n} is read at {n % 24}:15 by the person on duty, {never}"
        worth = {"importance": 1.0, "updated": NOW - timedelta(days=n)}
        made.append(entry_of(memory(f"s-{n:04}", path=f"s-{n:04}.md", description=fact[:150], **worth), 0))
    return made


@pytest.mark.parametrize(("count", "shown"), [(32, 32), (100, 100), (300, 183), (1000, 183)])
def test_lines_leave_before_any_is_cut(count, shown):
    ranked = crowd(count)
    built = build(None, reversed(ranked))
    assert built.lines[:-1] == tuple(entry.line for entry in ranked)[: len(built.lines) - 1]
    assert len([line for line in built.lines if "](s-" in line]) == shown
    assert not [line for line in built.lines if "…" in line]
    assert len(built.index) <= 25_000 and built.index.count(b"\n") <= 200
    page = (built.overflow or b"").decode()
    assert all((entry.line in built.lines) != (entry.line in page) for entry in ranked)
    assert build(built.index, ranked, ours=set(built.lines)).index == built.index


def test_one_memory_that_changes_changes_few_lines():
    ranked = crowd(1000)
    before = build(None, ranked)
    shorter = replace(ranked[7], line=f"- [Station 7 is given up.]({ranked[7].path})")
    after = build(before.index, [*ranked[:7], shorter, *ranked[8:]], ours=set(before.lines))
    assert shorter.line in after.lines and ranked[7].line not in after.lines
    assert len(set(before.lines) ^ set(after.lines)) <= 6
    gone = build(after.index, [*ranked[:7], *ranked[8:]], ours={*before.lines, *after.lines})
    assert len(set(after.lines) ^ set(gone.lines)) <= 6


def test_the_room_that_their_lines_leave_goes_to_the_most_useful_of_the_rest():
    ranked = crowd(120)
    theirs = "".join(f"- [Station {n}]({ranked[n].path}) — their own words\n" for n in range(0, 120, 2))
    built = build(theirs.encode() + b"prose\n" * 100, ranked)
    assert built.index.startswith(theirs.encode()) and built.index.count(b"\n") <= 200
    others = [entry.line for entry in ranked[1::2]]
    assert built.lines[:-1] == tuple(others[: len(built.lines) - 1]) and 30 < len(built.lines) < 40
    now_theirs = f"- [Mine]({ranked[1].path}) words\n".encode()
    again = build(built.index + now_theirs, ranked, ours=set(built.lines))
    assert again.index.endswith(now_theirs) and again.index.count(f"]({ranked[1].path})".encode()) == 1
    assert again.lines[0] == others[1]
