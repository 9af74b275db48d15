"""Putting the hooks into a settings file, and taking them out again: what would change, then the change.

What was done is noted in ``<home>/installed.json``: for each file where its earlier bytes are kept
(``<home>/backups/``) and the digest of what we wrote, and the folders that had to be made. As long as a file
is as we left it, its earlier bytes come back; after that only our own entries go.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pipeline.core.atomic import ensure_dir, remove_empty_dirs, write_atomic
from pipeline.core.errors import InputError
from pipeline.core.home import Home
from pipeline.core.ids import digest
from pipeline.hooklib import home_files, jsonish
from pipeline.hooklib.events import EVENTS
from pipeline.hooklib.plain import whole_lines
from pipeline.hooklib.settings import step_for
from pipeline.install import claude_settings, clients, hook_edit
from pipeline.install import status_line as status_lines
from pipeline.install.hook_registration import note_interpreter
from pipeline.text.humanize import count


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a settings file: its text `before` and `after`, each None where there is no file.

    `about` says what it is where it is not about hooks.
    """

    file: Path
    before: str | None
    after: str | None
    about: str = ""

    @property
    def changes(self) -> bool:
        """Whether the file would differ afterwards."""
        return self.before != self.after

    @property
    def diff(self) -> str:
        """Return the change as a unified diff, "" when there is none."""
        old, new = (whole_lines(text or "") for text in (self.before, self.after))
        here, there = ("/dev/null" if text is None else str(self.file) for text in (self.before, self.after))
        lines = difflib.unified_diff(old, new, here, there)
        ends = (line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)
        return "".join(ends)

    @property
    def summary(self) -> str:
        """Return in a few lines what comes into a settings file, or leaves it; `diff` has it line by line."""
        if self.about:
            return self.about
        old, new = self.before or "", self.after or ""
        here, there = hook_edit.ours(old, self.file), hook_edit.ours(new, self.file)
        free, free_then = (status_lines.is_free(text, self.file) for text in (old, new))
        gone = [event for event in here if event not in there]
        added = [event for event in there if event not in here]
        stay = [event for event in here if event in there]
        lines = [f"{count(len(names), 'hook')}: {', '.join(names)}" for names in (added, gone) if names]
        if hook_edit.by_event(old, self.file, stay) != hook_edit.by_event(new, self.file, stay):
            lines.append("the hooks that were there, brought up to date")
        if free != free_then:
            lines.append("the status line")
        way = "out of" if not added and (gone or free_then > free) else "into"
        word = "a new file" if self.before is None else "nothing else in it changes"
        word = "the file goes, as nothing else is in it" if self.after is None else word
        return "\n  ".join([f"{way} {self.file} ({word}):", *lines])


@dataclass(slots=True)
class _Kept:
    """What is noted of one file: what it was (`backup`, or `absent`), and the digest of what we `wrote`."""

    file: str
    wrote: str
    backup: str = ""
    absent: bool = False


@dataclass(slots=True)
class Record:
    """What installing did: settings `files`, folders `made`, and what the home `had` when it was a person's.

    `had` is None where there was no home before, or one that Reverie had made.
    """

    files: list[_Kept] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    had: list[str] | None = None

    def of(self, file: Path) -> _Kept | None:
        """Return what is noted of `file`."""
        return next((kept for kept in self.files if kept.file == str(file)), None)


@dataclass(slots=True)
class Removal:
    """What takes Reverie out: the `edits`, and the `faults` of files that can't be used.

    One of these hinders no other file.
    """

    edits: list[Edit]
    faults: dict[Path, InputError] = field(default_factory=dict)


def plan(file: Path, events: Sequence[str] = EVENTS, *, status_line: bool = False) -> Edit:
    """Return what would change in `file` for it to have our hooks for `events` and no others of ours.

    With `status_line` our status line comes in as well, if there is none.

    Raises InputError if it can't be used.
    """
    before = claude_settings.read(file)
    after: str | None = hook_edit.with_hooks(before or "", file, events)
    if before is None and not after:
        after = None
    return Edit(file, before, status_lines.with_status_line(after or "", file) if status_line else after)


