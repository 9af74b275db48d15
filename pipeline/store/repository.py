"""A store: one directory of memories, shared with Claude Code and with people who edit it.

Changes are planned (`put`, `retire`, `append_episodes`) without touching a file and then made together by
`apply`. Only files that Reverie wrote and nobody changed since are ever rewritten.

`Store` is the face of its parts: `Scanner` looks, `Planner` plans, `Journal` carries out, `WrittenLog` knows
what Reverie wrote, `MemoryIndexWriter` keeps MEMORY.md in step. It decides their order and holds the lock.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from pipeline.core import locks
from pipeline.core.atomic import ensure_dir
from pipeline.core.clock import SystemClock, iso
from pipeline.core.collector import collector_paused
from pipeline.core.errors import DocumentError, StoreError
from pipeline.core.ids import digest
from pipeline.domain.authorship import By
from pipeline.domain.memory import Evidence, Memory
from pipeline.hooklib.memory_format import INDEX_BYTES, INDEX_LINES
from pipeline.store.catalogue import derived_files
from pipeline.store.catalogue.scanner import Listener, Scanner
from pipeline.store.catalogue.sieve import Sieve
from pipeline.store.catalogue.sleep import Decayed
from pipeline.store.changes.journal import Journal
from pipeline.store.changes.planner import Planner
from pipeline.store.derived import usage
from pipeline.store.derived.memory_index_writer import MemoryIndexWriter
from pipeline.store.file_operations import (
    Applied,
    Change,
    ChangeSet,
    Move,
    Put,
    Restore,
    Retire,
    WriteFile,
    paths_of,
)
from pipeline.store.files import document
from pipeline.store.files.layout import check_path, private_folder
from pipeline.store.files.scanning import Document, Snapshot
from pipeline.store.files.versions import require_ours
from pipeline.store.history import archive, forgotten, generations, hand_edits, retention, undo
from pipeline.store.history.archive import Retired
from pipeline.store.history.episodes import Episode
from pipeline.store.history.forgotten import Forgotten
from pipeline.store.history.generations import FileDiff, Generation
from pipeline.store.history.hand_edits import HandEdit
from pipeline.store.history.undo import Undone
from pipeline.store.ownership import access, moves
from pipeline.store.ownership.identities import Identities
from pipeline.store.ownership.written_log import WrittenLog


class Store:
    """The store at `path`, really at `root`; open it with `Store.open`. `is_team`: others write it too."""

    def __init__(
        self,
        path: Path,
        root: Path,
        *,
        index_lines: int,
        index_bytes: int,
        lock_seconds: float,
        generations: int,
        to_look: bool = False,
    ) -> None:
        self.path = path
        self.root = root
        self._lock_seconds = lock_seconds
        self._generations = generations
        self._claimant: Path | None = None
        self.is_team, self._bare = access.shared(path, root)
        self._written = WrittenLog(root, team=self.is_team)
        self._index = MemoryIndexWriter(root, max_lines=index_lines, max_bytes=index_bytes, none=self._bare)
        self.identities = Identities(root, self._written, team=self.is_team)
        parts = (self._written, self.identities, self._index)
        self._scanner = Scanner(root, *parts, keeps=not (to_look or self.is_team))
        self.sieve = Sieve(self._scanner.asker)
        self.last_look, self.open_ahead = self._scanner.last_look, self._scanner.open_ahead
        self.planner = Planner(root, self._scanner, self._written, self._index, flat=self._bare)
        self._journal = Journal(root, self._written)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        create: bool = False,
        later: bool = False,
        to_look: bool = False,
        index_lines: int = INDEX_LINES,
        index_bytes: int = INDEX_BYTES,
        lock_seconds: float = 30.0,
        generations: int = generations.KEEP,
    ) -> Store:
        """Open the store at `path`, which may be a link to a directory; finish an interrupted change set.

        With `create` a missing directory is made, mode 0700; with `later` it is when the first change is;
        `to_look` at it leaves an interrupted change as it is, so that nothing is written.
        `index_lines` and `index_bytes` are the limits of MEMORY.md; a change waits `lock_seconds` for
        another process; the last `generations` of each kind are kept for undo.
        Raises StoreError when there is no directory, a link in our own folder, or an interrupted change that
        can't be finished.
        """
        if create:
            with access.writing(path):
                ensure_dir(path)
        if not path.is_dir() and not (later and access.can_be_made(path)):
            raise StoreError("no such directory", file=str(path), fix="Check --store, or create it.")
        root = Path(os.path.realpath(path))
        private_folder(root)
        store = cls(
            path,
            root,
            index_lines=index_lines,
            index_bytes=index_bytes,
            lock_seconds=lock_seconds,
            generations=generations,
            to_look=to_look,
        )
        if not to_look and store._journal.interrupted() and not store.is_team:
            with store._locked():
                store._recover()
        return store

    # -- looking ----------------------------------------------------------------------------------

    def scan(self) -> Snapshot:
        """Return every memory and every problem; only files that changed are read again."""
        return self._scanner.scan()

    def look_over(self) -> tuple[list[str], Counter[By]]:
        """Return what `Scanner.look_over` does: files that can't be taken, and how many wait for a yes."""
        return self._scanner.look_over()

    def read(self, name: str) -> Document:
        """Return the memory that `name` means; errors are those of `Snapshot.named`."""
        return self.scan().named(name)

    def is_as_written(self, document: Document, *, of_team: bool = False) -> bool:
        """Whether this file went through Reverie's hands and nobody else changed it since."""
        return self._written.is_as_written(document, of_team=of_team)

    def is_ours(self, document: Document) -> bool:
        """Whether Reverie wrote this file of itself, not at a person's word, and nobody changed it since."""
        return self._written.is_ours(document)

    def writable(self) -> bool:
        """Whether files can be made in the store."""
        return os.access(self.root, os.W_OK | os.X_OK)

    def interrupted(self) -> bool:
        """Whether a change set was begun and not finished; the next writer finishes it."""
        return self._journal.interrupted()

    def leftovers(self) -> list[str]:
        """Return the staged files that belong to no change set, relative to the store."""
        return self._journal.leftovers()

    def catalogue_fault(self) -> str:
        """Return why the catalogue that is there can't be used, "" where it can; nothing is lost with it."""
        return self._scanner.fault()

    def was_applied(self, change_id: str) -> bool:
        """Whether the change set of that id was applied; it never is again."""
        return self._journal.record(change_id) is not None

    def history(self) -> list[Generation]:
        """Return the change sets that were applied with a generation, newest first, as far as kept."""
        return generations.history(self.root)

    def hand_edits(self) -> list[HandEdit]:
        """Return what somebody else did to files of ours, as far as that is known; see `HandEdit`."""
        return hand_edits.hand_edits(self.root, self.scan(), self._written, self.history())

    def hand_edit_diff(self, edit: HandEdit) -> FileDiff | None:
        """Return the file before and after `edit`, None where one of them is not kept."""
        return hand_edits.what_changed(self.root, edit, self.history())

    def diff(self, run_id: str) -> list[FileDiff]:
        """Return what change set `run_id` changed, by path; StoreError when it is not in `history`."""
        return self.diff_of(generations.pick(self.history(), run_id))

    def diff_of(self, item: Generation) -> list[FileDiff]:
        """Return what `item` of `history` changed, by path; StoreError when it is damaged."""
        return generations.diff(self.root, item)

    def digests_before(self, run_id: str) -> dict[str, str]:
        """Return id → digest of the memories that change set `run_id` changed, as they were before it."""
        found = {}
        for change in self.diff(run_id):
            if change.before is not None and change.path not in self._index.paths():
                try:
                    found[document.parse(change.before, change.path).id] = digest(change.before)
                except DocumentError:
                    # No memory, such as a page of the diary.
                    continue
        return found

    def retired(self) -> list[Retired]:
        """Return what lies in the archive with its reason and, where there is one, its successor."""
        return archive.read_log(self.root)

    def forgotten(self) -> Forgotten:
        """Return what was forgotten, rejected or undone here, by its sources."""
        return forgotten.read(self.root)

    def note_forgotten(
        self,
        sources: Iterable[Evidence],
        *,
        name: str,
        reason: str,
        now: datetime,
        text: str = "",
        lifted: bool = False,
    ) -> None:
        """Keep what rests on `sources` from coming back by the same words, or `lifted`: let it come back.

        Without sources the sentences of `text` are known again.
        """
        note = partial(forgotten.note, quoted=not self.is_team)
        with self._locked():
            note(self.root, sources, name=name, reason=reason, now=now, text=text, lifted=lifted)

    # -- planning ---------------------------------------------------------------------------------

    def put(self, memory: Memory, *, existing: Document | None = None, approved: bool = False) -> Put:
        """Plan a memory file: a new one, or `existing` with what differs replaced; see `Planner.put`."""
        return self.planner.put(memory, existing=existing, approved=approved)

    def put_as(self, data: bytes, existing: Document, *, now: datetime) -> Restore:
        """Plan `data` as the whole file of `existing`, as a person wrote it; see `Planner.put_as`."""
        return self.planner.put_as(data, existing, now=now)

    def rename(self, memory: Memory, existing: Document, *, approved: bool = False) -> Put | Move:
        """Plan `existing` with what differs replaced and under a new name; see `Planner.rename`."""
        return self.planner.rename(memory, existing, approved=approved)

    def retire(self, document: Document, *, year: int, reason: str, superseded_by: str = "") -> Retire:
        """Plan the move of a memory to ``archive/<year>/``; see `Planner.retire`."""
        return self.planner.retire(document, year=year, reason=reason, superseded_by=superseded_by)

    def pin(self, document: Document, own: Memory | None = None) -> tuple[Put | Move, ...]:
        """Plan what pins a memory; empty when it is pinned. `own` and ConflictError as in `Planner.pin`."""
        return self.planner.pin(document, own)

    def unpin(self, document: Document) -> tuple[Put | Move, ...]:
        """Plan what unpins a memory; empty when it is not pinned. ConflictError as in `Planner.unpin`."""
        return self.planner.unpin(document)

    def append_episodes(self, entries: Sequence[Episode]) -> WriteFile | None:
        """Plan `entries`, all of one day, at the end of its log; see `Planner.append_episodes`."""
        return self.planner.append_episodes(entries)

    def drop_plans(self) -> None:
        """Forget what was planned and will not be applied; its names are free again."""
        self.planner.drop()

    # -- changing ---------------------------------------------------------------------------------

    def claim(self, project: Path) -> None:
        """Take this store for the project at `project`, when it is first written if it is not there yet.

        Raises StoreError, now or then, when it belongs to another project.
        """
        self._claimant = project
        if self.root.is_dir():
            access.require_owner(self.root, project, claim=True)
            moves.remember(self.root, project)

    def apply(self, change: ChangeSet, *, generation: bool = False) -> Applied:
        """Make all of `change` or nothing, and bring MEMORY.md along in the same change set.

        A change set applied before is not applied again. With `generation` every touched file is kept as
        it was, so that `undo` can bring it back. Raises ConflictError when a file is not what it was
        planned against, StoreError when the store is busy or can't be written.
        """
        for operation in change.operations:
            check_path(operation.path)
        try:
            with self._locked():
                self._recover()
                record = self._journal.record(change.id)
                if record is not None:
                    return Applied(True, [item["path"] for item in record["operations"]])
                return self._apply(self.planner.caught_up(change), generation)
        finally:
            self.planner.drop()

    def undo(self, run_id: str, *, at: datetime | None = None) -> Undone:
        """Bring back every file that change set `run_id` touched, byte for byte, as one change set.

        That one is called ``undo-<run_id>`` and can itself be undone. Undone before, nothing happens; undone
        and done again, that is undone.
        Raises ConflictError, naming the files, where a later edit would be lost, and StoreError when
        `run_id` is not in `history`.
        """
        with self._locked():
            self._recover()
        history = self.history()
        asked = generations.pick(history, run_id)
        known = generations.base_of(asked, history)
        again = generations.turns_of(run_id)[1] % 2 == 1
        if asked.undone:
            return Undone(run_id, (), True, known.reason, known.at, again=again)
        # Undone, and then done again: what stands is the last of them.
        chosen = generations.last_turn(asked, history)
        restores = undo.plan(self.root, chosen.run, history, self._written.digest)
        undo.require_once(restores, self.scan().documents, undo.title(chosen, history))
        with self._locked():
            self._index.remember(generations.own_lines(self.root, chosen.run))
        stays = undo.leaves_ours(self.root, restores, self._written.paths())
        index = next(iter(self._index.paths()), "")
        if not stays:
            restores += undo.without_block(
                self.root, chosen.run, history, restores, index, self._index.without_block
            )
        change = ChangeSet(
            generations.undo_id(chosen.run), f"undo of {chosen.run}", restores, at, begin=stays
        )
        applied = self.apply(change, generation=True)
        return undo.undone(run_id, chosen, history, restores, applied, again=again)

    def reindex(
        self, *, now: datetime, index_lines: int | None = None, begin: bool = True, tell: Listener = len,
        anew: bool = False, again: bool = False,
    ) -> list[str]:  # fmt: skip
        """Rebuild every derived file; return the paths written, which are none when nothing changed.

        With `index_lines` MEMORY.md gets no more lines than that, until it is next rebuilt. Unless it may
        `begin` one, it gets no first block where no memory is ours. `tell` gets all; `anew` reads every file,
        `again` looks at none whose name was there at the last look (`Scanner.scan_again`).
        """
        if self._bare:
            tell(self.scan().documents)
            return []
        with self._locked(), collector_paused(), self._index.at_most(index_lines):
            self._recover()
            look = self._scanner.scan_again() if again else self._scanner.scan(keep=True, anew=anew)
            documents = look.documents
            with self._scanner.writing_beside():
                wrote = self._rebuild(documents, now, begin=begin)
                wrote += derived_files.write(self.root, self._scanner, documents, now, anew=anew)
            retention.sweep_temps(self.root, SystemClock().now().timestamp())
            self._written.compact()
            self.identities.compact()
        tell(documents)
        return wrote

    def count_uses(self, found: Sequence[usage.Use], ledger: str, *, now: datetime) -> int:
        """Add `found`, of the ledger with that identity, to ``_state.json``; return how many were new.

        Told again, they are not counted again. No memory is touched. Raises StoreError as `apply` does.
        """
        with self._locked(), self._scanner.writing_beside():
            usage.carry_over(self.root, self._scanner.ids, now)
            counted = usage.count_uses(self.root, found, ledger, now)
            if any(use.asked for use in found):
                derived_files.wake(self.root, self._scanner, now)
            return counted

    def decay(self, *, now: datetime, keep: bool = True) -> Decayed:
        """Return the decay score of every memory, and which sleep; written down unless not to `keep`."""
        with self._locked() if keep else nullcontext(), self._scanner.writing_beside():
            return derived_files.decay(self.root, self._scanner, self.scan().documents, now, keep=keep)

    def take_over_uses(self, entries: Mapping[str, dict[str, Any]], *, now: datetime) -> int:
        """Add what was counted of memories in another store; see `usage.take_over`."""
        with self._locked(), self._scanner.writing_beside():
            return usage.take_over(self.root, entries, now)

    def _apply(self, change: ChangeSet, generation: bool) -> Applied:
        self._scanner.ready()
        now = SystemClock().now()
        self._index.show(self._scanner.shelf(), now, change.operations, begin=change.begin)
        changed = {operation.path for operation in change.operations}
        operations = [*change.operations, *self._index.writes(but=changed)]
        at = change.at or now
        applied = self._journal.apply(
            change.id,
            change.reason,
            operations,
            self._index.render,
            at=iso(at),
            keep=partial(self._keep, change, at, operations) if generation else None,
        )
        self._scanner.took(paths_of(change.operations))
        if generation:
            retention.prune(self.root, self._generations, at)
        self._settle(applied)
        self.identities.keep_guesses(change.operations, applied.paths)
        self.identities.keep_moved(change.operations, applied.paths)
        return applied

    def _keep(self, change: ChangeSet, at: datetime, operations: Sequence[Change]) -> None:
        generations.keep(
            self.root,
            change.id,
            change.reason,
            at,
            operations,
            record=self._written.digest,
            indexes=self._index.paths(),
            lines=self._index.own_lines(),
        )

    def _recover(self) -> None:
        if self._journal.interrupted():
            self._scanner.forget()
            self._index.show(None, SystemClock().now(), rescan=self._scanner.shelf_anew)
        self._settle(self._journal.recover(self._index.render))

    def _settle(self, applied: Applied | None) -> None:
        """Bring the index in line when someone else's file stayed where ours was planned."""
        if applied is not None and applied.conflicts:
            self._rebuild(self._scanner.scan(keep=True).documents, SystemClock().now())

    def _rebuild(self, documents: Sequence[Document], now: datetime, *, begin: bool = True) -> list[str]:
        begin = begin or any(not document.foreign for document in documents)
        self._index.show(self._scanner.shelf(), now, begin=begin)
        return [path for path in self._index.paths() if self._journal.replace_index(path, self._index.render)]

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if self.is_team:
            access.require_person(self.path)
        with access.writing(self.path):
            private = access.private_dir(self.root)
            if self._claimant is not None and not access.owner(self.root):
                access.require_owner(self.root, self._claimant, claim=True)
                moves.remember(self.root, self._claimant)
            require_ours(self.root)
            with locks.lock(private / "lock", timeout=self._lock_seconds) as held, self._scanner.together():
                if not held:
                    what, fix = "another Reverie process is writing", "Try again in a minute."
                    raise StoreError(what, file=str(self.path), fix=fix)
                yield
