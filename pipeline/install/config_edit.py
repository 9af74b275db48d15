"""One key of ``config.toml`` set or taken out, without touching the rest of that file."""

from __future__ import annotations

import os
from collections.abc import Iterator, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from pipeline import config
from pipeline.config import Settings
from pipeline.core import config_lines, locks
from pipeline.core.atomic import write_atomic
from pipeline.core.errors import ConfigError, LockError, UsageError
from pipeline.core.home import Home
from pipeline.hooklib.plain import clipped
from pipeline.hooklib.settings import config_text, parsed, step_for
from pipeline.safety.redaction import redact

_UNSET = object()
_WAIT_SECONDS = 10.0
_LONGEST_SHOWN = 200
"""Characters of a refused value that are shown again."""


@dataclass(frozen=True, slots=True)
class Edited:
    """What became of a key: its value now, whether the file changed, and on which line it stands.

    `line` is None where it stands nowhere, so that its default holds. `left` says what else in the file still
    can't be used.
    """

    key: str
    value: Any
    file: Path
    changed: bool
    line: int | None
    left: ConfigError | None


def set_key(home: Path, key: str, text: str) -> Edited:
    """Write `text` as the value of `key` (``section.name``) into ``config.toml`` of `home`.

    Comments, order and everything else in it stay as they are. Raises UsageError for a key or a value that
    there is not, and ConfigError when the file is no TOML, can't be written, or holds the key in a form not
    known here.
    """
    section, name = split(key)
    return _write(home, section, name, _value(section, name, text))


def unset_key(home: Path, key: str) -> Edited:
    """Take `key` out of ``config.toml`` of `home`, so that its default holds; errors as `set_key`.

    One that stands there and that no version knows can be taken out as well.
    """
    section, _, name = key.strip().partition(".")
    if not _stands_there(home, section, name):
        section, name = split(key)
    return _write(home, section, name, _UNSET)


def set_graph(home: Path, name: str, folder: Path | None) -> Edited:
    """Write that the graph `name` is the folder `folder`, or take the name out; errors as `set_key`."""
    return _write(home, "graphs", name, _UNSET if folder is None else str(folder))


def split(key: str) -> tuple[str, str]:
    """Return section and name of `key`; UsageError when there is no such key."""
    section, _, name = key.strip().partition(".")
    if name in _fields(section):
        return section, name
    every = [f"{known}.{field}" for known in Settings.model_fields for field in _fields(known)]
    near = get_close_matches(key, every, n=3) or [known for known in every if known.endswith(f".{key}")][:3]
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    raise UsageError(f"there is no setting {key!r}", fix=f"{hint}`reverie config` lists every key.")


def _stands_there(home: Path, section: str, name: str) -> bool:
    try:
        values = parsed(config_text(str(Home(home).config))).get(section)
    except ValueError:
        # Told by `_write`, which reads it again.
        return False
    return isinstance(values, dict) and name in values