def install(home: Path, edit: Edit) -> None:
    """Make `edit`, which `plan` returned, and note in `home` what is needed to take it back.

    Raises InputError when the file changed since or can't be written.
    """
    _require_unchanged(edit)
    record = read_record(home)
    first = not Home(home).installed.exists()
    target = _target(edit.file)
    made = _missing([home, target.parent])
    kept = _Kept(str(edit.file), _digest(edit.after), absent=edit.before is None)
    noted = record.of(edit.file)
    if first:
        record.had = _had(home)
    try:
        ensure_dir(home)
        if edit.before is not None:
            kept.backup = _keep(home, edit.file, edit.before)
        if noted is not None:
            _carry_over(noted, kept, edit)
        record.files = [each for each in record.files if each.file != kept.file] + [kept]
        record.made = list(dict.fromkeys([*record.made, *map(str, made)]))
        # Before the file: what is noted and did not happen does no harm.
        _write_record(home, record)
        write_atomic(target, (edit.after or "").encode("utf-8"))
        note_interpreter(home)
    except OSError as error:
        raise _unwritable(edit.file, error) from error


def plan_removal(homes: Sequence[Path], files: Iterable[Path]) -> Removal:
    """Return what would change so that our hooks are gone from `files` and from every file noted in `homes`.

    The first of these is the present home, the others are of before: how a file was is noted where it was
    changed. A program's file that is noted nowhere counts if it names our server: a note may be lost.
    """
    records = {home: read_record(home) for home in homes}
    names = dict.fromkeys(
        [*(Path(kept.file) for record in records.values() for kept in record.files), *files]
    )
    names |= dict.fromkeys(client.file() for client in clients.CLIENTS.values() if _names_ours(client))
    removal = Removal([])
    for file in names:
        home = next((home for home in homes if records[home].of(file)), homes[0])
        try:
            edit = _removal(home, records[home], file)
        except InputError as error:
            removal.faults[file] = error
        else:
            removal.edits += [edit] if edit.changes else []
    return removal


def remove(homes: Sequence[Path], removal: Removal) -> None:
    """Make the edits of `removal`, which `plan_removal` returned; then the empty folders we made go.

    A file that changed since or can't be written is one more of its faults, and no longer one of its edits.
    What is noted of a file with a fault stays noted.
    """
    for edit in list(removal.edits):
        try:
            _take_out(edit)
        except InputError as error:
            removal.edits.remove(edit)
            removal.faults[edit.file] = error
    for home in homes:
        record = read_record(home)
        if record.files:
            record.files = [kept for kept in record.files if Path(kept.file) in removal.faults]
            _write_record(home, record)
        remove_empty_dirs(map(Path, record.made))


def notes_of(home: Path, files: Iterable[Path]) -> bool:
    """Whether `home` notes how one of `files` was."""
    record = read_record(home)
    return any(record.of(file) for file in files)


def read_record(home: Path) -> Record:
    """Return what is noted in `home`; an empty record when nothing is, or nothing that can be read."""
    try:
        value = jsonish.loads(Home(home).installed.read_text("utf-8"))
        files = [_Kept(**values) for values in value["files"]]
        had = value["had"]
        return Record(files, [*map(str, value["made"])], None if had is None else [*map(str, had)])
    except (OSError, ValueError, TypeError, KeyError):
        # Without it our entries are taken out one by one, which needs no note.
        return Record()


def _names_ours(client: clients.Client) -> bool:
    try:
        return clients.has_server(claude_settings.read(client.file()) or "", client, client.file())
    except InputError:
        # Where it is noted it is named as what it is; else nothing in it is known to be ours.
        return False


