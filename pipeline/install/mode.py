"""The mode of background work, set in ``config.toml`` without touching the rest of that file."""

from __future__ import annotations

from pathlib import Path

from pipeline.core.errors import UsageError
from pipeline.hooklib.settings import MODES
from pipeline.install.config_edit import set_key

EFFECT = {
    "off": "Nothing runs in the background: no model call, nothing written, nothing put before prompts.",
    "observe": "Sessions are read into the ledger only: no model call, no memory written, none recalled.",
    "propose": "What is found goes into the inbox; `reverie inbox` decides what becomes a memory.",
    "auto": "What is found is written into the project's memory folder; every change can be looked up.",
}


def set_mode(home: Path, mode: str) -> bool:
    """Write `mode`, one of MODES, into ``config.toml`` of `home`; return whether that changed the file.

    Raises UsageError for another word, and ConfigError as `config_edit.set_key`.
    """
    if mode not in MODES:
        raise UsageError(f"there is no mode {mode!r}", fix=f"Modes: {', '.join(MODES)}.")
    return set_key(home, "store.mode", mode).changed
