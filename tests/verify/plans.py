"""Memories with evidence, and the check called on them."""

from collections.abc import Iterable
from typing import Any

from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.operations import Checked, Operation
from pipeline.verify.check import check_plan


def note(one: str, text: str, said: str | None = "2026-03-01", **values: Any) -> Memory:
    """A memory with id and name `one`, said by a person on day `said` (None: without evidence)."""
    who = values.pop("speaker", "person")
    source = Evidence(session="s", uuid=f"u-{one}", quote=text[:40], at=f"{said}T10:00:00+00:00", speaker=who)
    defaults: dict[str, Any] = {
        "description": text.split(".")[0][:150],
        "type": "project",
        "origin": "user-stated" if who == "person" else "assistant-inferred",
        "sources": (source,) if said else (),
    }
    return Memory(name=one, id=one, body=f"{text}\n", **{**defaults, **values})


def judge(
    memories: Iterable[Memory],
    *operations: Operation,
    fixed: Iterable[str] = (),
    ceiling: int = 9,
    **values: Any,
) -> Checked:
    """Check `operations` where all `memories` but the `fixed` may change."""
    known = {memory.id: memory for memory in memories}
    return check_plan(operations, known, changeable=known.keys() - {*fixed}, ceiling=ceiling, **values)


def merge(text: str, *ids: str, into: str = "", **values: Any) -> Operation:
    return Operation(op="merge", ids=ids, into=into or ids[0], statement=text, **values)


def rewrite(one: str, text: str, **values: Any) -> Operation:
    return Operation(op="rewrite", ids=(one,), statement=text, **values)


def retire(*ids: str, reason: str = "it is over") -> Operation:
    return Operation(op="retire", ids=ids, reason=reason)


def supersede(*ids: str, into: str = "", reason: str = "") -> Operation:
    return Operation(op="supersede", ids=ids, into=into, reason=reason)


def why(checked: Checked) -> str:
    """The reason of the only refusal; nothing may have been accepted beside it."""
    assert not checked.accepted
    (refused,) = checked.refused
    return refused.reason
