"""What is wrong in a folder, told by file and line, and its repair: nothing is thrown away by either.

Repair fills in defaults, moves a line to the file of its type, and puts lines that nobody can read into a
file beside theirs, as they are. What such a line held comes back from a backup where one has it; a file of
which nothing can be read comes back whole, from the newest backup, else from the archive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.formats.agent_memory import schema, writing
from pipeline.formats.agent_memory.errors import AgentMemoryError, invalid
from pipeline.formats.agent_memory.folder import Folder, is_older, newer
from pipeline.formats.agent_memory.index import Index, read_index, version_of
from pipeline.formats.agent_memory.layout import (
    FILES,
    INDEX,
    TEMPORARY,
    archive_files,
    kind_of,
    wrong_modes,
)
from pipeline.formats.agent_memory.options import MOST_BYTES
from pipeline.formats.agent_memory.reading import Content, Line, Trouble, fingerprint, read
from pipeline.formats.agent_memory.schema import KINDS, Record

_FIXES: dict[Trouble, str] = {
    "syntax": "Mend the line by hand, or `reverie agent-memory repair` puts it into a file beside.",
    "schema": "Mend the line by hand, or `reverie agent-memory repair` puts it into a file beside.",
    "fields": "`reverie agent-memory repair` writes the defaults into the line.",
    "misplaced": "`reverie agent-memory repair` moves it to the file of its type.",
    "duplicate": "Give it an id of its own if it is another memory; repair puts it into a file beside.",
    "long": "It is read; shorten it when you can.",
}
_IN_LINE = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_COUNTED = ("fields", "long")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: where, its kind, in words, what helps. `line` is 0 for the whole file."""

    file: str
    line: int
    kind: str
    message: str
    fix: str
    is_error: bool


@dataclass(slots=True)
class Repaired:
    """What was done, in words, and how many lines went to a file of rejected ones."""

    done: list[str] = field(default_factory=list)
    rejected: int = 0
    restored: int = 0


def validate(folder: Folder) -> list[Finding]:
    """Return all that is wrong. Nothing is written, and what can't be read stops nothing else."""
    return [*_of_folder(folder), *_of_lines(folder), *_of_index(folder), *_of_limits(folder)]


def _of_folder(folder: Folder) -> Iterator[Finding]:
    root = folder.root
    for path, mode, right in wrong_modes(root):
        fix = "`reverie agent-memory repair` sets it."
        yield Finding(_name(root, path), 0, "mode", f"its mode is {mode:o}, not {right:o}", fix, False)
    for path in sorted(root.rglob(f"*{TEMPORARY}")):
        fix = "The file it was to replace is whole; repair takes it away."
        yield Finding(_name(root, path), 0, "leftover", "a write was cut off", fix, False)


def _of_lines(folder: Folder) -> Iterator[Finding]:
    root, live = folder.root, set[str]()
    for file in _files(root):
        name = _name(root, file)
        try:
            content = read(file, now=folder.now())
        except AgentMemoryError as error:
            yield Finding(name, 0, "unreadable", str(error.args[0]), error.fix, True)
            continue
        for line in content.troubles:
            fix, bad = _FIXES[line.trouble], line.trouble not in _COUNTED
            yield Finding(name, line.number, line.trouble, line.why, fix, bad)
        if not content.ends:
            fix = "The next write ends it."
            yield Finding(name, len(content.lines), "unended", "the last line has no break", fix, False)
        if file.parent == root:
            live |= {*content.by_id}
        else:
            for ident in {*content.by_id} & live:
                number = content.by_id[ident].number
                fix = "The live one counts; repair takes the other away."
                yield Finding(name, number, "both", f"{ident} is among the live ones, too", fix, False)


def _of_index(folder: Folder) -> Iterator[Finding]:
    root, version = folder.root, version_of(folder.root)
    fix = "It is made anew at the next use, or by `reverie agent-memory rebuild-index`."
    if newer(version):
        why = f"version {version} is a later one: nothing is written"
        yield Finding(INDEX, 0, "version", why, "Update Reverie.", True)
        return
    if is_older(version):
        fix = "`reverie agent-memory migrate`, or the next write, brings it up to date."
        yield Finding(INDEX, 0, "version", f"version {version} is an older one", fix, False)
        return
    found = read_index(root)
    if found is None:
        yield Finding(INDEX, 0, "index", "there is none that can be read", fix, False)
    elif not found.is_of(root):
        yield Finding(INDEX, 0, "index", "the files changed since it was made", fix, False)


def _of_limits(folder: Folder) -> Iterator[Finding]:
    for kind in KINDS:
        file = folder.root / FILES[kind]
        try:
            number, size = len(folder.content(kind).by_id), fingerprint(file)[0]
        except AgentMemoryError:
            continue  # It was told that it can't be read.
        if number >= folder.options.most(kind) or size >= MOST_BYTES[kind]:
            why = f"{number:,} memories, {size:,} bytes: the limit is reached"
            yield Finding(file.name, 0, "limit", why, "`reverie agent-memory archive` makes room.", False)


def repair(folder: Folder) -> Repaired:
    """Mend what can be, and say what was done. Raises AgentMemoryError where a later version wrote it."""
    folder.require_version()
    found = Repaired()
    counted = read_index(folder.root)
    found.done += folder.set_modes()
    with folder.writer():
        for path in sorted(folder.root.rglob(f"*{TEMPORARY}")):
            path.unlink(missing_ok=True)
            found.done.append(f"{path.name} was left by a write that was cut off; it is gone")
        for file in _files(folder.root):
            _repair_file(folder, file, found, counted)
        _repair_both(folder, found)
        folder.rebuild()
    return found


