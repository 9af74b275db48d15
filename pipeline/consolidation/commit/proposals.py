"""An operation in the inbox: how it waits, and read back, held against the memories as they are now."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pipeline.core.errors import ConflictError, InputError, StoreError
from pipeline.core.ids import digest
from pipeline.domain.memory import Memory
from pipeline.domain.operations import Operation, Refused, is_of_earlier_version, is_op
from pipeline.domain.sentences import sentences
from pipeline.ledger.inbox import InboxItem
from pipeline.store import Snapshot

_TEXTS = ("title", "description", "statement", "why", "how_to_apply")


def inbox_item(item: Refused, memories: Mapping[str, Memory]) -> tuple[str, dict[str, Any], str]:
    """Return `item` as the inbox takes it: kind, payload, reason."""
    names = [memories[memory_id].name for memory_id in item.operation.ids if memory_id in memories]
    known = item.operation.about & memories.keys()
    texts = {memory_id: text_digest(memories[memory_id]) for memory_id in known}
    payload: dict[str, Any] = {
        "name": ", ".join(names),
        "operation": item.operation.to_json(),
        "texts": texts,
    }
    if item.operation.covered:
        payload["gives way"] = _pairs(item.operation, memories)
    return f"dream:{item.operation.op}", payload, item.reason


def new_among(
    waiting: Iterable[tuple[str, dict[str, Any], str]], known: Iterable[InboxItem]
) -> list[tuple[str, dict[str, Any], str]]:
    """Return those of `waiting` that are not among the `known` proposals: the same, about the same texts.

    What a person rejected is known too, so that a no holds until a text changes.
    """
    asked = {_gist(item.kind, item.payload) for item in known if item.kind.startswith("dream:")}
    return [item for item in waiting if _gist(item[0], item[1]) not in asked]


def _gist(kind: str, payload: Mapping[str, Any]) -> str:
    operation = payload.get("operation")
    into = operation.get("into") if isinstance(operation, Mapping) else ""
    return json.dumps([kind, into, payload.get("texts"), payload.get("gives way")], sort_keys=True)


def _pairs(operation: Operation, memories: Mapping[str, Memory]) -> list[str]:
    """Return each sentence that would leave, with the one that would stand for it."""
    found = {memory_id: sentences(memory.body) for memory_id, memory in memories.items()}
    return [
        f"“{found[cover.id][cover.number - 1].text}” to “{found[cover.by_id][cover.by_number - 1].text}”"
        for cover in operation.covered
        if 0 < cover.number <= len(found.get(cover.id, ()))
        and 0 < cover.by_number <= len(found.get(cover.by_id, ()))
    ]


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
        values = payload["operation"]
        operation = Operation.from_json(values)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("the proposal can't be read", fix=f"{reject}.") from error
    if is_of_earlier_version(values) and (operation.op == "rewrite" or any(map(values.get, _TEXTS))):
        raise InputError(
            "an earlier version of Reverie proposed it with a text of its own; dreams quote now",
            fix=f"{reject}: the next dream looks at its memories again when one of them changes.",
        )
    if not is_op(operation.op) or not operation.ids:
        raise InputError(f"it does not say what to {operation.op}", fix=f"{reject}.")
    if operation.op in ("merge", "supersede") and operation.into not in operation.ids:
        raise InputError(
            "it does not say which of the memories stays",
            fix=f"`reverie forget` the one that no longer holds, then {reject}.",
        )
    if operation.op == "strike" and not operation.covered:
        raise InputError("it does not say which sentence to strike", fix=f"{reject}.")
    if operation.op == "relate" and len(operation.ids) < 2:
        raise InputError("it does not say what to relate", fix=f"{reject}.")
    return operation
