"""`reverie sync` between machines: begin, sync now, how it stands, and leave."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.app.application import App
from pipeline.app.carried_here import require_elsewhere
from pipeline.core.errors import InputError
from pipeline.sharing import repository
from pipeline.sharing.overview import overview
from pipeline.sharing.run import Synced, sync
from pipeline.sharing.state import Place, State, machine_id
from pipeline.store.files.layout import private_folder


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
    remote = repository.remote_named(named)
    made = _prepared(app, remote)
    store = app.open_store(create=True)
    private_folder(store.root)
    place = Place.of(app.home, store.path)
    with place.locked():
        before = place.read()
        state = before or State(remote=remote, machine=machine_id(app.home), store=str(store.path))
        former = state.remote if state.remote != remote else ""
        if former or force:
            state.remote, state.seen = remote, ""
        place.write(state)
    first = now(app, force=force)
    if first.error and (before is None or former):
        with place.locked():
            _put_back(place, before, former)
        raise InputError(first.error, file=remote, fix=first.fix)
    return Begun(remote, made, former, first)


def now(app: App, *, force: bool = False) -> Synced:
    """Keep the memories of `app` in step now; what can't be reached is told in the answer.

    Raises InputError where they are kept in step with nothing, SyncError where our own repository fails.
    """
    app.require_settings()
    place = _place(app)
    store = app.open_store(create=True)
    with app.ledger() as ledger:
        done = sync(place, store, clock=app.clock, ledger=ledger, force=force)
    if done.change:
        app.follow(store)
    return done


def status(app: App) -> dict[str, Any]:
    """Return how it stands: the remote is asked for what waits there."""
    return overview(_place(app), app.open_store(), now=app.clock.now())


def leave(app: App) -> str:
    """Keep the memories of `app` in step no more; return the remote, where all stays that was sent."""
    place = _place(app)
    with place.locked():
        state = place.read()
        place.file.unlink(missing_ok=True)
        shutil.rmtree(place.repository, ignore_errors=True)
    return state.remote if state is not None else ""


def _place(app: App) -> Place:
    place = Place.of(app.home, app.store_path)
    if not place.file.is_file():
        raise InputError(
            "these memories are kept in step with nothing",
            file=str(app.store_path),
            fix="`reverie sync init REMOTE` begins; a format of another program needs its PATH as well.",
        )
    return place


def _require_own(app: App) -> None:
    if app.is_team:
        raise InputError(
            "others read this folder, and it is shared already",
            file=str(app.store_path),
            fix="Name your own: without `--team`.",
        )


def _prepared(app: App, remote: str) -> bool:
    """See that a folder named as `remote` can be one, and make an empty one; whether it was made."""
    place = Path(remote)
    if not place.is_absolute():
        return False
    require_elsewhere(app, place)
    if (place / ".git").exists():
        raise InputError(
            "that is a folder to work in, into which nobody can push",
            file=remote,
            fix="Name an empty folder; a bare repository is made in it.",
        )
    if repository.is_repository(place):
        return False
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise InputError("there is something else", file=remote, fix="Name an empty folder, or a new one.")
    repository.make_remote(place)
    return True


def _put_back(place: Place, before: State | None, former: str) -> None:
    if before is None:
        place.file.unlink(missing_ok=True)
    else:
        before.remote = former
        place.write(before)
