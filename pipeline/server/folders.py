"""Which project a client means: its first root that is a folder here, else where the server was started."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote, urlsplit


def project_of(roots: Iterable[str], otherwise: Path) -> Path:
    """Return the folder of the first of `roots`, which are URIs, that is one here, else `otherwise`."""
    return next(filter(None, map(_folder, roots)), otherwise)


def _folder(uri: str) -> Path | None:
    try:
        parts = urlsplit(uri)
        path = Path(unquote(parts.path, errors="strict"))
        local = parts.scheme == "file" and parts.netloc in ("", "localhost") and path.is_absolute()
        return path.resolve() if local and path.is_dir() else None
    except (ValueError, OSError):
        return None  # No path, or none that can be looked at.
