"""Replies that are wrong on purpose: the same request with one more paragraph of system text.

Only the first reader is asked so. The second reader, who is to find what is wrong, is asked as ever. Nothing
outside the evaluation imports this.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pipeline.llm import Provider, RawReply, Request
from pipeline.llm.prompts import load

SECOND_READER = "extract.verify"
"""The purpose of the second reader's calls."""


class InManner:
    """Asks another provider for replies in a `manner` of the suite's wherever the first reader is asked."""

    def __init__(self, inner: Provider, manner: str) -> None:
        self._inner = inner
        self._manner = manner
        self._paragraph = load(f"eval.{manner}").render()

    @property
    def name(self) -> str:
        """Return the name of the provider that answers."""
        return self._inner.name

    def send(self, request: Request, schema: dict[str, Any]) -> RawReply:
        """Return the reply to `request` with the paragraph added, or to what the second reader is asked."""
        if request.purpose != SECOND_READER:
            system = f"{request.system}\n\n{self._paragraph}"
            request = replace(request, system=system, manner=self._manner)
        return self._inner.send(request, schema)
