"""Where the revisions of a store travel: a git remote, or the database of a team."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.sharing.repository import Repository
from pipeline.sharing.state import Share, State

if TYPE_CHECKING:
    from pipeline.sharing.team_repository import TeamRepository


def repository_of(share: Share, state: State) -> Repository:
    """Return where the revisions of `state` travel: a git remote, or the database of a team."""
    if state.team:
        return team_repository_of(share, state)
    return Repository(share.repository, state.remote)


def team_repository_of(share: Share, state: State) -> TeamRepository:
    """Return that of a team's folder."""
    # Deferred: only a team needs a database.
    from pipeline.sharing.team_repository import TeamRepository

    return TeamRepository(share.repository, state.remote, state.team, state.machine, share.tell)
