"""Front matter with some values changed, and everything else as it was, byte for byte.

Kept are the lines of the other keys, comments, order, quotes and line ends; of a list or table that changed,
the items and keys that did not, whether it stands in brackets or in lines. Of text that is no YAML, the lines
that need quotes to be read get them, and no other. What is written is read again before it counts.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from pipeline.hooklib import front_matter
from pipeline.hooklib.plain import whole_lines
from pipeline.hooklib.yaml_lines import UnreadableError
from pipeline.store.files import yaml_text
from pipeline.store.files.frontmatter_schema import plain
from pipeline.store.files.yaml_nodes import Node, Tree, begin_of, tree

_COLON = re.compile(r"\s*(?:#.*\s+)*:")
_HEAD = re.compile(r"[|>][-+0-9]*")


RELATIONS = "relations"
"""The key whose tables are written in lines, as schema v3 shows them, where none are there yet."""


class NotAloneError(ValueError):
    """The change can't be made without touching what is not part of it."""


def rewrite(front: str, old: Mapping[str, Any], new: Mapping[str, Any], newline: str) -> str:
    """Return `front`, which says `old`, with as little changed as makes it say `new`.

    Both are what `front_matter.read` gives; `newline` is the line end of the file. New keys go to the end.
    Raises NotAloneError.
    """
    if _is_plainly_same(dict(old), dict(new)):
        return front
    front = _as_yaml(front)
    written = _Rewriting(front, newline).rewritten(old, new)
    # What is too large to be read again is refused by whoever reads it, and for that.
    if len(written) > front_matter.MAX_FRONT or _says(written, new):
        return written
    raise NotAloneError("what was written would not be read as it was meant")


def _as_yaml(front: str) -> str:
    """Return `front` as YAML, with quotes in the lines that need them to be read as the client does."""
    try:
        yaml_text.parse(front)
    except UnreadableError:
        return "\n".join([_mended(line) for line in front.split("\n")])
    return front


def _mended(line: str) -> str:
    text = line.rstrip("\r")
    quoted = front_matter.quoted(text)
    if quoted == text:
        return line
    try:
        same = yaml_text.parse(text) == yaml_text.parse(quoted)
    except UnreadableError:
        same = False
    return line if same else quoted + line[len(text) :]


def _says(front: str, meant: Mapping[str, Any]) -> bool:
    try:
        found = front_matter.read(front, yaml_text.parse)
    except UnreadableError:
        return False
    return found is not None and _is_plainly_same(found, dict(meant))


def _is_plainly_same(before: Any, after: Any) -> bool:
    # Compared as JSON has them: a memory that comes from _index.json holds them so.
    return _key(before) == _key(after)


def _key(value: Any) -> str:
    return json.dumps(plain(_listed(value)), sort_keys=True, default=repr)


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value


