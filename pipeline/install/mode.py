"""The mode of background work, set in ``config.toml`` without touching the rest of that file."""

from __future__ import annotations

import tomllib
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from pipeline.core.atomic import write_atomic
from pipeline.core.errors import ConfigError, InputError
from pipeline.core.home import Home
from pipeline.hooklib.settings import MODES

EFFECT = {
    "off": "Nothing runs in the background: no model call, nothing written, nothing put before prompts.",
    "observe": "Sessions are read into the ledger only: no model call, no memory written, none recalled.",
    "propose": "What is found goes into the inbox; `reverie inbox` decides what becomes a memory.",
    "auto": "What is found is written into the project's memory folder; every change can be looked up.",
}


def set_mode(home: Path, mode: str) -> bool:
    """Write `mode`, one of MODES, into ``config.toml`` of `home`; return whether that changed the file.

    Comments, order and everything else in it stay as they are. Raises InputError for another word, and
    ConfigError when the file is no TOML, can't be written, or has the mode in a form not known here.
    """
    if mode not in MODES:
        raise InputError(f"there is no mode {mode!r}", fix=f"Modes: {', '.join(MODES)}.")
    file = Home(home).config.resolve()
    try:
        old = file.read_bytes().decode("utf-8") if file.exists() else ""
        before = tomllib.loads(old)
        new = _edited(old, mode)
        if _parsed(new) != _wanted(before, mode):
            raise ConfigError(
                "the mode stands there in a form that can't be changed for you",
                file=str(file),
                fix=f'Write mode = "{mode}" under [store] yourself.',
            )
        if new != old:
            write_atomic(file, new.encode("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(str(error), file=str(file), fix="Mend the file, then run it again.") from error
    return new != old


def _edited(text: str, mode: str) -> str:
    # Deferred: every command imports this module, and one changes the file.
    import tomlkit
    from tomlkit.items import Table

    newline = "\r\n" if "\r\n" in text else "\n"
    document = tomlkit.parse(text)
    section = document.get("store")
    if section is None:
        apart = "" if not text else newline if text.endswith("\n") else newline * 2
        return f'{text}{apart}[store]{newline}mode = "{mode}"{newline}'
    if not isinstance(section, MutableMapping):
        return text
    if "mode" not in section and isinstance(section, Table) and not section.is_super_table():
        # Right below the header: at the end the key would come between the next section and its comment.
        value = tomlkit.string(mode)
        value.trivia.trail = newline
        section.trivia.trail = section.trivia.trail or newline
        section.value.body.insert(0, (tomlkit.key("mode"), value))
    else:
        section["mode"] = mode
    return tomlkit.dumps(document)


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _wanted(before: dict[str, Any], mode: str) -> dict[str, Any]:
    section = before.get("store")
    return {**before, "store": {**(section if isinstance(section, dict) else {}), "mode": mode}}
