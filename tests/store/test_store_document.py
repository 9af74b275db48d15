import datetime as dt
from dataclasses import replace

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.core.errors import DocumentError
from pipeline.domain.memory import TYPES, Evidence
from pipeline.hooklib.memory_format import decoded
from pipeline.store.files import document
from tests.support.stores import NOW, memory

SPECIAL = [
    'Deploy: use "blue" first',
    "*star",
    "@at",
    "# hash",
    "- dash",
    "{a: b}",
    "C:\\dir\\x",
    "tab\tinside",
    "ends in:",
    "'single",
    "x" * 1000,
    "%p",
    "[[link]]tail",
    "yes",
    "2026-11-27",
    "0x10",
    "~",
    "🚀 日本",
    "a --- b",
]


def front(raw: bytes) -> dict:
    return yaml.safe_load(raw.decode().split("---\n")[1])


@pytest.mark.parametrize("text", SPECIAL)
def test_bug_074_yaml_special_text_comes_back(text):
    raw = document.compose(memory(description=text))
    assert front(raw)["description"] == text
    assert document.parse(raw, "a.md").description == text


def test_front_matter_has_the_keys_of_the_design_in_order():
    source = Evidence(session="s", uuid="u", quote="use tabs, please", at="2026-11-27T10:00:00+00:00")
    raw = document.compose(memory(type="decision", title="Tabs: yes", tags=("style",), sources=(source,)))
    assert list(front(raw)) == [
        "name", "description", "type", "metadata", "id", "title", "tags", "importance", "confidence",
        "created", "updated", "origin", "sources", "relations", "anchors",
    ]  # fmt: skip
    text = raw.decode()
    assert "\nmetadata: {type: project}\n" in text
    assert "\ntags: [style]\n" in text
    assert "\n- {session: s, uuid: u, quote: 'use tabs, please', at: " in text
    assert "\ncreated: '2026-11-27T10:00:00+00:00'\n" in text


def test_host_types_carry_a_title_only_when_it_says_more_than_the_name():
    assert "title" not in front(document.compose(memory()))
    assert front(document.compose(memory(title="Tabs!")))["title"] == "Tabs!"


BODIES = ["a\n---\nb\n", "----\nx\n", "--- text\n", "```\n---\nname: x\n---\n```\n", "\n\n  lead\n\n\n", ""]


@pytest.mark.parametrize("body", BODIES)
def test_bug_077_dashes_in_a_body_stay(body):
    raw = document.compose(memory(body=body))
    found = document.parse(raw, "prefers-tabs.md")
    assert found.body == body
    assert document.compose(found, raw) == raw
    assert document.split(document.compose(replace(found, description="new"), raw)).body == body


@pytest.mark.parametrize(
    "text",
    ["----\nfirst\n---\nx\n", "---\nnever closed\n", "\n---\nname: x\n---\n", "---\nprose\n---\nmore\n"],
)
def test_bug_077_a_rule_at_the_start_is_no_front_matter(text):
    found = document.parse(text.encode(), "note.md")
    assert (found.body, found.name) == (text, "note")


BOM_FILE = (
    b"\xef\xbb\xbf---\r\nname: a-b\r\ndescription: 'old'\r\nteam: x\r\ntype: project\r\n---\r\n"
    b"body\r\nmixed\nend"
)


def test_bug_079_bom_and_crlf_are_read_through():
    found = document.parse(BOM_FILE, "a-b.md")
    assert (found.name, found.description, found.type) == ("a-b", "old", "project")
    assert found.body == "body\r\nmixed\nend"


def test_bug_079_bom_and_crlf_survive_an_update():
    found = document.parse(BOM_FILE, "a-b.md")
    raw = document.compose(replace(found, description="new"), BOM_FILE)
    assert raw == BOM_FILE.replace(b"'old'", b"new")


OWN = b"""---
# a comment
type: feedback
team: x
description: old   # why
when: "2026-01-02"
list:
  - one
name: keep-order
# trailing comment
---
body\n\n\n"""


def test_bug_080_an_update_touches_only_its_own_line():
    found = document.parse(OWN, "keep-order.md")
    raw = document.compose(replace(found, description="new: one"), OWN)
    assert raw == OWN.replace(b"old   # why", b"'new: one'   # why")


