"""The contract of docs/memory-files.md: what a file may look like, what the client reads, what we read.

What the client reads was seen with 2.1.332 (`tests/realclient/test_realclient_front_matter.py` shows it where
it can be seen). Hooks and the store read the same, or a hook waits for the index.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.errors import DocumentError
from pipeline.hooklib import front_matter, yaml_lines
from pipeline.hooklib.memory_format import decoded, split_front_matter
from pipeline.recall.live import store_files
from pipeline.store.files import document, yaml_text

BODY = "A body.\n"


@dataclass(frozen=True)
class Case:
    """A file, what the store reads of it, and whether a hook reads it before the index has it."""

    front: str
    reads: dict[str, Any]
    hook: bool = True
    opening: str = "---\n"
    closing: str = "---\n"

    @property
    def text(self) -> str:
        return f"{self.opening}{self.front}{self.closing}{BODY}"


def case(front: str, hook: bool = True, **reads: Any) -> Case:
    return Case(f"name: x\n{front}\n", {"name": "x", **reads}, hook)


READ = {
    "plain": case("description: what it says", description="what it says"),
    "a colon": case("description: port: 8025", description="port: 8025"),
    "a colon and a comment": case("description: port: 8025 # mail", description="port: 8025 # mail"),
    "a comment": case("description: what it says # why", description="what it says"),
    "a hash within a word": case("description: issue#12", description="issue#12"),
    "a value that ends in a colon": case("description: a:\nteam: b", description="a:"),
    "bold": case("description: *bold* words: two", description="*bold* words: two"),
    "an at sign": case("description: @home", description="@home"),
    "code": case("description: `make ship`, by hand", description="`make ship`, by hand"),
    "a percent sign": case("description: %d", description="%d"),
    "a list begun": case("description: [one, two", description="[one, two", hook=False),
    "a table begun": case("description: {one", description="{one", hook=False),
    "a wiki link": case("description: [[other]] says", description="[[other]] says"),
    "quotes and a backslash": case('description: a: "b" \\c', description='a: "b" \\c'),
    "typographic quotes": case("description: “a”", description="“a”"),
    "tabs before keys": case("metadata:\n\ttype: user", type="user"),
    "a tab before a value": case("description:\td", description="d"),
    "a line of blanks and a tab": case("description: d\n \t\ntype: user", description="d", type="user"),
    "keys twice": case("description: one\ndescription: two", description="two"),
    "the end mark of YAML": case("description: d\n...", description="d"),
    "null": case("description: null", description="null"),
    "nothing": case("description:", description="A body."),
    "a number": case("description: 12", description="12"),
    "a number with a zero": case("description: 012", description="012"),
    "a date": case("description: 2026-01-02", description="2026-01-02"),
    "yes": case("description: yes", description="yes"),
    "true": case("description: true", description="true"),
    "a list": case("description: [a, b]", description="A body."),
    "a block": case("description: |\n  one\n  two", description="one\ntwo"),
    "a folded block": case("description: >-\n  one\n  two\n\n  three", description="one two\nthree"),
    "a text over two lines": case("description: one\n  two", description="one two"),
    "quotes over two lines": case("description: 'one\n  two'", hook=False, description="one two"),
    "escapes": case(r'description: "a \"b\" \u00e9\n"', description='a "b" é'),
    "metadata": case("metadata:\n  node_type: memory\n  type: feedback", type="feedback"),
    "metadata in brackets": case("metadata: {type: feedback, team: x}", type="feedback"),
    "keys moved below metadata": case(
        "metadata:\n  description: d\n  tags: [a]", description="d", tags=("a",)
    ),
    "a blank key above metadata": case("type: ''\nmetadata:\n  type: user", type="user"),
    "an anchor": case("description: &x d\nother: *x", hook=False, description="d", extra={"other": "d"}),
    "a tag": case("description: !!str 12", hook=False, description="12"),
    "a merge key": case("<<: {a: 1}", hook=False, extra={"<<": {"a": 1}}),
    "a very long value": case(f"description: {'long ' * 20_000}", description=("long " * 20_000).strip()),
    "64 deep": case("team: " + "[" * 63 + "]" * 63, description="A body."),
    "indented": Case("  name: x\n  description: d\n", {"name": "x", "description": "d"}),
    "a comment first": Case("# c\n\nname: x\n", {"name": "x"}),
    "blank lines within the fences": Case("\n\nname: x\n\n", {"name": "x"}),
    "blanks behind the fences": Case("name: x\n", {"name": "x"}, opening="--- \n", closing="---\t\n"),
    "Windows": Case("name: x\r\ndescription: a: b\r\n", {"description": "a: b"}, True, "---\r\n", "---\r\n"),
    "a byte order mark": Case("name: x\ndescription: a: b\n", {"description": "a: b"}, opening="\ufeff---\n"),
    "dashes within a value": case("description: a --- b", description="a --- b"),
    "old, with a title": Case("name: A Title\ntype: user\n", {"name": "stem", "title": "A Title"}),
}
NO_TABLE = {
    "no closing line": "---\nname: x\n" + BODY,
    "blank lines before it": "\n---\nname: x\n---\n" + BODY,
    "a list": "---\n- a\n- b\n---\n" + BODY,
    "prose": "---\nprose\n---\n" + BODY,
    "a longer rule": "----\nname: x\n---\n" + BODY,
    "a closing line of YAML": "---\nname: x\n...\n" + BODY,
}
UNREADABLE = {
    "text behind quotes": "description: 'a' b",
    "quotes within quotes": 'description: "say "hi""',
    "quotes without an end": "description: 'a",
    "a key below a text": "description: a\n  below: b",
    "an unknown escape": r'description: "\q"',
    "words without a key": "description: a\nwords",
    "a colon below metadata": "metadata:\n  a: b: c",
    "an alias of itself": "description: &x [*x]",
    "an alias to nothing below metadata": "metadata:\n  a: *x",
    "over 200,000 characters": "description: " + "long " * 40_000,
    "65 deep": "team: " + "[" * 65 + "]" * 65,
    "a million laughs": "\n".join(
        ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))]
    ),
}


@pytest.mark.parametrize("one", READ.values(), ids=READ)
def test_store_and_hook_read_what_the_client_reads(one: Case) -> None:
    raw = one.text.encode()
    memory = document.parse(raw, "stem.md")
    assert {key: getattr(memory, key) for key in one.reads} == one.reads
    assert memory.body == BODY
    shown = store_files.describe(decoded(raw), "stem.md")
    assert bool(shown) is one.hook
    if one.hook:
        given = {**one.reads, "description": one.reads.get("description", "")}
        told = {**shown, "tags": tuple(shown["tags"])}
        for key in ("name", "title", "type", "tags", "body"):
            assert told[key] == given.get(key, told[key])
        # Where it gives none, the store takes the body's first line for it.
        assert told["description"] in (given["description"], "")


@pytest.mark.parametrize("text", NO_TABLE.values(), ids=NO_TABLE)
def test_what_is_no_front_matter_is_the_text(text: str) -> None:
    memory = document.parse(text.encode(), "stem.md")
    assert (memory.name, memory.body, memory.extra) == ("stem", text, {})
    assert store_files.describe(text, "stem.md")["body"] == text


@pytest.mark.parametrize("front", UNREADABLE.values(), ids=UNREADABLE)
def test_what_can_not_be_read_says_where_and_is_told_by_no_hook(front: str) -> None:
    text = f"---\nname: x\n{front}\n---\n{BODY}"
    with pytest.raises(DocumentError, match="front matter") as caught:
        document.parse(text.encode(), "stem.md")
    assert 1 <= (caught.value.line or 0) <= text.count("\n") and caught.value.fix
    assert store_files.describe(text, "stem.md") == {}


@pytest.mark.parametrize(
    ("raw", "description"),
    [
        ("---\ndescription: café\n---\n".encode("latin-1"), "caf\ufffd"),
        ("\ufeff---\ndescription: café\n---\n".encode("utf-16-le"), "café"),
    ],
    ids=["Latin-1", "UTF-16"],
)
def test_what_is_not_utf_8_is_read_as_far_as_it_goes(tmp_path: Path, raw: bytes, description: str) -> None:
    assert document.parse(raw, "a.md").description == description
    (tmp_path / "a.md").write_bytes(raw)
    found = store_files.read(str(tmp_path), "a.md", False)
    assert found is not None and found.shown["description"] == description


def test_a_hook_holds_back_what_it_can_not_read_for_it_may_say_that_it_is_retired() -> None:
    text = "---\narchived: true\nother: &x d\n---\nbody\n"
    assert store_files.describe(text, "a.md") == {}
    assert front_matter.read("archived: true\nother: &x d\n", yaml_text.parse) == {
        "archived": True,
        "other": "d",
    }


KEYS = [
    "name",
    "description",
    "tags",
    "metadata",
    "a b",
    "é",
    "'q'",
    '"d"',
    "null",
    "x-y",
    "  type",
    "\tt",
    "5",
]
VALUES = [
    *(
        "",
        "plain",
        "two words",
        "a: b",
        "a # b",
        "#c",
        "'it''s'",
        "'a' b",
        '"q\\n\\"x\\""',
        '"a" # c',
        '"\\q"',
    ),
    *("[a, b]", "[a, 'b, c', \"d\"]", "[1, 2.5, null, true, -1, -a]", "{a: b, c: 1}", "{a: {b: [c]}}", "[a"),
    *(
        "{a",
        "[a: b]",
        "{a:b}",
        "{'a': b}",
        "{a}",
        "[a #b]",
        "[a#b, c:d]",
        "[x?y]",
        "[a,]",
        "[,]",
        "{a: , b: c}",
    ),
    *("|", "|-", ">", "|2", "|+", "> # c", "null", "~", "12", "012", "0x1F", "1_000", "10:30", "1.5", "+1"),
    *(".5", "2026-01-02", "true", "yes", "*bold* x", "&a x", "*a", "!t x", "@x", "`x`", "%x", "- a", "-a"),
    *(
        "? a",
        ":a",
        ": a",
        "ends:",
        "http://x/y",
        "a,b]",
        "'x",
        '"x',
        "a\tb",
        "a \t# b",
        "<<",
        "...",
        "\u00a0a",
    ),
]
ITEMS = [
    *("- a", "- a: b", "- {a: b, c: 'd'}", "-", "- 'x'", "- null", "  - a", "  - b: c", "    d: e", "- - a"),
    *("- # c", "-\ta", "- a: b: c", "  c: d", "- [a]", "# c", "", "  ", "\t", "...", "prose", "  continued"),
    *("    more", "  # ind", "%YAML 1.2", "  ends:", "---x"),
]
pairs = st.builds(
    lambda key, colon, value: key + colon + value,
    st.sampled_from(KEYS),
    st.sampled_from([": ", ": ", ":", ":  ", ":\t", " : "]),
    st.sampled_from(VALUES),
)
fronts = st.lists(pairs | st.sampled_from(ITEMS), min_size=1, max_size=6).map(
    lambda lines: "\n".join(lines) + "\n"
)


@settings(max_examples=1_500)
@given(front=fronts)
def test_what_is_read_by_lines_is_what_a_yaml_parser_reads(front: str) -> None:
    try:
        found: Any = yaml_lines.parse(front)
    except yaml_lines.UnsureError:
        return
    except yaml_lines.UnreadableError:
        with pytest.raises(yaml_lines.UnreadableError):
            yaml_text.parse(front)
        return
    assert repr(found) == repr(yaml_text.parse(front))


@given(
    text=st.text(st.characters(codec="utf-8"), max_size=80),
    mark=st.sampled_from(["", "---\n", "---\nname: "]),
)
def test_any_text_is_read_or_held_back_and_never_fails_otherwise(text: str, mark: str) -> None:
    whole = f"{mark}{text}\n---\n{BODY}"
    shown = store_files.describe(whole, "a.md")
    front, _ = split_front_matter(whole)
    assert shown == {} or shown["name"]
    if front is None:
        assert shown["body"] == whole
