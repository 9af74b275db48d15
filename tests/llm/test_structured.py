import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, BeforeValidator, Field

from pipeline.core.errors import InvalidReplyError
from pipeline.llm import structured


class Item(BaseModel):
    name: str
    body: str = ""


class Reply(BaseModel):
    memories: list[Item]
    notes: list[str] = []


class Defaulted(BaseModel):
    memories: list[Item] = []


class Untyped(BaseModel):
    memories: list[Any]


def _kind(value: Any) -> str:
    return value.strip().lower() if isinstance(value, str) and value.strip().lower() == "user" else "general"


class LenientItem(BaseModel):
    type: Annotated[str, BeforeValidator(_kind)] = "general"
    body: str = ""


class LenientReply(BaseModel):
    memories: list[LenientItem]


A = {"name": "a", "body": "one"}
B = {"name": "b", "body": "two ``` and {braces}"}
TWO = json.dumps({"memories": [A, B]}, indent=1)


@pytest.mark.parametrize(
    "text",
    [
        TWO,
        f"```json\n{TWO}\n```",
        f"```\n{TWO}\n```",
        f"```JSON  \n{TWO}\n```   ",
        f"```json\n{TWO}\n```\nThese are the two facts I found.",
        f"Here they are:\n\n```json\n{TWO}\n```",
        "```json\r\n" + TWO.replace("\n", "\r\n") + "\r\n```",
        f"As a list:\n```json\n{json.dumps([A, B])}\n```",
        f"Sure! [1] says so. {TWO} That is all.",
        f"The shape is {{name, body}}. {TWO}",
        f"{TWO} I left {{name}} as it was.",
        f'First thoughts: {{"memories": []}}\nBut there is more: {TWO}',
        f'The empty answer would be\n```json\n{{"memories": []}}\n```\nhere it is\n```json\n{TWO}\n```',
        f"{TWO}\n(`{{}}` would have meant nothing.)",
        f"As a list: {json.dumps([A, B])} as you asked.",
        f"{'if (a) { b(); } ' * 500}\n{TWO}",
        f"\ufeff{TWO}",
        f"  \n{TWO}\n\n",
    ],
)
def test_bug_059_fences_and_chatter_do_not_hide_the_value(text: str) -> None:
    assert [item.name for item in structured.parse(text, Reply).memories] == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ([A, B], ["a", "b"]),
        (A, ["a"]),
        ({"memories": A}, ["a"]),
        ({"Memories": [A]}, ["a"]),
        ({"MEMORIES": A}, ["a"]),
        ({"memories": []}, []),
        ([], []),
    ],
)
def test_bug_061_outer_shapes_that_mean_the_items(value: Any, names: list[str]) -> None:
    assert [item.name for item in structured.parse(json.dumps(value), Reply).memories] == names
    untyped = structured.parse(json.dumps(value), Untyped)
    assert [item["name"] for item in untyped.memories] == names


@pytest.mark.parametrize(
    "text",
    [
        f"Two of them: {json.dumps(A)} and {json.dumps(B)}",
        f'[{json.dumps(A)}, {json.dumps(B)}, {{"name": "c',
        f'{{"memories": [{json.dumps(A)}, {{"name": "c',
        f'{{"memories": [{json.dumps(A)}], "notes": NaN}}',
    ],
)
def test_an_item_that_may_be_one_of_several_is_not_taken_for_all(text: str) -> None:
    with pytest.raises(InvalidReplyError):
        structured.parse(text, Reply)


@pytest.mark.parametrize(
    "value",
    [{"result": {"memories": [A]}}, {"memories": None}, None, {}, 7, "memories", [1], [[A]], {"notes": []}],
)
def test_bug_061_other_shapes_are_invalid_and_never_empty(value: Any) -> None:
    for schema in (Reply, Untyped, Defaulted):
        with pytest.raises(InvalidReplyError):
            structured.parse(json.dumps(value), schema)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n",
        "I can't help with that.",
        "{",
        "See [] and {}.",
        '{"memories": [], "x": NaN}',
        "[" * 100_000,
        "{" * 100_000,
        "[{" * 100_000,
        '{"a":' * 100_000,
        "```" + " " * 300_000,
        "```\n x" * 100_000,
        '{"a' * 100_000,
    ],
)
def test_bug_063_text_without_a_value_is_invalid(text: str) -> None:
    with pytest.raises(InvalidReplyError):
        structured.parse(text, Reply)


def test_bug_066_one_odd_field_does_not_cost_the_others() -> None:
    types: list[Any] = ["User ", "PREFERENCE", "fact", None, ["user"], "user"]
    text = json.dumps({"memories": [{"type": kind, "body": "x"} for kind in types]})
    got = [item.type for item in structured.parse(text, LenientReply).memories]
    assert got == ["user", "general", "general", "general", "general", "user"]


def test_the_error_names_the_place_and_never_the_value() -> None:
    with pytest.raises(InvalidReplyError) as caught:
        structured.parse(json.dumps({"memories": [{"body": 5, "name": ["hunter2"]}]}), Reply)
    assert "memories.0.name" in str(caught.value) and "memories.0.body" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert caught.value.fix


def test_many_faults_are_counted_not_listed() -> None:
    with pytest.raises(InvalidReplyError, match="and 4 more"):
        structured.parse(json.dumps({"memories": [{}] * 9}), Reply)


def test_half_a_surrogate_pair_becomes_text_that_can_be_written() -> None:
    item = structured.parse('{"memories": [{"name": "a\\ud83d"}]}', Reply).memories[0]
    assert item.name.encode() == "a\ufffd".encode()


class Strict(BaseModel):
    kind: Literal["a", "b"] = "a"
    title: str = Field("", max_length=9, description="Short.")
    score: float = Field(ge=0, le=1)
    parts: list[Item] = Field(min_length=1, max_length=3)
    either: Item | None = None


def test_the_schema_is_the_strict_subset() -> None:
    schema = structured.schema_of(Strict)
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["kind", "title", "score", "parts", "either"]
    assert schema["properties"]["title"] == {"type": "string", "description": "Short. (maxLength 9)"}
    assert schema["properties"]["score"] == {"type": "number", "description": "(maximum 1, minimum 0)"}
    assert schema["properties"]["parts"]["minItems"] == 1
    assert schema["properties"]["kind"]["enum"] == ["a", "b"]
    item = {"name": {"type": "string"}, "body": {"type": "string"}}
    assert schema["$defs"]["Item"]["properties"] == item
    assert schema["$defs"]["Item"]["additionalProperties"] is False


def test_a_schema_without_a_list_takes_plain_objects_only() -> None:
    assert structured.parse('{"Name": "x"}', Item).name == "x"
    with pytest.raises(InvalidReplyError, match="a list, not an object"):
        structured.parse('[{"name": "x"}]', Item)


class Sparse(BaseModel):
    name: str
    note: str = Field("", json_schema_extra=structured.MAY_LACK)
    parts: list[LenientItem] = Field(default_factory=list, json_schema_extra=structured.MAY_LACK)


def test_what_is_mostly_empty_may_be_left_out() -> None:
    schema = structured.schema_of(Sparse)
    assert schema["required"] == ["name"] and "x-may-lack" not in json.dumps(schema)
    assert set(schema["properties"]) == {"name", "note", "parts"}
    assert structured.parse('{"name": "a"}', Sparse) == Sparse(name="a")
