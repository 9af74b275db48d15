"""What comes from another format, as it may stand here, and which memory here is the same one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.app.application import App
from pipeline.app.secrets_out import value_without_secrets, without_secrets
from pipeline.context import look_at_store
from pipeline.core.atomic import write_atomic
from pipeline.core.errors import ConflictError, InputError, StoreError, cause
from pipeline.core.home import Home
from pipeline.core.ids import new_id
from pipeline.domain.memory import MAX_DESCRIPTION, OF_PROCEDURES, TYPES, Memory
from pipeline.formats.carried import (
    CLAIMED,
    IMPORTED_FROM,
    Carried,
    Format,
    Reading,
    compared,
    in_words,
    lost,
)
from pipeline.hooklib.memory_format import is_retired
from pipeline.hooklib.plain import one_line
from pipeline.revision import Door
from pipeline.revision.compose import Removal, lost_between
from pipeline.store import Document, Put, Store
from pipeline.store.derived.usage import begun
from pipeline.store.files.frontmatter_schema import first_line
from pipeline.store.files.layout import read_regular
from pipeline.store.graph.relations import INCOMING, OUTGOING, Links, key_of, keys_of, link_to, with_link
from pipeline.text.slugs import slugify
from pipeline.verify.barred import forbidden
from pipeline.verify.flaw import Flaw
from pipeline.verify.provenance import bound, pruned

Files = Mapping[Path, bytes | None]
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{5,63}")
"""What may be the id of a memory here, and so the end of a file's name."""
_THEIR_TYPE = "their_type"
_SAID = frozenset({"title", "description", "body", "outcome", "status", "blockers", *OF_PROCEDURES})
"""What is said in words: where none of it came from elsewhere, who said it stays."""
_REPLACED = "replaced by what came from elsewhere"
_MOST_TITLE = 200


@dataclass(frozen=True, slots=True)
class Row:
    """One memory: its name, where it stands in the other format, what is done with it, and why not."""

    name: str
    where: str
    deed: str
    why: str = ""


@dataclass(slots=True)
class Carrying:
    """What was done: a row for each memory, faults of the source, and what could not come along.

    `change` is the id of the change set, "" where nothing was written here; `written` are files elsewhere,
    `former` is the folder that keeps them as they were. `lost` counts memories by what of them the format
    can't carry; `redacted` counts secrets that were left out, `asleep` new ones that sleep from the start.
    """

    format: str
    path: Path
    change: str = ""
    rows: list[Row] = field(default_factory=list)
    faults: list[dict[str, str]] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=dict)
    redacted: int = 0
    written: list[str] = field(default_factory=list)
    former: str = ""
    asleep: int = 0

    def number(self, *deeds: str) -> int:
        """Return with how many memories one of `deeds` was done."""
        return sum(row.deed in deeds for row in self.rows)

    def note_lost(self, format_: Format, memory: Memory) -> None:
        """Count what of `memory` does not come back from `format_`."""
        for name in lost(format_, memory):
            words = in_words([name])
            self.lost[words] = self.lost.get(words, 0) + 1

    def note_faults(self, seen: Reading) -> None:
        """Take over what could not be read."""
        self.faults += [{"where": fault.where, "why": fault.why} for fault in seen.faults]


def store_of(app: App, *, dry_run: bool) -> Store:
    """Return the store of `app`, made at need; a `dry_run` makes none. InputError for a team's."""
    if app.is_team:
        raise InputError(
            "others read this folder", file=str(app.store_path), fix="Use your own: without `--team`."
        )
    if dry_run and not app.store_path.is_dir():
        return look_at_store(app.store_path, later=True)
    return app.open_store(create=not dry_run)


def require_elsewhere(app: App, path: Path) -> Path:
    """Return `path`, whole; InputError where it is the store itself or in it."""
    real, here = path.expanduser().resolve(), app.store_path.resolve()
    if real == here or here in real.parents or real in here.parents:
        raise InputError("that is the store itself", file=str(path), fix="Name a place outside it.")
    return real


