"""Packages that only some of Reverie needs, and how an extra of them is installed where Reverie is."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from urllib.parse import unquote, urlparse

_CHECKOUT = Path(__file__).parents[2]
_OF_PIPX = "pipx_metadata.json"
_OF_UV = "uv-receipt.toml"


def how_to_install(extra: str, *, prefix: Path | None = None, checkout: Path | None = None) -> str:
    """Return the command that adds `extra` to the Reverie that runs; `prefix` is where its Python lives.

    pipx and uv put each program into an environment of its own, which no other ``pip`` reaches.
    """
    home = prefix or Path(sys.prefix)
    source = checkout or _source()
    wanted = shlex.quote(f"{source or 'PATH'}[{extra}]")
    if (home / _OF_PIPX).is_file():
        command = f"pipx install --force {wanted}"
    elif (home / _OF_UV).is_file():
        command = f"uv tool install --force {wanted}"
    else:
        here = Path(sys.executable)
        python = home / here.parent.name / here.name
        command = f"{shlex.quote(str(python if python.exists() else here))} -m pip install {wanted}"
    where = "" if source else " (PATH: Reverie's checkout)"
    return f"Install the extra `{extra}`: `{command}`{where}."


def _source() -> Path | None:
    """Return the checkout that Reverie runs in or was installed from; None where that is gone."""
    return next((path for look in (_running, _noted) if (path := look()) and _is_checkout(path)), None)


def _running() -> Path:
    return _CHECKOUT


def _noted() -> Path | None:
    """Return what the installer noted of the place the package came from."""
    # Deferred: takes 30 ms, and few ask for it.
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        held = json.loads(distribution("reverie").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return None
    url = urlparse(str(held.get("url") or ""))
    return Path(unquote(url.path)) if url.scheme == "file" else None


def _is_checkout(path: Path) -> bool:
    return (path / "pyproject.toml").is_file()
