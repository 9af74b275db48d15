"""What is done where our own repository is gone, with what was not sent: it is made from remote and store."""

from __future__ import annotations

from pipeline.sharing.outgoing import key_of, told_in
from pipeline.sharing.repository import Repository
from pipeline.sharing.revisions import FORGOTTEN, REVISIONS, Note, Revision, records_in
from pipeline.sharing.state import LOST, Here, State


def is_lost(repository: Repository, state: State) -> bool:
    """Whether `repository` has not what `state` tells of it."""
    return bool(state.basis) and repository.tip() != state.basis and not repository.knows(state.basis)


def begin_anew(repository: Repository, state: State, incoming: str) -> None:
    """Let `state` know what the remote has at `incoming`, so that the rest is told from the store.

    A text that nobody has any more was made from what was last seen of the remote.
    """
    files = repository.files(incoming, REVISIONS, FORGOTTEN)
    names = {path.rpartition("/")[2].removesuffix(".json") for path in files}
    seen = state.seen if state.seen and repository.knows(state.seen) else ""
    bases = _heads(repository, repository.files(seen, REVISIONS))
    for ident, was in list(state.here.items()):
        if not names.issuperset(was.heads):
            state.here[ident] = Here(LOST, was.path, bases.get(ident, []))
    state.basis, state.known, state.begun, state.refused = "", {}, {}, {}
    notes = {path: blob for path, blob in files.items() if path.startswith(f"{FORGOTTEN}/")}
    state.notes = [key_of(told_in(item)) for item in _records(repository, notes) if isinstance(item, Note)]


def _heads(repository: Repository, files: dict[str, str]) -> dict[str, list[str]]:
    """Return by memory the revisions of `files` from which no other was made."""
    found = [item for item in _records(repository, files) if isinstance(item, Revision)]
    behind = {parent for item in found for parent in item.parents}
    heads: dict[str, list[str]] = {}
    for item in found:
        if item.name not in behind:
            heads.setdefault(item.memory, []).append(item.name)
    return heads


def _records(repository: Repository, files: dict[str, str]) -> list[Note | Revision]:
    data = repository.read(files.values())
    return records_in((path, data[blob]) for path, blob in files.items() if blob in data)[0]