def admitted(record: Carried, format_: Format) -> tuple[Memory, int]:
    """Return the memory of `record` as it may stand here, and how many secrets were taken out of it.

    What it says of who said it is nobody's word here: it stays in the file as a claim.
    """
    memory, found = without_secrets(record.memory)
    extra = dict(memory.extra)
    kind = memory.type
    if kind not in TYPES:
        extra[_THEIR_TYPE], kind = kind, "project"
    if memory.origin not in ("", "imported") or memory.sources:
        claim = {"origin": memory.origin, "sources": [item.as_told() for item in memory.sources]}
        extra.setdefault(CLAIMED, value_without_secrets({key: item for key, item in claim.items() if item}))
    ident = memory.id if _ID.fullmatch(memory.id) else ""
    if not ident:
        extra[IMPORTED_FROM] = f"{format_.name}:{record.key}"
    description = one_line(memory.description, MAX_DESCRIPTION) or first_line(memory.body)
    slug = slugify(memory.name or memory.title or description)
    title = memory.title or (memory.name if memory.name != slug else "")
    return replace(
        memory,
        id=ident,
        type=kind,
        name=slug,
        title=one_line(title, _MOST_TITLE),
        description=description,
        body=memory.body.strip("\n") + "\n",
        origin="imported",
        sources=(),
        extra=extra,
        path="",
    ), found


class Here:
    """The memories of a store, and which of them a record of another format is."""

    def __init__(self, store: Store, format_: Format) -> None:
        scanned = store.scan() if store.root.is_dir() else None
        found = scanned.documents if scanned is not None else []
        self.unread = [problem.path for problem in scanned.problems] if scanned is not None else []
        every = [item for item in found if not item.twin]
        self.documents = [item for item in every if not item.retired]
        self._format = format_
        self._by_id = {item.id: item for item in every}
        self._by_name = {item.name: item for item in every}
        self._by_source = {
            found_at: item for item in every if (found_at := str(item.head.extra.get(IMPORTED_FROM) or ""))
        }
        self._by_text: dict[str, Document] | None = None
        self._left = {item.id: item.reason for item in store.retired() if item.id}
        self._forgotten = store.forgotten()

    def same(self, record: Carried, memory: Memory) -> Document | None:
        """Return the memory here that `record`, admitted as `memory`, is; None where there is none."""
        found = self._by_id.get(memory.id) if memory.id else None
        found = found or self._by_source.get(f"{self._format.name}:{record.key}")
        if found is None and record.memory.name:
            found = self._by_name.get(memory.name)
        return found or self._of_text(memory)

    def _of_text(self, memory: Memory) -> Document | None:
        if self._by_text is None:
            self._by_text = {
                self._format.there_and_back(without_secrets(item.memory)[0]).body.strip("\n"): item
                for item in self.documents
            }
        return self._by_text.get(self._format.there_and_back(memory).body.strip("\n"))

    def by_id(self, ident: str) -> Document | None:
        """Return the memory here with the id `ident`, in use or not."""
        return self._by_id.get(ident)

    def has_left(self, ident: str) -> bool:
        """Whether the memory `ident` was taken out of use here, and is not only gone."""
        known = self._by_id.get(ident)
        return ident in self._left or (known is not None and known.retired)

    def barred(self, memory: Memory, *, is_new: bool = True) -> str:
        """Return why `memory` may not come in, whatever its text: it left here, or was forgotten."""
        if is_new and is_retired(memory.extra.get("archived"), memory.status):
            return "it is marked there as out of use"
        if is_new and memory.id in self._left:
            back = f"`reverie restore {memory.name}` brings it back"
            return f"it left this store ({self._left[memory.id]}); {back}"
        text = "\n".join((memory.description, memory.body))
        if (is_new and self._forgotten.bars((), memory.name)) or self._forgotten.told_in(text):
            return "it tells what was forgotten here"
        hidden = forbidden("\n".join(_texts(memory.extra)))
        return f"its front matter {hidden}" if hidden else ""


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        return [text for item in value.items() for text in _texts(list(item))]
    if isinstance(value, list | tuple):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []


def differing(format_: Format, memory: Memory, other: Memory) -> list[str]:
    """Return the fields in which two memories differ, as far as `format_` carries them."""
    ours, theirs = compared(format_, memory), compared(format_, other)
    return [name for name in ours if ours[name] != theirs[name]]


def onto(format_: Format, record: Carried, memory: Memory, names: Sequence[str]) -> Carried:
    """Return `record` with the fields `names` of `memory` as its format has them; all else stays."""
    back, there = format_.there_and_back(memory), record.memory
    values = {name: getattr(back, name) for name in names}
    # A file that tells no time of change gets none.
    updated = memory.updated if there.updated is not None else None
    return replace(record, memory=replace(there, **values, updated=updated))


def with_links(records: Sequence[tuple[Carried, Memory]]) -> list[Memory]:
    """Return the memories of `records`, each with an id, and related as their texts say."""
    memories = [replace(memory, id=memory.id or new_id()) for _, memory in records]
    known: dict[str, str] = {}
    for (record, _), memory in zip(records, memories, strict=True):
        stem = record.key.rpartition("/")[2].removesuffix(".md")
        for name in (record.key.removesuffix(".md"), stem, memory.title, memory.name):
            if name:
                known.setdefault(slugify(name), memory.id)
    return [
        _linked(memory, record.links, known) for (record, _), memory in zip(records, memories, strict=True)
    ]


