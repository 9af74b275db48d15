"""Which entries the person took back by going to an earlier point and typing something else.

The file keeps both branches. Most forks are nobody's decision (parallel tool results, progress lines), so
only a fork at a person's prompt abandons anything (real-material §4.10). A long file's links are gone through
one by one: what is kept of each is its parent's number, and the names of the last few thousand.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

Link = tuple[str, str | None, bool, bool]
"""uuid, parent uuid, whether it is a person's prompt, whether it belongs to a subagent."""

WINDOW = 4096
"""Links back at which a parent is looked for without asking: in real files none was further than 299."""
_FEW = 2 * WINDOW
"""Links that may be held all at once."""
_NOWHERE, _UNKNOWN = -1, -2


@runtime_checkable
class Stored(Protocol):
    """Links in file order, each uuid once, that are too many to be held."""

    def __iter__(self) -> Iterator[Link]:
        """Yield them all."""
        ...

    def position_of(self, uuid: str) -> int | None:
        """Return its position among the links that the last iteration came by, None for none of them."""
        ...

    def few(self, most: int) -> list[Link] | None:
        """Return them all if there are at most so many, else None."""
        ...


class _Tree:
    """The links of one file by position: what each hangs on, and which are prompts of the main chain."""

    def __init__(self, links: Iterable[Link]) -> None:
        self._stored = links if isinstance(links, Stored) else None
        self._recent: dict[str, int] = {}
        self._before: dict[str, int] = {}
        self._waiting: dict[str, list[int]] = {}
        self.parents = array("i")
        self.prompts = bytearray()
        self.leaf = _NOWHERE
        for uuid, parent, is_prompt, is_sidechain in links:
            position = None if self._stored else self._recent.get(uuid)
            if position is None:
                position = self._add(uuid, parent)
            if is_prompt and not is_sidechain:
                self.prompts[position] = 1
                self.leaf = position
        self._recent, self._before, self._waiting = {}, {}, {}

    def _add(self, uuid: str, parent: str | None) -> int:
        position = len(self.parents)
        if self._stored is not None and len(self._recent) == WINDOW:
            self._recent, self._before = {}, self._recent
        self._recent[uuid] = position
        if self._waiting:
            for child in self._waiting.pop(uuid, ()):
                self.parents[child] = position
        self.parents.append(_NOWHERE if parent is None else self._find(parent, position))
        self.prompts.append(0)
        return position

    def _find(self, uuid: str, child: int) -> int:
        """Return the position of `uuid`; where it has none yet, `child` waits for it."""
        found = self._recent.get(uuid)
        if found is None:
            found = self._before.get(uuid)
        if found is None and self._stored is not None and uuid not in self._waiting:
            found = self._stored.position_of(uuid)
        if found is None:
            self._waiting.setdefault(uuid, []).append(child)
            return _NOWHERE
        return found

    def living(self) -> bytearray:
        """Mark the last prompt and its ancestors; a loop or a parent that is nowhere ends the walk."""
        chain = bytearray(len(self.parents))
        current = self.leaf
        while current != _NOWHERE and not chain[current]:
            chain[current] = 1
            current = self.parents[current]
        return chain

    def forks(self, chain: bytearray) -> Iterator[int]:
        """Yield what a prompt parts from the node of `chain` that it hangs on, unless that is the leaf."""
        node = array("i", [_UNKNOWN]) * len(chain)
        passed = bytearray(len(chain))
        for start in range(len(chain)):
            if chain[start]:
                continue
            self._walk(start, chain, node, passed)
            if node[start] not in (_NOWHERE, self.leaf) and passed[start]:
                yield start

    def _walk(self, start: int, chain: bytearray, node: array[int], passed: bytearray) -> None:
        """Note where `start` hangs, and whether by a prompt, and so for all on the way, once each."""
        path: list[int] = []
        on_path: set[int] = set()
        current = start
        while current != _NOWHERE and not chain[current] and node[current] == _UNKNOWN:
            if current in on_path:
                current = _NOWHERE
                break
            on_path.add(current)
            path.append(current)
            current = self.parents[current]
        hangs_on, behind_prompt = current, False
        if current != _NOWHERE and not chain[current]:
            hangs_on, behind_prompt = node[current], bool(passed[current])
        for step in reversed(path):
            behind_prompt = behind_prompt or bool(self.prompts[step])
            node[step], passed[step] = hangs_on, behind_prompt


def abandoned(links: Iterable[Link]) -> set[str]:
    """Return the uuids on abandoned branches; `links` are in file order. Linear in their number.

    The last prompt of the main chain is surely alive, and so are its ancestors. An entry off that chain is
    abandoned if a prompt lies between it and the ancestor it hangs on. The last *prompt* is taken rather
    than the last entry because clients append late notices to earlier points, which retract nothing.
    Roots of their own, parents that do not exist, and loops are never abandoned. Links that are `Stored` are
    gone through twice, others must be a collection.
    """
    few = links.few(_FEW) if isinstance(links, Stored) else links
    if few is not None and _in_one_line([*few]):
        return set()
    tree = _Tree(links)
    if tree.leaf == _NOWHERE:
        return set()
    chain = tree.living()
    if all(chain):
        return set()
    gone = frozenset(tree.forks(chain))
    return {uuid for position, uuid in enumerate(_uuids(links)) if position in gone} if gone else set()


def _in_one_line(links: list[Link]) -> bool:
    """Say whether every prompt lies on the way up from the last one, as in most sessions: none was left then.

    The tree would tell the same, many times slower.
    """
    prompts = [uuid for uuid, _, is_prompt, is_sidechain in links if is_prompt and not is_sidechain]
    # Of a uuid that comes twice, the first place counts.
    parents = {link[0]: link[1] for link in reversed(links)}
    left, current = set(prompts), prompts[-1] if prompts else None
    for _ in links:
        left.discard(current or "")
        current = parents.get(current) if current is not None else None
        if not left:
            break
    return not left


def _uuids(links: Iterable[Link]) -> Iterable[str]:
    uuids = (link[0] for link in links)
    return uuids if isinstance(links, Stored) else dict.fromkeys(uuids)
