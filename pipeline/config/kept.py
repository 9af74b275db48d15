"""Settings that were found sound, kept in Reverie's home until what they came from changes.

They hold for one text of ``config.toml``, the variables above it and this version of the rules. What is of
another version counts for nothing, and the next who looks makes it anew. What may have a secret in it is not
kept: those settings are read each time.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pipeline.core import kept_values, zone
from pipeline.core.home import Home
from pipeline.hooklib import memory_format
from pipeline.hooklib import settings as hook_settings
from pipeline.hooklib.digests import sha256
from pipeline.hooklib.places import read_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

    from pipeline.config.rules import Settings

_MOST_KEPT = 4
"""So that a shell with variables of its own and the worker don't take each other's away."""
_RULES = (
    *(str(Path(__file__).with_name(name)) for name in ("rules.py", "values.py", "given.py", "kept.py")),
    *(hook_settings.__file__, memory_format.__file__),
)
"""The source of all that decides what a text means as settings."""


class _Plain:
    """Values by name that nobody changes; whatever else is asked of them, the rules' own class answers."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)
        self.__dict__["_values"] = values

    @cached_property
    def _whole(self) -> BaseModel:
        """Return the same as the rules have it."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._whole, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._whole, name, value)

    def __eq__(self, other: object) -> bool:
        return bool(self._whole == (other._whole if isinstance(other, _Plain) else other))

    def __hash__(self) -> int:
        return hash(self._whole)

    def __repr__(self) -> str:
        return repr(self._whole)


class _Section(_Plain):
    """The settings of one section."""

    def __init__(self, name: str, values: dict[str, Any]) -> None:
        super().__init__(values)
        self.__dict__["_name"] = name

    @cached_property
    def _whole(self) -> BaseModel:
        from pipeline.config.rules import Settings

        kind: type[BaseModel] = type(getattr(Settings.model_construct(), self._name))
        return kind.model_construct(**self._values)

    def model_dump(self) -> dict[str, Any]:
        """Return the values by name."""
        return dict(self._values)

    def model_copy(self, *, update: dict[str, Any]) -> _Section:
        """Return the section with other values for some names."""
        return _Section(self._name, {**self._values, **update})


class _Sections(_Plain):
    """All sections."""

    @cached_property
    def _whole(self) -> BaseModel:
        from pipeline.config.rules import Settings

        return Settings.model_construct(**{name: section._whole for name, section in self._values.items()})


def key_of(text: str, above: Sequence[tuple[str, str]]) -> str:
    """Return what tells `text` of ``config.toml`` with the variables `above` it from all others.

    "" where the rules have no source that could tell their version.
    """
    try:
        rules = b"\0".join(read_file(file, kept_values.MOST_BYTES) for file in _RULES)
    except OSError:
        return ""
    given = json.dumps([text, above], ensure_ascii=True)
    return sha256(f"{sha256(rules)} {given}".encode())


def found(home: Path, key: str) -> Settings | None:
    """Return the settings kept in `home` under `key`, None where there are none to go by."""
    values = kept_values.read(Home(home).kept_settings).get(key) if key else None
    if not isinstance(values, dict) or not all(isinstance(section, dict) for section in values.values()):
        return None
    name = values.get("extraction", {}).get("time_zone")
    if name and not zone.exists(name):  # The one rule whose answer this machine may change.
        return None
    sections = {name: _Section(name, _as_given(section)) for name, section in values.items()}
    return cast("Settings", _Sections(sections))


def keep(home: Path, key: str, settings: Settings) -> None:
    """Keep `settings` in `home` under `key`, unless a secret may stand in them.

    A home without a ledger is not in use yet: whoever installs there must find it as it was.
    """
    values = {name: section.model_dump() for name, section in settings}
    if not key or not Home(home).ledger.exists() or _may_be_secret(values):
        return
    kept_values.add(Home(home).kept_settings, key, values, most=_MOST_KEPT)


def _as_given(section: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in section.items()}


def _may_be_secret(values: dict[str, dict[str, Any]]) -> bool:
    """Whether an address with a name and password, a query, or anything that looks like a secret is in it."""
    # Deferred: its rules take as long to load as those of the settings.
    from pipeline.safety.redaction import has_secret

    every = [value for section in values.values() for value in section.values()]
    texts = [text for value in every for text in (value if isinstance(value, tuple) else (value,))]
    return any("@" in text or "?" in text or has_secret(text) for text in texts if isinstance(text, str))
