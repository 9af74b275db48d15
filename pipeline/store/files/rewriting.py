"""Front matter with some keys changed, and everything else as it was, byte for byte.

Kept are the lines of the other keys, comments, order and line ends; of a key that changed, the items and the
keys below it that did not. Of text that is no YAML, the lines that need quotes to be read get them, and no
other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from pipeline.hooklib import front_matter
from pipeline.hooklib.yaml_lines import UnreadableError
from pipeline.store.files import yaml_text
from pipeline.store.files.frontmatter_schema import plain


def replace_keys(front: str, old: Mapping[str, Any], changed: Mapping[str, Any], newline: str) -> str:
    """Return `front` with the values of `changed` (None removes a key); new keys go to the end.

    `old` has the values before, `newline` is the line end of the file. `front` is one that
    `front_matter.read` takes.
    """
    if not changed:
        return front
    front = _as_yaml(front)
    node = yaml_text.compose(front)
    if node is None:
        return front + _dumped(changed, 0, newline)
    if not node.flow_style:
        written = _Rewriting(front, newline).table(node, old, changed, 0, len(front.splitlines()))
        if _is_yaml(written):
            return written
        # A value that went was one that others stood for by an alias.
    whole = {**(front_matter.read(front, yaml_text.parse) or {}), **changed}
    return _dumped(whole, 0, newline)


def _as_yaml(front: str) -> str:
    """Return `front` as YAML, with quotes in the lines that need them to be read as the client does."""
    if _is_yaml(front):
        return front
    return "".join([_mended(line) for line in front.splitlines(keepends=True)])


def _is_yaml(front: str) -> bool:
    try:
        yaml_text.parse(front)
    except UnreadableError:
        return False
    return True


def _mended(line: str) -> str:
    text = line.rstrip("\r\n")
    quoted = front_matter.quoted(text)
    if quoted == text:
        return line
    try:
        same = yaml_text.parse(text) == yaml_text.parse(quoted)
    except UnreadableError:
        same = False
    return line if same else quoted + line[len(text) :]


def _dumped(values: Mapping[str, Any], indent: int, newline: str) -> str:
    """Return the lines of `values` that are not None."""
    left = {key: value for key, value in values.items() if value is not None}
    text = yaml_text.dump(left) if left else ""
    return "".join(" " * indent + line + newline for line in text.split("\n")[:-1])


def _is_plainly_same(before: Any, after: Any) -> bool:
    # Compared as JSON has them: a memory that comes from _index.json holds them so.
    return bool(plain(before) == plain(after))


class _Rewriting:
    """The rewriting of one text, by the places that its YAML nodes give."""

    def __init__(self, front: str, newline: str) -> None:
        self.front = front
        self.newline = newline
        self.lines = front.splitlines(keepends=True)

    def table(
        self, node: Any, old: Mapping[str, Any], changed: Mapping[str, Any], start: int, end: int
    ) -> str:
        """Return the lines from `start` to `end`, in which `node` stands a key a line."""
        pairs = node.value
        starts = [key.start_mark.line for key, _ in pairs] + [end]
        left = dict(changed)
        out = self.lines[start : starts[0]]
        for number, (key, value_node) in enumerate(pairs):
            first, last = starts[number], starts[number + 1]
            if key.value not in changed:
                out += self.lines[first:last]
                continue
            value = left.pop(key.value, None)
            while last > first + 1 and self._is_aside(self.lines[last - 1]):
                last -= 1
            if value is not None:
                kept = self._value(value_node, old.get(key.value), value, first, last)
                out.append(
                    _dumped({key.value: value}, node.start_mark.column, self.newline)
                    if kept is None
                    else kept
                )
            out += self.lines[last : starts[number + 1]]
        return "".join(out) + _dumped(left, node.start_mark.column, self.newline)

    def _is_aside(self, line: str) -> bool:
        return not line.strip() or line.lstrip(" ").startswith("#")

    def _value(self, node: Any, old: Any, new: Any, first: int, last: int) -> str | None:
        """Return the lines of a key with `new` for `old`, keeping what is in both; None: write it anew."""
        if isinstance(node, yaml.MappingNode) and isinstance(old, dict) and isinstance(new, dict):
            return self._map(node, old, new, first, last)
        lists = isinstance(node, yaml.SequenceNode) and isinstance(old, list) and isinstance(new, list)
        if lists and new and len(old) == len(node.value):
            return self._list(node, old, new, first, last)
        return None

    def _map(self, node: Any, old: dict[str, Any], new: dict[str, Any], first: int, last: int) -> str | None:
        if {key.value for key, _ in node.value} != set(old) or not new:
            return None
        changed = {
            key: new.get(key)
            for key in [*old, *new]
            if key not in new or not _is_plainly_same(old.get(key), new[key])
        }
        if not node.flow_style:
            below = node.value[0][0].start_mark.line
            if below == first:
                return None
            return "".join(self.lines[first:below]) + self.table(node, old, changed, below, last)
        pieces = [
            self.front[key.start_mark.index : value.end_mark.index]
            if key.value not in changed
            else _entry(self._slice(key), changed[key.value])
            for key, value in node.value
            if changed.get(key.value, key) is not None
        ]
        added = [_entry(_piece(key), changed[key]) for key in changed if key not in old]
        return self._in_brackets(node, [*pieces, *added], first, last)

    def _list(self, node: Any, old: list[Any], new: list[Any], first: int, last: int) -> str | None:
        unused = list(range(len(old)))
        taken: list[int | None] = []
        for value in new:
            at = next((number for number in unused if _is_plainly_same(old[number], value)), None)
            if at is not None:
                unused.remove(at)
            taken.append(at)
        if not any(at is not None for at in taken):
            return None
        if node.flow_style:
            pieces = [
                _piece(value) if at is None else self._slice(node.value[at])
                for value, at in zip(new, taken, strict=True)
            ]
            return self._in_brackets(node, pieces, first, last)
        return self._dashes(node, new, taken, first, last)

    def _dashes(
        self, node: Any, new: list[Any], taken: Sequence[int | None], first: int, last: int
    ) -> str | None:
        starts = [item.start_mark.line for item in node.value] + [last]
        if any(not self.lines[at].lstrip(" ").startswith("-") for at in starts[:-1]):
            return None  # An item that begins below its dash.
        out = self.lines[first : starts[0]]
        column = node.start_mark.column
        for value, at in zip(new, taken, strict=True):
            if at is None:
                text = yaml_text.dump([value])
                out += [" " * column + line + self.newline for line in text.split("\n")[:-1]]
            else:
                out += self.lines[starts[at] : starts[at + 1]]
        return "".join(out)

    def _slice(self, node: Any) -> str:
        return self.front[node.start_mark.index : node.end_mark.index]

    def _in_brackets(self, node: Any, pieces: list[str | None], first: int, last: int) -> str | None:
        begin, end = node.start_mark, node.end_mark
        one_line = begin.line == end.line == first and last == first + 1
        if not one_line or None in pieces:
            return None
        line = self.lines[first]
        opening, closing = self.front[begin.index], self.front[end.index - 1]
        whole = ", ".join(piece for piece in pieces if piece is not None)
        return line[: begin.column] + opening + whole + closing + line[end.column :]


def _entry(key: str | None, value: Any) -> str | None:
    piece = _piece(value)
    return None if key is None or piece is None else f"{key}: {piece}"


def _piece(value: Any) -> str | None:
    """Return `value` as it stands between brackets, None for what needs lines of its own."""
    scalar = not isinstance(value, dict | list | tuple)
    text = yaml_text.dump({"x": [value] if scalar else value}).removesuffix("\n")
    if "\n" in text or not text.startswith("x: "):
        return None
    return text[len("x: [") : -1] if scalar else text[len("x: ") :]
