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
from pipeline.app.batches import is_for_a_batch
from pipeline.app.offered import shared_of, state_of
from pipeline.core import paths
from pipeline.core.errors import InputError, TeamError, UsageError
from pipeline.ledger import conversation_states, conversations
from pipeline.llm.budget import BATCH_SHARE
from pipeline.sharing.state import Share, machine_id
from pipeline.sharing.turn import folder_of, turns
from pipeline.store.ownership import access
from pipeline.team import batches, heard, members, queue, schema, spending
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
    """What was given to a team's workers: transcripts that were not there yet, and what waits by now.

    Of these `canceling` are not given again: they are in batches that are to end, as a person said before.
    """

    team: str
    transcripts: int
    waiting: int
    canceling: int = 0


@dataclass(frozen=True, slots=True)
class Offer:
    """What can be given: `rows` of `App.backlog`, for about `dollars` and at most `most` in all.

    `in_batches` they cost half, but for the parts of their transcripts that are too short for that; `others`
    counts conversations of transcripts of which no batch takes anything.
    """

    rows: tuple[dict[str, Any], ...]
    dollars: float
    most: float
    in_batches: bool = False
    others: int = 0


@dataclass(frozen=True, slots=True)
class TakenBack:
    """Transcripts that nobody reads any more, and requests in batches that were under way meanwhile."""

    transcripts: int
    requests: int


def offer(app: App, *, everything: bool, in_batches: bool, each: Callable[[int], object] = int) -> Offer:
    """Return what can be given to the workers of this team; `each` is told how many were estimated."""
    rows = app.backlog(everything=everything, each=each)
    others = 0
    if in_batches:
        whole = _whole(app)
        files = {row["file"] for row in rows if row["conversation"] in whole}
        others = sum(row["file"] not in files for row in rows)
        rows = [_priced(row, row["conversation"] in whole) for row in rows if row["file"] in files]
    return Offer(
        tuple(rows),
        round(sum(row["dollars"] for row in rows), 4),
        round(sum(row["most"] for row in rows), 4),
        in_batches,
        others,
    )


def _whole(app: App) -> set[int]:
    """Return the conversations that can be read in a batch."""
    with app.ledger() as ledger:
        ready = conversations.list_conversations(ledger, status="ready")
        return {item.id for item in ready if is_for_a_batch(ledger, app.settings, item)}


def _priced(row: dict[str, Any], in_batches: bool) -> dict[str, Any]:
    share = BATCH_SHARE if in_batches else 1.0
    return {**row, "dollars": row["dollars"] * share, "most": row["most"] * share}


def give(app: App, offered: Offer) -> Given:
    """Give what was offered to the workers of this team.

    Nothing here reads it from then on; `take_back` changes that. What was given before, and failed, or is
    neither waiting there nor read, is given again. Raises TeamError where the database can't be asked, and
    then nothing was given.
    """
    access.require_person(app.store_path)
    state, now = state_of(app), app.clock.now()
    with app.ledger() as ledger:
        listed = conversations.list_conversations(ledger)
        named = {int(row["conversation"]) for row in offered.rows}
        ready = [item for item in listed if item.id in named and item.status == "ready"]
        before = [item for item in listed if item.reason == conversation_states.GIVEN]
        # First: who dies between the two has them given again, and not read twice.
        conversation_states.give(ledger, ready, now=now)
        fresh_keys = {item.source_file for item in ready}
        wanted = _in_order([*ready, *before], offered)

        def work(connection: Any) -> tuple[int, int, queue.Left]:
            schema.check(connection)
            old = [item.key for item in wanted if item.key not in fresh_keys]
            known = queue.where_read(connection, state.team, old)
            lacking = [item for item in wanted if item.key not in known]
            again = queue.retry_failed(connection, state.team)
            added = queue.defer(connection, state.team, lacking)
            return again, added, queue.left_of_mine(connection, state.team)

        try:
            again, added, left = within(parse(state.remote), work)
        except TeamError:
            for key in fresh_keys:
                conversation_states.take_back(ledger, key, now=now)
            raise
    heard.note_given(_folder(app), state.team_name, added, again, now.timestamp())
    return Given(state.team_name, again + added, left.open, left.canceling)


def _in_order(items: Sequence[Conversation], offered: Offer) -> list[Wanted]:
    """Return the transcripts of `items` in the order in which they began: what was said later holds."""
    most: dict[str, float] = {}
    for row in offered.rows:
        most[row["file"]] = most.get(row["file"], 0.0) + row["most"]
    begun: dict[str, str] = {}
    for item in items:
        begun[item.source_file] = min(begun.get(item.source_file, "~"), item.first_message_at or "")
    keys = sorted(begun, key=lambda key: (begun[key], key))
    return [
        Wanted(
            key,
            str(Path(key).parent),
            # One that was given before, and is not among what was agreed to now, is read singly.
            in_batches=offered.in_batches and key in most,
            most=round(most.get(key, 0.0), 6),
        )
        for key in keys
    ]


def take_back(app: App) -> TakenBack:
    """Take what no worker has begun off the team's queue, and let nothing more be asked in batches."""
    state = state_of(app)

    def work(connection: Any) -> tuple[tuple[str, ...], int]:
        return queue.cancel(connection, state.team), batches.flying(connection, state.team).requests

    keys, requests = within(parse(state.remote), work)
    with app.ledger() as ledger:
        for key in keys:
            conversation_states.take_back(ledger, key, now=app.clock.now())
    heard.note_taken_back(_folder(app), len(keys))
    return TakenBack(len(keys), requests)


def bring_home(app: App) -> int:
    """Take back, before this project leaves its team, what no worker has read; return how many transcripts.

    What a machine of this login is at is taken back as well: it is let into the team no more.
    """
    state, now = state_of(app), app.clock.now()
    with app.ledger() as ledger:
        listed = conversations.list_conversations(ledger, status="skipped")
        given = {item.source_file for item in listed if item.reason == conversation_states.GIVEN}
        if not given:
            return 0

        def work(connection: Any) -> dict[str, str]:
            queue.cancel(connection, state.team)
            return queue.where_read(connection, state.team, sorted(given))

        unread = given - within(parse(state.remote), work).keys()
        for key in unread:
            conversation_states.take_back(ledger, key, now=now)
    return len(unread)


def _folder(app: App) -> Path:
    """Return the folder in the home for the team's folder of this project."""
    return folder_of(app.home, shared_of(app).store_path)


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
    once: bool = False,
    stop: Event,
    tell: Callable[[str], object],
) -> Done:
    """Read transcripts off the queues of the teams that this home is in, or of `name` at `database`.

    They are looked for among Claude Code's, and below `transcripts`. Ends when `stop` is set, with
    `until_empty` when nothing is left that can be done here, with `once` when nothing can be done now.
    Raises TeamError where no database can be asked at the start.
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
    return TeamWorker(
        served, machine, roots, worker, home=app.home, settings=app.settings, stop=stop, tell=tell
    ).run(until_empty=until_empty, once=once)


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