def _take_out(edit: Edit) -> None:
    _require_unchanged(edit)
    target = _target(edit.file)
    try:
        if edit.after is None:
            target.unlink(missing_ok=True)
        else:
            write_atomic(target, edit.after.encode("utf-8"))
    except OSError as error:
        raise _unwritable(edit.file, error) from error


def _removal(home: Path, record: Record, file: Path) -> Edit:
    now = claude_settings.read(file)
    kept = record.of(file)
    if now is None:
        return Edit(file, None, None)
    before, client = _earlier(home, kept) if kept else None, clients.of_file(file)
    about = f"out of {file}:\n  the server {clients.NAME} for {client.title}" if client else ""
    if kept is not None and _digest(now) == kept.wrote and (kept.absent or before is not None):
        return Edit(file, now, None if kept.absent else before, about)
    if client is not None:
        return Edit(file, now, clients.without_server(now, client, file, before=before or ""), about)
    if file.suffix != ".json":
        return Edit(file, now, now)  # a command that the person changed since is theirs
    without = hook_edit.without_hooks(now, file, before=before or "")
    return Edit(file, now, status_lines.without_status_line(without, file))


def _carry_over(noted: _Kept, kept: _Kept, edit: Edit) -> None:
    """Let `kept` go back to what was before our first change, if nobody changed the file since that."""
    if edit.before is not None and _digest(edit.before) == noted.wrote:
        kept.backup, kept.absent = noted.backup, noted.absent
    elif _has_ours(edit):
        # It holds entries of ours and a person's changes: no bytes to go back to.
        kept.backup = ""


def _has_ours(edit: Edit) -> bool:
    """Whether the file held something of ours before `edit`."""
    before, client = edit.before or "", clients.of_file(edit.file)
    if client is not None:
        return clients.has_server(before, client, edit.file)
    return edit.file.suffix == ".json" and bool(before and hook_edit.ours(before, edit.file))


def _had(home: Path) -> list[str] | None:
    """Return what is in `home` if it is a person's own folder: one in which Reverie never worked."""
    if not home.is_dir() or Home(home).ledger.exists() or Home(home).spool.exists():
        return None
    return sorted(path.name for path in home.iterdir())


def _keep(home: Path, file: Path, text: str) -> str:
    """Keep `text` among the backups under a name of its own; return it, relative to `home`."""
    data = text.encode("utf-8")
    name = f"{home_files.BACKUPS}/{file.name}.{digest(data)[:16]}"
    if not (home / name).exists():
        write_atomic(home / name, data)
    return name


def _earlier(home: Path, kept: _Kept) -> str | None:
    if not kept.backup:
        return None
    try:
        data = (home / kept.backup).read_bytes()
    except OSError:
        return None
    # A backup that somebody edited is not what was there before.
    return data.decode("utf-8") if kept.backup.endswith(digest(data)[:16]) else None


def _digest(text: str | None) -> str:
    return digest((text or "").encode("utf-8"))


def _target(file: Path) -> Path:
    """Return where `file` really is: a link stays one and is written through."""
    return file.resolve()


def _missing(folders: Iterable[Path]) -> list[Path]:
    """Return `folders` and parents that are not there, the outermost first."""
    wanted = {path for folder in folders for path in (folder, *folder.parents)}
    return sorted(path for path in wanted if not path.exists())


def _require_unchanged(edit: Edit) -> None:
    if claude_settings.read(edit.file) != edit.before:
        raise InputError("changed while you were asked", file=str(edit.file), fix="Run the command again.")


def _write_record(home: Path, record: Record) -> None:
    value: dict[str, Any] = {"version": 1, **asdict(record)}
    write_atomic(Home(home).installed, (json.dumps(value, indent=1) + "\n").encode())


def _unwritable(file: Path, error: OSError) -> InputError:
    return InputError(
        f"can't be written: {error.strerror or error}",
        file=str(error.filename or file),
        fix=step_for(error.errno),
    )
