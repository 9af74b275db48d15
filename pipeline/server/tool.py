"""What a tool is, and what several tools take, give and promise."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pipeline.server.shapes import Schema, answer, flag, many, or_none, text, whole

READS = {"readOnlyHint": True, "openWorldHint": False}
ADDS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False}
AGAIN = {**ADDS, "idempotentHint": True}
REMOVES = {**AGAIN, "destructiveHint": True}
ASKS_A_MODEL = {**ADDS, "openWorldHint": True}


NAMED_GRAPH = "graph"
"""The argument by which a tool takes another store than the project's."""


class Tool(NamedTuple):
    """One tool. `run` is ``module.function`` below `pipeline.server`, "" for one that nothing backs yet.

    `slow` ones take a lane of their own, and tell how far they are. What a `coded` one can't do it says as an
    object ``{"error": {"code", "message"}}``.
    """

    name: str
    title: str
    about: str
    takes: Schema
    gives: Schema
    hints: Mapping[str, bool]
    run: str = ""
    slow: bool = False
    coded: bool = False

    @property
    def listed(self) -> dict[str, Any]:
        """Return what ``tools/list`` says of it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.about,
            "inputSchema": self.takes,
            "outputSchema": self.gives,
            "annotations": {"title": self.title, **self.hints},
        }


TYPES = (
    *("user", "feedback", "project", "reference", "decision", "configuration", "procedure", "workflow"),
    *("code_pattern", "solution", "fix", "problem", "error", "insight", "general", "task"),
)
NAME = text("Its name as recall gives it, or an id of six characters or more.", most=300, least=1)
QUOTE = text(
    "What the person typed in this project that bears it out, letter for letter. Leave it out for your own"
    " conclusions.",
    most=200,
)
LIMIT = whole("How many at most.", least=1, most=50, default=10)
OFFSET = whole("How many to pass over: next_offset of the former answer.", default=0)
HIT = answer(
    name=text(),
    type=text(),
    description=text(),
    said=text(),
    by=text(),
    scope=text(),
    score={"type": "number"},
)
HITS = answer(
    memories=many(HIT),
    next_offset=or_none(whole("Ask again with this offset for more; null: no more.")),
    notes=many(text()),
)
MEMORY = answer(
    name=text(),
    id=text(),
    type=text(),
    title=text(),
    text=text(),
    tags=many(text()),
    importance={"type": "number"},
    confidence={"type": "number"},
    by=text("Who stands behind it."),
    said=text(),
    scope=text(),
    pinned=flag(),
    replaces=many(text()),
)
WRITTEN = answer(name=text(), id=text(), type=text(), origin=text(), scope=text(), note=text())


def with_graph(tool: Tool) -> Tool:
    """Return `tool`, which takes the name of a graph besides."""
    about = "A named graph (`reverie graphs`) instead of this project's."
    properties = {**tool.takes["properties"], NAMED_GRAPH: text(about, most=100, least=1)}
    return tool._replace(takes={**tool.takes, "properties": properties})