class _Rewriting:
    """The cuts that make one text say something else, found by the places of its values."""

    def __init__(self, front: str, newline: str) -> None:
        self.text = front
        self.newline = newline
        self.cuts: list[tuple[int, int, str]] = []
        self.touched: set[Node] = set()

    def rewritten(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
        """Return the text that says `new`."""
        whole = tree(self.text)
        root = whole.root
        if root is None:
            self._insert(whole.end, self._lines(new, 0))
        elif root.kind != "table":
            # A lone null, which says as much as nothing.
            self._cut(root.start, root.end, "")
            self._insert(whole.end, self._lines(new, 0))
        else:
            self._table(root, old, new, whole.end)
            self._write_out_aliases(whole, old)
        return self._joined()

    # -- tables ---------------------------------------------------------------------------------------

    def _table(
        self, node: Node, old: Mapping[str, Any], new: Mapping[str, Any], end: int | None = None
    ) -> None:
        """Make the table `node` say `new`; lines for new keys go to `end`, or behind its last one."""
        self.touched.add(node)
        names = [_name(key) for key, _ in node.pairs]
        gone = {number for number, name in enumerate(names) if name in old and name not in new}
        for key in new:
            if key in old and not _is_plainly_same(old[key], new[key]):
                if key not in names:
                    raise NotAloneError(f"“{key}” is not found")
                # Of a key that stands twice the last one counts.
                number = len(names) - 1 - names[::-1].index(key)
                self._value(*node.pairs[number], old[key], new[key], node)
        added = {key: new[key] for key in new if key not in old}
        if node.flow:
            spans = [(key.start, value.end) for key, value in node.pairs]
            texts = [f"{yaml_text.inline(key)}: {yaml_text.inline(value)}" for key, value in added.items()]
            self._in_brackets(node, spans, gone, {len(spans): texts} if texts else {})
        else:
            self._in_lines(node, gone, added, end)

    def _in_lines(self, node: Node, gone: Collection[int], added: Mapping[str, Any], end: int | None) -> None:
        begins = [begin_of(self.text, key) for key, _ in node.pairs]
        for number in gone:
            begin, last = begins[number], node.pairs[number][1].end
            if not self.text[self._line_start(begin) : begin].strip():
                self._cut(self._line_start(begin), self._next_line(last), "")
            elif number + 1 < len(begins) and number + 1 not in gone:
                self._cut(begin, begins[number + 1], "")
            else:
                raise NotAloneError("a key beside a dash")
        if added:
            at = self._next_line(node.end) if end is None else end
            self._insert(at, self._lines(added, self._column(node.body)))

    def _value(self, key: Node, value: Node, old: Any, new: Any, within: Node) -> None:
        tables = value.kind == "table" and isinstance(old, dict) and isinstance(new, dict)
        lists = value.kind == "list" and isinstance(old, list) and isinstance(new, list | tuple)
        if tables and new and value.parts:
            self._table(value, old, new)
        elif lists and new and len(old) == len(value.parts) > 0:
            self._list(value, old, new, related=_name(key) == RELATIONS)
        else:
            self.touched.add(value)
            if within.flow:
                self._replace_in_brackets(key, value, new)
            else:
                self._replace_in_lines(key, value, new, self._column(within.body))

    def _replace_in_brackets(self, key: Node, value: Node, new: Any) -> None:
        piece = self._in_same_quotes(value, new) or yaml_text.inline(new)
        if value.start < value.end:
            self._cut(value.start, value.end, self._apart(value.start) + piece)
            return
        colon = _COLON.match(self.text, key.end)
        self._insert(colon.end() if colon else key.end, f" {piece}" if colon else f": {piece}")

    def _replace_in_lines(self, key: Node, value: Node, new: Any, column: int) -> None:
        colon = _COLON.match(self.text, key.end)
        if colon is None:
            raise NotAloneError("a key without a colon")
        behind = colon.end()
        name = RELATIONS if _name(key) == RELATIONS else "x"
        first, *lines = whole_lines(self._lines({name: new}, column))
        piece = self._in_same_quotes(value, new) or first[column + len(f"{name}:") :].strip()
        if lines and not isinstance(new, dict | list | tuple):
            piece, lines = yaml_text.inline(new), []
        if value.parts and not value.flow:
            # It stands in lines of its own: what is said beside its key stays.
            start = self._line_start(value.body)
            self._cut(value.start, min(value.body, self._props_end(value)), "")
            self._cut(start, self._next_line(value.end), "".join(lines))
            self._insert(behind, f" {piece}" if piece else "")
            return
        start = value.start if value.start < value.end else behind
        aside = _HEAD.sub("", self.text[start : value.end].partition("\n")[0], count=1) if value.block else ""
        aside = aside[aside.find(" #") :].rstrip("\r") if " #" in aside else ""
        if lines:
            self._cut(behind, value.end, aside)
            self._insert(self._next_line(value.end), "".join(lines))
        else:
            self._cut(start, value.end, self._apart(start) + piece + aside)

    def _in_same_quotes(self, value: Node, new: Any) -> str:
        """Return the text `new` in double quotes where `value` stands in such, "" elsewhere."""
        in_quotes = value.start < value.end and self.text[value.start] == '"' and isinstance(new, str)
        return yaml_text.in_quotes(new) if in_quotes else ""

    def _props_end(self, value: Node) -> int:
        """Return where anchor and tag of `value` end, its start if it has none."""
        found = re.compile(r"(?:[&!][^\s]*[ \t]*)*").match(self.text, value.start)
        return found.end() if found else value.start

    # -- lists ----------------------------------------------------------------------------------------

    def _list(self, node: Node, old: Sequence[Any], new: Sequence[Any], *, related: bool) -> None:
        """Make the list `node` say `new`, with the items that stay as they stand.

        Those that are added are like the others where these are relations.
        """
        self.touched.add(node)
        before, after = [_key(item) for item in old], [_key(item) for item in new]
        gone: set[int] = set()
        added: dict[int, list[int]] = {}
        for kind, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if kind == "replace" and _are_akin(node.parts[i1:i2], old[i1:i2], new[j1:j2]):
                for item, was, becomes in zip(node.parts[i1:i2], old[i1:i2], new[j1:j2], strict=True):
                    self._table(item, was, becomes)
            elif kind != "equal":
                gone |= set(range(i1, i2))
                added.setdefault(i2, []).extend(range(j1, j2))
        added = {at: numbers for at, numbers in added.items() if numbers}

        def found(number: int) -> int | None:
            # An item that only moves keeps its quotes.
            return before.index(after[number]) if after[number] in before else None

        if node.flow:
            spans = [(item.start, item.end) for item in node.parts]
            texts = {
                at: [
                    yaml_text.inline(new[n]) if (same := found(n)) is None else self._slice(*spans[same])
                    for n in numbers
                ]
                for at, numbers in added.items()
            }
            self._in_brackets(node, spans, gone, texts)
            return
        lines = self._item_lines(node)
        column = self._column(node.body)
        in_lines = related and any(item.kind == "table" and not item.flow for item in node.parts)
        for number in gone:
            self._cut(*lines[number], "")
        for at, numbers in added.items():
            kept = next((n for n in range(at - 1, -1, -1) if n not in gone), None)
            texts_here = [
                self._item(new[n], column, block=in_lines)
                if (same := found(n)) is None
                else self._slice(*lines[same])
                for n in numbers
            ]
            above = lines[0][0] if kept is None else lines[kept][1]
            self._insert(above, "".join(texts_here))

    def _item_lines(self, node: Node) -> list[tuple[int, int]]:
        """Return the lines of each item of a list in lines, from its dash on."""
        found: list[tuple[int, int]] = []
        at = self._line_start(node.body)
        for item in node.parts:
            while self.text[at : self._next_line(at)].lstrip(" ")[:1] != "-":
                following = self._next_line(at)
                if following >= len(self.text) or following > item.start:
                    raise NotAloneError("an item beside its dash")
                at = following
            end = self._next_line(max(item.end, at))
            found.append((at, end))
            at = end
        return found

    # -- brackets -------------------------------------------------------------------------------------

    def _in_brackets(
        self,
        node: Node,
        spans: Sequence[tuple[int, int]],
        gone: Collection[int],
        added: Mapping[int, Sequence[str]],
    ) -> None:
        """Take members `gone` out of `node`; put what is `added` before the member of its number."""
        kept = [number for number in range(len(spans)) if number not in gone]
        if not kept:
            first, last = (spans[0][0], spans[-1][1]) if spans else (node.body + 1, node.body + 1)
            self._cut(first, last, ", ".join(text for at in sorted(added) for text in added[at]))
            return
        for number in sorted(gone):
            if number + 1 < len(spans) and any(later > number for later in kept):
                self._cut(spans[number][0], spans[number + 1][0], "")
            elif number - 1 in kept:
                self._cut_last_members(spans, number)
        for at, texts in added.items():
            before = bisect_left(kept, at) - 1
            if before >= 0:
                self._insert(spans[kept[before]][1], "".join(f", {text}" for text in texts))
            else:
                self._insert(spans[kept[0]][0], "".join(f"{text}, " for text in texts))

    def _cut_last_members(self, spans: Sequence[tuple[int, int]], number: int) -> None:
        """Take out all members from `number` on; comments on lines of others stay, and then a comma, too."""
        before, begin, end = spans[number - 1][1], spans[number][0], spans[-1][1]
        if "\n" not in self.text[before:begin]:
            self._cut(before, end, "")
            return
        comma = re.compile(r"\s*,").match(self.text, end)
        end = comma.end() if comma else end
        start, following = self._line_start(begin), self._next_line(end)
        rest = self.text[end:following].strip()
        alone = not self.text[start:begin].strip() and (not rest or rest.startswith("#"))
        self._cut(*((start, following) if alone else (begin, end)), "")

    # -- aliases --------------------------------------------------------------------------------------

    def _write_out_aliases(self, whole: Tree, old: Mapping[str, Any]) -> None:
        """Let each alias of something that changed say itself what it stood for."""
        if not whole.aliases or whole.root is None:
            return
        values: dict[Node, Any] = {}
        _pair_up(whole.root, old, values)
        cuts = [(start, end) for start, end, _ in self.cuts if start < end]
        for alias in whole.aliases:
            target = alias.target
            if target is None or any(start <= alias.start and alias.end <= end for start, end in cuts):
                continue
            left = any(start <= target.start and target.end <= end for start, end in cuts)
            if left or target in self.touched:
                if target not in values:
                    raise NotAloneError("an alias of something else")
                self._cut(alias.start, alias.end, yaml_text.inline(values[target]))

    # -- text -----------------------------------------------------------------------------------------

    def _cut(self, start: int, end: int, text: str) -> None:
        if start != end or text:
            self.cuts.append((start, end, text))

    def _insert(self, at: int, text: str) -> None:
        self._cut(at, at, text)

    def _joined(self) -> str:
        out, at = [], 0
        for start, end, text in sorted(self.cuts, key=lambda cut: cut[:2]):
            if start < at:
                raise NotAloneError("two changes in one place")
            out += [self.text[at:start], text]
            at = end
        return "".join([*out, self.text[at:]])

    def _slice(self, start: int, end: int) -> str:
        return self.text[start:end]

    def _line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def _next_line(self, at: int) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end + 1

    def _column(self, at: int) -> int:
        return at - self._line_start(at)

    def _apart(self, at: int) -> str:
        return "" if self.text[at - 1] in " \t\n" else " "

    def _lines(self, values: Mapping[str, Any], indent: int) -> str:
        """Return `values` as lines, each with a line end."""
        texts = (
            f"{key}:\n{_further_in(yaml_text.block(value))}"
            if key == RELATIONS and _are_tables(value)
            else yaml_text.dump({key: value})
            for key, value in values.items()
        )
        return self._indented("".join(texts), indent)

    def _item(self, value: Any, indent: int, *, block: bool) -> str:
        if block and isinstance(value, dict) and value:
            return self._indented(yaml_text.block([value]), indent)
        return self._indented(yaml_text.dump([value]), indent)

    def _indented(self, text: str, indent: int) -> str:
        return "".join(" " * indent + line + self.newline for line in text.split("\n")[:-1])


def _are_tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(item, dict) for item in value)


