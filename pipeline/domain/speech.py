"""What was said in a transcript: the entries the reader yields and the utterances made of them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pipeline.record import changing, record

Speaker = Literal["person", "assistant"]

Channel = Literal["typed", "queued", "slash", "answer", "refusal", "beside_tool", "prose"]
"""How speech reached the transcript. All but ``prose`` (the assistant's) are a person's own words:
``typed`` at the prompt, ``queued`` while the assistant worked, ``slash`` as a command with its arguments,
``answer`` to a question form or a plan, ``refusal`` of a tool or a plan, ``beside_tool`` as text in an
entry that also carries tool results. What a person did without words stands in square brackets."""

PLAN_TOOL = "ExitPlanMode"
MENU_TOOL = "AskUserQuestion"
FORMS = frozenset({PLAN_TOOL, MENU_TOOL})
"""Tools that show the person something to decide: what they hold is speech."""
EDITED = "edited"
WROTE = "wrote"
TOUCHING = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
"""Tools that change a file."""
"""How the files of an entry begin: what was done, a space, the path."""


@record
class MemoryWrite:
    """One call of the assistant's that wrote a memory file, and was neither refused nor failed.

    `uuid` is that of the record that called; `at` is when, and `until` when the result came (ISO 8601, None
    when nobody knows). `digest` is that of the text it left (`core.ids.text_digest`) and `before` of the text
    there was (`authorship.NEW` for none), "" where that can't be told; `changed` says that a person changed
    the text before they let it be written.
    """

    path: str
    uuid: str
    tool: str
    at: str | None
    until: str | None
    digest: str = ""
    before: str = ""
    changed: bool = False


@changing
class Entry:
    """One record of a transcript, as much of it as Reverie keeps; nobody changes one once it is made.

    Not frozen, though: guarding 28 fields makes an Entry take five times as long, and transcripts have
    hundreds of thousands.

    `offset` and `length` are bytes in the file (two glued records share a line but not an offset).
    `block` tells several rows made of one record apart. `text` is speech only, never tool output; it is
    empty for entries nobody speaks in. `at` is ISO 8601 UTC or None; `at_source` says whether it is the
    entry's ``own``, ``inherited`` from the entry before, or ``unknown``.
    """

    offset: int
    length: int
    block: int
    type: str
    uuid: str
    parent_uuid: str | None
    session_id: str
    text: str = ""
    speaker: Speaker | None = None
    channel: Channel | None = None
    tool_names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """What the entry shows the assistant doing to files (EDITED, WROTE)."""
    message_id: str | None = None
    at: str | None = None
    at_source: Literal["own", "inherited", "unknown"] = "unknown"
    cwd: str | None = None
    entrypoint: str | None = None
    sidechain: bool = False
    chained: bool = True
    """Whether the record is part of the parentUuid tree: user, assistant, system, attachment, progress."""
    memory_writes: tuple[str, ...] = ()
    """Paths inside a memory folder that this entry shows the assistant writing."""
    memory_reads: tuple[str, ...] = ()
    """Paths of markdown files in a folder called memory that this entry shows the assistant reading."""
    written: tuple[MemoryWrite, ...] = ()
    """What this entry says was done to memory files."""
    note: str = ""
    """For a record of unknown type, its first 2,000 characters; else empty."""
    branch: str = ""
    """The git branch that was checked out, "" where there was none or the record does not say."""
    origin: str = ""
    """Who sent it, if the record says (``human``, ``peer``, …)."""
    forked_from: str = ""
    """The session that a fork copied the entry from."""
    worked_at: str | None = None
    """For what a person typed, when the assistant or a tool was last seen at work before it, if it was."""
    input_tokens: int = 0
    output_tokens: int = 0


class BareLink(NamedTuple):
    """All that is kept of a record in which nobody speaks and nothing is done: its place among the others.

    `uuid` is "" where the record is no part of the parentUuid tree.
    """

    offset: int
    uuid: str
    parent_uuid: str | None
    sidechain: bool


@record
class Utterance:
    """One thing that was said, ready to be shown to the model and cited.

    `row` is the ledger's row id, which orders utterances and is the extraction watermark. `tool_names` and
    `files` are what the assistant used and touched after it said so; where it only did and said nothing,
    `text` is empty.
    """

    row: int
    session_id: str
    uuid: str
    speaker: Speaker
    channel: Channel
    text: str
    at: str | None
    cwd: str | None = None
    tool_names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
