"""What this machine knows of a store that is kept in step: a folder in the home, never in the repository."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from pipeline.core import locks
from pipeline.core.atomic import write_atomic
from pipeline.core.errors import InputError
from pipeline.core.home import Home
from pipeline.core.ids import new_id
from pipeline.safety.invisible import visible_name
from pipeline.sharing import turn
from pipeline.sharing.git import SyncError
from pipeline.sharing.revisions import Moment, is_believed

LOST = "lost"
"""As the digest of a memory: its record is gone, so what stands here is to be told once more."""
_STATE_OF_SYNC = 1
_WAIT_SECONDS = 20.0
_MOST_ODD = 20


Tell = Callable[[str], object]
"""Hears in a few words what goes on."""
_TOLD_EACH = 100


def untold(_: str) -> None:
    """Let nobody hear of it."""


@dataclass(slots=True)
class Known:
    """A memory as all records together have it: who says so (`heads`), and since when it is known.

    `path` is where it wants to lie and `placed` where it does, `blob` what it says there, "" for one that
    left. `asks` are sentence, later and earlier words of each `merging.Question`, and whether it was
    forgotten.
    """

    heads: list[str]
    first: list[int]
    path: str
    placed: str
    blob: str
    asks: list[list[Any]] = field(default_factory=list)


@dataclass(slots=True)
class Here:
    """A memory as this machine has it: the digest of its file, "" for none, and what that was made from."""

    digest: str
    path: str
    heads: list[str]


@dataclass(slots=True)
class Kept:
    """A memory that does not go out or come in: its name, why, and the heads of which that was said."""

    name: str
    why: str
    heads: list[str] = field(default_factory=list)


@dataclass(slots=True)
class State:
    """All of it. `seen` is the remote's commit that was last had, `basis` our own that `known` is made from,
    `clock` the latest moment of all records.

    `team` is the id of a team whose database `remote` names, "" where that is a git repository, and
    `person` who this login is there.

    `names` are what this person is or was called in the team, `strange` is what was wrong with records that
    others sent, the newest last.

    `generation` is the number of the newest change that the store's history had. `begun` is what was being
    written when a process died. `held` stays here, `refused` does not come in.
    `notes` are digests of the lines about what was forgotten that are in the repository.
    """

    remote: str
    machine: str
    store: str
    team: str = ""
    team_name: str = ""
    person: str = ""
    seen: str = ""
    basis: str = ""
    clock: list[int] = field(default_factory=lambda: [0, 0])
    known: dict[str, Known] = field(default_factory=dict)
    here: dict[str, Here] = field(default_factory=dict)
    begun: dict[str, Here] = field(default_factory=dict)
    held: dict[str, Kept] = field(default_factory=dict)
    refused: dict[str, Kept] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    tried: float = 0.0
    done: float = 0.0
    error: str = ""
    strange: dict[str, str] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    is_refused: bool = False
    generation: int = 0

    @property
    def moment(self) -> Moment:
        """Return the latest moment of all records that were seen."""
        return self.clock[0], self.clock[1]

    @property
    def odd(self) -> list[str]:
        """Return a line about each record that was not taken."""
        return list(self.strange.values())

    def tell_odd(self, found: Mapping[str, str]) -> None:
        """Note what is wrong at each key of `found`, or with "" that nothing is any more."""
        for where, line in found.items():
            self.strange.pop(where, None)
            if line:
                self.strange[where] = visible_name(line)
        self.strange = dict(list(self.strange.items())[-_MOST_ODD:])

    def set_right(self, now: datetime) -> None:
        """Forget a clock that nobody would believe, since all that it told would be passed over."""
        if not is_believed(self.moment, now):
            self.clock = [int(now.timestamp() * 1000), 0]

    def see(self, moment: Moment) -> None:
        """Note that there is a record of that moment."""
        self.clock = list(max(self.moment, moment))


@dataclass(frozen=True, slots=True)
class Share:
    """The folder of one store in the home; `tell` hears what goes on, where somebody waits for it."""

    folder: Path
    tell: Tell = field(default=untold, compare=False)

    @classmethod
    def of(cls, home: Path, store: Path, tell: Tell = untold) -> Share:
        """Return that of the store at `store`."""
        return cls(turn.folder_of(home, store), tell)

    def counted(self, items: Sequence[str], doing: str, then: str) -> Iterator[str]:
        """Yield `items`; of each hundred tell what one is `doing`, and behind them what comes `then`."""
        for number, item in enumerate(items):
            if number % _TOLD_EACH == 0 and len(items) > _TOLD_EACH:
                self.tell(f"{doing}: {number:,} of {len(items):,}")
            yield item
        if len(items) > _TOLD_EACH:
            self.tell(then)

    def forget(self) -> None:
        """Be in step with nothing; the repository is made anew when somebody begins again."""
        for name in (turn.FILE, self.file.name):
            (self.folder / name).unlink(missing_ok=True)

    def leave(self) -> None:
        """Be in step with nothing, and keep what is known for who comes back to the same team."""
        if self.file.is_file():
            self.file.replace(self._left)
        self.forget()

    def known_before(self, team: str) -> State | None:
        """Return what was known as this person left `team`, None where they did not, or it can't be read."""
        try:
            found = self._read(self._left)
        except InputError:
            return None
        return found if found is not None and found.team == team else None

    def begin(self, state: State) -> None:
        """Keep `state`, and nothing of what was left before."""
        self.write(state)
        self._left.unlink(missing_ok=True)

    @property
    def _left(self) -> Path:
        return self.folder / "left.json"

    @property
    def repository(self) -> Path:
        """Return the bare repository."""
        return self.folder / "repository.git"

    @property
    def file(self) -> Path:
        """Return the file of the state."""
        return self.folder / "state.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only one who works in it; SyncError where another process is."""
        with locks.lock(self.folder / "lock", timeout=_WAIT_SECONDS) as held:
            if not held:
                raise SyncError(
                    "another process is keeping it in step", file=str(self.folder), fix="Try again."
                )
            yield

    def read(self) -> State | None:
        """Return what is known, None where the store is kept in step with nothing."""
        return self._read(self.file)

    def _read(self, file: Path) -> State | None:
        try:
            held: Any = orjson.loads(file.read_bytes())
            if not isinstance(held, dict) or held.pop("version", None) != _STATE_OF_SYNC:
                raise ValueError("it is of another version")
            held.pop("odd", None)  # As it was kept before: lines without their places.
            state = State(**held)
            for kind, name in ((Known, "known"), (Here, "here"), (Here, "begun")):
                setattr(state, name, {key: kind(**value) for key, value in getattr(state, name).items()})
            for name in ("held", "refused"):
                setattr(state, name, {key: Kept(**value) for key, value in getattr(state, name).items()})
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise InputError(
                f"what is known of the sync can't be read: {error}",
                file=str(file),
                fix="Delete it, then `reverie sync init` with the remote; nothing is lost by that.",
            ) from error
        return state

    def write(self, state: State) -> None:
        """Keep `state`."""
        data = orjson.dumps({"version": _STATE_OF_SYNC, **asdict(state)})
        write_atomic(self.file, data)
        held, refused = len(state.held), len(state.refused)
        turn.write(
            self.folder,
            turn.Turn(
                state.store,
                state.remote,
                state.team_name,
                state.tried,
                state.done,
                state.error,
                held,
                refused,
            ),
        )


def trouble_in(error: SyncError, remote: str) -> str:
    """Return what `error` says; where git names the `remote` in it once more, that is "it"."""
    return str(error).replace(f"'{remote.removeprefix('file://')}'", "it")


def machine_id(home: Path) -> str:
    """Return what this machine is called in records: random, and told by nothing else."""
    file = Home(home).sharing / "machine"
    try:
        known = file.read_text("ascii").strip()
    except FileNotFoundError:
        known = ""
    if not known:
        known = new_id().replace("-", "")[:12]
        write_atomic(file, f"{known}\n".encode())
    return known
