"""The scopes of memories: those of the project here, of its team, and for all projects; which one is meant.

Every use case acts on one store. Where a person named no folder, what they name may be in any: here it is
found, the project's first. A project whose own folder others write in (`hooklib.ownership.is_team`) has
nothing but the team's.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from copy import copy
from pathlib import Path
from typing import Literal

from pipeline.app import retired
from pipeline.app.application import App
from pipeline.core.errors import InputError, UnknownMemoryError
from pipeline.core.home import Home
from pipeline.domain.memory import Memory
from pipeline.domain.sentences import sentences
from pipeline.hooklib import ownership, places
from pipeline.store import Document
from pipeline.text.near import did_you_mean

Scope = Literal["project", "team", "user"]
Where = Literal[Scope, "both", "shared"]
"""Where a memory is found: in one scope, in the project and all projects, or in the project and its team."""
SHOWN = {
    "project": "this project",
    "team": "the team",
    "user": "all projects",
    "both": "both",
    "shared": "shared with the team",
}
"""How a scope is called for a person."""
_IN = {"both": ("project", "user"), "shared": ("project", "team")}
_NAMED = {
    "project": "",
    "team": "in the team's folder as well: --team means that one",
    "user": "for all projects as well: --user means that one",
}


def scope_of(app: App) -> Scope:
    """Return which scope `app` acts on; a folder that was named counts as a project's, or as a team's."""
    return "user" if app.is_user_scope else "team" if app.is_team else "project"


def user_scope(app: App) -> App:
    """Return `app` as it acts on the memories for all projects."""
    other = copy(app)
    other.store_override = Home(app.home).user_store
    return other


def project_scope(app: App) -> App:
    """Return `app` as it acts on the memories of the project it stands in."""
    other = copy(app)
    other.store_override = None
    return other


def _teams(app: App) -> list[App]:
    """Return `app` as it acts on the team's folder in the project's, if there is one."""
    if app.team_path is None:
        return []
    other = copy(app)
    other.store_override = app.team_path
    return [other]


def option(app: App, *, own: bool = False) -> str:
    """Return what a command needs before its argument to mean what `app` acts on, "" or with a blank behind.

    Without `own` that is for one that leaves a team's and all projects' memories alone unless they are named
    (`require_meant`); with it for one that finds them from the project, as `undo` does.
    """
    if app.store_override is None:
        return ""
    project = copy(app)
    project.store_override = None
    if app.store_path == project.store_path:
        return ""
    if app.is_user_scope:
        return "" if own else "--user "
    if project.team_path is not None and app.store_path in (project.team_path, *_parts(project.team_path)):
        return "" if own else "--team "
    return f"--store {shlex.quote(str(app.store_path))} "


def require_meant(asked: App, app: App, name: str, command: str) -> None:
    """Raise InputError where `name` was found in the team's folder by who named no folder.

    What `command` does there it does for everybody.
    """
    if app is not asked and asked.store_override is None and scope_of(app) == "team":
        raise InputError(
            f"{name} is the team's",
            file=str(app.store_path),
            fix=f"`reverie {command} --team {name}` does it for everyone in the team.",
        )


def all_of(app: App) -> list[App]:
    """Return the scopes to look at: one that was named alone, else the project's, its team's and the user's.

    Of these those that are there; with none it is `app`, whose own errors then say so.
    """
    if app.store_override is not None:
        return [app]
    everyone = user_scope(app)
    there = [] if app.is_fresh else [app, *_teams(app)]
    same = bool(there) and app.store_path.resolve() == everyone.store_path.resolve()
    return [*there, *([] if everyone.is_fresh or same else [everyone])] or [app]


def keepers(app: App) -> list[App]:
    """Return what keeps changes and an archive: the scopes of `all_of`, and folders in a team's.

    What a person did in one of these by ``--store`` is kept in that folder.
    """
    found: list[App] = []
    for scope in all_of(app):
        found.append(scope)
        if ownership.is_team_folder(str(scope.store_path)):
            for folder in _parts(scope.store_path):
                other = copy(app)
                other.store_override = folder
                found.append(other)
    return found


def _parts(team: Path) -> list[Path]:
    """Return the folders below the one at `team` that keep what was changed there."""
    if not team.is_dir():
        return []
    folders = [team / name for name in ownership.team_folders(str(team)) if name]
    return [folder for folder in folders if (folder / places.PRIVATE).is_dir()]


def holder(app: App, name: str) -> App:
    """Return the scope whose memory `name` means: a live one, the project's first, else one that left.

    Raises UnknownMemoryError, with names that are near, when neither has it, or what became of it; and
    DocumentError for one whose file is there and can't be read.
    """
    scopes = all_of(app)
    stores = [(scope, scope.open_store()) for scope in scopes]
    snapshots = [(scope, store, store.scan()) for scope, store in stores]
    for scope, _, snapshot in snapshots:
        if snapshot.by_name(name) is not None:
            return scope
    for _, _, snapshot in snapshots:
        fault = snapshot.fault_of(name)
        if fault is not None:
            raise fault
    kept = [(scope, scope.open_store()) for scope in keepers(app)]
    for scope, store in kept:
        gone = retired.left(store, name, option(scope), option(scope, own=True))
        if gone is not None:
            raise gone
    # Last: what one of them did is no hand's work to another that has the same folder.
    for _, store in kept:
        gone = retired.removed(store, name)
        if gone is not None:
            raise gone
    names = (document.name for _, _, snapshot in snapshots for document in snapshot.documents)
    raise UnknownMemoryError(
        f"no memory is called {name!r}", fix=f"{did_you_mean(name, names)}`reverie list` shows every name."
    )


def require_same_folder(app: App, name: str, other: str) -> None:
    """Raise InputError where `other` is no memory of `app`, which has `name`, and one of another scope."""
    for scope in all_of(project_scope(app)):
        if scope.store_path != app.store_path and scope.open_store().scan().by_name(other) is not None:
            here, there = (SHOWN[scope_of(each)] for each in (app, scope))
            raise InputError(
                f"{other} lies in another folder: it is of {there}, {name} of {here}",
                file=str(scope.store_path),
                fix="Relations join memories of one folder. Have both in one, by `reverie add` for instance.",
            )


def archive_holder(app: App, name: str) -> App:
    """Return the scope out of whose archive `name` can come back.

    Raises InputError, with names that are near, when neither has it.
    """
    stores = [(scope, scope.open_store()) for scope in keepers(app)]
    for scope, store in stores:
        if retired.latest(store, name) is not None:
            return scope
    raise retired.not_in_archive(name, (item for _, store in stores for item in store.retired()))


def namesake(app: App, found: App, name: str) -> str:
    """Return what to tell who gets the memory `name` of scope `found` while another has one, too."""
    others = [scope for scope in all_of(app) if scope.store_path != found.store_path]
    where = [
        _NAMED[scope_of(scope)] for scope in others if scope.open_store().scan().by_name(name) is not None
    ]
    return f"A memory of that name is there {' and '.join(filter(None, where))}." if any(where) else ""


def text_of(memory: Memory) -> str:
    """Return what tells whether two memories say the same, however spaced: description and sentences."""
    parts = (f"{sentence.part} {sentence.folded}" for sentence in sentences(memory.body))
    return "\n".join([" ".join(memory.description.split()), *parts])


def once(found: Iterable[tuple[Scope, Document]]) -> list[tuple[Where, Document]]:
    """Return `found` with what the project and another scope have word for word said once, as the project's.

    With all projects that is ``both``, with a team ``shared``, if the team's is the copy of the project's:
    what else a team says stays apart, since it is nobody's here.
    """
    rows = list(found)
    # Nothing is read that can't be in two: it takes as long as all the rest.
    here, everywhere, theirs = (
        {item.wording for scope, item in rows if scope == where} for where in ("project", "user", "team")
    )
    alike = here & (everywhere | theirs)
    texts = {id(item): text_of(item.memory) for _, item in rows if item.wording in alike}
    own, for_all = (
        {texts[id(item)] for scope, item in rows if scope == where and id(item) in texts}
        for where in ("project", "user")
    )
    copies = _copies(rows, texts)
    rows_once: list[tuple[Where, Document]] = []
    for scope, document in rows:
        text = texts.get(id(document))
        if scope == "project":
            where: Where = "shared" if id(document) in copies else scope
            rows_once.append(("both" if text in for_all else where, document))
        elif id(document) not in copies and (scope == "team" or text not in own):
            rows_once.append((scope, document))
    return rows_once


def in_scope(where: str, wanted: str) -> bool:
    """Whether what is found at `where` is of the scope `wanted`; "" wants all."""
    return not wanted or where == wanted or wanted in _IN.get(where, ())


def _copies(rows: Iterable[tuple[Scope, Document]], texts: Mapping[int, str]) -> set[int]:
    """Return the ids (of Python) of the project's memories that the team has a copy of, and of the copies."""
    theirs = [item for scope, item in rows if scope == "team" and id(item) in texts]
    if not theirs:
        return set()
    from pipeline.sharing.choosing import id_there  # Deferred: few share anything.

    by_copy = {(item.own_id, texts[id(item)]): id(item) for item in theirs}
    found: set[int] = set()
    for scope, item in rows:
        if scope == "project" and id(item) in texts:
            theirs_too = by_copy.get((id_there(item.memory), texts[id(item)]))
            found |= {id(item), theirs_too} if theirs_too is not None else set()
    return found
