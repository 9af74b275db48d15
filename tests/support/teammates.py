"""Members of a team in one process, each with a home, a project and a clock of their own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pipeline import config
from pipeline.app import memories, team
from pipeline.app.application import App
from pipeline.core.clock import FixedClock
from pipeline.ledger import jobs, open_ledger
from pipeline.sharing.state import Share
from pipeline.worker import Worker, WorkerContext


class Person:
    """Somebody at a machine of their own."""

    def __init__(self, folder, monkeypatch, url):
        self.url = url
        self.store = folder / "memory"
        self.store.mkdir(parents=True)
        monkeypatch.setenv("REVERIE_HOME", str(folder / "reverie"))
        self.app = App(store=self.store)
        self.app.clock = self.clock = FixedClock(datetime(2026, 11, 20, 9, tzinfo=UTC))

    def add(self, statement, kind="project", **more):
        return memories.add(self.app, statement, kind=kind, force=True, **more).name

    def texts(self):
        """What stands in the team's folder: body and author by name."""
        found = team._shared(self.app).open_store().scan().documents
        return {item.name: (item.memory.body.strip(), item.memory.extra.get("author")) for item in found}

    def state(self):
        """What is known here of the team's folder."""
        return Share.of(self.app.home, self.store / "team").read()

    def work(self, share="ask"):
        """Let a worker make a pass with that ``team.share``; return the states of its syncs."""
        found = config.load(self.app.home)
        found = found.model_copy(update={"team": found.team.model_copy(update={"share": share})})
        with open_ledger(self.app.home / "ledger.sqlite") as ledger:
            Worker(WorkerContext(self.app.home, found, self.app.clock, ledger, llm="offline")).run()
            return [job.state for job in jobs.list_jobs(ledger) if job.kind == "sync"]

    def wait(self, **span):
        """Let time pass."""
        self.clock.at += timedelta(**span)
