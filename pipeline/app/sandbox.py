"""A home and a store of their own for the length of a question: what is done there is done nowhere else."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipeline.config import Settings
from pipeline.context import PhaseContext, open_store
from pipeline.core.atomic import ensure_dir
from pipeline.core.clock import FixedClock
from pipeline.core.home import Home
from pipeline.extraction.reading import Read
from pipeline.ledger import Ledger, open_ledger, runs
from pipeline.llm import Client
from pipeline.record import record
from pipeline.store import Store


@record
class Sandbox:
    """A ledger, and the stores of a project and of all projects, which can be one and the same."""

    ledger: Ledger
    store: Store
    everyone: Store
    settings: Settings
    clock: FixedClock

    def phase(self, client: Client | None = None) -> PhaseContext:
        """Return what a phase works with here."""
        return PhaseContext(self.ledger, self.store, client, self.settings, self.clock)

    def start(self, run: runs.Run) -> None:
        """Note that `run` begins here."""
        runs.start_run(
            self.ledger,
            id=run.id,
            kind=run.kind,
            key=run.key,
            store=str(self.store.path),
            strategy=run.strategy,
            from_row=run.from_row,
            through_row=run.through_row,
            now=self.clock.now(),
        )


@contextmanager
def sandbox(
    settings: Settings,
    clock: FixedClock,
    *,
    store: Path | None = None,
    everyone: Path | None = None,
    user_scope: bool = False,
) -> Iterator[Sandbox]:
    """Open a sandbox with copies of `store` and `everyone`, or with empty stores; it is gone behind it.

    With `user_scope` the store is that of all projects.
    """
    with TemporaryDirectory(prefix="reverie-run-") as folder:
        home = Home(Path(folder).resolve() / "home")
        ensure_dir(home.path)
        own = home.user_store if user_scope else home.path.parent / "copy"
        for source, target in ((everyone, home.user_store), (store, own)):
            if source is not None and source.is_dir() and not target.exists():
                shutil.copytree(source, target, symlinks=True)
        opened = open_store(own, settings, create=True)
        shared = opened if user_scope else open_store(home.user_store, settings, create=True)
        with open_ledger(home.ledger) as ledger:
            yield Sandbox(ledger, opened, shared, settings, clock)


def outcome_of(read: Read) -> dict[str, Any]:
    """Return what came of a span in a sandbox, in the form of `past_runs.done_by`."""
    outcome = read.outcome
    return {
        "outcome": outcome.word,
        "reason": outcome.reason,
        "actions": [action.to_json() for action in outcome.actions],
        "rejected": [dict(item) for item in outcome.rejected],
        "proposals": [
            {"kind": item.kind, "name": item.name, "reason": item.reason} for item in read.proposals
        ],
    }
