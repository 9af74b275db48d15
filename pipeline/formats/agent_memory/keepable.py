"""What may be written into agent-memory's files through a command or a tool: no secret, nothing that acts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pipeline.formats.agent_memory.errors import invalid
from pipeline.verify.barred import doubt, forbidden, holds_secret


def require_keepable(texts: Iterable[str], *, by_person: bool) -> None:
    """Raise INVALID_INPUT for a secret, hidden text, and for what only a person may let stand."""
    for text in texts:
        if holds_secret(text):
            raise invalid("the text holds a secret", "Leave the secret out; say where it is kept.")
        reason = forbidden(text) or ("" if by_person else doubt(text))
        if reason:
            raise invalid(f"the text {reason}", "Memories state facts; they grant nothing.")


def texts_of(value: Any) -> list[str]:
    """Return every text in the values of a memory's fields."""
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return [text for part in parts for text in texts_of(part)]
