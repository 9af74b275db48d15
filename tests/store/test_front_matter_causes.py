"""Front matter that can't be read: what is wrong with it, in which line, and what helps."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.core.errors import DocumentError
from pipeline.diagnostics.audit import audit
from pipeline.store import Store
from pipeline.store.files import document

NOW = datetime(2026, 3, 2, tzinfo=UTC)
DEEP = ("nested more than 64 deep", "Nest what stands there less deep")
LARGE = ("it has over 200,000 characters", "Move what is long into the text below the front matter")
ITSELF = (
    "an alias that holds itself",
    "Write out what is meant, without an alias to what it stands in",
)
MANY = ("aliases that stand for more than 20,000 values", "Write out what is meant, without aliases")
QUOTE = "Quote the value, or remove the line"
LAUGHS = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9))]
KEYS = [f"k{number}: v" for number in range(10_000)]

WRONG: dict[str, tuple[list[str], int, str, str]] = {
    "brackets too deep": (["team: " + "[" * 65 + "]" * 65], 3, *DEEP),
    "brackets far too deep": (["team: " + "[" * 5_000 + "]" * 5_000], 3, *DEEP),
    "brackets over lines too deep": (["team:", *["  ["] * 65, *["  ]"] * 65], 67, *DEEP),
    "lines too deep": ([" " * level + f"k{level}:" for level in range(70)], 67, *DEEP),
    "lines too deep, with a value": (
        [*(" " * level + f"k{level}:" for level in range(70)), " " * 70 + "v"],
        67,
        *DEEP,
    ),
    "lines far too deep": ([" " * level + f"k{level}:" for level in range(500)], 67, *DEEP),
    "dashes too deep": (["a:", "  " + "- " * 70 + "x"], 4, *DEEP),
    "too deep by an alias": (
        ["x: y", "a: &a " + "[" * 40 + "]" * 40, "b: " + "[" * 40 + "*a" + "]" * 40], 5, *DEEP,
    ),
    "an alias in its own list": (["x: y", "team: &x [*x]"], 4, *ITSELF),
    "an alias in its own table": (["team: &x", "  y: 1", "  z: *x"], 3, *ITSELF),
    "aliases of aliases": (LAUGHS, 7, *MANY),
    "a long value": (["team: " + "long " * 40_000], 1, *LARGE),
    "many long keys": ([f"{key}{'v' * 20}" for key in KEYS], 1, *LARGE),
    "a list for a key": (
        ["x: y", "? [a]", ": b"],
        4,
        "a key that is a list or a table",
        "Write the key as a word",
    ),
    "a control character": (["x: y", "team: a\x07b"], 4, "a control character", "Take it out"),
    "an unknown escape": (
        ["x: y", 'team: "\\q"'],
        4,
        "found unknown escape character",
        "Write two backslashes for one, or single quotes around the text",
    ),
    "quotes without an end": (["team: 'a", "x: y"], 3, "found unexpected end of stream", QUOTE),
    "words without a key": (["words", "x: y"], 3, "could not find expected ':'", QUOTE),
    "text behind quotes": (["x: y", "team: 'a' b"], 4, "text behind the value", QUOTE),
}  # fmt: skip


@pytest.mark.parametrize("one", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_its_line_and_what_helps(
    tmp_path: Path, one: tuple[list[str], int, str, str]
) -> None:
    lines, line, message, fix = one
    raw = "\n".join(["---", "name: x", *lines, "---", "Body.", ""]).encode()
    with pytest.raises(DocumentError) as caught:
        document.parse(raw, "x.md")
    error = caught.value
    assert (error.file, error.line, error.args[0]) == ("x.md", line, f"front matter: {message}")
    assert error.fix == f"{fix}; the file is left as it is until then."
    (tmp_path / "x.md").write_bytes(raw)
    (told,) = (item for item in audit(tmp_path, now=NOW).findings if item.code == "front-matter")
    assert (told.path, told.line, told.message, told.fix) == ("x.md", line, message, f"{fix}.")


@pytest.mark.parametrize("more", [[], ["team: &x y", "other: *x"]], ids=["plain", "with an alias"])
def test_ten_thousand_keys_are_many_but_none_too_much(more: list[str]) -> None:
    found = document.parse("\n".join(["---", *KEYS, *more, "---", ""]).encode(), "x.md")
    assert len(found.extra) == 10_000 + len(more)


@pytest.mark.parametrize(
    ("front", "value"),
    [
        ("team: !!timestamp x", "x"),
        ("team: !!timestamp 2026-01-02", "2026-01-02"),
        ("team: !!bool x", "!!bool x"),
        ("team: !!int x", "!!int x"),
        ("team: !!binary aGk=", "aGk="),
        ("team: !!set {a, b}", {"a": None, "b": None}),
        ("team: !!omap [a: b]", [{"a": "b"}]),
        ("team: !!pairs [a: b]", [{"a": "b"}]),
    ],
)
def test_a_value_with_any_tag_costs_no_other_file_its_place(
    tmp_path: Path, front: str, value: object
) -> None:
    store = Store.open(tmp_path, create=True)
    (tmp_path / "a.md").write_text(f"---\nname: a\n{front}\n---\nBody.\n", "utf-8")
    (tmp_path / "b.md").write_text("---\nname: b\n---\nBody.\n", "utf-8")
    store.reindex(now=NOW)
    found = {item.name: item.front.get("team") for item in Store.open(tmp_path).scan().documents}
    assert found == {"a": value, "b": None}