def _linked(memory: Memory, links: Iterable[tuple[str, str, str]], known: dict[str, str]) -> Memory:
    relations = memory.relations
    for kind, target, context in links:
        ident = known.get(slugify(target))
        if ident and ident != memory.id:
            label = "_".join(kind.upper().replace("-", " ").split())
            relations = with_link(relations, link_to(ident, label, OUTGOING, strength=0.5, context=context))
    return replace(memory, relations=relations)


def revised(
    door: Door, document: Document, memory: Memory, names: Sequence[str], *, now: datetime, source: str = ""
) -> str:
    """Plan that `document` gets the fields `names` of `memory`, at a person's word; return why not, or "".

    Sentences that stay keep their sources, and those that come have none; `source` says where they are from.
    """
    if document.memory.pinned:
        return "it is pinned here"
    if not names:
        return ""
    changed = {name: getattr(memory, name) for name in names}
    old = document.memory
    if "relations" in changed:
        changed["relations"] = _with_own_ends(old.relations, memory.relations)
    if not _SAID.isdisjoint(names):
        where = memory.extra.get(IMPORTED_FROM) or source
        extra = {**changed.get("extra", old.extra), **({IMPORTED_FROM: where} if where else {})}
        changed |= {"origin": "imported", "sources": bound(old), "extra": extra}
    new = pruned(replace(old, **changed, updated=now))
    removals = [Removal(text, reason=_REPLACED) for text in lost_between(document.memory.body, new.body, ())]
    planned = door.revise(document, new, removals)
    return planned.reason if isinstance(planned, Flaw) else ""


def _with_own_ends(old: Links, new: Links) -> Links:
    """Return the relations `new` with what only a store has of them: what leads here, and ids of edges."""
    edges = {key_of(link): link["edge_id"] for link in old if link.get("edge_id")}
    known = keys_of(new)
    found = [{**link, "edge_id": edges[key]} if (key := key_of(link)) in edges else link for link in new]
    incoming = [link for link in old if key_of(link)[2] == INCOMING and key_of(link) not in known]
    return (*found, *incoming)


def begin(app: App, store: Store, door: Door, lost: Iterable[str] = ()) -> int:
    """Let what `door` wrote anew decay from today on, and return how much of it sleeps all the same.

    Paths of `lost` were not written. How old a memory is elsewhere says nothing of its use here.
    """
    made = {item.path: item.memory.id for item in door.operations if isinstance(item, Put)}
    for path in lost:
        made.pop(path, None)
    if not made:
        return 0
    now = app.clock.now()
    store.take_over_uses(dict.fromkeys(made.values(), begun(now)), now=now)
    return len(made.keys() & store.decay(now=now, keep=False).asleep.keys())


def save(app: App, label: str, format_: Format, files: Files, seen: Reading, into: Carrying) -> None:
    """Write `files` elsewhere; what stood there is kept in the home first.

    Raises ConflictError where a file is not what was read, InputError where it can't be written.
    """
    with format_.saving(into.path):
        require_unchanged(files, seen)
        _write(Home(app.home).former / label, files, seen, into)


def _write(folder: Path, files: Files, seen: Reading, into: Carrying) -> None:
    for file, data in files.items():
        before = seen.files.get(file)
        if data == before:
            continue
        try:
            if before is not None:
                write_atomic(folder / file.relative_to(file.anchor), before)
                into.former = str(folder)
            if data is None:
                file.unlink(missing_ok=True)
            else:
                write_atomic(file, data)
        except OSError as error:
            raise InputError(
                f"it can't be written: {cause(error)}", file=str(file), fix="Make room."
            ) from error
        into.written.append(str(file))


def require_unchanged(files: Iterable[Path], seen: Reading) -> None:
    """Raise ConflictError unless each of `files` is as it was `seen`."""
    for file in files:
        if file.is_symlink():
            raise ConflictError("it is a link", file=str(file), fix="Put the file itself in its place.")
        try:
            now = read_regular(file, 2**40)[0] if file.exists() else None
        except (OSError, StoreError) as error:
            raise InputError(cause(error), file=str(file), fix="Nothing was written there.") from error
        # One that was made empty a moment ago, such as by who holds the lock, is in nobody's way.
        if (now or None) != (seen.files.get(file) or None):
            raise ConflictError(
                "there is a file already, or it was changed just now", file=str(file), fix="Try again."
            )
