"""On a terminal no word is broken at its edge: in data, in talk, in errors, in tables."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from pipeline.cli.output import wrapped
from tests.cli.conftest import make_desk, session
from tests.support.terminals import on_terminals

RULE = "We count gulls by wing tags, never by colour rings, since those fade in the sun within two years."
NAME = "we-count-gulls-by-wing-tags-never-by-colour-rings-since"
ESCAPES = re.compile(r"\x1b\[[?0-9;]*[a-zA-Z]|\r|⠋ \w+")
COMMANDS = [
    ("init",),
    ("extract", "--transcript", "LATER"),
    ("mode", "propose"),
    ("list",),
    ("why", NAME),
    (
        "add",
        "The colony moved to the north pier, since the old pier is being rebuilt until May 2027.",
    ),
    ("add", RULE),
    ("inbox",),
    ("history",),
    ("undo",),
    ("recall", "which wing tags do gulls have?", "--explain"),
    ("doctor",),
    ("config", "set", "store.mode", "loud"),
    ("day",),
    ("status",),
    ("adopt", "/nowhere"),
    ("timeline",),
    ("config",),
]


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory):
    desk = make_desk(tmp_path_factory.mktemp("a-home-with-a-long-name") / "and-a-folder-in-it")
    desk.here("add", RULE, "--name", NAME)
    desk.here("extract", "--transcript", session(desk.project).write(desk.project))
    return desk


def on_terminal(desk, columns, *command):
    """Return what `command` prints to a terminal of so many columns: data and talk, each by itself."""
    return on_terminals(command, desk.env, desk.project, columns)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_no_line_is_left_to_the_terminal_to_break(lived_in, columns):
    for number, command in enumerate(COMMANDS):
        folder = lived_in.project / f"later-{columns}-{number}"
        folder.mkdir()
        words = [
            str(session(lived_in.project).write(folder)) if word == "LATER" else word for word in command
        ]
        for text in on_terminal(lived_in, columns, *words):
            wide = [line for line in ESCAPES.sub("", text).split("\n") if cell_len(line) > columns]
            assert not wide, (command, wide)


@pytest.mark.parametrize("columns", [60, 120])
def test_what_claude_gets_and_the_demo_fit_the_terminal(lived_in, columns):
    for command in (("recall", "which wing tags do gulls have?"), ("core",), ("demo",)):
        data, _ = on_terminal(lived_in, columns, *command)
        shown = ESCAPES.sub("", data)
        assert "gull" in shown or "$ cat MEMORY.md" in shown
        assert not [line for line in shown.split("\n") if cell_len(line) > columns], command


def test_the_demo_has_eighty_columns_where_there_is_no_terminal(lived_in):
    shown = lived_in.here("demo").out.split("\n")
    assert max(map(cell_len, shown)) == 80


@pytest.mark.parametrize(
    ("text", "columns", "lines"),
    [
        ("one two three", 40, ["one two three"]),
        ("created    a-name", 40, ["created    a-name"]),
        ("a sentence that goes on a while", 22, ["a sentence that goes", "  on a while"]),
        ("see /home/anna/projects/shop/memory", 22, ["see /home/anna/", "  projects/shop/memory"]),
        ("a-name-that-is-longer-than-the-terminal", 22, ["a-name-that-is-longer-", "  than-the-terminal"]),
        ("会議は毎週火曜日の朝に第一会議室で", 22, ["会議は毎週火曜日の朝に", "  第一会議室で"]),
        ("", 40, [""]),
    ],
)  # fmt: skip
def test_daily_no_word_is_broken_where_there_is_another_way(text, columns, lines):
    assert wrapped(text, columns, hang="  ") == lines


def test_what_is_to_be_copied_stays_as_it_is(desk):
    desk.here("add", RULE, "--name", NAME)
    shown, _ = on_terminal(desk, 60, "show", NAME)
    assert f"\n{RULE}\n" in shown and f"description: {RULE}\n" in shown


def test_a_path_too_long_for_a_line_breaks_behind_a_slash():
    path = "/home/mona/projects/the-gulls-of-the-north-pier/memory/we-count-gulls.md"
    assert wrapped(f"file {path}", 40) == [
        "file /home/mona/projects/",
        "the-gulls-of-the-north-pier/memory/",
        "we-count-gulls.md",
    ]
    assert wrapped(f"the file is {path[:40]}", 40) == ["the file is", path[:40]]


def test_a_name_too_long_for_a_line_breaks_behind_a_hyphen():
    assert wrapped("we-count-gulls-by-wing-tags-never", 20) == ["we-count-gulls-by-", "wing-tags-never"]


def test_a_label_so_wide_that_a_name_would_break_has_its_text_below(desk):
    name = "gulls-are-counted-by-wing-tags-never"
    desk.here("add", RULE, "--name", name)
    shown, _ = on_terminal(desk, 60, "why", name)
    lines = shown.replace("\r", "").split("\n")
    assert any(line.startswith("    ") and line.endswith(f"{name}.md") for line in lines[1:])
    assert "file" in lines


WORDS = st.text(st.sampled_from("ab/-.記é"), min_size=1, max_size=50)


@given(st.lists(WORDS, min_size=1, max_size=12), st.integers(20, 40))
def test_no_word_is_broken_that_fits_a_line(words, columns):
    lines = wrapped(" ".join(words), columns)
    assert all(cell_len(line) <= columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(words)
    kept = [word for line in lines for word in line.split()]
    assert all(word in kept for word in words if cell_len(word) <= columns)


def test_a_line_goes_on_below_its_words(desk):
    shown, _ = on_terminal(desk, 60, "mode")
    first, second = shown.split("\n")[:2]
    assert first.startswith("  off      Nothing") and second.startswith(" " * 11) and second.strip()


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
@pytest.mark.parametrize("command", [("list",), ("search", "gulls")])
def test_bug_brackets_are_broken_by_no_line(lived_in, columns, command):
    said = ESCAPES.sub("", "".join(map(str, on_terminal(lived_in, columns, *command))))
    assert "project, " in said or columns == 120
    assert [line for line in said.splitlines() if line.count("(") != line.count(")")] == []