def _fields(section: str) -> dict[str, Any]:
    field = Settings.model_fields.get(section)
    kind = field.annotation if field else None
    return dict(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else {}


def _value(section: str, name: str, text: str) -> Any:
    """Return what `text` means as the value of that key, as TOML holds it."""
    default = _fields(section)[name].default
    reason, fix = "", _fields(section)[name].description or ""
    for value in _listed(text) if isinstance(default, tuple) else _readings(text, isinstance(default, str)):
        wrong = config.problem({section: {name: value}}, Path())
        if wrong is None:
            return _kept(section, name, value)
        reason = reason or str(wrong.args[0]).partition(": ")[2]
    if not text.isprintable():
        reason, text = (
            "it holds what is no text",
            "".join(char if char.isprintable() else "?" for char in text),
        )
    shown = clipped(redact(text).text, _LONGEST_SHOWN)
    raise UsageError(f"{section}.{name} can't be {shown!r}: {reason}", fix=fix)


def _readings(text: str, as_text: bool) -> Iterator[Any]:
    """Yield what a person who typed `text` may mean: text where the key holds text, else a TOML value."""
    if not text.isprintable():
        return
    if as_text:
        yield "" if text in ('""', "''") else text
    words = {"on": True, "yes": True, "true": True, "off": False, "no": False, "false": False}
    if text.lower() in words:
        yield words[text.lower()]
    with suppress(ValueError):
        yield parsed(f"value = {text}\n")["value"]
    yield text


def _listed(text: str) -> Iterator[list[Any]]:
    """Yield what `text` may mean as a list: one of TOML, else its parts between commas."""
    if not text.isprintable():
        return
    with suppress(ValueError):
        value = parsed(f"value = {text}\n")["value"]
        if isinstance(value, list):
            yield value
            return
    yield [part.strip() for part in text.split(",") if part.strip()]


def _kept(section: str, name: str, value: Any) -> Any:
    """Return `value` as the settings take it, where that is of another kind: a number typed as text."""
    taken = getattr(getattr(Settings.model_validate({section: {name: value}}), section), name)
    if isinstance(taken, tuple):
        return list(taken)
    return taken if isinstance(value, str) and not isinstance(taken, str) else value


def _write(home: Path, section: str, name: str, value: Any) -> Edited:
    file = Home(home).config
    try:
        with locks.lock(Home(home).config_lock, timeout=_WAIT_SECONDS) as held:
            if held:
                return _written(home, section, name, value)
    except LockError as error:
        raise ConfigError(f"can't be written: {error.args[0]}", file=error.file, fix=error.fix) from error
    raise ConfigError("another command is changing it", file=str(file), fix="Try again when it has ended.")


def _written(home: Path, section: str, name: str, value: Any) -> Edited:
    file = Path(os.path.realpath(Home(home).config))
    try:
        old = config_text(str(file))
    except ValueError as error:
        raise ConfigError(str(error), file=str(file), fix="Mend the file, then run it again.") from error
    try:
        before = parsed(old)
    except ValueError as error:
        raise config_lines.unreadable(file, error) from error
    try:
        new = _without(old, section, name) if value is _UNSET else _edited(old, section, name, value)
        after = _wanted(before, section, name, value)
        if _parsed(new) != after:
            what = f"{section}.{name} stands there" if section != "store" else f"the {name} stands there"
            raise ConfigError(
                f"{what} in a form that can't be changed for you",
                file=str(file),
                fix=f"Write it under [{section}] yourself.",
            )
        if new != old:
            write_atomic(file, new.encode("utf-8"))
    except OSError as error:
        message = f"can't be written: {error.strerror or error}"
        raise ConfigError(message, file=str(file), fix=step_for(error.errno)) from error
    now = getattr(getattr(Settings(), section, None), name, None) if value is _UNSET else value
    line = None if value is _UNSET else config_lines.line_of(file, section, name)
    return Edited(f"{section}.{name}", now, file, new != old, line, config.problem(after, file))


def _edited(text: str, section: str, name: str, value: Any) -> str:
    # Deferred: every command imports this module, and one changes the file.
    import tomlkit
    from tomlkit.items import Table

    newline = "\r\n" if "\r\n" in text else "\n"
    document = _document(text)
    found = document.get(section)
    item = tomlkit.item(value)
    if found is None:
        apart = "" if not text else newline if text.endswith("\n") else newline * 2
        return f"{text}{apart}[{section}]{newline}{name} = {item.as_string()}{newline}"
    if not isinstance(found, MutableMapping):
        return text
    if name not in found and isinstance(found, Table) and not found.is_super_table():
        # Right below the header: at the end the key would come between the next section and its comment.
        item.trivia.trail = newline
        found.trivia.trail = found.trivia.trail or newline
        found.value.body.insert(0, (tomlkit.key(name), item))
    else:
        found[name] = value
    return tomlkit.dumps(document)


def _document(text: str) -> Any:
    """Return `text` as tomlkit edits it. Raises ConfigError for what it can't, as values nested too deep."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text)
    except (TOMLKitError, RecursionError) as error:
        raise ConfigError(f"config.toml can't be edited: {error}", fix="Edit it by hand.") from error


def _without(text: str, section: str, name: str) -> str:
    import tomlkit

    document = _document(text)
    found = document.get(section)
    if not isinstance(found, MutableMapping) or name not in found:
        return text
    del found[name]
    return tomlkit.dumps(document)


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return parsed(text)
    except ValueError:
        return None


def _wanted(before: dict[str, Any], section: str, name: str, value: Any) -> dict[str, Any]:
    found = before.get(section)
    values = dict(found) if isinstance(found, dict) else {}
    if value is _UNSET:
        values.pop(name, None)
        return {**before, section: values} if section in before else before
    return {**before, section: {**values, name: value}}
