"""A dream's plan as values: the operations proposed, what came of them, gates and clusters.

An operation is data that a model or a rule wrote. Nothing in it is believed until `verify.check` has passed
it and the second reader has agreed, and nothing here touches a file. It holds no text for a memory: a dream
quotes. Only an insight has words of its own, and a person decides on each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Literal, TypeGuard, get_args

from pipeline.domain.body import Body
from pipeline.record import changing, field, record

OpName = Literal["keep", "merge", "supersede", "strike", "retire", "relate", "insight", "promote"]
OPS: tuple[OpName, ...] = get_args(OpName)
RELATIONS = ("SOLVES", "CAUSES", "BUILDS_ON", "ALTERNATIVE_TO", "REQUIRES", "FOLLOWS", "RELATED_TO")
"""The relations of schema v3."""
NOT_AGREED = "the second reader did not agree"
"""How the reason begins where a second reader read something else in the texts than the plan did."""


def is_doubted(reason: str) -> bool:
    """Whether `reason` is that the second reader did not agree."""
    return reason.startswith(NOT_AGREED)


def is_op(name: str) -> TypeGuard[OpName]:
    """Whether `name` is the name of an operation."""
    return name in OPS


@record
class Cover:
    """Sentence `number` (from 1) of the memory `id`, and the sentence of another that stands for it.

    In a merge that one says the same; in a strike it was said later and took the place of it.
    """

    id: str
    number: int
    by_id: str
    by_number: int


@record
class Operation:
    """One proposed change to the memories named by `ids` (memory ids, never handles or names).

    - ``keep``: `ids` stay as they are.
    - ``merge``: `ids` become one; `into` (one of them) keeps its text and takes in what the others say
      beyond it and `covered` does not list. The others leave the live store.
    - ``supersede``: of `ids`, `into` was said last and stays as it is; the others leave. With `into`
      empty the check finds the winner.
    - ``strike``: the sentences in `covered` leave the one id.
    - ``retire``: `ids` leave; `until` is the day (YYYY-MM-DD) that their own words name as their end, empty
      where a rule of the person's settings retires them.
    - ``relate``: the first of two ids gets a `relation` (one of RELATIONS) of
      `strength` (0 to 1) to the second.
    - ``insight``: a new memory drawn from `ids`, which stay as they are; it alone has `name`, `title`,
      `description` and `statement`.
    - ``promote``: the one id is copied to the user-scope store.

    `op` is a plain string because a hostile plan may hold anything. In operations that passed the check,
    `ids` of a merge or supersede always hold `into` as well: use `leaving` for those that go.
    """

    op: str
    ids: tuple[str, ...] = ()
    into: str = ""
    covered: tuple[Cover, ...] = ()
    until: str = ""
    name: str = ""
    title: str = ""
    description: str = ""
    statement: str = ""
    relation: str = ""
    strength: float = 0.5
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
        covers = (memory_id for cover in self.covered for memory_id in (cover.id, cover.by_id))
        return frozenset((*self.ids, *([self.into] if self.into else []), *covers))

    @property
    def written(self) -> tuple[str, ...]:
        """Return the ids whose own files get new bytes when this is applied."""
        if self.op == "merge":
            return (self.into,)
        return self.ids[:1] if self.op in ("strike", "relate") else ()

    @property
    def body(self) -> str:
        """Return the markdown body of an insight; empty where there is none."""
        return Body(self.statement).render() if self.statement.strip() else ""

    def to_json(self) -> dict[str, Any]:
        """Return the operation as values that JSON holds."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Operation:
        """Return what `to_json` gave, read back from JSON; what only earlier versions knew is left out.

        Raises KeyError, TypeError or ValueError.
        """
        known = {name: values[name] for name in cls.__dataclass_fields__ if name in values}
        covered = tuple(Cover(**item) for item in values.get("covered", ()))
        return cls(**{**known, "ids": tuple(values["ids"]), "covered": covered})


def is_of_earlier_version(values: Mapping[str, Any]) -> bool:
    """Whether `values` hold an operation as versions wrote it in which a dream wrote texts of its own."""
    return "covered" not in values


@record
class Refused:
    """An operation that was not taken, and why, as a sentence for the report.

    `to_inbox` is true when a person should decide: the second reader did not agree, the times do not settle
    it, or a pinned or hand-edited memory is meant. `later` is true when nothing is wrong with it but the
    ceiling is reached: its memories lead the next dream.
    """

    operation: Operation
    reason: str
    to_inbox: bool = False
    later: bool = False


@changing
class Checked:
    """What a check left of a plan, in the plan's order."""

    accepted: list[Operation] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    @property
    def leaving(self) -> tuple[str, ...]:
        """Return the ids whose files leave the live store, over all accepted operations."""
        return tuple(memory_id for operation in self.accepted for memory_id in operation.leaving)


@record
class Gate:
    """One condition of a dream. `reason` is a sentence for a person and says what is missing."""

    name: str
    open: bool
    reason: str


@record
class Cluster:
    """Memories that go to the model together: `ids` may be changed, `fixed` are shown as context only."""

    ids: tuple[str, ...]
    fixed: tuple[str, ...] = ()
