"""What several said together, as it stood before somebody changed it: no record has that text."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.sharing.merging import state_of
from pipeline.sharing.outgoing import behind
from pipeline.sharing.revisions import Revision


def is_joint(file: str, records: Iterable[Revision]) -> bool:
    """Whether `file` is what those of `records` said together that one of them was made from."""
    known = {item.name: item for item in records}
    return any(_joined(known, item) == file.encode() for item in known.values() if len(item.parents) > 1)


def _joined(known: dict[str, Revision], record: Revision) -> bytes | None:
    made_from = [known[name] for name in behind(known, record.parents) if name in known]
    return state_of(made_from).file if made_from else None
