"""The body of a memory in the shape that extraction and dreams write: the fact, its reason, its use."""

from __future__ import annotations

import re
from dataclasses import dataclass

LABEL = re.compile(r"\*\*(?P<part>why|how to apply):\*\*", re.IGNORECASE)
"""The labels that stand before the reason and the use of a fact."""


@dataclass(frozen=True, slots=True)
class Body:
    """One fact: `statement` says it, `why` gives its reason, `how_to_apply` says when and how it counts."""

    statement: str
    why: str = ""
    how_to_apply: str = ""

    def render(self) -> str:
        """Return the markdown: the parts that are not empty, a blank line between them; "" without any."""
        labelled = (
            ("", self.statement),
            ("**Why:** ", self.why),
            ("**How to apply:** ", self.how_to_apply),
        )
        parts = [f"{label}{text.strip()}" for label, text in labelled if text.strip()]
        return "\n\n".join(parts) + "\n" if parts else ""

    @classmethod
    def parse(cls, text: str) -> Body:
        """Return the parts of `text`, whoever wrote it: all before the first label is the statement.

        A label that stands twice gives one part with both texts. What `render` wrote comes back as it was.
        """
        found: dict[str, list[str]] = {"why": [], "how to apply": []}
        labels = list(LABEL.finditer(text))
        ends = [*(match.start() for match in labels), len(text)]
        for match, end in zip(labels, ends[1:], strict=True):
            found[match["part"].lower()].append(text[match.end() : end].strip())
        why, how_to_apply = ("\n\n".join(filter(None, parts)) for parts in found.values())
        return cls(text[: ends[0]].strip(), why, how_to_apply)
