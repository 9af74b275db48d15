"""Names that are safe as file names, made from whatever a model or a person wrote.

A slug is ``[a-z0-9-]{1,60}``, transliterated from any script, never empty and never a reserved name.
"""

from __future__ import annotations

import re

from anyascii import anyascii

from pipeline.core.ids import digest

MAX_SLUG = 60
_RESERVED = frozenset(
    {"memory", "core", "reflection", "readme", "claude", "con", "prn", "aux", "nul"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(10)}
)


def transliterate(text: str) -> str:
    """Return `text` in plain ASCII letters, whatever script it is in."""
    return anyascii(text)


def slugify(text: str) -> str:
    """Return a slug for `text`; the same text always gives the same slug.

    Long names keep their start and end in eight digits of a digest, so two that differ late stay apart;
    text with nothing to transliterate gives ``memory-`` and eight digits.
    """
    ascii_text = transliterate(text.replace("'", "")).lower()
    slug = re.sub(r"[^a-z0-9]+", "-", ascii_text).strip("-")
    if not slug:
        return f"memory-{_short_digest(text)}"
    if len(slug) > MAX_SLUG:
        slug = slug[: MAX_SLUG - 9].rstrip("-") + "-" + _short_digest(text)
    # Windows opens no file called “con.md”, and MEMORY.md is the index.
    if slug in _RESERVED:
        slug = f"{slug}-note"
    return slug


def _short_digest(text: str) -> str:
    return digest(text.strip())[:8]
