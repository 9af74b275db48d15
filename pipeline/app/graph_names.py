"""What ``--graph NAME`` means: a folder that a person gave that name, or one of the scopes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core.errors import InputError

if TYPE_CHECKING:
    from pipeline.config import Settings

USER, PROJECT = "user", "project"
RESERVED = (PROJECT, USER)
"""Names that are there without a setting: the scopes."""


def named_folders(settings: Settings) -> dict[str, Path]:
    """Return the folders that a person gave names, by name."""
    named = settings.graphs.model_dump()
    return {name: Path(text).expanduser().absolute() for name, text in sorted(named.items()) if text}


def chosen_folder(store: Path | None, graph: str | None, settings: Settings, everyone: Path) -> Path | None:
    """Return the memory folder `store`, or the one that `graph` names; None for the project's own.

    `everyone` is that of the user scope. Raises InputError, with names that are near, for one that means
    nothing, and StoreError for a folder that can hold no memories.
    """
    if graph in RESERVED:
        return everyone if graph == USER else None
    folder = (
        store.expanduser().absolute() if store else _named(graph, settings) if graph is not None else None
    )
    if folder is not None:
        from pipeline.store.ownership.access import require_fit

        require_fit(folder)
    return folder


def _named(graph: str, settings: Settings) -> Path:
    folders = named_folders(settings)
    if graph not in folders:
        from pipeline.text.near import did_you_mean

        raise InputError(
            f"there is no graph called {graph!r}",
            fix=f"{did_you_mean(graph, folders)}`reverie graphs` lists them.",
        )
    return folders[graph]