def _repair_file(folder: Folder, file: Path, found: Repaired, counted: Index | None) -> None:
    content = folder.content_of(file)
    is_live = file.parent == folder.root
    whole = _from_elsewhere(folder, content, counted) if is_live and not content.by_id else []
    mending = [line for line in content.lines if line.trouble not in ("", "long")]
    if not mending and content.ends and not whole:
        return
    lost = [line for line in mending if line.record is None and line.trouble != "misplaced"]
    back = [*whole, *(_from_backups(folder, file, lost) if is_live and not whole else [])]
    lines = [
        schema.line_of(line.record) if line.trouble == "fields" else line.raw
        for line in content.lines
        if line.record is not None
    ]
    lines += [schema.line_of(record) for record in back]
    away = [line for line in mending if line.trouble == "misplaced" and not _put_right(folder, line, file)]
    rejected = [line.raw for line in (*lost, *away)]
    keeps = folder.options.max_backups if is_live else 0
    writing.rewrite(file, lines, rejected=rejected, backups=keeps, now=folder.now())
    found.rejected += len(rejected)
    found.restored += len(back)
    found.done += _words(file, content, rejected, back)


def _words(file: Path, content: Content, rejected: list[bytes], back: list[Record]) -> Iterator[str]:
    filled = sum(line.trouble == "fields" for line in content.lines)
    moved = sum(line.trouble == "misplaced" for line in content.lines)
    if filled:
        yield f"{file.name}: defaults were written into {filled} lines"
    if moved:
        yield f"{file.name}: {moved} lines were of another type, and are in that file"
    if rejected:
        yield f"{file.name}: {len(rejected)} lines are in {file.name}.rejected now, as they were"
    if back:
        yield f"{file.name}: {len(back)} memories came back from a backup or the archive"
    if not content.ends:
        yield f"{file.name}: the last line was ended"


def _put_right(folder: Folder, line: Line, file: Path) -> bool:
    """Append a line of another type to the file of its own; False where its id is there already."""
    from pipeline.formats.agent_memory.reading import parsed

    value = parsed(line.raw)
    assert isinstance(value, dict), "a misplaced line holds a memory"
    record, _ = schema.corrected(value, value["type"], line.raw, folder.now())
    target = file.parent / file.name.replace(
        FILES[kind_of(file)].removesuffix(".jsonl"), FILES[record["type"]].removesuffix(".jsonl")
    )
    if record["id"] in folder.content_of(target).by_id:
        return False
    writing.append(target, [schema.line_of(record)])
    return True


def _from_elsewhere(folder: Folder, content: Content, counted: Index | None) -> list[Record]:
    """Return what a file held of which nothing can be read: of its newest backup, else of the archive."""
    kind = kind_of(content.file)
    if not content.lines and not (counted is not None and counted.by_type[kind]):
        return []
    for backup in writing.backups_of(content.file):
        records = read(backup, now=folder.now()).records
        if records:
            return _not_there(folder, records)
    if not content.lines:
        return []
    return [{**record, "archived": False} for record in folder.archived(kind)]


def _from_backups(folder: Folder, file: Path, lost: list[Line]) -> list[Record]:
    """Return the memories whose ids stand in lines that can't be read, as the newest backup has them."""
    wanted = {
        ident.decode() for line in lost if line.trouble != "duplicate" for ident in _IN_LINE.findall(line.raw)
    }
    found: dict[str, Record] = {}
    for backup in writing.backups_of(file) if wanted else ():
        for record in read(backup, now=folder.now()).records:
            if record["id"] in wanted:
                found.setdefault(record["id"], record)
    return _not_there(folder, [*found.values()])


def _not_there(folder: Folder, records: list[Record]) -> list[Record]:
    known = {ident for file in _files(folder.root) for ident in folder.content_of(file).by_id}
    return [record for record in records if record["id"] not in known]


def _repair_both(folder: Folder, found: Repaired) -> None:
    live = {ident for kind in KINDS for ident in folder.content(kind).by_id}
    for file in archive_files(folder.root):
        both = live & {*folder.content_of(file).by_id}
        if both:
            folder.rewrite(file, dict.fromkeys(both))
            found.done.append(f"{file.name}: {len(both)} memories were live, too; the live ones stay")


def restore(folder: Folder, name: str, backup: str = "") -> int:
    """Put a backup of the file `name` in its place, after a backup of it as it is; return how many memories.

    `backup` is the file's name in the folder of backups, "" for the newest. Raises NOT_FOUND.
    """
    files = {file: folder.root / file for file in FILES.values()}
    if name not in files:
        raise invalid(f"{name!r} is no file of memories", f"Files: {', '.join(files)}.")
    with folder.writer():
        known = writing.backups_of(files[name])
        chosen = next((path for path in known if not backup or path.name == backup), None)
        if chosen is None:
            names = ", ".join(path.name for path in known) or "none"
            what = f"there is no backup {backup} of {name}" if backup else f"there is no backup of {name}"
            raise AgentMemoryError("NOT_FOUND", what, fix=f"There are: {names}.")
        lines = [line.raw for line in read(chosen, now=folder.now()).lines]
        writing.rewrite(files[name], lines, backups=max(folder.options.max_backups, 1), now=folder.now())
        folder.rebuild()
        return len(folder.content_of(files[name]).by_id)


def _files(root: Path) -> list[Path]:
    return [*(root / name for name in FILES.values()), *archive_files(root)]


def _name(root: Path, path: Path) -> str:
    return str(path.relative_to(root)) if path != root else "."
