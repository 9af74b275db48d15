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


def inbox_item(item: Refused, memories: Mapping[str, Memory]) -> tuple[str, dict[str, Any], str]:
    """Return `item` as the inbox takes it: kind, payload, reason."""
    names = [memories[memory_id].name for memory_id in item.operation.ids if memory_id in memories]
    known = item.operation.about & memories.keys()
    texts = {memory_id: text_digest(memories[memory_id]) for memory_id in known}
    payload = {"name": ", ".join(names), "operation": item.operation.to_json(), "texts": texts}
    return f"dream:{item.operation.op}", payload, item.reason


def text_digest(memory: Memory) -> str:
    """Return what tells whether a memory still says what it said, and where: 16 hex digits."""
    fields = (memory.name, memory.title, memory.type, memory.description, memory.body)
    return digest("\x1f".join([*fields, memory.path, str(memory.pinned), *memory.tags]))[:16]


def decode(payload: Mapping[str, Any], number: int, snapshot: Snapshot) -> Operation:
    """Return the operation of inbox item `number`, which may be done as `snapshot` stands.

    Raises InputError when it does not say what to do, StoreError when a memory it is about is gone,
    ConflictError when one was edited, pinned, moved or copied since it was proposed.
    """
    operation = read_operation(payload, number)
    present = [document for document in snapshot.documents if document.id in operation.about]
    digests = payload.get("texts", {})
    if {document.id for document in present} != operation.about:
        raise StoreError("a memory it is about is gone", fix=f"`reverie inbox reject {number}`.")
    copies = Counter(document.id for document in present)
    changed = [
        document
        for document in present
        if digests.get(document.id) != text_digest(document.memory) or copies[document.id] > 1
    ]
    if changed:
        raise ConflictError(
            "it changed since it was proposed",
            file=changed[0].path,
            fix=f"See `reverie inbox show {number}`, or `reverie inbox reject {number}`:"
            " the next dream looks at it again.",
        )
    return operation


def read_operation(payload: Mapping[str, Any], number: int) -> Operation:
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
