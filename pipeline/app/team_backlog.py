"""Old sessions that a team's workers read: given to them, how far they are, taken back; and such a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from pipeline.app.application import App
from pipeline.app.offered import state_of
from pipeline.core import paths
from pipeline.core.errors import InputError, TeamError, UsageError
from pipeline.ledger import conversation_states, conversations
from pipeline.sharing.state import Share, machine_id
from pipeline.sharing.turn import turns
from pipeline.store.ownership import access
from pipeline.team import members, queue, schema, spending
from pipeline.team.connecting import parse, within
from pipeline.team.queue import Wanted

if TYPE_CHECKING:
    from pipeline.ledger.conversations import Conversation
    from pipeline.worker import Worker
    from pipeline.worker.team_calls import TeamCalls
    from pipeline.worker.team_table import Served
    from pipeline.worker.team_worker import Done

SPANS = ("day", "month")


@dataclass(frozen=True, slots=True)
class Given:
    """What was given to a team's workers: transcripts that were not there yet, and what waits by now."""

    team: str
    transcripts: int
    waiting: int


def give(app: App, rows: Sequence[dict[str, Any]]) -> Given:
    """Give the conversations of `rows`, which are those of `App.backlog`, to the workers of this team.

    Nothing here reads them from then on; `take_back` changes that. What was given before, and failed, or is
    neither waiting there nor read, is given again. Raises TeamError where the database can't be asked, and
    then nothing was given.
    """
    access.require_person(app.store_path)
    state, now = state_of(app), app.clock.now()
    with app.ledger() as ledger:
        listed = conversations.list_conversations(ledger)
        named = {int(row["conversation"]) for row in rows}
        ready = [item for item in listed if item.id in named and item.status == "ready"]
        before = [item for item in listed if item.reason == conversation_states.GIVEN]
        # First: who dies between the two has them given again, and not read twice.
        conversation_states.give(ledger, ready, now=now)
        fresh_keys = {item.source_file for item in ready}
        wanted = _in_order([*ready, *before])

        def work(connection: Any) -> tuple[int, int]:
            schema.check(connection)
            old = [item.key for item in wanted if item.key not in fresh_keys]
            known = queue.where_read(connection, state.team, old)
            lacking = [item for item in wanted if item.key not in known]
            again = queue.retry_failed(connection, state.team)
            added = queue.defer(connection, state.team, lacking)
            return again + added, queue.open_of_mine(connection, state.team)

        try:
            added, waiting = within(parse(state.remote), work)
        except TeamError:
            for key in fresh_keys:
                conversation_states.take_back(ledger, key, now=now)
            raise
    return Given(state.team_name, added, waiting)


def _in_order(items: Sequence[Conversation]) -> list[Wanted]:
    """Return the transcripts of `items` in the order in which they began: what was said later holds."""
    begun: dict[str, str] = {}
    for item in items:
        begun[item.source_file] = min(begun.get(item.source_file, "~"), item.first_message_at or "")
    keys = sorted(begun, key=lambda key: (begun[key], key))
    return [Wanted(key, str(Path(key).parent)) for key in keys]


def take_back(app: App) -> int:
    """Take what no worker has begun off the team's queue; return how many transcripts that is."""
    state = state_of(app)
    keys = within(parse(state.remote), lambda connection: queue.cancel(connection, state.team))
    with app.ledger() as ledger:
        for key in keys:
            conversation_states.take_back(ledger, key, now=app.clock.now())
    return len(keys)


def set_cap(app: App, span: str, dollars: str) -> dict[str, tuple[Decimal, Decimal]]:
    """Let the team spend at most `dollars` a `span`, "none" for no cap; return what is spent of each cap."""
    access.require_person(app.store_path)
    state = state_of(app)
    most = _amount(span, dollars)

    def work(connection: Any) -> dict[str, tuple[Decimal, Decimal]]:
        spending.set_cap(connection, state.team, span, most)
        return spending.caps(connection, state.team)

    return within(parse(state.remote), work)


def serve(
    app: App,
    *,
    database: str = "",
    name: str = "",
    transcripts: Path | None = None,
    until_empty: bool = False,
    stop: Event,
    tell: Callable[[str], object],
) -> Done:
    """Read transcripts off the queues of the teams that this home is in, or of `name` at `database`.

    They are looked for among Claude Code's, and below `transcripts`. Ends when `stop` is set, with
    `until_empty` when nothing is left that can be done here. Raises TeamError where no database can be asked
    at the start.
    """
    from pipeline.worker.team_worker import TeamWorker

    app.require_settings()
    if app.settings.store.mode in ("off", "observe"):
        raise InputError(
            f"the mode is {app.settings.store.mode}, so nothing is read", fix="`reverie mode auto`."
        )
    if transcripts is not None and not transcripts.is_dir():
        raise InputError("there is no such folder", file=str(transcripts), fix="Check the path.")
    served = _named(database, name) if database or name else _joined(app)
    roots = [paths.projects_dir(), *([transcripts.absolute()] if transcripts else [])]

    @contextmanager
    def worker(calls: TeamCalls) -> Iterator[Worker]:
        with app.ledger() as ledger, app.alone(ledger, shared=calls) as found:
            yield found

    machine = machine_id(app.home)
    return TeamWorker(served, machine, roots, worker, dreams=app.settings.dream, stop=stop, tell=tell).run(
        until_empty=until_empty
    )


def _amount(span: str, dollars: str) -> Decimal | None:
    if span not in SPANS:
        raise UsageError(f"there is no cap for a {span}", fix=f"Name one of {', '.join(SPANS)}.")
    if dollars == "none":
        return None
    try:
        amount = Decimal(dollars)
    except InvalidOperation:
        amount = Decimal(-1)
    if not amount.is_finite() or not 0 <= amount <= 1_000_000:
        raise UsageError(f"{dollars} is no amount", fix="Give dollars, such as 5 or 0.50, or none.")
    return amount


def _named(database: str, name: str) -> list[Served]:
    """Return the team `name` at `database`, which this login joins where it was invited."""
    from pipeline.worker.team_table import Served

    if not database or not name:
        raise UsageError("--database and --name go together", fix="Name the team and where its database is.")
    address = parse(database)

    def enter(connection: Any) -> str:
        schema.check(connection)
        found = members.team_called(connection, name)
        members.join(connection, found.id)
        return found.id

    return [Served(address, within(address, enter), name)]


def _joined(app: App) -> list[Served]:
    """Return the teams that projects of this home are in."""
    from pipeline.worker.team_table import Served

    found: dict[tuple[str, str], Served] = {}
    for turn in turns(app.home):
        state = Share.of(app.home, Path(turn.store)).read() if turn.team else None
        if state is not None and state.team:
            found[state.remote, state.team] = Served(
                parse(state.remote), state.team, state.team_name, Path(turn.store)
            )
    if not found:
        raise InputError(
            "no project here is in a team",
            file=str(app.home),
            fix="`reverie team join NAME --database URL` in a project, or give --name and --database.",
        )
    for served in found.values():
        within(served.address, schema.check)
    return list(found.values())
