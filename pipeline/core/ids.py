"""Identifiers and digests: random ids, ids derived from content, and SHA-256 digests."""

from __future__ import annotations

import os

from pipeline.hooklib.digests import sha256

_SPACE = "5f6a3c52-1d0e-5c44-9a57-6a1c9f3b7e20"


def new_id() -> str:
    """Return a random UUID4 as text."""
    # By hand: `uuid` takes longer to load than most who need one id take for all they do.
    raw = bytearray(os.urandom(16))
    raw[6] = (raw[6] & 0x0F) | 0x40
    raw[8] = (raw[8] & 0x3F) | 0x80
    text = raw.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def derived_id(*parts: str) -> str:
    """Return the same UUID for the same `parts`, shaped as a version 4 UUID.

    Memories made from a committed reply get theirs this way, so that doing the work again after a
    crash gives the same file. Seed 2 wants UUID4, so the version bits say 4.
    """
    import uuid

    name = "\x1f".join(parts)
    raw = bytearray(uuid.uuid5(uuid.UUID(_SPACE), name).bytes)
    raw[6] = (raw[6] & 0x0F) | 0x40
    return str(uuid.UUID(bytes=bytes(raw)))


def text_digest(text: str) -> str:
    """Return the digest of a file's text, whatever its line ends and with a byte order mark or without."""
    return digest(text.removeprefix("\ufeff").replace("\r\n", "\n").encode("utf-8", "replace"))


def digest(data: bytes | str) -> str:
    """Return the SHA-256 of `data` (text as UTF-8) in 64 hex digits."""
    raw = data.encode("utf-8") if isinstance(data, str) else data
    return sha256(raw)
