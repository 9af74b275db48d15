"""A memory on its way between formats, and what a format is: the seam behind `import`, `export` and `sync`.

The one record type is our own `Memory`, which is lossless for what we keep, with where it was found. What a
format can't carry is not listed anywhere: it is what does not come back (`Format.there_and_back`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from pipeline.core.clock import iso
from pipeline.core.errors import InputError, ReverieError
from pipeline.domain.memory import Evidence, Memory, Replaced
from pipeline.hooklib.front_matter import share_of
from pipeline.safety.invisible import visible_name
from pipeline.store.graph.edge_file import STRENGTH
from pipeline.store.graph.relations import OUTGOING, key_of

_NEAR = 4
_BEGINS = re.compile(r"(?:^|[.!?:\n])\W*$")
"""Ends what stands before the first word of a sentence, whose capital says nothing."""
IMPORTED_FROM = "imported_from"
"""Key of front matter: format and key under which a memory was found elsewhere."""
CLAIMED = "claimed"
"""Key of front matter: what a file from elsewhere said of who said it. Nobody's word here."""
OURS = frozenset({IMPORTED_FROM, CLAIMED})
WORDS = {
    "body": "text",
    "name": "name",
    "description": "description",
    "title": "title",
    "type": "exact type",
    "id": "id",
    "tags": "tags",
    "importance": "importance",
    "confidence": "confidence",
    "created": "time of making",
    "updated": "time of change",
    "origin": "whose word it is",
    "sources": "sources",
    "relations": "relations",
    "anchors": "anchors",
    "aliases": "former names",
    "replaces": "what it replaced",
    "cues": "cues",
    "pinned": "pin",
    "steps": "steps",
    "preconditions": "preconditions",
    "postconditions": "postconditions",
    "status": "status",
    "completed_at": "time of completion",
    "blockers": "blockers",
    "outcome": "outcome",
    "extra": "further keys",
}
"""What a memory has, by the name of its field, in words."""
NOT_COMPARED = frozenset({"id", "name", "created", "updated", "origin", "sources", "pinned"})
"""Fields that make no other text of a memory: by what it is known, when it was written, whose word it is."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A memory, and where it stands: its `key` in the format, file and line there, and the item as found.

    `links` are relations that its text tells: type, key of the other, what was said of it.
    """

    memory: Memory
    key: str = ""
    file: str = ""
    line: int = 1
    raw: Any = None
    links: tuple[tuple[str, str, str], ...] = ()

    @property
    def where(self) -> str:
        """Return file and line, as an editor takes them."""
        return f"{visible_name(self.file)}:{self.line}"


@dataclass(frozen=True, slots=True)
class Fault:
    """What could not be read, or is no memory: where, and why.

    `unread` says that a memory may stand there all the same.
    """

    where: str
    why: str
    unread: bool = True


@dataclass(slots=True)
class Reading:
    """What stands in a file or folder of a format. `files` are the bytes that were read, by path."""

    records: list[Carried] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    files: dict[Path, bytes] = field(default_factory=dict)
    rest: Any = None

    def fault(self, file: str, line: int | None, why: str, *, unread: bool = True) -> None:
        """Note what could not be read, or with not `unread` what is no memory."""
        self.faults.append(Fault(f"{visible_name(file)}:{line or 1}", why, unread))

    def keys(self) -> set[str]:
        """Return the keys of all records."""
        return {record.key for record in self.records}


@dataclass(frozen=True, slots=True)
class Written:
    """Files as they are to be (None: gone), and the key of each record that was given, in its order."""

    files: Mapping[Path, bytes | None]
    keys: Sequence[str]


class Format(Protocol):
    """A format of memories: read, written, and what of a memory comes back from it."""

    name: str
    about: str
    """What `path` is, in a few words."""

    def read(self, path: Path) -> Reading:
        """Return what stands at `path`. Raises InputError for what is no such thing at all."""
        ...

    def there_and_back(self, memory: Memory) -> Memory:
        """Return what of `memory` is read again once it was written."""
        ...

    def why_not(self, memory: Memory) -> str:
        """Return why `memory` can't be written at all, "" where it can."""
        ...

    def saving(self, path: Path) -> AbstractContextManager[None]:
        """Return what is held while the files planned for `path` are written."""
        ...

    def write(self, path: Path, records: Sequence[Carried], gone: Collection[str], seen: Reading) -> Written:
        """Plan `records` at `path`, where `seen` stands, without those of the keys `gone`.

        A record with a key takes the place of the one that has it; one without is new. What is neither
        stays byte for byte.
        """
        ...


class Plain:
    """What most formats have: any memory can be written, and nobody else writes meanwhile."""

    def why_not(self, memory: Memory) -> str:
        """Return why `memory` can't be written, "" where it can."""
        return ""

    def saving(self, path: Path) -> AbstractContextManager[None]:
        """Return what is held while `path` is written."""
        return nullcontext()


def require(path: Path, *, folder: bool) -> None:
    """Raise InputError unless `path` is a folder, or a file."""
    if path.is_dir() if folder else path.is_file():
        return
    what = "folder" if folder else "file"
    there = f"that is no {what}" if path.exists() else f"there is no such {what}"
    raise InputError(there, file=str(path), fix=f"Name the {what} to read.")


