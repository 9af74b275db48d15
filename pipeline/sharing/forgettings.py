"""What other machines had forgotten, written down here, so that it comes back nowhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pipeline.sharing.outgoing import key_of, told_in
from pipeline.store.history import forgotten
from pipeline.store.ownership import access

if TYPE_CHECKING:
    from pipeline.sharing.revisions import Note
    from pipeline.sharing.state import State
    from pipeline.store import Store


def take(
    store: Store, state: State, fresh: Sequence[Note], every: Iterable[Note], own: Sequence[str]
) -> None:
    """Write down what `fresh` tell; of the names in them all of `every` note that is known, in its order.

    `own` are the keys of what this machine tells in the same sync.
    """
    names = {item.memory_name for item in fresh}
    chosen = sorted(
        (item for item in every if item.memory_name in names),
        key=lambda item: (item.clock, item.machine, item.name),
    )
    lines = [told_in(item) for item in chosen]
    if not store.root.is_dir():
        return
    access.private_dir(store.root)
    forgotten.take(store.root, lines)
    # What is written for a lifted line here is told by it already.
    more = {key_of(item) for item in forgotten.for_others(store.root)}
    state.notes += sorted(({*map(key_of, lines)} | more) - {*state.notes, *own})
