"""Settings: defaults, then ``config.toml`` in Reverie's home, then a shell's ``REVERIE_*`` variables.

`rules` says what there is and what it may be. What it let through is `kept`, so that a process with the same
file and variables need not load it: it takes longer than all else that most commands do.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.config import kept
from pipeline.config.given import sections, text_of, together, variable_above, variables
from pipeline.core.errors import ConfigError
from pipeline.core.home import Home
from pipeline.core.lazily import exports
from pipeline.hooklib.settings import least_mode

if TYPE_CHECKING:
    from pipeline.config.rules import (
        DialogueSettings,
        DreamSettings,
        EmbeddingSettings,
        ExtractionSettings,
        ModelSettings,
        Settings,
        SpendSettings,
        StoreSettings,
    )

__all__ = [
    "DialogueSettings",
    "DreamSettings",
    "EmbeddingSettings",
    "ExtractionSettings",
    "ModelSettings",
    "Settings",
    "SpendSettings",
    "StoreSettings",
    "first_sight_from",
    "load",
    "load_or_defaults",
    "problem",
    "variable_above",
]


__getattr__ = exports(
    __name__,
    {
        "rules": "DialogueSettings DreamSettings EmbeddingSettings ExtractionSettings ModelSettings Settings"
        " SpendSettings StoreSettings"
    },
)


def load(home: Path, *, environment: bool = True, keep: bool = False) -> Settings:
    """Return the settings of the Reverie whose home is `home`.

    ``REVERIE_MODEL__PROVIDER=offline`` sets ``provider`` in ``[model]``: section and key are separated by
    two underscores. Without `environment` only the file counts, which is what all processes share; so it does
    in what Claude Code starts, where variables may be a project's. Whoever may write in `home` lets them
    `keep` what was found sound. Raises ConfigError naming file and key.
    """
    file = Home(home).config
    text = text_of(file)
    above = variables() if environment else []
    key = kept.key_of(text, above)
    known = kept.found(home, key)
    if known is not None:
        return known
    from pipeline.config.rules import validated

    settings = validated(together(sections(text, file), file, above))
    if keep:
        kept.keep(home, key, settings)
    return settings


def load_or_defaults(home: Path, *, keep: bool = False) -> tuple[Settings, ConfigError | None]:
    """Return the settings as far as they can be used, and the error that `load` would raise, if any.

    What can't be used counts as its default, but the mode as ``off`` where it is a word that nobody knows.
    That is enough to look at things. Whoever writes or asks a model has to raise the error: what can't be
    read may have been a cap, or a mode that allows less. `keep` is that of `load`.
    """
    try:
        return load(home, keep=keep), None
    except ConfigError as error:
        return _usable(Home(home).config), error


def _usable(file: Path) -> Settings:
    from pipeline.config.rules import usable

    try:
        values = sections(text_of(file), file)
    except ConfigError:
        values = {"store": {"mode": least_mode(file.parent)}}
    return usable(together(values, file, variables()).values)


def problem(values: dict[str, Any], file: Path) -> ConfigError | None:
    """Return why `values`, read from `file`, are no settings; None when they are."""
    from pipeline.config.rules import problem as found

    return found(values, file)


def first_sight_from(limits: ExtractionSettings, now: datetime) -> datetime:
    """Return since when what was said is read unasked at the first sight of a long history."""
    return now - timedelta(days=limits.first_sight_days)
