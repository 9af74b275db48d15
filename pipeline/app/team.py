"""A team's memories: founding and joining a team, sharing one's own with it, and keeping its folder in step.

They lie in ``team/`` below the project's folder, where the client and recall look. What others say there is
theirs: it is shown as the team's, with who said it and since when, and never becomes this person's word.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import Any

from pipeline.app import rejoining, retired
from pipeline.app.application import App
from pipeline.app.conflicting import conflicts_here
from pipeline.app.offered import quotes_of, shared_of, state_of
from pipeline.app.team_figures import FIGURES, caps_of, figures
from pipeline.core.atomic import ensure_dir
from pipeline.core.errors import InputError, TeamError
from pipeline.core.ids import new_id
from pipeline.hooklib.ownership import TEAM
from pipeline.recall.prepared import hook_state
from pipeline.revision import Door
from pipeline.sharing import turn
from pipeline.sharing.authors import AUTHOR
from pipeline.sharing.choosing import offer as offer_all
from pipeline.sharing.choosing import plan_copy, withdraw
from pipeline.sharing.conflicts import Conflict
from pipeline.sharing.run import Synced, sync
from pipeline.sharing.state import Share, State, Tell, machine_id, untold
from pipeline.sharing.travelling import team_repository_of
from pipeline.store import Put
from pipeline.store.ownership import access
from pipeline.team import heard, members, schema
from pipeline.team.connecting import for_login, parse, within
from pipeline.verify.flaw import Flaw

SHARED, UNSHARED = "shared", "no longer shared"


@dataclass(frozen=True, slots=True)
class Joined:
    """What `init` or `join` did: the team's name, the login's person there, its folder, the first sync.

    `aside` is where the memories are now that another team had left there, "" for none. Who `is_back` in a
    team that they left has its memories there as they were; `aside` is what was changed there since.
    """

    team: str
    person: str
    folder: str
    first: Synced
    aside: str = ""
    is_back: bool = False


@dataclass(frozen=True, slots=True)
class Invited:
    """Who was let in: the team's name, whether the server has that login by now, and their address there."""

    team: str
    may_log_in: bool
    url: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Shared:
    """What `share` gave: the memory's name there, the sync, and how many quotes went along or stayed.

    Of those that were `kept_back`, though ``team.share_quotes`` is on, each has a secret in it or a path.
    """

    name: str
    sync: Synced
    quotes: int = 0
    kept_back: int = 0


@dataclass(frozen=True, slots=True)
class Parting:
    """What it means to leave the team: `is_last` is for its last active member.

    `nobody_invites` is for one after whom nobody who is left may invite. Of the memories there `own` are in
    this person's name, and `unsent` were changed here and are not sent.
    """

    team: str
    is_last: bool
    nobody_invites: bool
    own: int = 0
    unsent: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """How this project stands with its team; seven values are None where its database was not asked.

    These are `members`, `machines`, `costs`, what calls of a model for the team cost by member, project and
    purpose, `queue`, how far each member's backlog is, and `caps`, what is spent of each. `flying` is what
    this login has under way in batches, and `dream` when the team's memories were dreamt over, by whom, None
    for never. `asked` counts the questions for a person, where two changed the same: the `conflicts`.
    """

    team: str
    url: str
    folder: str
    memories: int
    waiting: int
    last: float
    error: str
    held: list[dict[str, str]]
    refused: list[dict[str, str]]
    odd: list[str]
    members: list[dict[str, Any]] | None
    machines: list[dict[str, Any]] | None
    costs: list[dict[str, Any]] | None
    queue: list[dict[str, Any]] | None
    caps: dict[str, dict[str, float]] | None
    flying: dict[str, Any] | None = None
    dream: dict[str, Any] | None = None
    asked: int = 0
    conflicts: tuple[Conflict, ...] = ()


def found_team(app: App, name: str, url: str, person: str) -> Joined:
    """Set the database at `url` up, found the team `name` there, and join it with this project.

    A team of that name which this login is in already is joined. Who founded one and left is a member again,
    where nobody else may invite. Raises ConfigError for the address and TeamError for what the database
    refuses.
    """
    access.require_person(app.store_path)
    app.require_settings()
    address = parse(url)

    def work(connection: Any) -> None:
        schema.set_up(connection)
        if name not in {team.name for team in members.teams(connection)}:
            members.found_team(connection, name, person)

    within(address, work)
    return join(app, name, url)


