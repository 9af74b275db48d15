"""One sync: tell what is new here, take what others told, bring it into the store, and say what is asked.

The order is what makes a death at any point harmless. What changed here is a commit of ours before a file is
touched; what is about to be written is noted before it is; and all else is made from the records again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from pipeline.core import faults
from pipeline.core.clock import Clock
from pipeline.sharing import forgettings, questions, team_index
from pipeline.sharing.anew import begin_anew, is_lost
from pipeline.sharing.answers import noes
from pipeline.sharing.git import OfflineError, RefusedError, SyncError
from pipeline.sharing.incoming import Arrival, Bringing, came_from, placed, renamed, wanted
from pipeline.sharing.meaning import State as Said
from pipeline.sharing.merging import state_of
from pipeline.sharing.old_copy import newest
from pipeline.sharing.outgoing import Hold, Look, Outgoing, behind, secret_finder, takes_all
from pipeline.sharing.recorded import notes_in, records_of
from pipeline.sharing.repository import MEMORIES, README, README_FILE, blob_of
from pipeline.sharing.revisions import FORGOTTEN, REVISIONS, Note, Record, Revision, memory_in, records_in
from pipeline.sharing.signing import held_back, sign
from pipeline.sharing.state import Known, Share, State, trouble_in
from pipeline.sharing.travelling import repository_of

if TYPE_CHECKING:
    from pipeline.ledger import Ledger
    from pipeline.store import Store

_OF_RECORDS = (f"{REVISIONS}/", f"{FORGOTTEN}/")
_TRIES = 6


@dataclass(slots=True)
class Synced:
    """What one sync did: records told and taken, memories that came or left here, and what waits.

    `change` is the change set here, "" for none, and `names` those of its memories; `error` is why the remote
    was not reached, `fix` what to do. `memories` counts those that all records together hold.
    """

    told: int = 0
    taken: int = 0
    came: int = 0
    left: int = 0
    names: list[str] = field(default_factory=list)
    change: str = ""
    asked: int = 0
    memories: int = 0
    held: list[dict[str, str]] = field(default_factory=list)
    refused: list[dict[str, str]] = field(default_factory=list)
    error: str = ""
    fix: str = ""


def sync(
    share: Share,
    store: Store,
    *,
    clock: Clock,
    ledger: Ledger | None = None,
    force: bool = False,
    unattended: bool = False,
) -> Synced:
    """Keep `store` in step with the remote of `share`; what can't be reached is told, and waits.

    With `force` a rewritten remote is joined as it is, doubtful texts come in, and a folder that lost most of
    its files takes them away elsewhere. Where nobody typed it (`unattended`), what was changed by hand in a
    team's folder stays here. Raises SyncError where our own repository can't be used.
    """
    with share.locked():
        state = share.read()
        if state is None:
            raise SyncError("this folder is not synced with anything", fix="`reverie sync init REMOTE`.")
        state.set_right(clock.now())
        run = _Run(share, state, store, clock, ledger, force=force)
        if state.team:
            sign(store, state, run.recorded, now=clock.now(), unattended=unattended)
            run.hold = partial(held_back, store, state, unattended=unattended)
        try:
            run.exchange()
            run.bring()
            if state.team:
                team_index.write(store, state.team_name)
        finally:
            state.tried = clock.now().timestamp()
            share.write(state)
        return run.done


class _Run:
    def __init__(
        self, share: Share, state: State, store: Store, clock: Clock, ledger: Ledger | None, *, force: bool
    ) -> None:
        self.done = Synced()
        self._share = share
        self._state = state
        self._store = store
        self._clock = clock
        self._ledger = ledger
        self._force = force
        self.hold: Hold = takes_all
        self._repository = repository_of(share, state)
        self._repository.make()
        self.recorded = partial(records_of, self._repository)
        self._known_files: dict[str, str] | None = None
        self._is_lost = is_lost(self._repository, state)
        self._ours: dict[str, str] = {}
        self._theirs: dict[str, str] = {}
        self._records: dict[str, list[Revision]] = {}
        self._said: dict[str, Said] = {}

    # -- with the others ----------------------------------------------------------------------------

    def exchange(self) -> None:
        """Fetch, record what is new here, join both, and send it; again where somebody was faster."""
        state = self._state
        state.error, state.is_refused = "", False
        for _ in range(_TRIES):
            try:
                incoming = self._fetch()
            except (OfflineError, RefusedError) as error:
                self._fails(error)
                incoming = ""
            if self._is_lost and state.error:
                return  # What others know tells what was not sent.
            if self._is_lost:
                begin_anew(self._repository, state, incoming)
                self._is_lost = False
            faults.reach("sync.fetched")
            self._join(incoming)
            faults.reach("sync.committed")
            self._share.write(state)
            faults.reach("sync.noted")
            if state.error or self._send(incoming):
                return
        self._fails(OfflineError("others were faster each time", file=state.remote, fix="Sync again."))

    def _fails(self, error: SyncError) -> None:
        self._state.error = trouble_in(error, self._state.remote)
        self._state.is_refused = isinstance(error, RefusedError)
        self.done.error, self.done.fix = self._state.error, error.fix

    def _fetch(self) -> str:
        incoming, seen = self._repository.fetch(), self._state.seen
        self._state.tell_odd(self._repository.odd)
        if self._repository.names:
            self._state.names = list(self._repository.names)
            self._state.person = self._state.names[0]
        if incoming and not seen and not self._is_of_memories(incoming):
            raise RefusedError(
                "the remote holds something else than memories",
                file=self._state.remote,
                fix="Make a repository for them alone, and name that.",
            )
        if not seen or self._force or (incoming and self._repository.has(seen, incoming)):
            return incoming
        what = "was rewritten" if incoming else "has nothing any more"
        raise RefusedError(
            f"the remote {what}: what was sent there is not in it",
            file=self._state.remote,
            fix="Ask who did it. `reverie sync --force` joins it as it is, and sends all that is known here.",
        )

    def _is_of_memories(self, incoming: str) -> bool:
        found = {path.partition("/")[0] for path in self._repository.files(incoming)}
        return found <= {README_FILE, MEMORIES, REVISIONS, FORGOTTEN}

    def _send(self, incoming: str) -> bool:
        tip, state = self._repository.tip(), self._state
        if tip and tip != incoming:
            try:
                if not self._repository.push():
                    return False
            except (OfflineError, RefusedError) as error:
                # What others told comes in all the same.
                self._fails(error)
                return True
            faults.reach("sync.pushed")
        state.seen, state.done = tip, self._clock.now().timestamp()
        self._repository.tidy()
        try:
            self._repository.note(waiting=len(state.held))
            state.tell_odd(self._repository.odd)
        except SyncError as error:
            self._fails(error)
        return True

    # -- records ------------------------------------------------------------------------------------

    def _join(self, incoming: str) -> None:
        """Make a commit of what is new here and what is `incoming`, or take that as it is."""
        repository, state = self._repository, self._state
        main = repository.tip()
        came, untold, missing = self._list(incoming, main)
        self._records.clear()
        self.done.taken += len(came)
        look = self._look()
        fresh: dict[str, bytes | str | None] = {item.file_name: item.data for item in look.records}
        for item in look.records:
            state.see(item.clock)
            if isinstance(item, Revision):
                self._records[item.memory] = [*self._of(item.memory), item]
        changed = {memory_in(path) for path in (*came, *fresh, *untold) if path.startswith(f"{REVISIONS}/")}
        self._learn(changed if state.known else {*changed, *self._all()})
        self._take_notes(came, look.notes)
        parents = repository.newest(incoming, main)
        put_right: dict[str, bytes | str | None] = {**missing, **dict.fromkeys(self._links(incoming))}
        if parents == [main]:
            put_right = {}
        if parents == [incoming] and not fresh and not put_right:
            if incoming != main:
                repository.move(incoming)
        elif parents != [main] or fresh:
            self._commit(parents, {**put_right, **fresh}, len(fresh))
        state.here, state.held, state.begun = look.here, look.held, {}
        state.basis = repository.tip()
        state.notes += look.notes
        known = repository.files(state.seen, REVISIONS, FORGOTTEN) if state.error else self._theirs
        # With what an earlier sync kept, since it got nowhere.
        self.done.told = len({*self._ours, *fresh} - known.keys())
        self.done.held = [{"name": item.name, "why": item.why} for item in look.held.values()]

    def _look(self) -> Outgoing:
        """Return what is to be told: what changed in the store, and each no to what was asked."""
        state, now = self._state, self._clock.now()
        looking = Look(
            self._store,
            state,
            self._of,
            now=now,
            is_secret=secret_finder(self._ledger),
            force=self._force,
            hold=self.hold,
            most=self._repository.most,
        )
        self._load([*looking.changed(), *looking.gone()])
        look = looking.take()
        look.records += noes(self._ledger, self._store, state, self._of, now)
        return look

    @property
    def _files(self) -> dict[str, str]:
        """Return path → blob of all records, listed where they are asked for: where nothing is new, never."""
        if self._known_files is None:
            self._known_files = self._records_of(self._repository.tip())
        return self._known_files

    def _records_of(self, commit: str) -> dict[str, str]:
        every = self._repository.files(commit)
        return {path: blob for path, blob in every.items() if path.startswith(_OF_RECORDS)}

    def _links(self, incoming: str) -> list[str]:
        """Return what of `incoming` is no file, which is to be taken out of the repository."""
        if not incoming or incoming == self._state.basis:
            return []
        links = self._repository.links(incoming, MEMORIES)
        no_file = "it is no file, and is taken out of the repository"
        self._state.tell_odd({path: f"{path}: {no_file}" for path in links})
        return links

    def _list(self, incoming: str, main: str) -> tuple[list[str], set[str], dict[str, str]]:
        """Return what came, what of ours was not taken note of, and path → blob of what is not `incoming`."""
        state, moves = self._state, not incoming == main == self._state.basis
        self._ours = ours = self._records_of(main) if moves else {}
        self._theirs = theirs = self._records_of(incoming) if moves else {}
        lacking = ours.keys() - theirs.keys() if incoming else set[str]()
        # What is no record, and was taken away there, is not put back.
        mended = lacking & state.strange.keys()
        state.tell_odd(dict.fromkeys(mended, ""))
        every = {path: blob for path, blob in {**theirs, **ours}.items() if path not in mended}
        self._known_files = every if moves else None
        # A process died between its commit and the note that it was made.
        untold = ours.keys() - self._records_of(state.basis) if state.basis != main else set[str]()
        return sorted(theirs.keys() - ours.keys()), untold, {path: ours[path] for path in lacking - mended}

    def _all(self) -> set[str]:
        return {memory_in(path) for path in self._files if path.startswith(f"{REVISIONS}/")}

    def _of(self, ident: str) -> list[Revision]:
        """Return all records of a memory."""
        if ident not in self._records:
            self._load([ident])
        return self._records[ident]

    def _load(self, idents: Iterable[str]) -> None:
        wanted = {ident for ident in idents if ident not in self._records}
        if not wanted:
            return
        paths = [
            path for path in self._files if path.startswith(f"{REVISIONS}/") and memory_in(path) in wanted
        ]
        self._records |= {ident: [] for ident in wanted}
        for item in self._read(paths):
            if isinstance(item, Revision):
                self._records[item.memory].append(item)

    def _read(self, paths: Iterable[str]) -> list[Record]:
        places = list(paths)
        data = self._repository.read(self._files[path] for path in places)
        files = [(path, data[self._files[path]]) for path in places if self._files[path] in data]
        records, odd = records_in(files)
        for item in records:
            self._state.see(item.clock)
        if self._state.team:
            records = [item for item in records if isinstance(item, Note) or "/" not in item.path]
        self._state.tell_odd(
            {path: odd.get(path, "") for path, _ in files if path in self._state.strange} | odd
        )
        return records

    # -- what they say together ---------------------------------------------------------------------

    def _learn(self, changed: set[str]) -> None:
        """Find anew what is known of the memories in `changed`, and where all of them lie."""
        known = self._state.known
        self._load(changed)
        self._said.clear()
        for ident in self._share.counted(sorted(changed), "reading the records", "keeping them"):
            if not self._records[ident]:
                continue
            meaning = self._said_of(ident)
            asks = [
                [item.sentence, list(item.kept), list(item.other), item.forgotten, item.back]
                for item in meaning.questions
            ]
            known[ident] = Known(
                list(meaning.heads),
                list(meaning.first),
                meaning.path,
                meaning.path,
                blob_of(meaning.file),
                asks,
            )
        for ident, path in placed(known).items():
            item = known[ident]
            if item.placed != path or (ident in changed and item.path != path):
                item.placed = path
                item.blob = blob_of(renamed(self._said_of(ident), path))

    def _said_of(self, ident: str) -> Said:
        if ident not in self._said:
            self._said[ident] = state_of(self._of(ident))
        return self._said[ident]

    def _content(self, ident: str) -> bytes | None:
        return renamed(self._said_of(ident), self._state.known[ident].placed)

    def _commit(self, parents: list[str], records: dict[str, bytes | str | None], fresh: int) -> None:
        files = dict(records)
        listed = self._repository.files(parents[0]) if parents else {}
        there = {path for path in listed if path.startswith(f"{MEMORIES}/")}
        for ident, item in self._state.known.items():
            path = f"{MEMORIES}/{item.placed}"
            if item.blob and listed.get(path) != item.blob:
                files[path] = self._content(ident)
            if item.blob:
                there.discard(path)
        files |= dict.fromkeys(there)
        if listed.get(README_FILE) != blob_of(README.encode()):
            files[README_FILE] = README.encode()
        now = self._clock.now()
        message = f"{fresh} new from {self._state.machine}" if fresh else "Join what two machines told"
        self._repository.commit(parents, files, message, now=int(now.timestamp()))

    def _take_notes(self, came: list[str], own: list[str]) -> None:
        """Write down what others had forgotten."""
        fresh = [item for item in self._read(notes_in(came)) if isinstance(item, Note)]
        if fresh:
            every = [item for item in self._read(notes_in(self._files)) if isinstance(item, Note)]
            forgettings.take(self._store, self._state, fresh, every, own)

    # -- here ---------------------------------------------------------------------------------------

    def bring(self) -> None:
        """Bring what stands otherwise here in step with what all records say."""
        state, done = self._state, self.done
        if self._is_lost:
            return
        state.refused = {ident: item for ident, item in state.refused.items() if self._still(ident)}
        waiting = self._arrivals(wanted(state, state.held, force=self._force))
        while waiting:
            bringing = Bringing(self._store, self._share.folder, self._clock.now(), doubtful=self._force)
            bringing.plan(waiting)
            if len(bringing.later) == len(waiting):
                for item in waiting:
                    bringing.refuse(item)
                bringing.later = []
            self._write(bringing)
            waiting = bringing.later if not bringing.result.conflict else []
        state.generation = newest(self._store.history())
        done.memories = sum(bool(known.blob) for known in state.known.values())
        done.refused = [{"name": item.name, "why": item.why} for item in state.refused.values()]
        if self._ledger is not None:
            done.asked = questions.ask(self._ledger, self._store, state, now=self._clock.now())

    def _arrivals(self, idents: list[str]) -> list[Arrival]:
        self._load(idents)
        return [
            Arrival(ident, self._state.known[ident], self._said_of(ident), self._content(ident))
            for ident in self._share.counted(idents, "preparing files", f"writing {len(idents):,} files")
        ]

    def _write(self, bringing: Bringing) -> None:
        state, done = self._state, self.done
        state.begun = dict(bringing.result.here)
        self._share.write(state)
        faults.reach("sync.planned")
        if not bringing.is_empty:
            bringing.write(self._from(bringing.result.here))
        faults.reach("sync.written")
        brought = bringing.result
        state.here |= brought.here
        state.begun = {}
        state.refused = {
            ident: item for ident, item in state.refused.items() if ident not in brought.here
        } | brought.refused
        done.came += brought.came
        done.left += brought.left
        done.names += brought.names
        done.change = brought.change or done.change
        if brought.conflict:
            done.error = done.error or f"somebody wrote at the same moment: {brought.conflict}"
            done.fix = done.fix or "Theirs stayed; sync again."

    def _from(self, idents: Iterable[str]) -> str:
        """Return in words from whom that comes which is brought: the machines, or the people of a team."""
        state, machines = self._state, set[str]()
        for ident in idents:
            known = {item.name: item for item in self._of(ident)}
            here = state.here.get(ident)
            seen = behind(known, here.heads if here is not None else ())
            machines |= {item.machine for name, item in known.items() if name not in seen}
        return came_from(sorted(machines - {state.machine}), self._repository.people if state.team else None)

    def _still(self, ident: str) -> bool:
        known = self._state.known.get(ident)
        return known is not None and known.heads == self._state.refused[ident].heads
