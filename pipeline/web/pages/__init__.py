"""The pages: address, the module and the function that make it, and the methods each takes.

A module is loaded when a page of it is first asked for: one needs a part of Reverie, all of them most of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.responses import Response

    from pipeline.web.visit import PageFunction, Visit

GET = ("GET",)
POST = ("POST",)
FIRST = "memories"
"""The module of the page that a browser is sent to."""
PAGES = (
    ("", "memories.shelf", GET),
    ("memory/{ref:path}", "memory.pane", GET),
    ("memories/{deed}", "memory_changes.change", POST),
    ("today", "days.day", GET),
    ("timeline", "days.timeline", GET),
    ("dreams", "dreams.shelf", GET),
    ("dreams/undo", "dreams.undo", POST),
    ("inbox", "inbox.shelf", GET),
    ("inbox/item", "inbox.piece", GET),
    ("inbox/decide", "inbox.decide", POST),
    ("inbox/undo", "inbox.undo", POST),
    ("graph", "graph.graph", GET),
    ("graph/picture", "graph.picture", GET),
    ("graph/list", "graph.listed", GET),
    ("runs", "runs.shelf", GET),
    ("runs/rerun", "runs.rerun", POST),
    ("runs/{id}/bundle", "runs.download", GET),
    ("runs/{id}", "runs.whole", GET),
    ("tools", "tools.tools", GET),
    ("cost", "cost.cost", GET),
    ("shared", "sharing.sharing", GET),
    ("health", "health.health", GET),
    ("health/state", "health.state", GET),
    ("health/doctor", "health.examination", GET),
    ("health/trouble", "health.trouble", GET),
    ("health/stream", "health.stream", GET),
)


def load(module: str) -> object:
    """Return the module of that name, loaded."""
    return import_module(f"{__name__}.{module}")


def shown(page: str, visit: Visit) -> Response:
    """Return what the function that `page` names answers to `visit`."""
    module, _, function = page.partition(".")
    found: PageFunction = getattr(load(module), function)
    return found(visit)
