"""The pages: address, function, and the methods each takes."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.web.pages import cost, days, dreams, graph, health, inbox, memories, runs, sharing, tools
from pipeline.web.visit import PageFunction

GET = ("GET",)
POST = ("POST",)
PAGES: Sequence[tuple[str, PageFunction, Sequence[str]]] = (
    *memories.PAGES,
    *days.PAGES,
    *dreams.PAGES,
    *inbox.PAGES,
    *graph.PAGES,
    *runs.PAGES,
    *tools.PAGES,
    *cost.PAGES,
    *sharing.PAGES,
    *health.PAGES,
)
