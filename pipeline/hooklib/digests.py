"""SHA-256 without ``hashlib``, which opens OpenSSL and costs a hook 2.5 ms."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def sha256(raw: bytes) -> str:
    """Return the SHA-256 of `raw` in 64 hex digits, as ``pipeline.core.ids.digest`` does."""
    global _make
    if _make is None:
        _make = _found()
    return str(_make(raw).hexdigest())


_make: "Callable[[bytes], Any] | None" = None
"""Looked for once: a module that is not there is searched for along the whole path, each time."""


def _found() -> "Callable[[bytes], Any]":
    for name in ("_sha2", "_sha256"):  # since Python 3.12, and before
        try:
            found: Callable[[bytes], Any] = __import__(name).sha256
        except ImportError:
            continue
        return found
    import hashlib

    return hashlib.sha256
