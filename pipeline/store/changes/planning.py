"""Plans for one memory file: where a new one goes, what an update keeps, how pinning moves a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from pipeline.core.errors import ConflictError
from pipeline.core.ids import digest
from pipeline.domain.memory import Memory
from pipeline.store.file_operations import Move, Put
from pipeline.store.files import document, names
from pipeline.store.files.frontmatter_schema import aliases_in
from pipeline.store.files.layout import VAULT
from pipeline.store.files.scanning import Document, Snapshot

Planned = Mapping[str, Memory | None]
"""What this process planned and did not apply yet, by path in lower case; None for an archive path."""


def placed(memory: Memory, snapshot: Snapshot, planned: Planned) -> Memory:
    """Return `memory` with a name and path that nobody has; a merged-away name stays taken."""
    others = [item for item in snapshot.documents if item.id != memory.id]
    new = [item for item in planned.values() if item and item.id != memory.id]
    paths = taken_paths(others, snapshot, [item.path for item in new])
    taken_names = {item.name.lower() for item in others} | {item.name.lower() for item in new}
    for item in others:
        taken_names.update(alias.lower() for alias in aliases_in(item.front))
    return names.place(memory, paths, taken_names)


def taken_paths(documents: Collection[Document], snapshot: Snapshot, more: Collection[str]) -> set[str]:
    """Return in lower case the paths of `documents`, of files that can't be read, and `more`."""
    paths = {item.path.lower() for item in documents} | {path.lower() for path in snapshot.broken}
    return paths | {problem.path.lower() for problem in snapshot.problems} | {path.lower() for path in more}


def revised(memory: Memory, existing: Document, *, ours: bool) -> Put:
    """Plan `existing` with what differs in `memory` replaced.

    Name, path, id, pin, aliases and unknown keys stay. ConflictError when the file is not `ours`, unless
    nothing would change.
    """
    head = existing.head
    extra = {**head.extra, **memory.extra}
    if isinstance(head.extra.get("metadata"), dict):
        extra["metadata"] = {**head.extra["metadata"], **(memory.extra.get("metadata") or {})}
    merged = replace(
        memory,
        name=head.name,
        path=existing.path,
        id=head.id or memory.id,
        pinned=head.pinned,
        aliases=tuple(dict.fromkeys([*head.aliases, *memory.aliases])),
        extra=extra,
    )
    data = document.compose(merged, existing.raw)
    if data != existing.raw and not ours:
        raise ConflictError(
            "edited by hand" if not existing.foreign else "not written by Reverie",
            file=existing.path,
            fix="Propose the change in the inbox instead; its editor decides.",
        )
    return Put(existing.path, data, existing.digest, document.parse(data, existing.path))


def pinned(
    existing: Document, taken: Collection[str], linked: Collection[str], record: str | None
) -> Put | Move | None:
    """Plan the move of a memory into ``vault/``, with ``pinned: true`` when the file is ours.

    `taken` are paths in use, in lower case; `linked` are paths that lines outside our block of MEMORY.md
    link to: such a file of ours is pinned where it is. `record` is the digest we last wrote. None when it
    is pinned already. ConflictError when the move would break a link or lose the type.
    """
    if existing.path.startswith(f"{VAULT}/"):
        return None
    ours = record == existing.digest
    raw = existing.raw
    data = document.compose(replace(existing.memory, pinned=True), raw) if ours else raw
    if existing.path in linked:
        if existing.memory.pinned:
            return None
        if not ours:
            raise ConflictError(
                "a line of MEMORY.md that is not ours links to it",
                file=existing.path,
                fix="Write `pinned: true` into its front matter yourself, or change that line.",
            )
        return Put(existing.path, data, existing.digest, document.parse(data, existing.path))
    return _move(existing, names.moved_path(existing.path, VAULT, taken), data, record)


def unpinned(
    existing: Document, taken: Collection[str], linked: Collection[str], record: str | None
) -> Put | Move | None:
    """Plan the move of a memory out of ``vault/`` to the folder of its type; arguments as in `pinned`.

    None when it is not pinned. ConflictError when the file is not ours and says itself that it is
    pinned, or when the move would break a link.
    """
    if not existing.memory.pinned:
        return None
    ours = record == existing.digest
    path = existing.path
    in_vault = path.startswith(f"{VAULT}/")
    if in_vault and path in linked:
        raise ConflictError(
            "a line of MEMORY.md that is not ours links to it", file=path, fix="Change that line first."
        )
    target = names.moved_path(path, existing.memory.kind.folder, taken) if in_vault else path
    data = existing.raw
    if ours:
        data = document.compose(replace(existing.memory, pinned=False, path=target), data)
    memory = document.parse(data, target)
    if memory.pinned:
        raise ConflictError(
            "its front matter says that it is pinned, and it was written or edited by someone else",
            file=path,
            fix="Remove the line `pinned` from the file.",
        )
    return _move(existing, target, data, record) if in_vault else Put(path, data, existing.digest, memory)


def _move(existing: Document, target: str, data: bytes, record: str | None) -> Move:
    memory = document.parse(data, target)
    if memory.type != existing.memory.type:
        raise ConflictError(
            f"only its folder says that it is a {existing.memory.type}",
            file=existing.path,
            fix=f"Write `type: {existing.memory.type}` into its front matter first.",
        )
    kept = digest(data) if record == existing.digest else record or ""
    return Move(existing.path, target, existing.digest, data, kept, memory)
