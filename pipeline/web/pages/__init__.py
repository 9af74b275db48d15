"""The pages: address, function, and the methods each takes."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.web.pages import graph, memories
from pipeline.web.visit import PageFunction

GET = ("GET",)
POST = ("POST",)
PAGES: Sequence[tuple[str, PageFunction, Sequence[str]]] = (*memories.PAGES, *graph.PAGES)