def _further_in(text: str) -> str:
    return "".join(f"  {line}" for line in whole_lines(text))


def _are_akin(nodes: Sequence[Node], old: Sequence[Any], new: Sequence[Any]) -> bool:
    """Whether each table of `old` is one of `new`, in order, but for some of its values."""
    return len(old) == len(new) and all(
        node.kind == "table"
        and node.parts
        and isinstance(was, dict)
        and isinstance(becomes, dict)
        and 2 * sum(_key(was[key]) == _key(becomes.get(key)) for key in was) >= len(was)
        for node, was, becomes in zip(nodes, old, new, strict=True)
    )


def _name(key: Node) -> str:
    return key.target.text if key.target is not None else key.text


def _pair_up(node: Node, value: Any, values: dict[Node, Any]) -> None:
    """Note in `values` what each node within `node`, which says `value`, says itself."""
    values[node] = value
    if node.kind == "list" and isinstance(value, list) and len(value) == len(node.parts):
        for item, inner in zip(node.parts, value, strict=True):
            _pair_up(item, inner, values)
    elif node.kind == "table" and isinstance(value, dict):
        inner_values = {str(key): inner for key, inner in value.items()}
        for key, item in node.pairs:
            if _name(key) in inner_values:
                _pair_up(item, inner_values[_name(key)], values)
