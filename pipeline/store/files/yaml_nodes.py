"""Where each value of a YAML text stands in it, to the character: what rewriting cuts by."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

from pipeline.store.files import yaml_text

_TRAILING = re.compile(r"(?:\r?\n[ \t]*)+\Z")
_EXPLICIT = re.compile(r"\?[ \t]*\Z")


@dataclass(slots=True, eq=False)
class Node:
    """One value, from `start`, its anchor and tag included, to `end`, without blanks and comments behind it.

    `text` is what a scalar says, `block` whether it is a text in lines of its own. `parts` are the items of a
    list, or keys and values of a table in turn; `flow` says that they stand in brackets. `body` is where the
    first of them begins, anchor and tag left out. `target` is what an alias stands for.
    """

    kind: Literal["scalar", "list", "table", "alias"]
    start: int
    end: int
    text: str = ""
    block: bool = False
    flow: bool = False
    body: int = 0
    parts: list[Node] = field(default_factory=list)
    target: Node | None = None

    @property
    def pairs(self) -> list[tuple[Node, Node]]:
        """Return keys and values of a table."""
        return list(zip(self.parts[::2], self.parts[1::2], strict=True))


@dataclass(slots=True)
class Tree:
    """The value of a whole text, None for none; its aliases; and where lines can be added."""

    root: Node | None
    aliases: list[Node]
    end: int


def tree(text: str) -> Tree:
    """Return the values of `text`, which is YAML, by their places."""
    events = yaml_text.events(text)
    builder = _Builder(text, events)
    root = None
    for event in events:
        if isinstance(event, yaml.DocumentEndEvent):
            end = _span(event)[0] if event.explicit else len(text)
            return Tree(root, builder.aliases, end)
        if isinstance(event, yaml.NodeEvent):
            root = builder.node(event)
    return Tree(root, builder.aliases, len(text))


def _span(event: Any) -> tuple[int, int]:
    return event.start_mark.index, event.end_mark.index


class _Builder:
    def __init__(self, text: str, events: Iterator[Any]) -> None:
        self.text = text
        self.events = events
        self.aliases: list[Node] = []
        self.anchors: dict[str, Node] = {}

    def node(self, event: Any) -> Node:
        """Return the value that begins with `event`, and take its events."""
        start, end = _span(event)
        if isinstance(event, yaml.AliasEvent):
            found = Node("alias", start, end, target=self.anchors[str(event.anchor)])
            self.aliases.append(found)
            return found
        if isinstance(event, yaml.ScalarEvent):
            block = event.style in ("|", ">")
            end = self._end_of_block(start, end) if block else end
            found = Node("scalar", start, end, event.value, block)
            self._name(event, found)
            return found
        flow = bool(event.flow_style)
        kind: Literal["list", "table"] = "list" if isinstance(event, yaml.SequenceStartEvent) else "table"
        found = Node(kind, start, end, flow=flow)
        self._name(event, found)
        for inner in self.events:
            if isinstance(inner, yaml.CollectionEndEvent):
                end = _span(inner)[1]
                break
            found.parts.append(self.node(inner))
        closed = flow and self.text[end - 1] in "]}"
        found.end = end if closed or not found.parts else found.parts[-1].end
        found.body = self._body(found)
        return found

    def _name(self, event: Any, node: Node) -> None:
        if event.anchor is not None:
            self.anchors[event.anchor] = node

    def _body(self, node: Node) -> int:
        """Return where the brackets or the first dash or key of `node` stand, behind its anchor and tag."""
        if node.kind == "table" and not node.flow:
            return begin_of(self.text, node.parts[0])
        at = node.start
        while found := re.compile(r"(?:[&!][^\s]*|#.*)?\s+").match(self.text, at):
            at = found.end()
        return at

    def _end_of_block(self, start: int, end: int) -> int:
        """Return where the last line of a block of text ends; blank lines count where its head says so."""
        head = self.text[start:end].partition("\n")[0]
        if "+" in head.partition("#")[0]:
            return start + len(self.text[start:end].removesuffix("\n").removesuffix("\r"))
        found = _TRAILING.search(self.text, start, end)
        return found.start() if found else end


def begin_of(text: str, key: Node) -> int:
    """Return where the pair of `key` begins: at its question mark, if it has one."""
    found = _EXPLICIT.search(text, text.rfind("\n", 0, key.start) + 1, key.start)
    return found.start() if found else key.start
