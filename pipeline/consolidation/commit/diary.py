"""What a dream leaves in the diary: an entry for each merge, and one for all that it did.

``REFLECTION.md`` counts these entries, so that it can be made again from the store alone. Nothing in them is
a model's text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from pipeline.consolidation.commit.changes import Planned
from pipeline.domain.action import DreamAction
from pipeline.store import Episode, Snapshot, Store, WriteFile
from pipeline.store.history.episodes import MERGE, REFLECTION
from pipeline.text.humanize import count

_MOST_LINES = 20
_MOST_NAMES = 5


def page(
    planned: Planned, store: Store, snapshot: Snapshot, now: datetime, *, whole: bool
) -> list[WriteFile]:
    """Return the page of the diary with what `planned` does to `store`; none where that is nothing.

    With `whole` it is all of a dream, which has an entry of its own.
    """
    if store.is_team:
        return []
    known = {document.id: document for document in snapshot.documents if document.id}
    entries = []
    for operation, action in zip(planned.done, planned.actions, strict=True):
        if operation.op == "merge" and operation.into in known:
            survivor = known[operation.into]
            gone = [name for name in action.memories if name != action.into]
            title = f"Merged {_names(gone)} into {action.into}"
            tags = survivor.head.tags
            entries.append(Episode.of(now, title, MERGE, tags=tags, memory=survivor.path))
    done = [action for action in planned.actions if action.op != "keep"]
    if whole and done:
        ops = Counter(action.op for action in done)
        words = ", ".join(f"{number} {op}" for op, number in sorted(ops.items()))
        entries.append(Episode.of(now, f"Reflection: {words}", REFLECTION, summary=_lines(done)))
    written = store.append_episodes(entries)
    return [written] if written else []


def _lines(actions: Sequence[DreamAction]) -> list[str]:
    lines = [
        f"{action.op}: {_names(action.memories)}" + (f", into {action.into}" if action.into else "")
        for action in actions[:_MOST_LINES]
    ]
    more = len(actions) - len(lines)
    return [*lines, f"and {count(more, 'change', 'changes')} more"] if more else lines


def _names(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
