"""The key for a server of vectors, as a person gave it: in the system's keyring, else in a file of the home.

The file is private and says for which address the key is, so that no other setting sends it elsewhere. No
key is ever shown. The only module that imports keyring, which may not be there.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from pipeline.core.atomic import write_atomic
from pipeline.core.errors import EmbeddingError, cause
from pipeline.core.home import Home
from pipeline.search.vectors.vector_file import read_bytes

_SERVICE = "reverie"
_MOST = 20_000
_KEYRING, _FILE = "keyring", "file"


def keep(home: Path, key: str, url: str) -> str:
    """Keep `key` for the server at `url` and return where; the one before is forgotten.

    Raises EmbeddingError for what is no key, or where it can't be kept.
    """
    key = key.strip()
    if not key or len(key) > _MOST // 2 or not (key.isascii() and key.isprintable()) or " " in key:
        raise EmbeddingError("that is no key", fix="Give the key alone, on one line.")
    forget(home)  # A file that others may read would keep its mode.
    held = {"url": url, "place": _FILE, "key": key}
    if _in_keyring(home, key):
        held = {"url": url, "place": _KEYRING}
    try:
        write_atomic(Home(home).openai_key, orjson.dumps(held))
    except OSError as error:
        raise EmbeddingError(
            f"the key can't be kept: {cause(error)}", file=str(Home(home).openai_key), fix="Make room there."
        ) from error
    return where(home)


def kept(home: Path, url: str) -> str:
    """Return the key that is kept for the server at `url`, "" where there is none."""
    held = _held(home)
    if held.get("url") != url:
        return ""
    if held.get("place") == _FILE:
        return str(held.get("key") or "")
    ring = _keyring()
    if ring is None:
        return ""
    try:
        return str(ring.get_password(_SERVICE, str(home)) or "")
    except (ring.errors.KeyringError, OSError, RuntimeError):
        # Locked, or nobody there to unlock it: as if there were no key, which the question then says.
        return ""


def where(home: Path) -> str:
    """Return in words where a key is kept and for which address, "" where none is."""
    held = _held(home)
    if not held:
        return ""
    keeper = (
        "the system's keyring"
        if held.get("place") == _KEYRING
        else f"{Home(home).openai_key} (for you alone)"
    )
    return f"in {keeper}, for {held.get('url')}"


def forget(home: Path) -> bool:
    """Delete the key that is kept; True if there was one."""
    held = _held(home)
    ring = _keyring() if held.get("place") == _KEYRING else None
    if ring is not None:
        try:
            ring.delete_password(_SERVICE, str(home))
        except (ring.errors.KeyringError, OSError, RuntimeError) as error:
            raise EmbeddingError(
                f"the keyring did not let go of the key: {error}",
                fix=f"Delete {_SERVICE} in it yourself, and {Home(home).openai_key}.",
            ) from error
    Home(home).openai_key.unlink(missing_ok=True)
    return bool(held)


def _in_keyring(home: Path, key: str) -> bool:
    ring = _keyring()
    if ring is None:
        return False
    try:
        ring.set_password(_SERVICE, str(home), key)
        return bool(ring.get_password(_SERVICE, str(home)) == key)
    except (ring.errors.KeyringError, OSError, RuntimeError):
        # The package is there and no keyring behind it, as on most servers: then the file has it.
        return False


def _keyring() -> Any:
    if find_spec("keyring") is None:
        return None
    import_module("keyring.errors")
    return import_module("keyring")


def _held(home: Path) -> dict[str, Any]:
    try:
        held = orjson.loads(read_bytes(Home(home).openai_key, _MOST))
    except (OSError, EmbeddingError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}
