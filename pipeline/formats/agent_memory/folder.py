"""A folder of agent-memory's files, opened: what is read is kept until a file changes; one writer only."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from pipeline.core.clock import Clock, from_environment
from pipeline.formats.agent_memory import lock, writing
from pipeline.formats.agent_memory.errors import AgentMemoryError, of_system
from pipeline.formats.agent_memory.index import VERSION, Index, build, read_index, version_of
from pipeline.formats.agent_memory.layout import (
    ACCESS,
    FILES,
    INDEX,
    archive_files,
    prepare,
    wrong_modes,
)
from pipeline.formats.agent_memory.migrations import migrate_files
from pipeline.formats.agent_memory.options import Options, load
from pipeline.formats.agent_memory.reading import (
    Content,
    Fingerprint,
    bytes_of,
    fingerprint,
    merged,
    read,
    records_with,
)
from pipeline.formats.agent_memory.schema import KINDS, MOST_LINE, Record, line_of, require_sound

LOG = logging.getLogger("reverie.agent_memory")
_MOST_WARNINGS = 20


class Folder:
    """The files at `root`. `warnings` are what who reads or writes should know, in words."""

    def __init__(self, root: Path, options: Options | None = None, *, clock: Clock | None = None) -> None:
        self.root = root
        self.options = options if options is not None else load(root)
        self.warnings: list[str] = []
        self._clock = clock or from_environment()
        self._contents: dict[Path, tuple[float, Content]] = {}
        self._index: tuple[Fingerprint, Index] | None = None
        self._is_held = False
        self._modes_seen = False

    # -- looking --------------------------------------------------------------------------------------

    @property
    def exists(self) -> bool:
        """Whether there is such a folder with a file of memories in it."""
        return any((self.root / name).exists() for name in FILES.values())

    @property
    def is_newer(self) -> bool:
        """Whether a later version of the format wrote the folder: it is read, and nothing is written."""
        return newer(version_of(self.root))

    def now(self) -> datetime:
        """Return the time."""
        return self._clock.now()

    def warn(self, text: str) -> None:
        """Note what a person should know; the same once."""
        if text not in self.warnings and len(self.warnings) < _MOST_WARNINGS:
            self.warnings.append(text)
            LOG.warning("%s", text)

    def content(self, kind: str) -> Content:
        """Return what the live file of `kind` holds."""
        return self.content_of(self.root / FILES[kind])

    def content_of(self, file: Path) -> Content:
        """Return what `file` holds, as it was read before where it has not changed since."""
        kept = self._contents.get(file)
        is_fresh = kept is not None and time.monotonic() - kept[0] < self.options.cache_seconds
        if kept is not None and is_fresh and fingerprint(file) == kept[1].fingerprint:
            return kept[1]
        found = read(file, now=self.now())
        for line in found.troubles:
            self.warn(f"{file.name}:{line.number}: {line.why}. `reverie agent-memory validate` has all.")
        if self.options.cache_size:
            self._contents[file] = (time.monotonic(), found)
        return found

    def records(self, kind: str, ids: set[str] | None = None) -> list[Record]:
        """Return the live memories of `kind`, of which only those with `ids`, with their access data."""
        file, used = self.root / FILES[kind], self.access()
        if ids is not None and file not in self._contents and self.index().plain(kind):
            found = [*records_with(file, ids)]
        else:
            found = [record for record in self.content(kind).records if ids is None or record["id"] in ids]
        return [merged(record, used.get(record["id"])) for record in found]

    def archived(self, kind: str = "") -> list[Record]:
        """Return the memories in the archive, of `kind` or all, that are not among the live ones."""
        live, used = self.index().ids, self.access()
        found: dict[str, Record] = {}
        for file in archive_files(self.root, kind):
            for record in self.content_of(file).records:
                if record["id"] not in live:
                    found[record["id"]] = merged(record, used.get(record["id"]))
        return [*found.values()]

    def find(self, ident: str) -> tuple[Path, Record] | None:
        """Return the memory `ident` with the file it is in: a live one, else one of the archive."""
        if self.index().has(ident):
            for kind in KINDS:
                line = self.content(kind).by_id.get(ident)
                if line is not None and line.record is not None:
                    return self.root / FILES[kind], merged(line.record, self.access().get(ident))
        for file in reversed(archive_files(self.root)):
            line = self.content_of(file).by_id.get(ident)
            if line is not None and line.record is not None:
                return file, merged(line.record, self.access().get(ident))
        return None

    def by_id(self) -> dict[str, tuple[Path, Record]]:
        """Return what `find` finds, of all memories at once."""
        used = self.access()
        found: dict[str, tuple[Path, Record]] = {}
        for file in (*archive_files(self.root), *(self.root / FILES[kind] for kind in reversed(KINDS))):
            for ident, line in self.content_of(file).by_id.items():
                if line.record is not None:
                    found[ident] = file, merged(line.record, used.get(ident))
        return found

    # -- the index ------------------------------------------------------------------------------------

    def index(self) -> Index:
        """Return the index as the files are now, made anew where they are others than it was made of."""
        stamp = fingerprint(self.root / INDEX)
        if self._index is not None and self._index[0] == stamp and self._index[1].is_of(self.root):
            return self._index[1]
        found = read_index(self.root)
        if found is None or not found.is_of(self.root):
            return self.rebuild()
        self._index = (stamp, found)
        return found

    def rebuild(self) -> Index:
        """Make the index anew. It is written where nobody else writes; kept here where it can't be."""
        found = build(self.root, {kind: self.content(kind) for kind in KINDS}, self.now())
        if self._is_held:
            self.save_index(found)
        elif self.root.is_dir() and version_of(self.root) in ("", VERSION):
            self._save_if_free(found)
        self._index = (fingerprint(self.root / INDEX), found)
        return found

    def _save_if_free(self, found: Index) -> None:
        try:
            with lock.held(self.root, timeout=0):
                if found.is_of(self.root):
                    self.save_index(found)
        except AgentMemoryError as error:
            LOG.info("the index is not written now: %s", error)

    def save_index(self, found: Index) -> None:
        """Write the index; where the disk refuses, the memories are safe, and it is made anew later."""
        try:
            found.save(self.root)
        except OSError as error:
            self.warn(f"the index can't be written ({error.strerror}); it is made anew when it can")
        self._index = (fingerprint(self.root / INDEX), found)

    # -- access data ----------------------------------------------------------------------------------

    def access(self) -> dict[str, dict[str, Any]]:
        """Return when and how often memories were used since their lines were written."""
        try:
            held = orjson.loads(bytes_of(self.root / ACCESS))
        except (AgentMemoryError, ValueError):
            return {}
        entries = held.get("entries") if isinstance(held, dict) else None
        return (
            {key: value for key, value in entries.items() if isinstance(value, dict)}
            if isinstance(entries, dict)
            else {}
        )

    def save_access(self, entries: Mapping[str, Mapping[str, Any]]) -> None:
        """Write access data; what can't be written is lost, and no memory with it."""
        try:
            writing.write_quickly(self.root / ACCESS, orjson.dumps({"version": 1, "entries": entries}))
        except OSError as error:
            self.warn(f"the use of memories can't be noted ({error.strerror})")

    # -- writing --------------------------------------------------------------------------------------

    @contextmanager
    def writer(self) -> Iterator[None]:
        """Hold the folder's lock. Raises AgentMemoryError for a later version, or where another writes."""
        if self._is_held:
            yield
            return
        self.require_version()
        try:
            if not self.exists:
                prepare(self.root)
        except OSError as error:
            raise of_system(error, str(self.root)) from error
        with lock.held(self.root, timeout=self.options.lock_seconds):
            self._is_held = True
            try:
                self._tighten()
                if is_older(version_of(self.root)):
                    self._migrate()
                yield
            finally:
                self._is_held = False

    def require_version(self) -> None:
        """Raise STORAGE_ERROR where a later version of the format wrote the folder."""
        version = version_of(self.root)
        if newer(version):
            raise AgentMemoryError(
                "STORAGE_ERROR",
                f"version {version} of the format wrote it, and this one knows {VERSION}",
                file=str(self.root / INDEX),
                fix="Update Reverie. Nothing was changed; what can be read of it is shown.",
            )

    def _migrate(self) -> None:
        try:
            gone = migrate_files(self.root, backups=self.options.max_backups, now=self.now())
        except (OSError, AgentMemoryError) as error:
            LOG.error(
                "%s can't be brought to version %s; its backups are whole: %s", self.root, VERSION, error
            )
            raise (
                error if isinstance(error, AgentMemoryError) else of_system(error, str(self.root))
            ) from error
        self._contents.clear()
        self.rebuild()
        LOG.info("%s was brought from version %s to %s", self.root, gone[0], VERSION)

    def _tighten(self) -> None:
        """Take from others what they may read, once; what can't be changed is told."""
        if self._modes_seen:
            return
        self._modes_seen = True
        for path, mode, right in wrong_modes(self.root):
            self.warn(f"{path.name} had the mode {mode:o}; it is {right:o} now")
            try:
                path.chmod(right)
            except OSError as error:
                self.warn(f"{path.name} keeps its mode ({error.strerror})")

    def rewrite(
        self, file: Path, changed: Mapping[str, Record | None], *, added: tuple[Record, ...] = ()
    ) -> None:
        """Write `file` anew: memories by id with their new values, None takes one out; others byte for byte.

        Lines that don't count go to the file of rejected ones, but for those in the wrong file, which stay
        for `repair`. Access data go into the lines.
        """
        content, used = self.content_of(file), self.access()
        lines: list[bytes] = []
        taken: set[str] = set()
        for line in content.lines:
            if line.record is None:
                lines += [line.raw] if line.trouble == "misplaced" else []
                continue
            ident = line.record["id"]
            record = changed.get(ident, line.record)
            if record is None:
                taken.add(ident)
            elif ident in changed:
                lines.append(require_sound(record))
                taken.add(ident)
            elif ident in used and len(data := line_of(merged(record, used[ident]))) <= MOST_LINE:
                lines.append(data)
                taken.add(ident)
            else:
                lines.append(line.raw)
        lines += [require_sound(record) for record in added]
        rejected = [line.raw for line in content.lines if line.record is None and line.trouble != "misplaced"]
        if rejected:
            self.warn(
                f"{len(rejected)} lines of {file.name} that nobody can read are in {file.name}.rejected"
            )
        keeps = self.options.max_backups if self.options.backup and file.parent == self.root else 0
        writing.rewrite(file, lines, rejected=rejected, backups=keeps, now=self.now())
        self._contents.pop(file, None)
        if taken & {*used}:
            self.save_access({ident: entry for ident, entry in used.items() if ident not in taken})

    def set_modes(self) -> list[str]:
        """Give every file and folder its mode; return what was changed, in words."""
        changed = []
        for path, mode, right in wrong_modes(self.root):
            try:
                path.chmod(right)
            except OSError as error:
                raise of_system(error, str(path)) from error
            changed.append(f"{path.name}: mode {mode:o} is {right:o} now")
        return changed


def newer(version: str) -> bool:
    """Whether `version` is a later one than ours."""
    return _numbers(version) > _numbers(VERSION)


def is_older(version: str) -> bool:
    """Whether `version` names one before ours."""
    return bool(version) and version != VERSION and not newer(version)


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else (0,)
