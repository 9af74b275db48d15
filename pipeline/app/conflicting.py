"""Where two did otherwise with one memory, for a person who asks how it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.app.application import App

if TYPE_CHECKING:
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
