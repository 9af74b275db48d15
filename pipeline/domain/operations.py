"""A dream's plan as values: the operations proposed, what came of them, gates and clusters.

An operation is data that a model or a rule wrote. Nothing in it is believed until `verify.check`
has passed it, and nothing here touches a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeGuard, get_args

from pipeline.domain.body import Body

OpName = Literal["keep", "merge", "rewrite", "supersede", "retire", "relate", "insight", "promote"]
OPS: tuple[OpName, ...] = get_args(OpName)
RELATIONS = ("SOLVES", "CAUSES", "BUILDS_ON", "ALTERNATIVE_TO", "REQUIRES", "FOLLOWS", "RELATED_TO")
"""The relations of schema v3."""


def is_op(name: str) -> TypeGuard[OpName]:
    """Whether `name` is the name of an operation."""
    return name in OPS


@dataclass(frozen=True, slots=True)
class Operation:
    """One proposed change to the memories named by `ids` (memory ids, never handles or names).

    - ``keep``: `ids` stay as they are.
    - ``merge``: `ids` become one; `into` (one of them) survives with the new text, or with its own when
      `statement` is empty. The others leave the live store.
    - ``rewrite``: the one id gets the new text.
    - ``supersede``: of `ids`, `into` was said last and stays as it is; the others leave. With `into`
      empty the check finds the winner.
    - ``retire``: `ids` leave.
    - ``relate``: the first of two ids gets a `relation` (one of RELATIONS) of
      `strength` (0 to 1) to the second.
    - ``insight``: a new memory drawn from `ids`, which stay as they are.
    - ``promote``: the one id is copied to the user-scope store, with the new text if there is any.

    `op` is a plain string because a hostile plan may hold anything. `dropped` lists what of the sources
    the new text leaves out on purpose, each with the reason. In operations that passed the check, `ids`
    of a merge or supersede always hold `into` as well: use `leaving` for those that go.
    """

    op: str
    ids: tuple[str, ...] = ()
    into: str = ""
    name: str = ""
    type: str = ""
    title: str = ""
    description: str = ""
    statement: str = ""
    why: str = ""
    how_to_apply: str = ""
    tags: tuple[str, ...] = ()
    relation: str = ""
    strength: float = 0.5
    dropped: tuple[tuple[str, str], ...] = ()
    reason: str = ""

    @property
    def leaving(self) -> tuple[str, ...]:
        """Return the ids whose files leave the live store when this is applied."""
        if self.op == "retire":
            return self.ids
        if self.op in ("merge", "supersede"):
            return tuple(memory_id for memory_id in self.ids if memory_id != self.into)
        return ()

    @property
    def about(self) -> frozenset[str]:
        """Return the ids of every memory it names."""
        return frozenset((*self.ids, *([self.into] if self.into else [])))

    @property
    def written(self) -> tuple[str, ...]:
        """Return the ids whose own files get new bytes when this is applied."""
        if self.op == "merge":
            return (self.into,)
        return self.ids[:1] if self.op in ("rewrite", "relate") else ()

    @property
    def body(self) -> str:
        """Return the markdown body of the new text, in the shape extraction writes; empty when none."""
        if not self.statement.strip():
            return ""
        return Body(self.statement, self.why, self.how_to_apply).render()

    def to_json(self) -> dict[str, Any]:
        """Return the operation as values that JSON holds."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Operation:
        """Return what `to_json` gave, read back from JSON. Raises KeyError, TypeError or ValueError."""
        lists: dict[str, Any] = {name: tuple(values[name]) for name in ("ids", "tags")}
        dropped = tuple((str(text), str(reason)) for text, reason in values["dropped"])
        return cls(**{**values, **lists, "dropped": dropped})


@dataclass(frozen=True, slots=True)
class Refused:
    """An operation that was not taken, and why, as a sentence for the report.

    `to_inbox` is true when a person should decide: a specific would be lost, two memories contradict each
    other, or a pinned or hand-edited memory is meant. `later` is true when nothing is wrong with it but the
    ceiling is reached: its memories lead the next dream.
    """

    operation: Operation
    reason: str
    to_inbox: bool = False
    later: bool = False


@dataclass(slots=True)
class Checked:
    """What a check left of a plan, in the plan's order."""

    accepted: list[Operation] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    @property
    def leaving(self) -> tuple[str, ...]:
        """Return the ids whose files leave the live store, over all accepted operations."""
        return tuple(memory_id for operation in self.accepted for memory_id in operation.leaving)


@dataclass(frozen=True, slots=True)
class Gate:
    """One condition of a dream. `reason` is a sentence for a person and says what is missing."""

    name: str
    open: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """Memories that go to the model together: `ids` may be changed, `fixed` are shown as context only."""

    ids: tuple[str, ...]
    fixed: tuple[str, ...] = ()