def test_bug_080_comments_below_a_changed_line_stay():
    raw = b"---\ndescription: |\n  old\n  text\n# note\n\nname: x\n---\nb\n"
    found = document.parse(raw, "x.md")
    assert document.compose(replace(found, description="new"), raw) == (
        b"---\ndescription: new\n# note\n\nname: x\n---\nb\n"
    )


def test_bug_080_a_new_key_goes_to_the_end_and_the_rest_stays():
    found = document.parse(OWN, "keep-order.md")
    raw = document.compose(replace(found, tags=("a", "b")), OWN)
    assert raw == OWN.replace(b"# trailing comment\n", b"# trailing comment\ntags: [a, b]\n")


def test_flow_style_front_matter_can_be_updated():
    raw = b"---\n{name: a, description: old, team: x}\n---\nb\n"
    found = document.parse(raw, "a.md")
    again = document.parse(document.compose(replace(found, description="new"), raw), "a.md")
    assert (again.description, again.extra, again.body) == ("new", {"team": "x"}, "b\n")


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b"---\nname: a\ndescription: 'one' two\n---\n", 3),
        (b"---\nname: a\n  below: b\n---\nbody\n", 3),
        (b"---\na: &x [*x]\nb: *x\n---\n", 2),
    ],
)
def test_unreadable_front_matter_names_the_file_and_line(raw, line):
    with pytest.raises(DocumentError) as caught:
        document.parse(raw, "broken.md")
    assert (caught.value.file, caught.value.line) == ("broken.md", line)
    assert caught.value.fix


def test_deeply_nested_front_matter_is_an_error_not_a_crash():
    with pytest.raises(DocumentError):
        document.parse(b"---\na: " + b"[" * 50_000 + b"]" * 50_000 + b"\n---\n", "deep.md")
    open_ended = document.parse(b"---\na: " + b"[" * 50_000 + b"\n---\n", "deep.md")
    assert open_ended.extra == {"a": "[" * 50_000}


def test_half_an_emoji_becomes_a_replacement_character():
    raw = document.compose(memory(description="ok \ud83d end", body="\udcb2 \ud83d\ude80\n"))
    found = document.parse(raw, "a.md")
    assert (found.description, found.body) == ("ok \ufffd end", "\ufffd 🚀\n")


def test_a_value_of_blanks_alone_comes_back():
    raw = document.compose(memory(extra={"team": "\xa0"}))
    assert document.parse(raw, "a.md").extra == {"team": "\xa0"}


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
LINE = TEXT.map(document.without_line_breaks).map(str.strip)
TIMES = st.integers(0, 4_000_000_000).map(lambda at: dt.datetime.fromtimestamp(at, dt.UTC))


@settings(max_examples=150)
@given(
    LINE, st.sampled_from(sorted(TYPES)), TEXT, st.floats(0, 1), TIMES,
    st.dictionaries(st.sampled_from(["team", "kind", "Ω"]), TEXT | st.integers() | st.booleans()),
)  # fmt: skip
def test_what_is_composed_is_read_back(description, type_name, body, importance, at, extra):
    one = memory(
        description=description, type=type_name, body=body, importance=importance, updated=at, extra=extra,
        title="T" if TYPES[type_name].is_graph else "",
    )  # fmt: skip
    raw = document.compose(one)
    found = document.parse(raw, "prefers-tabs.md")
    assert found.body.rstrip("\n") == body.rstrip("\n")
    assert found.description == (description or found.description)
    assert (found.type, found.updated, found.extra) == (type_name, at, extra)
    assert found.importance == pytest.approx(importance, abs=1e-4)
    assert document.compose(found, raw) == raw


@example(b"\xff\xfe", b"")
@settings(max_examples=100)
@given(st.binary(max_size=200), st.sampled_from([b"", b"---\n", b"\xef\xbb\xbf---\r\n"]))
def test_any_file_that_can_be_read_is_written_back_unchanged(tail, start):
    raw = start + tail
    try:
        found = document.parse(raw, "any.md")
    except DocumentError:
        return
    if decoded(raw).encode() not in (raw, raw.removeprefix(b"\xef\xbb\xbf")):
        assert document.compose(found, raw) == raw
        with pytest.raises(DocumentError, match="not UTF-8"):
            document.compose(replace(found, name="other"), raw)
    elif document.split(raw).front is not None:
        assert document.compose(found, raw) == raw or document.parse(raw, "any.md").extra == {}


def test_the_time_of_a_source_and_of_the_memory_stay_as_written():
    raw = document.compose(memory(updated=NOW))
    assert document.parse(raw, "a.md").updated == NOW
