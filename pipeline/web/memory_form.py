"""The form in which a memory is edited: what stands in it, and what of it a person changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.core.errors import UsageError
from pipeline.domain.memory import Memory
from pipeline.web.visit import Visit

if TYPE_CHECKING:
    from pipeline.app.writing import Change


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the form: `shape` is ``text``, ``line``, ``lines`` (a list, an item a line), ``words`` (a
    list, with commas) or ``share`` (a number from 0 to 1); `names` is the field of a memory, `of` its type.
    """

    key: str
    label: str
    shape: str
    names: str
    of: str = ""
    hint: str = ""

    def shown(self, memory: Memory) -> str:
        """Return what stands in the form for `memory`."""
        value = getattr(memory, self.names)
        if self.shape == "lines":
            return "\n".join(" ".join(item.split()) for item in value)
        if self.shape == "words":
            return ", ".join(value)
        return f"{value:g}" if self.shape == "share" else str(value).rstrip("\n")

    def read(self, text: str) -> Any:
        """Return what `text`, as it was typed, gives the field. Raises UsageError for what is no number."""
        if self.shape == "lines":
            return [line for line in text.split("\n") if line.strip()]
        if self.shape == "words":
            return [item for item in text.replace("\n", ",").split(",") if item.strip()]
        if self.shape != "share":
            return text
        try:
            return float(text.strip().replace(",", "."))
        except ValueError as error:
            raise UsageError(
                f"{self.names} is a number from 0 to 1, not {text!r}", fix="Such as 0.8."
            ) from error


FIELDS = (
    Field("text", "Text", "text", "body"),
    Field("steps", "Steps, one a line, in order", "lines", "steps", "procedure"),
    Field("preconditions", "What must hold before, one a line", "lines", "preconditions", "procedure"),
    Field("postconditions", "What holds after, one a line", "lines", "postconditions", "procedure"),
    Field("status", "Status", "line", "status", "task", "open, blocked, done and the like"),
    Field("blockers", "What it waits for, one a line", "lines", "blockers", "task"),
    Field("outcome", "What came of it", "line", "outcome", "task"),
    Field("description", "One line for the index", "line", "description"),
    Field("title", "Title", "line", "title"),
    Field("tags", "Tags, with commas between them", "words", "tags"),
    Field("importance", "Importance, from 0 to 1", "share", "importance"),
    Field("anchors", "Files, folders and commands it is about, one a line", "lines", "anchors"),
)
_CONTENT = {"body": "content"}
"""What a change calls a field otherwise than a memory does."""


def fields_of(memory: Memory) -> Sequence[Field]:
    """Return the fields that a memory of its type has."""
    return [field for field in FIELDS if field.of in ("", memory.type)]


def draft_of(memory: Memory, digest: str) -> dict[str, str]:
    """Return what stands in the form; `digest` is that of the file that is shown."""
    return {**{field.key: field.shown(memory) for field in fields_of(memory)}, "seen": digest}


def typed(visit: Visit, memory: Memory) -> dict[str, str]:
    """Return what was sent, by field; of what was not sent, what stands in the memory."""
    sent = {
        field.key: visit.given(field.key) if visit.all_given(field.key) else field.shown(memory)
        for field in fields_of(memory)
    }
    return {**sent, "seen": visit.given("seen")}


def change_of(draft: dict[str, str], memory: Memory) -> Change:
    """Return the change that makes of `memory` what was typed; what stands as it was shown is left alone."""
    from pipeline.app.writing import Change

    changed = {
        _CONTENT.get(field.names, field.names): field.read(draft[field.key])
        for field in fields_of(memory)
        if draft[field.key] != field.shown(memory)
    }
    return Change(**changed)
