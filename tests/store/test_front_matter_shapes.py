"""Every shape of front matter, with one value set, changed or removed: all else stays as it was."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.hooklib import front_matter
from pipeline.store.files import yaml_text
from pipeline.store.files.rewriting import NotAloneError, rewrite

Path = tuple[str | int, ...]
NEW: list[Any] = [
    *("x", "a: b # c", "one\ntwo", " blank ", "null", "", 12, True, None),
    *([], ["p", "q, r"], [{"k": "l", "m": 1}], [["n"]], {}, {"k": "v"}, {"k": {"l": ["m", {"n": "o"}]}}),
]


@dataclass
class Draft:
    """Front matter in the making: `marks` are the words in it that tell it apart, each with whose it is."""

    draw: Any
    marks: dict[str, Path] = field(default_factory=dict)
    beside: dict[str, Path] = field(default_factory=dict)

    def mark(self, path: Path, start: str = "v") -> str:
        word = f"{start}{len(self.marks) + len(self.beside)}z"
        self.marks[word] = path
        return word

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def comment(self, path: Path) -> str:
        """A comment beside the value at `path`, or none."""
        if self.one_of(True, True, False):
            return ""
        word = f"c{len(self.marks) + len(self.beside)}z"
        self.beside[word] = path
        return f"{self.one_of(' ', '   ')}# {word}: it's [so]"

    def aside(self, path: Path, indent: str) -> str:
        """Lines above a key that are no part of it, or none."""
        if self.one_of(True, True, False):
            return ""
        return self.one_of(f"{indent}# {self.mark(path, 'a')}: {{x\n", "\n", f"\n# {self.mark(path, 'a')}\n")

    def table(self, path: Path, indent: str, depth: int) -> tuple[str, dict[str, Any]]:
        text, value = "", {}
        for _ in range(self.draw(st.integers(1, 3))):
            key = self.mark(path, "k")
            where = (*path, key)
            del self.marks[key]
            self.marks[key] = where
            inner, value[key] = self.value(where, indent, depth)
            text += self.aside(path, indent) + indent + self.key(key, inner)
        return text, value

    def key(self, key: str, inner: str) -> str:
        shown = self.one_of(key, key, key, f"'{key}'", f'"{key}"')
        return f"{shown}{self.one_of(':', ':', ' :')}{inner}"

    def value(self, path: Path, indent: str, depth: int) -> tuple[str, Any]:
        """What stands behind a colon, to the end of its last line, and what it says."""
        kinds = ["plain", "quotes", "lines", "block", "empty", "flow", "props"]
        kind = self.one_of(*kinds, *(["table", "list", "list"] if depth else []))
        beside = self.comment(path) + "\n"
        word, more = self.mark(path), f"{indent}  "
        if kind == "plain":
            return self.one_of((f" {word} é b{beside}", f"{word} é b"), (f"\n{more}{word}{beside}", word))
        if kind == "quotes":
            return self.one_of(
                (f" '{word}: ''x'{beside}", f"{word}: 'x"),
                (f'   "{word}\\n # x"{beside}', f"{word}\n # x"),
                (f" '{word}\n\n{more}more'{beside}", f"{word}\nmore"),
            )
        if kind == "lines":
            return f" {word}\n{more}more{beside}", f"{word} more"
        if kind == "block":
            head, tail = self.one_of(("|", "\n"), ("|-", ""), (">", "\n"))
            lines = self.one_of("", "\n")
            return f" {head}{beside}{more}{word} # x\n{lines}", f"{word} # x{tail}"
        if kind == "empty":
            del self.marks[word]
            return beside, None
        if kind == "props":
            return f" {self.one_of('&' + word, '!!str', '!!str &' + word)} {word}{beside}", word
        if kind == "flow":
            text, value = self.flow(path, more, 2)
            return f" {text}{beside}", value
        del self.marks[word]
        prop = self.one_of("", "", f" &{word}")
        if kind == "table":
            text, value = self.table(path, more, depth - 1)
            return f"{prop}{beside}{text}", value
        return self.list(path, self.one_of(indent, more), depth - 1, prop + beside)

    def list(self, path: Path, indent: str, depth: int, text: str) -> tuple[str, list[Any]]:
        items: list[Any] = []
        for number in range(self.draw(st.integers(1, 3))):
            where = (*path, number)
            if self.one_of(True, True, False):
                key, word = self.mark(where, "k"), self.mark(where)
                inner, more = self.value((*where, key), f"{indent}  ", depth)
                items.append({key: None, "second": word})
                items[-1][key] = more
                text += f"{indent}- {key}:{inner}{indent}  second: {word}{self.comment(where)}\n"
            else:
                word = self.mark(where)
                shown = self.one_of(word, f"'{word}'", f"[{word}]", f"{{{word}: x}}")
                items.append({"[": [word], "{": {word: "x"}}.get(shown[0], word))
                text += f"{indent}-{self.one_of(' ', '   ')}{shown}{self.comment(where)}\n"
        return text, items

    def flow(self, path: Path, indent: str, depth: int) -> tuple[str, Any]:
        """A value between brackets, on one line or on more."""
        kind = self.one_of("word", "quotes", *(["list", "table"] if depth else []))
        word = self.mark(path)
        if kind == "word":
            return self.one_of((word, word), (f"'{word}, x'", f"{word}, x"))
        if kind == "quotes":
            return f'"{word}\\""', f'{word}"'
        del self.marks[word]
        gap = self.one_of(" ", f"\n{indent}")
        parts, values = [], []
        for number in range(self.draw(st.integers(1, 3))):
            where = (*path, self.mark(path, "k") if kind == "table" else number)
            if kind == "table":
                self.marks[str(where[-1])] = where
            text, value = self.flow(where, indent, depth - 1)
            values.append((where[-1], value))
            parts.append(f"{where[-1]}: {text}" if kind == "table" else text)
        comma = self.one_of(",", "") if gap != " " else ""
        aside = "" if gap == " " else self.one_of("", f" # {self.mark(where, 'a')}")
        body = f",{gap}".join(parts) + comma + aside + self.one_of(gap, gap if aside else "")
        if kind == "table":
            return f"{{{self.one_of(gap, '')}{body}}}", dict(values)
        return f"[{self.one_of(gap, '')}{body}]", [value for _, value in values]


@st.composite
def drafts(draw: Any) -> tuple[str, dict[str, Any], Draft]:
    draft = Draft(draw)
    if draft.one_of(True, True, True, False):
        text, value = draft.table((), draft.one_of("", "", "", "  "), 2)
        text = draft.one_of("", "", "&r\n", "!!map\n") + text
        text += draft.one_of("", "# end\n", "\n", "...\n")
    else:
        text, value = draft.flow((), draft.one_of("", "  "), 3)
        while not isinstance(value, dict):
            key = draft.mark((), "k")
            draft.marks = {word: (key, *path) for word, path in draft.marks.items()}
            text, value = f"{{{key}: {text}}}", {key: value}
        text += draft.comment(()) + "\n"
    return text.replace("\n", draft.one_of("\n", "\n", "\r\n")), value, draft


def paths(value: Any, path: Path = ()) -> list[Path]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inner for found in paths(item, (*path, key)))]


def within(path: Path, other: Path) -> bool:
    return path[: len(other)] == other


def common(before: str, after: str) -> tuple[int, int]:
    """How many characters are the same at the start and, of the rest, at the end."""
    least = min(len(before), len(after))
    start = next((at for at in range(least) if before[at] != after[at]), least)
    least -= start
    end = next((at for at in range(least) if before[-1 - at] != after[-1 - at]), least)
    return start, end


@settings(max_examples=400)
@given(drafts(), st.data())
def test_one_change_leaves_all_else_as_it_was(drawn: tuple[str, dict[str, Any], Draft], data: Any) -> None:
    front, value, draft = drawn
    assert front_matter.read(front, yaml_text.parse) == value
    # An item of a list counts as a whole.
    places = [path for path in paths(value) if not any(isinstance(step, int) for step in path[:-1])]
    path = data.draw(st.sampled_from(places))
    meant = copy.deepcopy(value)
    at: Any = meant
    for step in path[:-1]:
        at = at[step]
    lists = bool(path) and isinstance(path[-1], int)
    how = data.draw(st.sampled_from(["set", "change", "remove"])) if path else "set"
    if how == "set":
        inner = at[path[-1]] if path else meant
        if isinstance(inner, list):
            inner.insert(data.draw(st.integers(0, len(inner))), data.draw(st.sampled_from(NEW)))
        elif isinstance(inner, dict):
            inner["new"] = data.draw(st.sampled_from(NEW))
        else:
            return
    elif how == "change":
        at[path[-1]] = data.draw(st.sampled_from(NEW))
    else:
        del at[path[-1]]
    if not meant:
        return
    written = rewrite(front, value, meant, "\r\n" if "\r" in front else "\n")
    assert front_matter.read(written, yaml_text.parse) == meant
    start, end = common(front, written)
    lost = front[start : len(front) - end]
    emptied = how == "remove" and not at and path[:-1]
    owner = path[:-1] if emptied else path
    gone = {word for word, whose in draft.marks.items() if (how != "set" or lists) and within(whose, owner)}
    if how == "change":
        gone -= {str(path[-1])}
    asides = {word for word, whose in draft.beside.items() if within(whose, owner)}
    if how == "change" and not lists:
        asides -= {word for word, whose in draft.beside.items() if whose == path}
    for word in [*draft.marks, *draft.beside]:
        if word not in gone | asides:
            assert front.count(word) == written.count(word), (word, lost)
            assert word not in lost or word in draft.beside, (word, lost)
    if how == "set" and not lists:
        assert not lost.strip(" ,\r\n[]{}"), lost


A_TABLE = """{
  name: "a",  # the name
  'description': old,   # the old one
  tags: [ "x",
    y ],
}
"""
EXACTLY: dict[str, tuple[str, dict[str, Any], str]] = {
    "a table in brackets": (
        "{name: \"a\", description: old, team: 'x'} # c\n",
        {"description": "b: c"},
        "{name: \"a\", description: 'b: c', team: 'x'} # c\n",
    ),
    "a key into brackets over lines": (
        A_TABLE,
        {"pinned": True},
        A_TABLE.replace("y ],", "y ], pinned: true,"),
    ),
    "an item into brackets over lines": (
        A_TABLE,
        {"tags": ["x", "y", "z"]},
        A_TABLE.replace("y ],", "y, z ],"),
    ),
    "an item out of brackets over lines": (A_TABLE, {"tags": ["y"]}, A_TABLE.replace('"x",\n    y', "y")),
    "a key out of brackets over lines": (
        A_TABLE,
        {"description": None},
        A_TABLE.replace("'description': old,   # the old one\n  ", ""),
    ),
    "the last key out of brackets over lines": (
        A_TABLE,
        {"tags": None},
        A_TABLE.replace('  tags: [ "x",\n    y ],\n', ""),
    ),
    "all keys but new ones": ("{a: 1, b: 2}\n", {"a": None, "b": None, "c": "d"}, "{c: d}\n"),
    "a table of nothing": ("{ } # c\n", {"a": "b"}, "{a: b } # c\n"),
    "JSON": (
        '{"name":"a","tags":["b"]}\n',
        {"name": "c", "tags": ["b", "d"]},
        '{"name": "c","tags":["b", d]}\n',
    ),
    "keys without values in brackets": (
        "{a, b: , c: d}\n",
        {"a": "x", "b": "y", "e": "f"},
        "{a: x, b: y , c: d, e: f}\n",
    ),
    "the last key without a value": ("{c: d, b: }\n", {"e": "f"}, "{c: d, b: , e: f}\n"),
    "a key with a question mark": ("? a # c\n: b\nx: 1\n", {"a": "n"}, "? a # c\n: n\nx: 1\n"),
    "without a question mark": ("x: 1\n? a\n: b\n? d\n: e\n", {"a": None}, "x: 1\n? d\n: e\n"),
    "behind the end mark of YAML": ("a: b\n...\n", {"c": "d"}, "a: b\nc: d\n...\n"),
    "a text that keeps its blank lines": ("a: |+ # c\n  x\n\nb: c\n", {"a": "n"}, "a: n # c\nb: c\n"),
    "behind a text that keeps them": (
        "t:\n  a: |+\n    x\n\nb: c\n",
        {"t": {"a": "x\n\n", "d": "e"}},
        "t:\n  a: |+\n    x\n\n  d: e\nb: c\n",
    ),
    "a text whose last line looks like a comment": (
        "a: |\n  x\n  # no comment\n# one\nb: c\n",
        {"a": "n"},
        "a: n\n# one\nb: c\n",
    ),
    "a key that stands twice": ("a: x\nb: c\na: y # it\n", {"a": "n"}, "a: x\nb: c\na: n # it\n"),
    "both of a key that stands twice": ("a: x\nb: c\na: y\n", {"a": None}, "b: c\n"),
    "an anchor": ("a: &t [x, 'y'] # c\nb: *t # d\n", {"a": "n"}, "a: n # c\nb: [x, y] # d\n"),
    "an anchor above what changed": (
        "a: &t\n  k: {l: m}\n  # c\nb: [*t]\n",
        {"a": {"k": {"l": "n"}}},
        "a: &t\n  k: {l: n}\n  # c\nb: [{k: {l: m}}]\n",
    ),
    "an anchor within what stays": ("a: [&t x, y]\nb: *t\n", {"a": ["x"]}, "a: [&t x]\nb: *t\n"),
    "an alias": ("a: &t {k: v}\nb: *t # d\n", {"b": {"k": "n"}}, "a: &t {k: v}\nb: {k: n} # d\n"),
    "an anchor of the whole": ("&r\na: b\n", {"c": "d"}, "&r\na: b\nc: d\n"),
    "a list instead of a word": (
        "a: x  # c\nb: c\n",
        {"a": [{"k": "l", "m": "n"}]},
        "a:  # c\n- {k: l, m: n}\nb: c\n",
    ),
    "a word instead of a list": ("a: &x # c\n- x # d\n# e\nb: c\n", {"a": "n"}, "a: n # c\n# e\nb: c\n"),
    "items in another order": (
        "a:\n- 'x' # c\n- \"y\"\n",
        {"a": ["y", "x"]},
        "a:\n- \"y\"\n- 'x' # c\n",
    ),
    "an item of a list in brackets further back": (
        "a: ['x', \"y\"]\n",
        {"a": ["y", "x"]},
        "a: [\"y\", 'x']\n",
    ),
    "a text of more lines": ("a: x\n", {"a": "one\n---\ntwo"}, 'a: "one\\n---\\ntwo"\n'),
    "lines that are no YAML": (
        "a: b: c # d\ne: 'f' # g\n",
        {"h": "i"},
        "a: \"b: c # d\"\ne: 'f' # g\nh: i\n",
    ),
    "odd ends of lines in quotes": ("a: 'x\u2028y' # c\nb: c\n", {"b": "n"}, "a: 'x\u2028y' # c\nb: n\n"),
    "comments alone": ("# c\n", {"a": "b"}, "# c\na: b\n"),
    "a null alone": ("~ # c\n", {"a": "b"}, " # c\na: b\n"),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("one", EXACTLY.values(), ids=EXACTLY)
def test_what_is_written_is_the_change_and_no_more(
    one: tuple[str, dict[str, Any], str], newline: str
) -> None:
    front, change, after = one[0].replace("\n", newline), one[1], one[2].replace("\n", newline)
    old = front_matter.read(front, yaml_text.parse) or {}
    new = {key: value for key, value in {**old, **change}.items() if value is not None or key not in change}
    assert rewrite(front, old, new, newline) == after
    assert front_matter.read(after, yaml_text.parse) == new


def test_a_change_that_would_touch_more_is_refused() -> None:
    with pytest.raises(NotAloneError):
        rewrite("? a\n? b\n", {"a": None, "b": None}, {"a": 1, "b": None}, "\n")
    with pytest.raises(NotAloneError):
        rewrite("a: b\n...\n", {"a": "b"}, {}, "\n")
