"""What is shown of agent-memory's files: a person or another program may have written a secret into them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.formats.agent_memory.schema import Record
from pipeline.safety.structured import Cleaner


def shown(value: Any) -> Any:
    """Return `value`, as JSON has it, without the secrets in its texts and names."""
    return Cleaner().value(value)


def shown_records(records: Sequence[Record]) -> list[Record]:
    """Return `records` without the secrets in them, each still with all its fields."""
    cleaner = Cleaner()
    return [cleaner.value(record) for record in records]
