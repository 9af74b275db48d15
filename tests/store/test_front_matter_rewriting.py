"""A file that is written again: what changed, and every other byte as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.errors import KeptAsItIsError
from pipeline.domain.memory import Evidence
from pipeline.store.files import document

LENIENT = (
    "---\n"
    "name: mailer   # the port\n"
    "description: port: 8025 # mail\n"
    "team: *bold* one\n"
    'owner: "ann"   # quoted\n'
    "link: [[other]]\n"
    "note: 50% & more\n"
    "metadata:\n"
    "\ttype: user\n"
    "---\n"
    "Body.\n"
)


def rewritten(text: str, **values: Any) -> str:
    found = document.parse(text.encode(), "mailer.md")
    raw = document.compose(replace(found, **values), text.encode())
    again = document.parse(raw, "mailer.md")
    for key in ("name", "title", "description", "type", "extra", "body", "tags", "relations"):
        assert getattr(again, key) == values.get(key, getattr(found, key)), key
    return raw.decode()


def test_lines_that_need_quotes_get_them_and_no_other_line_changes() -> None:
    assert rewritten(LENIENT, tags=("a",)) == (
        LENIENT.replace("description: port: 8025 # mail", 'description: "port: 8025 # mail"')
        .replace("name: mailer   # the port", 'name: "mailer   # the port"')
        .replace("team: *bold* one", 'team: "*bold* one"')
        .replace("\ttype: user", "  type: user")
        .replace("---\nBody", "tags: [a]\n---\nBody")
    )


def test_what_is_only_read_stays_as_it_is() -> None:
    found = document.parse(LENIENT.encode(), "mailer.md")
    assert document.compose(found, LENIENT.encode()) == LENIENT.encode()
    assert rewritten(LENIENT, body="New.\n") == LENIENT.replace("Body.", "New.")


def test_windows_line_ends_stay() -> None:
    text = "---\nname: a-b\ndescription: a: b\nwhen: 'x'\n---\nBody.\n".replace("\n", "\r\n")
    assert rewritten(text, tags=("t",)) == (
        text.replace("description: a: b", 'description: "a: b"').replace("'x'\r\n", "'x'\r\ntags: [t]\r\n")
    )


RELATIONS = """---
name: a
# what it stands to
relations:
- target: "b"   # first
  type: related
- target: 'c'
  type: solves
