"""Named graphs: memory folders that a person gave a name, beside the project's, the team's and the user's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pipeline.app.application import App
from pipeline.app.graph_names import PROJECT, RESERVED, USER, named_folders
from pipeline.context import look_at_store
from pipeline.core.errors import InputError, ReverieError, UsageError
from pipeline.core.home import Home
from pipeline.install import config_edit
from pipeline.store.ownership.access import require_fit
from pipeline.text.near import did_you_mean

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,49}")
_TEAM = "team"
Reach = Literal["project", "team", "user", "named"]


@dataclass(frozen=True, slots=True)
class Graph:
    """A memory folder by its name: how many memories are in it, None where it can't be looked into.

    `scope` says who reads it; one that is only `named` is read by no hook. `problem` says what is wrong with
    it, "" for nothing.
    """

    name: str
    path: Path
    scope: Reach
    memories: int | None
    problem: str = ""


def graphs(app: App) -> list[Graph]:
    """Return all there are: the project's here, its team's if there is one, the user's, and the named."""
    return list(_all(app))


def _all(app: App) -> Iterator[Graph]:
    project = copy(app)
    project.store_override = None
    yield _graph(app, PROJECT, project.store_path, "project")
    if project.team_path is not None:
        yield _graph(app, _TEAM, project.team_path, "team")
    yield _graph(app, USER, Home(app.home).user_store, "user")
    for name, path in named_folders(app.settings).items():
        if name not in (*RESERVED, _TEAM):
            yield _graph(app, name, path, "named")


def _graph(app: App, name: str, path: Path, scope: Reach) -> Graph:
    if not path.is_dir():
        return Graph(name, path, scope, 0, "not there yet: the first memory makes it")
    try:
        return Graph(name, path, scope, len(look_at_store(path).scan().documents))
    except (ReverieError, OSError) as error:
        return Graph(name, path, scope, None, str(error))


def add(app: App, name: str, folder: Path) -> Graph:
    """Give `folder` the name `name`, in ``config.toml``; nothing is made or moved.

    Raises UsageError for a name that can't be one or has a meaning, InputError where it names another folder
    or there is a file in its place.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name of a graph", fix="Use a-z, 0-9, - and _, 50 at most.")
    if name in (*RESERVED, _TEAM):
        raise UsageError(
            f"{name!r} means the {name}'s memories already", fix="Choose another name for this folder."
        )
    path = Path(folder).expanduser().absolute()
    known = named_folders(app.settings).get(name)
    if known is not None and known != path:
        raise InputError(
            f"{name} is the name of another folder",
            file=str(known),
            fix=f"Choose another, or take it away: `reverie graphs remove {name}`.",
        )
    if path.exists() and not path.is_dir():
        raise InputError("that is no folder", file=str(path), fix="Name a folder.")
    require_fit(path)
    config_edit.set_graph(app.home, name, path)
    return _graph(app, name, path, "named")


def remove(app: App, name: str) -> Path:
    """Take the name `name` away and return the folder that had it; no file in it is touched."""
    if name in (*RESERVED, _TEAM):
        raise UsageError(f"{name!r} is always there", fix="`reverie graphs` lists the names you gave.")
    known = named_folders(app.settings)
    if name not in known:
        raise InputError(
            f"there is no graph called {name!r}",
            fix=f"{did_you_mean(name, known)}`reverie graphs` lists them.",
        )
    config_edit.set_graph(app.home, name, None)
    return known[name]
