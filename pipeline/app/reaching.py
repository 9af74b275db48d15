"""How far an undo reaches where memories are kept in step with others: what it takes or brings back."""

from __future__ import annotations

from pathlib import Path

from pipeline.app.application import App
from pipeline.app.history import listed
from pipeline.core.errors import DocumentError, InputError
from pipeline.sharing.turn import Turn, turn_of
from pipeline.store import FileDiff, is_arrival, is_live, last_turn
from pipeline.store.files import document
from pipeline.text.humanize import count


class TakesAwayError(InputError):
    """An undo would take memories away from others; a person has to want that."""


def others(app: App) -> str:
    """Return with whom the memories of `app` are kept in step, "" for nobody."""
    turn = turn_of(app.home, app.store_path)
    return _others(turn) if turn is not None else ""


def require_fit(app: App, run: str, *, for_all: bool) -> None:
    """Raise TakesAwayError where the undo of `run` takes memories away that came from others.

    Unless that is meant `for_all`. Raises InputError where it would bring a memory back that was forgotten on
    another machine, and `run` is not what took it away here.
    """
    turn = turn_of(app.home, app.store_path)
    if turn is None:
        return
    store = app.open_store()
    history = store.history()
    asked = next((item for item in history if item.run == run), None)
    if asked is None or asked.undone:
        return
    files = [file for file in store.diff(last_turn(asked, history).run) if is_live(file.path)]
    if is_arrival(run):
        goes = [file for file in files if file.before is None and file.after is not None]
        # What only moves, such as by a pin, stands elsewhere afterwards.
        stays = {_id_of(file.path, file.before) for file in files if file.before is not None}
        names = [Path(file.path).stem for file in goes if _id_of(file.path, file.after) not in stays]
        if names and not for_all:
            raise _takes_away(turn, names, run)
        return
    _require_not_forgotten(app, files)


def _takes_away(turn: Turn, names: list[str], run: str) -> TakesAwayError:
    what = count(len(names), "memory", "memories")
    return TakesAwayError(
        f"this would take {what} away from {_others(turn)}: {listed(names)}",
        fix=f"`reverie undo {run} --yes`, if that is meant.",
    )


def _others(turn: Turn) -> str:
    if turn.team:
        return f"everybody in the team {turn.team}"
    return f"all machines in step with {turn.remote}"


def _require_not_forgotten(app: App, files: list[FileDiff]) -> None:
    from pipeline.sharing.told import forgotten_elsewhere  # Few homes keep anything in step.

    store = app.open_store()
    for file in files:
        if file.before is None or (store.root / file.path).exists():
            continue
        where = forgotten_elsewhere(app.home, store, _id_of(file.path, file.before), file.path)
        if where:
            name = Path(file.path).stem
            raise InputError(
                f"{name} was forgotten since on {where}, and undoing this would bring it back for all",
                file=file.path,
                fix=f"`reverie restore {name}` does that by name, if it is meant.",
            )


def _id_of(path: str, data: bytes | None) -> str:
    try:
        return document.parse(data or b"", path).id
    except DocumentError:
        return path
