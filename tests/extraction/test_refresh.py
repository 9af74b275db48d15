"""The derived files of many stores: what one of them holds is no matter of the others."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from pipeline.core.errors import ConflictError
from pipeline.ledger import jobs
from pipeline.store import Store
from pipeline.store.catalogue.scanner import Listener
from pipeline.worker import WorkerContext
from pipeline.worker.derived_files import DerivedFiles
from tests.support.extraction import NOW, Bench
from tests.support.stores import memory, save


class Broken(Store):
    """A store whose derived files can't be made."""

    error: Exception = TypeError("no idea")

    def reindex(
        self,
        *,
        now: datetime,
        index_lines: int | None = None,
        begin: bool = True,
        tell: Listener = len,
        anew: bool = False,
        again: bool = False,
    ) -> list[str]:
        raise self.error


class OneBroken(WorkerContext):
    """A worker's context that meets one broken store."""

    def open_store(self, store_path: Path) -> Store:
        return Broken.open(store_path) if store_path.name == "broken" else super().open_store(store_path)


def derived(bench: Bench) -> DerivedFiles:
    return DerivedFiles(OneBroken(bench.root, bench.settings, bench.clock, bench.ledger, llm="offline"))


def owed(bench: Bench, *places: Path) -> None:
    for place in places:
        Store.open(place, create=True)
        jobs.enqueue(bench.ledger, "reindex", str(place), now=NOW, run_after=NOW)


ERRORS = [
    (TypeError("no idea"), 1),
    (OverflowError("too big"), 1),
    (OSError(28, "full"), 0),
    (ConflictError("x"), 0),
]


@pytest.mark.parametrize(("error", "attempts"), ERRORS)
def test_a_store_that_fails_waits_and_the_next_is_done(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, attempts: int
) -> None:
    broken, sound = tmp_path / "broken", tmp_path / "sound"
    owed(bench, broken, sound)
    save(Store.open(sound), memory())
    (sound / "MEMORY.md").unlink()
    monkeypatch.setattr(Broken, "error", error)
    derived(bench).rebuild()
    states = {Path(job.key).name: (job.state, job.attempts) for job in jobs.list_jobs(bench.ledger)}
    assert states == {"broken": ("waiting", attempts), "sound": ("done", 0)}
    assert "prefers-tabs" in (sound / "MEMORY.md").read_text()
    assert jobs.list_jobs(bench.ledger, state="waiting")[0].last_error


def test_after_three_tries_it_is_given_up_for_a_person_to_see(bench: Bench, tmp_path: Path) -> None:
    owed(bench, tmp_path / "broken")
    files = derived(bench)
    for _ in range(3):
        files.rebuild()
        bench.clock.at = bench.clock.at.replace(hour=bench.clock.at.hour + 1)
    (job,) = jobs.list_jobs(bench.ledger)
    assert (job.state, job.attempts, job.last_error) == ("parked", 3, "a fault in Reverie (no idea)")
