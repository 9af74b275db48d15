"""What may stand in no memory, whoever wrote it. The one rule behind every door."""

from __future__ import annotations

from pipeline.safety.guard import violation
from pipeline.safety.redaction import has_secret

TAKEN_OUT = "[redacted:"
"""How the mark begins that stands where redaction took a secret out."""


def holds_secret(text: str) -> bool:
    """Whether `text` holds a secret, or the mark of one that was taken out of it."""
    return TAKEN_OUT in text or has_secret(text)


def bar(text: str) -> str:
    """Return why `text` may not be kept, such as ``holds a secret``, or ""."""
    if holds_secret(text):
        return "holds a secret"
    found = violation(text)
    return f"reads like {found}" if found else ""
