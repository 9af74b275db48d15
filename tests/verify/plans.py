"""Memories with evidence, and the check called on them."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.operations import Checked, Cover, Operation
from pipeline.verify.check import check_plan

TODAY = date(2026, 11, 27)


def note(name: str, text: str, said: str | None = "2026-03-01", **values: Any) -> Memory:
    """A memory with id and name `name`, said by a person on day `said` (None: without evidence)."""
    who = values.pop("speaker", "person")
    source = Evidence(
        session="s", uuid=f"u-{name}", quote=text[:40], at=f"{said}T10:00:00+00:00", speaker=who
    )
    defaults: dict[str, Any] = {
        "description": text.split(".")[0][:150],
        "type": "project",
        "origin": "user-stated" if who == "person" else "assistant-inferred",
        "sources": (source,) if said else (),
    }
    return Memory(name=name, id=name, body=f"{text}\n", **{**defaults, **values})


def judge(
    memories: Iterable[Memory],
    *operations: Operation,
    fixed: Iterable[str] = (),
    ceiling: int = 9,
    **values: Any,
) -> Checked:
    """Check `operations` where all `memories` but the `fixed` may change."""
    known = {memory.id: memory for memory in memories}
    changeable = known.keys() - {*fixed}
    return check_plan(operations, known, changeable=changeable, ceiling=ceiling, today=TODAY, **values)


def merge(*ids: str, into: str = "", covered: Iterable[Cover] = ()) -> Operation:
    return Operation(op="merge", ids=ids, into=into or ids[0], covered=tuple(covered))


def strike(memory_id: str, *covered: Cover) -> Operation:
    return Operation(op="strike", ids=(memory_id,), covered=covered)


def retire(*ids: str, until: str = "2026-05-20", reason: str = "it is over") -> Operation:
    return Operation(op="retire", ids=ids, until=until, reason=reason)


def supersede(*ids: str, into: str = "", reason: str = "") -> Operation:
    return Operation(op="supersede", ids=ids, into=into, reason=reason)


def why(checked: Checked) -> str:
    """The reason of the only refusal; nothing may have been accepted beside it."""
    assert not checked.accepted
    (refused,) = checked.refused
    return refused.reason