def invite(app: App, login: str, person: str) -> Invited:
    """Let `login` at the database join the team here, shown as `person`."""
    access.require_person(app.store_path)
    state = _state_of(app)

    def work(connection: Any) -> bool:
        members.invite(connection, state.team, login, person)
        return members.may_log_in(connection, login)

    known = within(parse(state.remote), work)
    return Invited(state.team_name, known, for_login(state.remote, login))


def join(app: App, name: str, url: str, tell: Tell = untold) -> Joined:
    """Keep ``team/`` of this project in step with the team `name` at `url` from now on.

    `tell` hears how far the first sync is.
    """
    access.require_person(app.store_path)
    app.require_settings()
    if app.is_team or app.is_user_scope:
        raise InputError("a team is joined with a project", fix="Go into the project's folder.")

    def enter(connection: Any) -> tuple[str, str]:
        schema.check(connection)
        team = members.team_called(connection, name)
        members.join(connection, team.id)
        return team.id, members.person_of(connection, team.id)

    team, person = within(parse(url), enter)
    shared = _shared(app, create=True)
    kept, aside, is_back = Share.of(app.home, shared.store_path), "", False
    with kept.locked():
        known = kept.read()
        if known is not None and known.team != team:
            raise InputError(
                f"this project is in the team {known.team_name} already",
                file=known.remote,
                fix="`reverie team leave` first.",
            )
        if known is None and (left := kept.known_before(team)) is not None:
            known, aside = left, rejoining.take_up(shared, kept, left)
            is_back = True
        elif known is None:
            aside = rejoining.put_aside(shared, kept)
        if known is not None:
            repository = team_repository_of(kept, known)
            repository.make()
            repository.begin_anew()
            known.remote, known.seen, known.person, known.strange = url, "", person, {}
        state = known or State(
            remote=url,
            machine=machine_id(app.home),
            store=str(shared.store_path),
            team=team,
            team_name=name,
            person=person,
        )
        kept.begin(state)
        turn.note_left(kept.folder, "")
    return Joined(name, person, str(shared.store_path), now(app, unattended=True, tell=tell), aside, is_back)


def share(app: App, name: str) -> Shared:
    """Give the team a copy of the memory `name` in this person's name.

    What was said for it in this person's sessions goes along with ``team.share_quotes`` alone. Sharing it
    again brings the copy in step.
    """
    access.require_person(app.store_path)
    state = _state_of(app)
    store = app.open_store()
    document = retired.read(store, name)
    shared = _shared(app)
    folder = shared.open_store()
    moment = app.clock.now()
    door = Door(folder, now=moment, approved=True)
    words, kept_back = quotes_of(app, document.memory, state) if app.settings.team.share_quotes else ((), 0)
    planned = plan_copy(door, folder.scan().documents, document.memory, state, moment, words)
    if isinstance(planned, Flaw):
        raise InputError(
            f"it {planned.reason}", file=document.path, fix="Nothing was shared; it stays yours alone."
        )
    door.write(_change_id(), f"{SHARED} {document.name}")
    shared.follow(folder)
    called = planned.memory.name if isinstance(planned, Put) else document.name
    return Shared(called, now(app, unattended=True), len(words), kept_back)


def unshare(app: App, name: str) -> tuple[str, Synced]:
    """Take this person's copy of the memory `name` away from the team; return its name there and the sync.

    What somebody has read of it they have read: it stays in the revisions.
    """
    access.require_person(app.store_path)
    state = _state_of(app)
    shared = _shared(app)
    folder = shared.open_store()
    document = retired.read(folder, name)
    author = document.memory.extra.get(AUTHOR, "")
    if author not in (state.person, *state.names):
        raise InputError(
            f"{document.name} is {author or 'nobody'}'s",
            fix=f"Ask them to take it back, or `reverie forget --team {document.name}`, for everybody.",
        )
    door = Door(folder, now=app.clock.now(), approved=True)
    planned = door.retire(document, UNSHARED)
    if isinstance(planned, Flaw):
        raise InputError(f"it {planned.reason}", file=document.path, fix="See `reverie show --team`.")
    door.write(_change_id(), f"{UNSHARED} {document.name}")
    shared.follow(folder)
    return document.name, now(app, unattended=True)


def now(app: App, *, force: bool = False, unattended: bool = False, tell: Tell = untold) -> Synced:
    """Keep the team's folder in step now; what can't be reached is told in the answer.

    What was changed by hand there goes out where a person asked for just that, so not if `unattended`.
    """
    _state_of(app)
    shared = _shared(app)
    store = shared.open_store(create=True)
    kept = Share.of(app.home, shared.store_path, tell)
    with app.ledger() as ledger:
        done = sync(kept, store, clock=app.clock, ledger=ledger, force=force, unattended=unattended)
        hook_state.refresh(ledger, app.home, app.settings, app.clock)
    if done.change:
        shared.follow(store)
    return done


