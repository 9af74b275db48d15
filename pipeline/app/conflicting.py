"""Where two did otherwise with one memory, for a person who asks how it stands or what waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.app.application import App
from pipeline.ledger.inbox import SYNCED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.ledger.inbox import InboxItem
    from pipeline.sharing.conflicts import Conflict
    from pipeline.sharing.state import State


def conflicts_here(app: App, state: State) -> tuple[Conflict, ...]:
    """Return where two did otherwise with the memories of `app`, as far as nobody here has decided it."""
    if not any(known.asks for known in state.known.values()):
        return ()
    from pipeline.sharing.conflicts import conflicts_of  # Deferred: few memories are kept in step.
    from pipeline.sharing.state import Share

    store = app.open_store()
    with app.ledger(to_look=True) as ledger:
        return tuple(conflicts_of(Share.of(app.home, store.path), state, store, ledger))


def conflicts_asked(scope: App, items: Iterable[InboxItem]) -> dict[int, Conflict]:
    """Return by number what those of `items` are about where two did otherwise with a memory of `scope`."""
    wanted = {item.id for item in items if item.kind == SYNCED}
    if not wanted:
        return {}
    from pipeline.sharing.state import Share  # Deferred: few memories are kept in step.

    state = Share.of(scope.home, scope.store_path).read()
    found = conflicts_here(scope, state) if state is not None else ()
    return {item.number: item for item in found if item.number in wanted}