when: "2026"
---
Body.
"""
TWO = ({"target": "b", "type": "related"}, {"target": "c", "type": "solves"})


def test_c_04_a_block_list_keeps_the_items_that_stay() -> None:
    third = {"target": "d", "type": "related"}
    more = rewritten(RELATIONS, relations=(*TWO, third))
    assert more == RELATIONS.replace("solves\n", "solves\n- target: d\n  type: related\n")
    assert rewritten(RELATIONS, relations=TWO[1:]) == RELATIONS.replace(
        '- target: "b"   # first\n  type: related\n', ""
    )
    assert rewritten(RELATIONS, relations=()) == RELATIONS.replace(
        RELATIONS[RELATIONS.index("relations:") : RELATIONS.index("when:")], "relations: []\n"
    )


def test_a_list_in_brackets_keeps_the_quotes_of_its_items() -> None:
    text = "---\nname: a\ntags: [ \"a\", 'b' ]  # why\nw: é\n---\nBody.\n"
    assert rewritten(text, tags=("a", "b", "c: d")) == text.replace("'b' ]", "'b', 'c: d' ]")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "metadata:\n  node_type: 'memory'\n  # theirs\n  tags: [a]\n  n: 010\n",
            "metadata:\n  node_type: 'memory'\n  # theirs\n  tags: [a, b]\n  n: 010\n",
        ),
        (
            "metadata: {node_type: 'memory', tags: [a], n: 010}\n",
            "metadata: {node_type: 'memory', tags: [a, b], n: 010}\n",
        ),
    ],
    ids=["block", "brackets"],
)
def test_below_metadata_only_what_changed_is_written(before: str, after: str) -> None:
    text = f"---\nname: a\n{before}when: '2026'\n---\nBody.\n"
    found = document.parse(text.encode(), "a.md")
    raw = document.compose(replace(found, tags=("a", "b")), text.encode())
    assert raw.decode() == text.replace(before, after)


def test_a_source_that_is_added_leaves_the_others_alone() -> None:
    sources = tuple(Evidence(session=f"s{n}", uuid=f"u{n}", quote=f"said: {n}") for n in range(3))
    text = (
        "---\nname: a\nsources:\n- session: s0\n  uuid: \"u0\"\n  quote: 'said: 0'\n"
        '- {session: s1, uuid: u1, quote: "said: 1"}\n---\nBody.\n'
    )
    assert rewritten(text, sources=sources) == text.replace(
        '"said: 1"}\n', "\"said: 1\"}\n- {session: s2, uuid: u2, quote: 'said: 2'}\n"
    )


def test_what_an_alias_stands_for_is_kept_when_its_anchor_goes() -> None:
    text = "---\nname: a\ntags: &t [a, b]\nalso: *t\n---\nBody.\n"
    found = document.parse(text.encode(), "a.md")
    again = document.parse(document.compose(replace(found, tags=("c",)), text.encode()), "a.md")
    assert (again.tags, again.extra) == (("c",), {"also": ["a", "b"]})


def test_items_that_nobody_can_read_stay_where_they_are() -> None:
    text = (
        "---\nname: a\ntags: [b, {odd: one}, 'c', 12]\nsources:\n- {session: s0}  # cites nothing\n"
        "- session: s1\n  uuid: 'u1'\n  mine: kept\n---\nBody.\n"
    )
    more = tuple(Evidence(session=f"s{n}", uuid=f"u{n}", quote="") for n in (1, 2))
    assert rewritten(text, tags=("b", "12", "d"), sources=more) == (
        text.replace("'c', 12]", "12, d]").replace("kept\n", "kept\n- {session: s2, uuid: u2, quote: ''}\n")
    )


def test_a_key_that_goes_does_not_come_back_from_below() -> None:
    text = "---\nname: a\naliases:  # moved\nmetadata:\n  aliases: [b]\n  team: x\n---\nBody.\n"
    found = document.parse(text.encode(), "a.md")
    assert found.aliases == ("b",)
    raw = document.compose(replace(found, aliases=()), text.encode())
    assert raw.decode() == text.replace("aliases:  # moved\n", "").replace("  aliases: [b]\n", "")


def test_a_word_where_a_table_is_due_stays() -> None:
    text = "---\nname: a\ntype: user\nmetadata: 'theirs'\n---\nBody.\n"
    assert rewritten(text, type="project") == text.replace("user", "project")


def test_what_can_not_be_changed_alone_is_left_with_a_reason() -> None:
    text = "---\n? description\n? name\n: a\n---\nBody.\n"
    found = document.parse(text.encode(), "a.md")
    with pytest.raises(KeptAsItIsError, match="without touching other lines") as caught:
        document.compose(replace(found, description="new"), text.encode())
    assert caught.value.file == "a.md" and "a line of its own" in (caught.value.fix or "")
    raw = document.compose(replace(found, body="New.\n"), text.encode())
    assert raw.decode() == text.replace("Body.", "New.")


LINES = [
    *(
        "name: a-b",
        "description: a: b",
        "description: 'x'",
        "type: user",
        "# comment",
        "",
        "team: *b* c",
        "w: é # c",
    ),
    *(
        "tags: [a, 'b']",
        "tags:\n- a\n- 'b'",
        "metadata:\n  type: user\n  tags: ['z']",
        'owner: "ann"',
        "link: [[x]]",
    ),
]


@given(
    st.lists(st.sampled_from(LINES), max_size=6, unique_by=lambda line: line.partition(":")[0] or line),
    st.sampled_from(["\n", "\r\n"]),
    st.lists(st.sampled_from(["a", "b", "c: d", "e"]), unique=True, max_size=3),
)
def test_a_rewrite_reads_back_and_touches_no_other_line(
    lines: list[str], newline: str, tags: list[str]
) -> None:
    text = "\n".join(["---", *lines, "---", "Body.", ""]).replace("\n", newline)
    found = document.parse(text.encode(), "a-b.md")
    meant = replace(found, tags=tuple(tags))
    raw = document.compose(meant, text.encode())
    again = document.parse(raw, "a-b.md")
    assert (again.tags, again.name, again.body) == (meant.tags, found.name, found.body)
    assert (again.description, again.extra.get("team")) == (found.description, found.extra.get("team"))
    assert document.compose(again, raw) == raw
    for line in ("# comment", "w: é # c", 'owner: "ann"', "link: [[x]]", "description: 'x'"):
        yaml = "description: a: b" not in lines and "team: *b* c" not in lines
        if line in lines and (yaml or "#" not in line.partition(":")[2]):
            assert f"{line}{newline}" in raw.decode()
