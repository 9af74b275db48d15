"""`reverie sync` between machines: begin, sync now, how it stands, and leave."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from pipeline.app.application import App
from pipeline.app.carried_here import require_elsewhere
from pipeline.app.conflicting import conflicts_here
from pipeline.core.errors import InputError, ReverieError
from pipeline.recall.prepared import hook_state
from pipeline.sharing import git
from pipeline.sharing.outgoing import documents_of
from pipeline.sharing.overview import overview
from pipeline.sharing.repository import BRANCH, MEMORIES, Repository
from pipeline.sharing.revisions import REVISIONS
from pipeline.sharing.run import Synced, sync
from pipeline.sharing.state import Share, State, machine_id
from pipeline.store.files.layout import private_folder
from pipeline.store.ownership import access


@dataclass(frozen=True, slots=True)
class Begun:
    """What `init` did: the remote, whether it was `made`, the `former` one, and the first sync."""

    remote: str
    made: bool
    former: str
    first: Synced


def init(app: App, named: str, *, force: bool = False) -> Begun:
    """Keep the memories of `app` in step with the repository that a person `named`, from now on.

    A folder that is not there, or empty, becomes one. Raises InputError where it can't be used; then nothing
    is kept in step that was not before.
    """
    app.require_settings()
    _require_own(app)
    remote = git.remote_named(named)
    made = _prepared(app, remote)
    store = app.open_store(create=True)
    private_folder(store.root)
    share = Share.of(app.home, store.path)
    with share.locked():
        before = share.read()
        state = share.read() or State(remote=remote, machine=machine_id(app.home), store=str(store.path))
        former = state.remote if state.remote != remote else ""
        if former or force:
            state.remote, state.seen = remote, ""
        share.write(state)
    try:
        first = now(app, force=force)
        if first.error and (before is None or former):
            raise InputError(first.error, fix=first.fix)
    except ReverieError:
        with share.locked():
            _put_back(share, before)
        raise
    folder = Path(remote.removeprefix("file://"))
    if folder.is_absolute():
        git.show_branch(folder, BRANCH)
    return Begun(remote, made, former, first)


def strangers(app: App, named: str) -> list[str]:
    """Return the names of the memories that the repository a person `named` holds, if they are others'.

    None where it holds none, has one of this machine's too, or there is none here that they would be mixed
    with; and none where it can't be read, which `init` says.
    """
    remote = git.remote_named(named)
    share = Share.of(app.home, app.store_path)
    state = share.read() if share.file.is_file() else None
    own = set[str]() if app.is_fresh else {*documents_of(app.open_store())}
    if not own or (state is not None and state.remote == remote):
        return []
    if Path(remote).is_absolute() and not git.is_repository(Path(remote)):
        return []
    with share.locked():
        looked = Repository(share.repository, remote)
        looked.make()
        try:
            incoming = looked.fetch()
        except git.SyncError:
            return []
        there = {path.split("/")[1] for path in looked.files(incoming, REVISIONS)}
        names = [path.rpartition("/")[2].removesuffix(".md") for path in looked.files(incoming, MEMORIES)]
        if state is None:
            shutil.rmtree(share.repository, ignore_errors=True)
    return names if not own & there else []


def now(app: App, *, force: bool = False) -> Synced:
    """Keep the memories of `app` in step now; what can't be reached is told in the answer.

    Raises InputError where they are not synced, SyncError where our own repository fails.
    """
    app.require_settings()
    share = _share(app)
    store = app.open_store(create=True)
    with app.ledger() as ledger:
        done = sync(share, store, clock=app.clock, ledger=ledger, force=force)
        hook_state.refresh(ledger, app.home, app.settings, app.clock)
    if done.change:
        app.follow(store)
    return done


def status(app: App, *, ask: bool = True) -> dict[str, Any]:
    """Return how it stands; the remote is asked for what waits there, if one may `ask`."""
    share = _share(app)
    with app.ledger(to_look=True) as ledger:
        found = overview(share, app.open_store(), ledger, now=app.clock.now(), ask=ask)
    state = share.read()
    conflicts = conflicts_here(app, state) if state is not None else ()
    return {**found, "asked": len(conflicts), "conflicts": conflicts}


def is_begun(app: App) -> bool:
    """Whether the memories of `app` are kept in step with other machines."""
    return Share.of(app.home, app.store_path).file.is_file()


def leave(app: App) -> str:
    """Keep the memories of `app` in step no more; return the remote, where all stays that was sent."""
    share = _share(app)
    with share.locked():
        state = share.read()
        share.forget()
        shutil.rmtree(share.repository, ignore_errors=True)
    return state.remote if state is not None else ""


def _share(app: App) -> Share:
    share = Share.of(app.home, app.store_path)
    if not is_begun(app):
        raise InputError(
            "these memories are not synced with another machine",
            file=str(app.store_path),
            fix="`reverie sync init REMOTE` begins that. Another program's files need a format and a PATH.",
        )
    return share


def _require_own(app: App) -> None:
    if app.is_team:
        raise InputError(
            "others read this folder, and it is shared already",
            file=str(app.store_path),
            fix="Name your own: without `--team`.",
        )


def _prepared(app: App, remote: str) -> bool:
    """See that a folder named as `remote` can be one, and make an empty one; whether it was made."""
    folder = Path(remote)
    if not folder.is_absolute():
        return False
    require_elsewhere(app, folder)
    way = [folder, *folder.parents]
    above = next((item for below, item in pairwise(way) if access.is_memory_folder(item, below)), None)
    if above is not None:
        raise InputError(
            "that lies in a folder of memories", file=str(above), fix="Name a place outside of it."
        )
    if (folder / ".git").exists():
        raise InputError(
            "that is a folder to work in, into which nobody can push",
            file=remote,
            fix="Name an empty folder; a bare repository is made in it.",
        )
    if git.is_repository(folder):
        return False
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("there is something else", file=remote, fix="Name an empty folder, or a new one.")
    git.make_remote(folder, BRANCH)
    return True


def _put_back(share: Share, before: State | None) -> None:
    """Leave `share` as it was; what our own repository got meanwhile is found there by the next sync."""
    if before is not None:
        share.write(before)
        return
    share.forget()
    shutil.rmtree(share.repository, ignore_errors=True)
