"""What an inbox entry offers to the team: planned as copies in its folder, and picked by a person."""

from __future__ import annotations

from copy import copy
from typing import Any

from pipeline.app import retired
from pipeline.app.application import App
from pipeline.core.errors import InputError
from pipeline.domain.memory import Memory
from pipeline.domain.quotes import Quote
from pipeline.domain.sentences import folded, sentences
from pipeline.hooklib.ownership import TEAM
from pipeline.hooklib.plain import lines_of
from pipeline.ledger.inbox import InboxItem
from pipeline.revision import Door
from pipeline.revision.compose import lost_between
from pipeline.sharing.authors import author_in
from pipeline.sharing.choosing import id_there, line_of, payload_of, plan_copy
from pipeline.sharing.outgoing import secret_finder
from pipeline.sharing.quoting import number_kept_back, quotes_for
from pipeline.sharing.recorded import records_of
from pipeline.sharing.repository import Repository
from pipeline.sharing.state import Share, State
from pipeline.sharing.turn import left_of
from pipeline.store import Store
from pipeline.store.files.document import parse
from pipeline.verify.flaw import Flaw


def shared_of(app: App) -> App:
    """Return `app` as it acts on the team's folder of this project."""
    other = copy(app)
    other.store_override = app.store_path / TEAM
    return other


def no_team(app: App) -> tuple[str, str]:
    """Return why this project is in no team, and what puts it into one; "" for both where it is in one."""
    state = _known(app)
    if state is not None and state.team:
        return "", ""
    if left := left_of(app.home, shared_of(app).store_path):
        again = f"Invited again, you take it up by `reverie team join {left} --database URL`."
        return f"you left the team {left}, so this project is in none", again
    begins = "`reverie team join NAME --database URL`, or `reverie team init` founds one."
    return "this project is in no team", begins


def state_of(app: App) -> State:
    """Return what is known of the team of this project. Raises InputError where it is in none."""
    state = _known(app)
    if state is None or not state.team:
        why, fix = no_team(app)
        raise InputError(why, file=str(app.store_path), fix=fix)
    return state


def _known(app: App) -> State | None:
    share = Share.of(app.home, shared_of(app).store_path)
    return share.read() if share.file.is_file() else None


def quotes_of(app: App, memory: Memory, state: State) -> tuple[tuple[Quote, ...], int]:
    """Return what this person's sessions have for `memory`, as the team may get it, and how much stays."""
    with app.ledger(to_look=True) as ledger:
        is_secret = secret_finder(ledger)
    return quotes_for(memory, state.person, is_secret), number_kept_back(memory, state.person, is_secret)


def replaced_of_others(app: App, name: str) -> list[str]:
    """Return the sentences of the team's copy of the memory `name` that sharing it again would take away.

    Those that this person said there themselves are not among them.
    """
    state, shared = state_of(app), shared_of(app)
    memory = retired.read(app.open_store(), name).memory
    ident = id_there(memory)
    there = next((item for item in shared.open_store().scan().documents if item.own_id == ident), None)
    if there is None:
        return []
    share = Share.of(app.home, shared.store_path)
    own: set[str] = set()
    for record in records_of(Repository(share.repository, state.remote), ident):
        if record.file is not None and author_in(record) in (state.person, *state.names):
            own |= {item.folded for item in sentences(parse(record.file.encode(), record.path).body)}
    gone = lost_between(there.memory.body, memory.body, ())
    return [text for text in gone if folded(text) not in own]


def planned(app: App, store: Store, found: InboxItem) -> tuple[App, Door]:
    """Plan the copies that `found` offers; return the team's folder and the door with them.

    What is not here any more is left out. What was said for them goes along where ``team.share_quotes`` is on
    and `found` says so. Raises InputError where nothing is left, and for what no team may
    have.
    """
    state, shared, now = state_of(app), shared_of(app), app.clock.now()
    folder = shared.open_store()
    door = Door(folder, now=now, approved=True)
    wanted = {row["id"] for row in found.payload["memories"]}
    there = folder.scan().documents
    with_quotes = app.settings.team.share_quotes and bool(found.payload.get("quotes"))
    reject = f"`reverie inbox reject {found.id}`"
    for document in store.scan().documents:
        if document.retired or id_there(document.memory) not in wanted:
            continue
        words, _ = quotes_of(app, document.memory, state) if with_quotes else ((), 0)
        done = plan_copy(door, there, document.memory, state, now, words)
        if isinstance(done, Flaw):
            raise InputError(
                f"it {done.reason}",
                file=document.path,
                fix=f"Leave it out with `reverie inbox edit {found.id}`, or {reject}.",
            )
    if not door.operations:
        raise InputError("none of these memories is here any more", fix=f"{reject}.")
    return shared, door


def text_of(found: InboxItem) -> str:
    """Return what is offered, a line each, for a person to pick from."""
    return "\n".join(line_of(row) for row in found.payload["memories"])


def picked(found: InboxItem, text: str) -> dict[str, Any]:
    """Return the payload of `found` with no more than the lines that stand in `text`.

    Raises InputError for a line that was not offered, and where none is left.
    """
    wanted = {" ".join(line.split()) for line in lines_of(text) if line.strip()}
    rows = {" ".join(line_of(row).split()): row for row in found.payload["memories"]}
    odd = sorted(wanted - rows.keys())
    if odd:
        raise InputError(f"this was not offered: {odd[0]}", fix="Take lines away; change none.")
    if not wanted:
        raise InputError("no line is left", fix=f"`reverie inbox reject {found.id}` gives the team nothing.")
    payload = found.payload
    chosen = [row for line, row in rows.items() if line in wanted]
    return {
        **payload,
        **payload_of(
            payload["team"],
            chosen,
            payload["offered"],
            asked=float(payload["asked"]),
            quotes=bool(payload.get("quotes")),
        ),
    }
