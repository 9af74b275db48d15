"""Which entries the person took back by going to an earlier point and typing something else.

The file keeps both branches. Most forks are nobody's decision (parallel tool results, progress lines), so
only a fork at a person's prompt abandons anything (real-material §4.10).
"""

from __future__ import annotations

from collections.abc import Sequence

Link = tuple[str, str | None, bool, bool]
"""uuid, parent uuid, whether it is a person's prompt, whether it belongs to a subagent."""

_Fork = tuple[str | None, bool]
"""The node of the living chain an entry hangs on (None: none), and whether a prompt lies between."""


def _living(leaf: str, parents: dict[str, str | None]) -> set[str]:
    """Return `leaf` and its ancestors; a loop or a parent that is nowhere ends the walk."""
    chain: set[str] = set()
    current: str | None = leaf
    while current is not None and current in parents and current not in chain:
        chain.add(current)
        current = parents[current]
    return chain


def _fork_of(
    uuid: str, parents: dict[str, str | None], prompts: set[str], chain: set[str], known: dict[str, _Fork]
) -> _Fork:
    """Return where `uuid` hangs, noting it in `known` for every entry on the way, so each is walked once."""
    path: list[str] = []
    current: str | None = uuid
    on_path: set[str] = set()
    while current is not None and current in parents and current not in chain and current not in known:
        if current in on_path:
            current = None
            break
        on_path.add(current)
        path.append(current)
        current = parents[current]
    if current is not None and current in known:
        node, passed = known[current]
    else:
        node, passed = (current if current in chain else None), False
    for step in reversed(path):
        passed = passed or step in prompts
        known[step] = (node, passed)
    return known[uuid]


def abandoned(links: Sequence[Link]) -> set[str]:
    """Return the uuids on abandoned branches; `links` are in file order. Linear in their number.

    The last prompt of the main chain is surely alive, and so are its ancestors. An entry off that chain is
    abandoned if a prompt lies between it and the ancestor it hangs on. The last *prompt* is taken rather
    than the last entry because clients append late notices to earlier points, which retract nothing.
    Roots of their own, parents that do not exist, and loops are never abandoned.
    """
    parents: dict[str, str | None] = {}
    prompts: set[str] = set()
    leaf = None
    for uuid, parent, is_prompt, is_sidechain in links:
        parents.setdefault(uuid, parent)
        if is_prompt and not is_sidechain:
            prompts.add(uuid)
            leaf = uuid
    if leaf is None:
        return set()
    chain = _living(leaf, parents)
    known: dict[str, _Fork] = {}
    gone = set()
    for uuid in parents:
        if uuid in chain:
            continue
        node, passed = _fork_of(uuid, parents, prompts, chain, known)
        if node is not None and node != leaf and passed:
            gone.add(uuid)
    return gone
