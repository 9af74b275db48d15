"""Identifiers and digests: random ids, ids derived from content, and SHA-256 digests."""

from __future__ import annotations

import hashlib
import uuid

_SPACE = uuid.UUID("5f6a3c52-1d0e-5c44-9a57-6a1c9f3b7e20")


def new_id() -> str:
    """Return a random UUID4 as text."""
    return str(uuid.uuid4())


def derived_id(*parts: str) -> str:
    """Return the same UUID for the same `parts`, shaped as a version 4 UUID.

    Memories made from a committed reply get theirs this way, so that doing the work again after a
    crash gives the same file. Seed 2 wants UUID4, so the version bits say 4.
    """
    name = "\x1f".join(parts)
    raw = bytearray(uuid.uuid5(_SPACE, name).bytes)
    raw[6] = (raw[6] & 0x0F) | 0x40
    return str(uuid.UUID(bytes=bytes(raw)))


def text_digest(text: str) -> str:
    """Return the digest of a file's text, whatever its line ends and with a byte order mark or without."""
    return digest(text.removeprefix("\ufeff").replace("\r\n", "\n").encode("utf-8", "replace"))


def digest(data: bytes | str) -> str:
    """Return the SHA-256 of `data` (text as UTF-8) in 64 hex digits."""
    raw = data.encode("utf-8") if isinstance(data, str) else data
    return hashlib.sha256(raw).hexdigest()
