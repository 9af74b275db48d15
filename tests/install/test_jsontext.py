"""Changing JSON as text: what is put in fits what is there, and taking it out again leaves no trace."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.install import json_edit

OBJECTS = {
    "empty": "{}",
    "empty, spread": "{\n}\n",
    "one line": '{"model": "opus"}',
    "two spaces": '{\n  "model": "opus",\n  "env": {"A": "ü"}\n}\n',
    "four spaces": '{\n    "model": "opus"\n}',
    "tabs": '{\n\t"model": "opus",\n\t"list": [1, 2.50, 1e3]\n}\n',
    "windows": '{\r\n  "model": "opus"\r\n}\r\n',
    "odd": '\n {"a":1 ,\n      "b" : [ ],"c":{}\n}\n\n',
}
VALUE = {"Stop": [{"hooks": [{"command": "x 'é' \\ \"", "timeout": 10}]}]}


@pytest.mark.parametrize("text", OBJECTS.values(), ids=OBJECTS)
def test_what_is_put_in_is_there_and_the_rest_unchanged(text):
    new = json_edit.put_in(text, json_edit.first(text), VALUE, key="hooks")
    assert json.loads(new) == {**json.loads(text), "hooks": VALUE}
    assert list(json.loads(new)) == [*json.loads(text), "hooks"]
    assert new.count("\n") == new.count("\r\n") or "\r" not in text


@pytest.mark.parametrize("text", [t for t in OBJECTS.values() if t != OBJECTS["empty, spread"]])
def test_taken_out_again_every_character_is_as_before(text):
    start = json_edit.first(text)
    new = json_edit.put_in(text, start, VALUE, key="hooks")
    assert json_edit.take_out(new, start, len(json_edit.items(new, start)) - 1) == text


def test_indentation_follows_the_text():
    new = json_edit.put_in(OBJECTS["tabs"], 0, {"a": [1]}, key="hooks")
    assert new.endswith(',\n\t"hooks": {\n\t\t"a": [\n\t\t\t1\n\t\t]\n\t}\n}\n')
    assert json_edit.put_in(OBJECTS["one line"], 0, [1], key="b") == '{"model": "opus", "b": [1]}'


@pytest.mark.parametrize(("number", "left"), [(0, "[2, 3]"), (1, "[1, 3]"), (2, "[1, 2]")])
def test_any_of_several_can_be_taken_out(number, left):
    assert json_edit.take_out("[1, 2, 3]", 0, number) == left


def test_of_a_key_given_twice_the_last_counts():
    text = '{"hooks": {"a": 1}, "hooks": {"b": 2}}'
    item = json_edit.member(text, 0, "hooks")
    assert item is not None and text[item.value : item.end] == '{"b": 2}'
    assert json_edit.member(text, 0, "other") is None


NEW = sys.version_info >= (3, 13)
"""From this Python on the place named is that of the comma."""


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{\n  "a": 1,\n}', 3 - NEW, 9 if NEW else 1),
        ('{\n  // no\n  "a": 1}', 2, 3),
        ('{"a": 1} x', 1, 10),
        ("", 1, 1),
        ('{"a": NaN}', 1, 1),
        ("[" * 100_000, 1, 1),
    ],
)
def test_what_claude_code_could_not_read_is_refused_with_the_place(text, line, column):
    with pytest.raises(json_edit.BadJsonError) as caught:
        json_edit.parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON, max_size=4), st.sampled_from([None, 1, 2, 4, "\t"]), st.booleans())
def test_for_any_text_putting_in_and_taking_out_is_nothing(value, indent, ascii_only):
    text = json.dumps({**value, "z": []}, indent=indent, ensure_ascii=ascii_only)
    new = json_edit.put_in(text, 0, VALUE, key="hooks")
    assert json.loads(new) == {**value, "z": [], "hooks": VALUE}
    assert json_edit.take_out(new, 0, len(json_edit.items(new, 0)) - 1) == text
