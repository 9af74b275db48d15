"""How a store stands to the other machines, for a person who asks."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from pipeline.core.errors import InputError
from pipeline.sharing.answers import answered
from pipeline.sharing.git import SyncError
from pipeline.sharing.outgoing import Look
from pipeline.sharing.repository import Repository
from pipeline.sharing.revisions import REVISIONS
from pipeline.sharing.state import Share, trouble_in

if TYPE_CHECKING:
    from pipeline.ledger import Ledger
    from pipeline.store import Store

_FAR_MS = 3_600_000
"""A record that is so much later than now tells of a clock that is wrong."""


def overview(
    share: Share, store: Store, ledger: Ledger, *, now: datetime, ask: bool = True
) -> dict[str, Any]:
    """Return what waits on either side, when it was last in step, and what stays back.

    `waiting` counts the memories of which the remote lacks something, `behind` commits there that are not
    here, None where nobody could be asked.
    """
    with share.locked():
        state = share.read()
        if state is None:
            raise InputError("these memories are not synced with anything", fix="`reverie sync init REMOTE`.")
        repository = Repository(share.repository, state.remote)
        repository.make()
        error, behind = state.error, None
        main = repository.tip()
        if ask:
            try:
                behind = repository.count(main, repository.fetch())
            except SyncError as failed:
                error = trouble_in(failed, state.remote)
        waiting = {*Look(store, state, lambda _: [], now=now).waiting(), *answered(ledger, store, state)}
        # It may have gone with our own repository, which the next sync makes anew.
        seen = state.seen if state.seen and repository.knows(state.seen) else ""
        unsent = repository.files(main, REVISIONS).keys() - repository.files(seen, REVISIONS).keys()
        waiting |= {path.split("/")[1] for path in unsent}
    late = state.moment[0] - now.timestamp() * 1000
    return {
        "remote": state.remote,
        "machine": state.machine,
        "memories": sum(bool(known.blob) for known in state.known.values()),
        "behind": behind,
        "waiting": len(waiting),
        "last": state.done,
        "tried": state.tried,
        "error": error,
        "held": [{"name": item.name, "why": item.why} for item in state.held.values()],
        "refused": [{"name": item.name, "why": item.why} for item in state.refused.values()],
        "odd": state.odd,
        "clock_ahead_hours": round(late / _FAR_MS) if late > _FAR_MS else 0,
    }
