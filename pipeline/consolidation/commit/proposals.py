"""An operation in the inbox: how it waits, and read back, held against the memories as they are now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pipeline.core.errors import ConflictError, InputError, StoreError
from pipeline.core.ids import digest
from pipeline.domain.memory import Memory
from pipeline.domain.operations import Operation, Refused, is_op
from pipeline.store import Snapshot


def waits(item: Refused, memories: Mapping[str, Memory]) -> tuple[str, dict[str, Any], str]:
    """Return `item` as the inbox takes it: kind, payload, reason."""
    names = [memories[one].name for one in item.operation.ids if one in memories]
    texts = {one: text_mark(memories[one]) for one in item.operation.about if one in memories}
    payload = {"name": ", ".join(names), "operation": item.operation.to_json(), "texts": texts}
    return f"dream:{item.operation.op}", payload, item.reason


def text_mark(memory: Memory) -> str:
    """Return what tells whether a memory still says what it said, and where: 16 hex digits."""
    said = (memory.name, memory.title, memory.type, memory.description, memory.body)
    return digest("\x1f".join([*said, memory.path, str(memory.pinned), *memory.tags]))[:16]


def decode(payload: Mapping[str, Any], number: int, snapshot: Snapshot) -> Operation:
    """Return the operation of inbox item `number`, which may be done as `snapshot` stands.

    Raises InputError when it does not say what to do, StoreError when a memory it is about is gone,
    ConflictError when one was edited, pinned, moved or copied since it was proposed.
    """
    operation = read(payload, number)
    present = [d for d in snapshot.documents if d.id in operation.about]
    marks = payload.get("texts", {})
    if {d.id for d in present} != operation.about:
        raise StoreError("a memory it is about is gone", fix=f"`reverie inbox reject {number}`.")
    copied = [one for one, count in Counter(d.id for d in present).items() if count > 1]
    changed = [d for d in present if marks.get(d.id) != text_mark(d.memory) or d.id in copied]
    if changed:
        raise ConflictError(
            "it changed since it was proposed",
            file=changed[0].path,
            fix=f"See `reverie inbox show {number}`, or `reverie inbox reject {number}`:"
            " the next dream looks at it again.",
        )
    return operation


def read(payload: Mapping[str, Any], number: int) -> Operation:
    """Return the operation of inbox item `number`; InputError when it does not say what to do."""
    reject = f"`reverie inbox reject {number}`"
    try:
        operation = Operation.from_json(payload["operation"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("the proposal can't be read", fix=f"{reject}.") from error
    if not is_op(operation.op) or not operation.ids:
        raise InputError(f"it does not say what to {operation.op}", fix=f"{reject}.")
    if operation.op in ("merge", "supersede") and operation.into not in operation.ids:
        raise InputError(
            "it does not say which of the memories stays",
            fix=f"`reverie forget` the one that no longer holds, then {reject}.",
        )
    if operation.op == "relate" and len(operation.ids) < 2:
        raise InputError("it does not say what to relate", fix=f"{reject}.")
    return operation
