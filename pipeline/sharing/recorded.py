"""Records of one memory as they lie in our own repository: for who asks between two syncs."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.sharing.repository import Repository
from pipeline.sharing.revisions import FORGOTTEN, REVISIONS, Revision, records_in


def records_of(repository: Repository, ident: str, names: Iterable[str] | None = None) -> list[Revision]:
    """Return the records of the memory `ident`, or those with some `names`, as far as they are there."""
    folder = f"{REVISIONS}/{ident}"
    below = [folder] if names is None else [f"{folder}/{name}.json" for name in names]
    files = repository.files(repository.tip(), *below) if below else {}
    data = repository.read(files.values())
    known, _ = records_in((path, data[blob]) for path, blob in files.items() if blob in data)
    return [item for item in known if isinstance(item, Revision)]


def notes_in(paths: Iterable[str]) -> list[str]:
    """Return those of `paths` where a note of what was forgotten lies."""
    return [path for path in paths if path.startswith(f"{FORGOTTEN}/")]
