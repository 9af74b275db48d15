"""Composition: one object that opens what a command needs and answers in plain values.

Nothing is opened before it is used, so that `status` loads no model library and `config` no database. The
CLI turns the values into tables or JSON; it knows no adapter.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline import config
from pipeline.app.graph_names import chosen_folder
from pipeline.app.to_be_read import to_be_read
from pipeline.context import known_stores, open_store
from pipeline.core import clock as clocks
from pipeline.core import locks, network, paths, zone
from pipeline.core.errors import (
    BusyWorkerError,
    ConfigError,
    DamagedLedgerError,
    InputError,
    SearchError,
    StoreError,
    UsageError,
)
from pipeline.core.home import Home
from pipeline.hooklib import ownership
from pipeline.hooklib.memory_format import INDEX
from pipeline.ledger import (
    Ledger,
    conversation_states,
    conversations,
    files,
    jobs,
    look_at_ledger,
    open_ledger,
)

if TYPE_CHECKING:
    from pipeline.config import Settings
    from pipeline.extraction.outcome import Outcome
    from pipeline.intake.ingest import Ingested
    from pipeline.store import Document, Snapshot, Store
    from pipeline.worker import Pass, Worker
    from pipeline.worker.context import SharedCalls

# What only some commands need is imported where it is used.
LOG = logging.getLogger("reverie.app")
WORKER_WAIT_SECONDS = 120.0
_PROBLEMS_NAMED = 3
"""Files told of one by one where they are what stands between a person and the answer."""


class App:
    """Reverie for one home; `store` and `llm` override what the settings and the cwd would choose.

    `folder` counts as the cwd of who stands elsewhere, as a server does. `user` chooses the user scope, the
    memories for all projects; `team` the folder of the project's team; `graph` the folder that a person gave
    that name, ``user`` or ``project``. What of ``config.toml`` can't be used counts as its default, and
    `config_error` says so: what asks a model then refuses (`require_settings`). One that only `looks` leaves
    nothing in the home.
    """

    def __init__(
        self,
        *,
        store: Path | None = None,
        user: bool = False,
        team: bool = False,
        graph: str | None = None,
        llm: str | None = None,
        looks: bool = False,
        folder: Path | None = None,
    ) -> None:
        named = {"--store": store, "--user": user or None, "--team": team or None, "--graph": graph}
        both = [option for option, given in named.items() if given is not None]
        if len(both) > 1:
            raise UsageError(f"{' and '.join(both)} exclude each other", fix="Name one of them.")
        self.home = paths.home_dir()
        self.folder = folder
        self._kept: MutableMapping[Path, Store] = {}
        """Stores that were opened: of each only what changed is looked at again."""
        self.settings: Settings
        self.settings, self.config_error = config.load_or_defaults(self.home, keep=not looks)
        zone.use(self.settings.extraction.time_zone, self.home)
        network.use(**self.settings.network.model_dump())
        self.clock = clocks.from_environment()
        self.llm = llm or self.settings.model.provider
        if llm:
            _require_provider(llm, self.settings)
        self.store_override = chosen_folder(store, graph, self.settings, Home(self.home).user_store)
        if user:
            self.store_override = Home(self.home).user_store
        if team:
            self.store_override = self._require_team()

    # -- opening ----------------------------------------------------------------------------------

    @property
    def here(self) -> Path:
        """Return the folder that decides which project is meant."""
        return self.folder or Path.cwd()

    @property
    def store_path(self) -> Path:
        """Return the memory folder commands act on: ``--store``, else the one of the project here."""
        store_path = self.store_override or paths.project_store(self.here)
        return paths.speakable(store_path)

    @property
    def is_fresh(self) -> bool:
        """Whether the project here has no memory folder yet; one that was named is expected to be there."""
        named = self.store_override is not None and not self.is_user_scope
        return not named and not self.store_path.is_dir()

    @property
    def is_user_scope(self) -> bool:
        """Whether the folder is that of the memories for all projects."""
        return self.store_override == Home(self.home).user_store

    @property
    def is_team(self) -> bool:
        """Whether the folder is one that others write in too."""
        return ownership.is_team(str(self.store_path))

    @property
    def team_path(self) -> Path | None:
        """Return the folder of the team's memories in the one here, None when there is none."""
        found = ownership.team_folder(str(self.store_path))
        return Path(found) if found else None

    def _require_team(self) -> Path:
        found = self.team_path
        if found is None:
            folder = self.store_path / ownership.TEAM
            what, fix = (
                "this project has no team's folder",
                "Claude Code makes it where a team shares memories.",
            )
            if folder.is_symlink():
                what = "the team's folder is a link, which is not followed"
                fix = "Put the folder itself in its place."
            raise InputError(what, file=str(folder), fix=fix)
        return found

    @property
    def offline(self) -> bool:
        """Whether extraction goes by rules, because no model is named or none was found."""
        from pipeline.llm import describe

        return describe(self.llm, self.settings.model)[0] == "offline"

    @contextmanager
    def ledger(self, *, to_look: bool = False) -> Iterator[Ledger]:
        """Open the ledger, made at the first use; `to_look` at it needs nothing that can be written."""
        path = Home(self.home).ledger
        with look_at_ledger(path) if to_look and path.exists() else open_ledger(path) as ledger:
            if not ledger.note and not Home(self.home).python.exists():
                from pipeline.install.hook_registration import note_interpreter

                # So that a hook finds the interpreter that can run the worker.
                note_interpreter(self.home)
            yield ledger

    def open_store(self, *, create: bool = False) -> Store:
        """Open the memory folder; without `create`, a missing one is an InputError that says where."""
        store_path = self.store_path
        known = self._kept.get(store_path)
        if known is None or create or not store_path.is_dir() or known.interrupted():
            known = self._kept[store_path] = self._opened_store(create=create)
        elif self.store_override is None:
            from pipeline.worker import check_owner

            check_owner(known, self.here)
        return known

    def _opened_store(self, *, create: bool) -> Store:
        if not create and self.is_user_scope and self.is_fresh:
            raise InputError(
                "nothing is kept for all projects yet",
                file=str(self.store_path),
                fix="`reverie add --user TEXT` keeps the first.",
            )
        if not create and not self.store_path.is_dir():
            raise InputError(
                "there is no memory folder here yet",
                file=str(self.store_path),
                by_tool="The first memory makes it.",
                fix="The first memory makes it. Is this the project's directory? Else name it with --store."
                + self.known_stores(),
            )
        store = open_store(self.store_path, self.settings, create=create)
        if self.store_override is None:
            from pipeline.worker import check_owner

            check_owner(store, self.here, claim=create)
        return store

    def known_stores(self) -> str:
        """Return a sentence with the other projects' memory folders, for who stands in the wrong place."""
        if self.is_user_scope or not Home(self.home).ledger.exists():
            return ""
        with self.ledger(to_look=True) as ledger:
            found = [str(path) for path in known_stores(ledger) if path != self.store_path]
        hint = " Was the project moved here? `reverie adopt OLD-PATH` takes its memories over."
        return f" Known here: {', '.join(found[:3])}.{hint}" if found else ""

    def require_settings(self) -> None:
        """Raise the ConfigError that `config_error` holds, if any: before whatever may cost or send."""
        if self.config_error is not None:
            raise self.config_error

    @contextmanager
    def alone(self, ledger: Ledger, *, shared: SharedCalls | None = None) -> Iterator[Worker]:
        """Hold the worker's lock, so that no background worker does the same work at the same time.

        Calls of a model go into the `shared` books as well, if they are given.
        Raises ConfigError where the settings can't be used: one of them may have been a cap, or a mode.
        """
        from pipeline.worker import Worker, WorkerContext

        self.require_settings()
        with locks.lock(Home(self.home).worker_lock, timeout=WORKER_WAIT_SECONDS) as held:
            if not held:
                raise BusyWorkerError(
                    "the background worker is busy", fix="Try again when `reverie status` shows it idle."
                )
            context = WorkerContext(
                self.home,
                self.settings,
                self.clock,
                ledger,
                llm=self.llm,
                store=self.store_override,
                patient=False,
                shared=shared,
            )
            yield Worker(context)

    # -- from transcripts to memories -------------------------------------------------------------

    def extract(self, transcript: Path) -> tuple[Ingested, list[Outcome], Path]:
        """Ingest one transcript and extract all of it that was not read yet; returns the store's path too."""
        from pipeline.worker import store_for

        with self.ledger() as ledger, self.alone(ledger) as worker:
            done = self._ingest(ledger, transcript, (paths.projects_dir(),), asked_for=True)
            outcomes = worker.read_file(done.key)
            return done, outcomes, self.store_override or store_for(ledger, done.key)

    def ingest(
        self, *, file: Path | None = None, folder: Path | None = None, reimport: bool = False
    ) -> Iterator[Ingested | InputError]:
        """Ingest one file, or every session file under `folder`; a bad file is yielded as its error."""
        from pipeline.intake.many import Intake
        from pipeline.transcript import survey_of

        with self.ledger() as ledger:
            if file:
                files.recover_ingesting(ledger)
                yield self._ingest(ledger, file, (paths.projects_dir(),), reimport=reimport, asked_for=True)
                return
            root = (folder or paths.projects_dir()).absolute()
            intake = Intake(ledger, root, settings=self.settings, clock=self.clock, reimport=reimport)
            yield from intake.read(survey_of(root, paths.projects_dir().absolute()))

    def _ingest(
        self,
        ledger: Ledger,
        path: Path,
        roots: tuple[Path, ...],
        *,
        reimport: bool = False,
        asked_for: bool = False,
    ) -> Ingested:
        from pipeline.intake.ingest import file_key, ingest_file, note_gone, stat_of

        path = path.absolute()
        if stat_of(path) is None:
            gone = note_gone(ledger, path, file_key(path, roots), self.clock)
            if gone is not None:
                return gone
            raise InputError("there is no such file", file=str(path), fix="Check the path.")
        return ingest_file(
            ledger,
            path,
            key=file_key(path, roots),
            settings=self.settings,
            clock=self.clock,
            quiet=True,
            reimport=reimport,
            asked_for=asked_for,
        )

    def backlog(self, *, everything: bool, each: Callable[[int], object] = int) -> list[dict[str, Any]]:
        """Return what `process` would read, each with its estimate; `each` is told how many are done."""
        from pipeline.app.estimates import estimate

        with self.ledger() as ledger:
            limits = self.settings.extraction
            conversations.mark_ready(
                ledger, now=self.clock.now(), gap_minutes=limits.conversation_gap_minutes
            )
            offline, found = self.offline, []
            for item in self._ready(ledger, everything):
                found.append(estimate(ledger, self.settings, item, offline=offline))
                each(len(found))
            return found

    def process(self, *, everything: bool) -> Iterator[tuple[str, list[Outcome]]]:
        """Read the ready conversations, oldest first; yields each file's key with its outcomes.

        A folder that can't be written, or is another project's, stops none but its own files; its
        StoreError is raised when the others are done.
        """
        refused: StoreError | None = None
        with self.ledger() as ledger, self.alone(ledger) as worker:
            conversation_states.recover(ledger, now=self.clock.now())
            for key in dict.fromkeys(item.source_file for item in self._ready(ledger, everything)):
                try:
                    outcomes = worker.read_file(key)
                except StoreError as error:
                    refused = refused or error
                else:
                    yield key, outcomes
        if refused is not None:
            raise refused

    def _ready(self, ledger: Ledger, everything: bool) -> list[conversations.Conversation]:
        store = None if everything else self.store_path
        return to_be_read(ledger, self.settings, store, named=self.store_override is not None)

    def work(self, *, retry: bool = False) -> Pass:
        """Drain the spool and do every waiting job now.

        `retry` first puts parked jobs back, and then reads what was passed over as unreadable. A damaged
        ledger is made anew before, and what came of it told in the answer.
        """
        try:
            return self._pass(retry=retry)
        except DamagedLedgerError:
            from pipeline.worker.mending import renew_ledger

            self.require_settings()
            with locks.lock(Home(self.home).worker_lock, timeout=WORKER_WAIT_SECONDS) as held:
                notice = renew_ledger(self.home, self.settings, self.clock) if held else ""
            if not notice:
                raise
        from dataclasses import replace

        return replace(self._pass(retry=retry), renewed=notice)

    def _pass(self, *, retry: bool) -> Pass:
        with self.ledger() as ledger, self.alone(ledger) as worker:
            if retry:
                jobs.unpark(ledger, None, now=self.clock.now().timestamp())
            done = worker.run(now_too=True)
            if retry:
                worker.read_given_up(done)
            return done

    # -- looking ----------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """Return the state of everything: queue, runs, spend, conversations, provider, store, next step."""
        from pipeline.app.status import overview

        with self.ledger(to_look=True) as ledger:
            here, store, now = self.here, self.store_path, self.clock.now()
            found = overview(ledger, self.home, self.settings, here, store=store, llm=self.llm, now=now)
        event = found["last_event"] is not None
        found["config"] = "" if self.config_error is None else _advised(self.config_error)
        return {**found, "next": "" if found["runs"] else self.next_step(event=event)}

    def next_step(self, *, event: bool = False) -> str:
        """Return what to do in a project without memories; `event` says that a hook has fired."""
        if self.is_user_scope:
            return "`reverie add --user TEXT` keeps what is meant for all projects."
        from pipeline.app.status import next_step
        from pipeline.install import claude_settings

        wired = event or bool(claude_settings.wiring(paths.project_root(self.here)).sources)
        return next_step(self.settings.store.mode, wired=wired, event=event)

    def memories(self, kind: str | None) -> tuple[list[Document], list[str]]:
        """Return the store's memories (all or of one type), and lines about unreadable files."""
        from pipeline.domain.memory import TYPES

        if kind is not None and kind not in TYPES:
            raise UsageError(f"there is no type {kind!r}", fix=f"Types: {', '.join(TYPES)}.")
        if self.is_fresh:
            return [], []
        snapshot = self.open_store().scan()
        found = [d for d in snapshot.documents if kind is None or d.head.type == kind]
        return sorted(found, key=lambda d: (d.head.type, d.head.name)), problems_of(snapshot)

    def index_trouble(self) -> str:
        """Return in one line what keeps MEMORY.md from being written, and the fix; "" for nothing."""
        if self.is_fresh:
            return ""
        found = self.open_store().scan().problems
        return next((problem.in_words() for problem in found if problem.path == INDEX), "")

    # -- changing ---------------------------------------------------------------------------------

    def follow(self, store: Store, *, begin: bool = True) -> None:
        """Bring the derived files and the search index of `store` in step with a change a person made.

        Unless it may `begin` one, MEMORY.md gets no first block where no memory is Reverie's.
        """
        from pipeline.search.refresh import refresh_index

        now = self.clock.now()
        try:
            store.reindex(now=now, begin=begin)
            refresh_index(self.home, store, now)
        except SearchError:
            # The change is made. `doctor` says that the index is behind, and the next search mends it.
            return
        except StoreError as error:
            # The change is made here, too: who was told of an error would make it again.
            LOG.warning("the change is made, but what is made from the memories is behind: %s", error)


def problems_of(snapshot: Snapshot) -> list[str]:
    """Return what is wrong with files: of a few each where it stands, of many one line."""
    if len(snapshot.problems) > _PROBLEMS_NAMED:
        counted = {*snapshot.unread, *snapshot.unsettled, *snapshot.misnamed, INDEX}
        others = [problem for problem in snapshot.problems if problem.path not in counted]
        return [*snapshot.left_out(), *(problem.in_words() for problem in others[:_PROBLEMS_NAMED])]
    return [problem.in_words() for problem in snapshot.problems]


def _require_provider(llm: str, settings: Settings) -> None:
    from pipeline.llm import describe

    try:
        describe(llm, settings.model)
    except ConfigError as error:
        raise UsageError(str(error), fix=error.fix) from error


def _advised(error: ConfigError) -> str:
    return f"{error}. Until it is mended nothing is written and no model is asked. {error.fix}"