def offer(app: App) -> int:
    """Offer in the inbox what the team never had, where ``team.share`` is "ask"; return how many are new.

    As in the background that is once a day at most, and what was offered once is not offered again.
    """
    state = _state_of(app)
    if app.settings.team.share != "ask":
        return 0
    with app.ledger() as ledger:
        quotes = app.settings.team.share_quotes
        new = offer_all(ledger, app.open_store(), state, now=app.clock.now(), quotes=quotes)
        hook_state.refresh(ledger, app.home, app.settings, app.clock)
        return new


def status(app: App, *, ask: bool = True) -> Standing:
    """Return how it stands, with members and their machines as the database has them, if one may `ask`."""
    state = _state_of(app)
    there: dict[str, Any] = {}
    error = state.error
    try:
        if ask:
            there = within(
                parse(state.remote), lambda connection: figures(connection, state.team, state.machine)
            )
    except TeamError as failed:
        error = str(failed)
    else:
        if ask and error and not state.is_refused:
            error = f"the last sync failed, and the database answers again: {error}"
    waiting = _waiting(app, state)
    conflicts = conflicts_here(_shared(app), state)
    return Standing(
        state.team_name,
        state.remote,
        state.store,
        sum(bool(known.blob) for known in state.known.values()),
        waiting,
        state.done,
        error,
        [{"name": item.name, "why": item.why} for item in state.held.values()],
        [{"name": item.name, "why": item.why} for item in state.refused.values()],
        state.odd,
        **{name: there.get(name) for name in FIGURES},
        asked=len(conflicts),
        conflicts=conflicts,
    )


def caps(app: App) -> dict[str, dict[str, float]]:
    """Return by span what the team's workers have spent together, and at most may."""
    state = _state_of(app)
    return within(parse(state.remote), lambda connection: caps_of(connection, state.team))


def parting(app: App) -> Parting:
    """Return what leaving the team would mean. Raises TeamError where the database can't be asked."""
    state = _state_of(app)

    def ask(connection: Any) -> tuple[str, tuple[members.Member, ...]]:
        return members.login(connection), members.members(connection, state.team)

    login, people = within(parse(state.remote), ask)
    others = [item for item in people if item.state == "active" and item.login != login]
    invites = any(item.may_invite for item in others)
    documents = _shared(app).open_store(create=True).scan().documents
    mine = sum(item.memory.extra.get(AUTHOR) in (state.person, *state.names) for item in documents)
    return Parting(state.team_name, not others, not invites, mine, _waiting(app, state))


def leave(app: App) -> tuple[str, str]:
    """Leave the team with this project; return its name, and where the team's memories stay as they are now.

    At the database the membership ends, so no machine of this login reads or writes there any more.
    """
    access.require_person(app.store_path)
    from pipeline.worker.unsettled import Unsettled  # Deferred: it is a worker's.

    state = _state_of(app)
    address, unsettled = parse(state.remote), Unsettled.of(app.home, state.team)
    unsettled.settle(
        lambda work, *values, **named: within(
            address, lambda connection: work(connection, state.team, *values, **named)
        )
    )
    within(address, lambda connection: members.leave(connection, state.team))
    shutil.rmtree(unsettled.folder, ignore_errors=True)
    shared = _shared(app)
    kept = Share.of(app.home, shared.store_path)
    with kept.locked():
        kept.leave()
        heard.forget(kept.folder)
        shutil.rmtree(kept.repository, ignore_errors=True)
        turn.note_left(kept.folder, state.team_name)
    with app.ledger() as ledger:
        withdraw(ledger, app.open_store(), now=app.clock.now())
    return state.team_name, str(shared.store_path)


def _change_id() -> str:
    return f"team-{new_id()[:12]}"


# -- where it is ----------------------------------------------------------------------------------------


def _state_of(app: App) -> State:
    app.require_settings()
    return state_of(app)


def _shared(app: App, *, create: bool = False) -> App:
    """Return `app` as it acts on the team's folder of this project."""
    folder = app.store_path / TEAM
    if create:
        app.open_store(create=True)
        ensure_dir(folder)
    return shared_of(app)


def _waiting(app: App, state: State) -> int:
    shared = _shared(app)
    if not shared.store_path.is_dir():
        return 0
    was = {(item.path, item.digest) for item in state.here.values()}
    return sum((item.path, item.digest) not in was for item in shared.open_store().scan().documents)
