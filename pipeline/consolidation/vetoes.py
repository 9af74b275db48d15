"""What a person took back with an undo, or turned down in the inbox, so that no later dream does it again.

    .reverie/taken-back.jsonl    one line for each operation of a change set, written before its undo,
                                 and for each proposal that was rejected

A line holds while the memories have the bytes they had before that change set, and so needs no removal: an
undo that never came about, or that was itself undone, leaves other bytes or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipeline.consolidation.commit.execute import KIND, Committed
from pipeline.consolidation.commit.proposals import read_operation
from pipeline.core import jsonl
from pipeline.core.errors import InputError
from pipeline.core.zone import day
from pipeline.domain.operations import Operation, Refused
from pipeline.ledger import Ledger, inbox, runs
from pipeline.store import Store
from pipeline.store.files.layout import PRIVATE, read_regular

FILE = "taken-back.jsonl"


@dataclass(frozen=True, slots=True)
class Veto:
    """One operation that was undone: what it was, on which day, the digest each of its memories had.

    `rejected` says that it was turned down before it was done.
    """

    op: str
    day: str
    leaving: tuple[str, ...]
    digests: dict[str, str]
    rejected: bool = False

    @property
    def reason(self) -> str:
        """Return why it is not done again."""
        return f"you {'turned this down' if self.rejected else 'took this back'} on {self.day}"

    def meets(self, operation: Operation, present: Mapping[str, str]) -> bool:
        """Whether `operation` would do this again, or take away what this took, on the bytes of then.

        `present` holds the digest of each memory now, by id.
        """
        unchanged = {key for key, digest in self.digests.items() if present.get(key) == digest}
        again = operation.op == self.op and operation.about == self.digests.keys() == unchanged
        return again or bool(unchanged & {*self.leaving} & {*operation.leaving})


def note(ledger: Ledger, store: Store, key: str, run: str, at: datetime) -> None:
    """Write down what change set `run` did to `store` (`key` in the ledger): it is about to be undone."""
    _append(store, _operations(ledger, key, run), _present(store) | store.digests_before(run), run, at)


def note_promoted(ledger: Ledger, store: Store, key: str, run: str, at: datetime) -> None:
    """Write down, in the `store` that they came from, that the promotions of `run` are about to be undone."""
    promotions = [item for item in _operations(ledger, key, run) if item.op == "promote"]
    _append(store, promotions, _present(store), run, at)


def note_rejected(store: Store, payload: Mapping[str, Any], number: int, at: datetime) -> None:
    """Write down that a person turned down inbox item `number`, a dream's, on the bytes of now.

    One that can't be read is not noted: no dream proposes it in that form.
    """
    try:
        operation = read_operation(payload, number)
    except InputError:
        return
    _append(store, [operation], _present(store), f"inbox-{number}", at, rejected=True)


def note_restored(store: Store, memory_id: str, digest: str, at: datetime) -> None:
    """Write down that a person brought a memory back from the archive: nothing takes it away as it is."""
    line = {"run": "", "day": day(at), "op": "retire", "leaving": [memory_id], "digests": {memory_id: digest}}
    if memory_id:
        jsonl.append(store.root / PRIVATE / FILE, [line])


def _present(store: Store) -> dict[str, str]:
    return {document.id: document.digest for document in store.scan().documents}


def _append(
    store: Store,
    operations: Iterable[Operation],
    present: Mapping[str, str],
    run: str,
    at: datetime,
    *,
    rejected: bool = False,
) -> None:
    lines = [
        {
            "run": run,
            "day": day(at),
            "op": operation.op,
            "leaving": operation.leaving,
            "digests": {memory_id: present.get(memory_id, "") for memory_id in operation.about},
            **({"rejected": True} if rejected else {}),
        }
        for operation in operations
    ]
    jsonl.append(store.root / PRIVATE / FILE, lines)


def read(store: Store) -> list[Veto]:
    """Return everything that was taken back in `store`.

    Lines that can't be read are left out: the operation may then be proposed once more.
    """
    try:
        data = read_regular(store.root / PRIVATE / FILE)[0]
    except FileNotFoundError:
        return []
    return [veto for value in jsonl.parse(data).values if (veto := _veto(value)) is not None]


def _veto(value: Any) -> Veto | None:
    try:
        digests = {str(memory_id): str(digest) for memory_id, digest in value["digests"].items()}
        return Veto(
            value["op"], value["day"], tuple(value["leaving"]), digests, value.get("rejected") is True
        )
    except (TypeError, KeyError, AttributeError):
        # JSON, but not of this shape.
        return None


def sift(
    operations: Iterable[Operation], vetoes: Iterable[Veto], present: Mapping[str, str]
) -> tuple[list[Operation], list[Refused]]:
    """Part `operations` in those that may be done and those that a person took back."""
    allowed: list[Operation] = []
    refused: list[Refused] = []
    for operation in operations:
        met = [veto for veto in vetoes if veto.meets(operation, present)]
        if met:
            refused.append(Refused(operation, met[-1].reason))
        else:
            allowed.append(operation)
    return allowed, refused


def settle(refused: Iterable[Refused], vetoes: Iterable[Veto], present: Mapping[str, str]) -> list[Refused]:
    """Return `refused`, where what was taken back neither asks the person again nor leads the next dream."""
    return [(sift([item.operation], vetoes, present)[1] or [item])[0] for item in refused]


def _operations(ledger: Ledger, key: str, run: str) -> list[Operation]:
    """Return the operations that change set `run` carried out; none when it was neither dream nor inbox."""
    row = runs.run(ledger, run)
    if row is not None and row.kind == KIND:
        return Committed.load(row.reply_json or "")[0].operations if row.reply_json else []
    return [
        # As it stands there: what an earlier version did is only to be known again, not done.
        Operation.from_json(item.payload["operation"])
        for item in inbox.list_inbox(ledger, key, "accepted")
        if item.kind.startswith("dream:") and run in item.change_ids
    ]