def lost(format_: Format, memory: Memory) -> tuple[str, ...]:
    """Return the fields of `memory` that do not come back from `format_`."""
    back, blank = format_.there_and_back(memory), Memory(name="", description="", type="", body="")
    if back.whole_text.strip("\n") == memory.whole_text.strip("\n"):
        back = replace(back, body=memory.body)  # Its steps stand there as text.
    return tuple(
        name
        for name in WORDS
        if plain_value(memory, name) not in (plain_value(back, name), plain_value(blank, name))
    )


def in_words(names: Sequence[str]) -> str:
    """Return fields as a person reads them."""
    return ", ".join(WORDS[name] for name in names)


def compared(format_: Format, memory: Memory) -> dict[str, Any]:
    """Return what makes the text of `memory` as `format_` has it, field by field, as JSON has it.

    Two that differ in nothing of it say the same there.
    """
    back = format_.there_and_back(memory)
    return {name: plain_value(back, name) for name in compared_fields(format_)}


def compared_fields(format_: Format) -> tuple[str, ...]:
    """Return the fields that `format_` carries and that make another text of a memory."""
    known = _COMPARED.get(format_.name)
    if known is None:
        known = _COMPARED[format_.name] = _compared_fields(format_)
    return known


def _compared_fields(format_: Format) -> tuple[str, ...]:
    missing = {*lost(format_, SAMPLE)} - {"type"}
    return tuple(name for name in WORDS if name not in NOT_COMPARED and name not in missing)


def plain_value(memory: Memory, name: str) -> Any:
    """Return a field of `memory` as JSON has it, without what differs by form alone."""
    value = getattr(memory, name)
    if name == "body":
        return value.strip("\n")
    if name == "title":
        # A title that is the name once more says nothing: names differ by side.
        named = replace(memory, title="").shown_title
        return "" if memory.title.casefold() == named.casefold() else memory.title
    if name == "relations":
        # What leads here is said at the other end, and which file has the edge is each side's own.
        outgoing = [item for item in value if key_of(item)[2] == OUTGOING]
        return sorted(
            (_plain_link(item) for item in outgoing),
            key=lambda item: json.dumps(item, sort_keys=True, default=str),
        )
    if name == "extra":
        return _plain({key: item for key, item in value.items() if key not in OURS and item != {}})
    return _plain(value)


def _plain_link(link: dict[str, Any]) -> Any:
    strength = share_of(link.get("strength"), STRENGTH)
    found = {**link, "direction": OUTGOING, "strength": strength}
    return _plain({key: item for key, item in found.items() if key != "edge_id" and item != ""})


def told_title(memory: Memory) -> str:
    """Return the title for a format that wants one.

    Where none but the name was given, words of the name are spelled with the capitals that the text has.
    """
    named = replace(memory, title="").shown_title
    if memory.title not in ("", named):
        return memory.title
    text = f"{memory.description}\n{memory.body}"
    found = [*re.finditer(r"\w+", text)]
    plain = {match[0] for match in found if match[0].islower()}
    inside = [
        match[0] for match in found if not _BEGINS.search(text, max(0, match.start() - _NEAR), match.start())
    ]
    spelled = {word.lower(): word for word in inside if word.lower() not in plain}
    first, *rest = named.split(" ")
    return " ".join([spelled.get(first.lower(), first), *(spelled.get(word, word) for word in rest)])


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Evidence):
        return _plain(value.as_values())
    if isinstance(value, Replaced):
        return [value.text, value.day, value.name]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return round(value, 4)
    return value


def as_fault(error: ReverieError) -> str:
    """Return `error` without its place, which stands beside it: what is wrong, and the fix."""
    what = str(error.args[0])
    return f"{what}. {error.fix}" if error.fix else what


_COMPARED: dict[str, tuple[str, ...]] = {}
_DAY = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
SAMPLE = Memory(
    name="ship-on-fridays",
    description="Releases go out on Fridays.",
    type="feedback",
    body="On Fridays the releases go out.\n\nThe week before is quiet.\n",
    id="0b1e6c52-6c1f-4a59-9a3e-3f2f5f0c9d11",
    title="Ship on Fridays, always",
    tags=("release", "calendar"),
    importance=0.7,
    confidence=0.9,
    created=_DAY,
    updated=_DAY.replace(day=21),
    origin="user-stated",
    sources=(Evidence(session="s1", uuid="u1", quote="we ship on Fridays", at=iso(_DAY)),),
    relations=(
        {"target": "9f1e6c52-6c1f-4a59-9a3e-3f2f5f0c9d12", "type": "REQUIRES", "direction": "outgoing"},
    ),
    anchors=("release.toml",),
    aliases=("ship-weekly",),
    replaces=(Replaced("Releases go out on Mondays.", "2026-10-01", "ship-on-mondays"),),
    cues=("when do we release",),
    pinned=True,
    steps=("Tag the commit", "Push the tag"),
    preconditions=("The tests pass",),
    postconditions=("The page is up",),
    status="done",
    completed_at=_DAY.replace(day=22),
    blockers=("the audit",),
    outcome="It went out.",
    extra={"colour": "blue"},
)
"""A memory that has everything: what of it comes back is what a format carries."""
