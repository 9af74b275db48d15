"""What may stand in no memory, and what only a person may put there. The one rule behind every door."""

from __future__ import annotations

from pipeline.safety import guard
from pipeline.safety.redaction import has_secret

TAKEN_OUT = "[redacted:"
"""How the mark begins that stands where redaction took a secret out."""
_READS, _SECRET = "reads like ", "holds a secret"
_BARS = (_READS, _SECRET)


def holds_secret(text: str) -> bool:
    """Whether `text` holds a secret, or the mark of one that was taken out of it."""
    return TAKEN_OUT in text or has_secret(text)


def bar(text: str) -> str:
    """Return why code alone may not keep `text`, such as ``holds a secret``, or ""."""
    return forbidden(text) or doubt(text)


def forbidden(text: str) -> str:
    """Return why `text` may be kept at nobody's word, such as ``holds a secret``, or ""."""
    if holds_secret(text):
        return _SECRET
    found = guard.never(text)
    return f"{_READS}{found}" if found else ""


def in_inbox(reason: str) -> str:
    """Return the `reason` for which something waits, as a person reads it there: a clause with a subject.

    What `bar` gives has none, since one door says it of “the text” and another of “its text”.
    """
    return f"it {reason}" if reason.startswith(_BARS) else reason


def doubt(text: str) -> str:
    """Return what `text` reads like, such as ``reads like a permission``, or "": a person may keep it."""
    found = guard.doubt(text)
    return f"{_READS}{found}" if found else ""
