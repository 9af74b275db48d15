"""What may stand in no memory, and what only a person may put there. The one rule behind every door."""

from __future__ import annotations

from pipeline.safety import guard
from pipeline.safety.redaction import has_secret

TAKEN_OUT = "[redacted:"
"""How the mark begins that stands where redaction took a secret out."""


def holds_secret(text: str) -> bool:
    """Whether `text` holds a secret, or the mark of one that was taken out of it."""
    return TAKEN_OUT in text or has_secret(text)


def bar(text: str) -> str:
    """Return why code alone may not keep `text`, such as ``holds a secret``, or ""."""
    return forbidden(text) or doubt(text)


def forbidden(text: str) -> str:
    """Return why `text` may be kept at nobody's word, such as ``holds a secret``, or ""."""
    if holds_secret(text):
        return "holds a secret"
    found = guard.never(text)
    return f"reads like {found}" if found else ""


def doubt(text: str) -> str:
    """Return what `text` reads like, such as ``reads like a permission``, or "": a person may keep it."""
    found = guard.doubt(text)
    return f"reads like {found}" if found else ""
