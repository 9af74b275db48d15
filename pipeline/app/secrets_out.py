"""Memories without their secrets, each value judged with the key it stands under, and keys too."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from pipeline.core.errors import ReverieError
from pipeline.domain.memory import Evidence, Memory, Replaced
from pipeline.safety.redaction import redact
from pipeline.safety.structured import Cleaner
from pipeline.store import Document
from pipeline.store.files.document import compose, parse
from pipeline.verify.barred import TAKEN_OUT

_TAKEN_OUT = re.compile(re.escape(TAKEN_OUT) + r"([^\]]*)\]")
_LEFT_OUT = r"(a secret left out: \1)"
"""What stands for a secret: the mark of redaction itself may stand in no memory."""
_PLAIN_MARK = "(a secret left out)"
"""What stands for a secret in the text of a file, wherever YAML has it."""
_TEXTS = (
    *("name", "title", "description", "body", "tags", "anchors", "aliases", "replaces", "cues", "relations"),
    *("steps", "preconditions", "postconditions", "status", "blockers", "outcome", "extra", "sources"),
)


def without_secrets(memory: Memory) -> tuple[Memory, int]:
    """Return `memory` with every secret taken out of every text of it, and how many there were."""
    cleaner = Cleaner()
    values = {name: _without(getattr(memory, name), cleaner) for name in _TEXTS}
    return (replace(memory, **values) if cleaner.found else memory), cleaner.found


def value_without_secrets(value: Any) -> Any:
    """Return `value`, as front matter has it, without secrets."""
    return _without(value, Cleaner())


def shown_without_secrets(value: Any) -> Any:
    """Return `value`, as JSON has it, as it may be shown; each secret as the mark of its kind."""
    return Cleaner().value(value)


def file_without_secrets(document: Document) -> tuple[bytes | None, int]:
    """Return the file of `document` without secrets, and how many there were; its own bytes where none is.

    None where one can't be taken out of it.
    """
    memory, found = without_secrets(document.memory)
    text = document.raw.decode("utf-8", "replace")
    found = max(found, redact(text).found)
    if not found:
        return document.raw, 0
    ways: tuple[Callable[[], bytes], ...] = (
        partial(compose, memory, document.raw),
        lambda: text_without_secrets(document.raw)[0],
        partial(compose, memory),
    )
    for make in ways:
        try:
            data = make()
            again = parse(data, document.path)
        except ReverieError:
            continue
        if not without_secrets(again)[1] and not redact(data.decode("utf-8", "replace")).found:
            return data, found
    return None, found


def text_without_secrets(data: bytes) -> tuple[bytes, int]:
    """Return the text `data` without secrets, and how many there were; the same bytes where none is."""
    redacted = redact(data.decode("utf-8", "replace"))
    return (
        _TAKEN_OUT.sub(_PLAIN_MARK, redacted.text).encode("utf-8", "replace") if redacted.found else data
    ), redacted.found


def _without(value: Any, cleaner: Cleaner) -> Any:
    if isinstance(value, tuple):
        return tuple(_without(item, cleaner) for item in value)
    if isinstance(value, Replaced):
        return Replaced(*(_without(text, cleaner) for text in (value.text, value.day, value.name)))
    if isinstance(value, Evidence):
        # A mark can be longer than what it stands for, and a quote has its most.
        clean = _without(value.quote, cleaner)
        return value if clean == value.quote else replace(value, quote=clean[: len(value.quote)])
    before = cleaner.found
    clean = cleaner.value(value)
    # What holds no secret stays as it is, with numbers that no writer of JSON takes.
    return value if cleaner.found == before else _marked(clean)


def _marked(value: Any) -> Any:
    if isinstance(value, str):
        return _TAKEN_OUT.sub(_LEFT_OUT, value)
    if isinstance(value, dict):
        return {_marked(key): _marked(item) for key, item in value.items()}
    return [_marked(item) for item in value] if isinstance(value, list) else value
