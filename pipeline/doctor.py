"""``reverie doctor``: is all as it should be? Looks only, calls no model; every finding has its fix."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

from pipeline import schedule
from pipeline.app import App
from pipeline.capture import spool
from pipeline.errors import ReverieError
from pipeline.ledger import jobs, lookups
from pipeline.llm import describe
from pipeline.store import fsck

Level = Literal["ok", "note", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at; `fix` is empty when there is nothing to do."""

    level: Level
    what: str
    message: str
    fix: str = ""


def examine(app: App) -> list[Finding]:
    """Return what was found, in the order looked at."""
    return [
        *_interpreter(),
        *_home(app.home),
        *_ledger(app),
        *_spool(app.home),
        *_provider(app),
        *_store(app),
    ]


def _interpreter() -> Iterator[Finding]:
    yield Finding("ok", "python", f"{sys.version.split()[0]} at {sys.executable}")
    if not hasattr(yaml, "CSafeLoader"):
        yield Finding(
            "note",
            "libyaml",
            "PyYAML runs without its C library, so reading memories takes six times as long",
            "Install PyYAML from a wheel.",
        )


def _home(home: Path) -> Iterator[Finding]:
    if not home.is_dir():
        yield Finding("note", "home", f"{home} does not exist yet; the first event makes it")
        return
    loose = [p for p in (home, home / "spool", home / "ledger.sqlite") if p.exists() and _open_to_others(p)]
    for path in loose:
        mode = "700" if path.is_dir() else "600"
        yield Finding("error", "permissions", f"others can read {path}", f"chmod {mode} '{path}'")
    if not os.access(home, os.W_OK):
        yield Finding("error", "home", f"{home} can't be written", "Make it writable for you.")
    elif not loose:
        yield Finding("ok", "home", str(home))


def _open_to_others(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def _ledger(app: App) -> Iterator[Finding]:
    if not (app.home / "ledger.sqlite").exists():
        yield Finding("note", "ledger", "none yet")
        return
    try:
        with app.ledger(to_look=True) as ledger:
            note = ledger.note
            verdict = str(ledger.value("PRAGMA quick_check"))
            parked = jobs.list_jobs(ledger, state="parked")
            counts = lookups.file_counts(ledger)
    except ReverieError as error:
        yield Finding("error", "ledger", str(error), error.fix)
        return
    if verdict != "ok":
        yield Finding(
            "error", "ledger", verdict, "Move ledger.sqlite aside; `reverie ingest --dir` builds a new one."
        )
    else:
        yield Finding("ok", "ledger", f"sound; {counts['files']} transcripts, {counts['spoken']} utterances")
    if note:
        yield Finding("error", "ledger", note, "Make room on the disk, or the home writable for you.")
    for job in parked:
        yield Finding(
            "error",
            "jobs",
            f"{job.kind} {job.key} was given up after {job.attempts} tries: {job.last_error}",
            "Mend the cause, then run `reverie work --retry`.",
        )


def _spool(home: Path) -> Iterator[Finding]:
    try:
        waiting = sum(1 for _ in spool.pending(home))
        quarantined, left = spool.quarantined(home), spool.left(home)
    except ReverieError as error:
        yield Finding("error", "spool", str(error), error.fix)
        return
    alive = schedule.worker_alive(home)
    if waiting and not alive:
        yield Finding(
            "note",
            "spool",
            f"{waiting} events wait and no worker runs",
            "Run `reverie work`; see logs/worker.log.",
        )
    else:
        yield Finding("ok", "spool", f"{waiting} events wait; worker {'running' if alive else 'idle'}")
    for event, reason in left:
        yield Finding(
            "error",
            "spool",
            f"{event} could not be taken: {reason}",
            "Mend that; the next worker tries again.",
        )
    for event, reason in quarantined:
        yield Finding(
            "note", "quarantine", f"{event}: {reason}", "Look at it in spool/quarantine/, then delete it."
        )


def _provider(app: App) -> Iterator[Finding]:
    try:
        name, reason = describe(app.llm, app.settings.model)
    except ReverieError as error:
        yield Finding("error", "provider", str(error), error.fix)
        return
    level: Level = "note" if name == "offline" else "ok"
    fix = "Log in with `claude`, or set model.api_key_env in config.toml." if name == "offline" else ""
    yield Finding(level, "provider", f"{name}: {reason}", fix)


def _store(app: App) -> Iterator[Finding]:
    place = app.store_path
    if not place.is_dir():
        yield Finding("note", "store", f"{place} does not exist yet; the first memory makes it")
        return
    try:
        store = app.open_store()
        findings = fsck(store)
    except ReverieError as error:
        yield Finding("error", "store", str(error), error.fix)
        return
    if not store.writable():
        yield Finding("error", "store", f"{place} can't be written", "Make the folder writable for you.")
    for finding in findings:
        yield Finding("error", f"store {finding.code}", f"{finding.path}: {finding.message}", finding.fix)
    if not findings:
        yield Finding("ok", "store", f"{place}: {len(store.scan().documents)} memories, nothing wrong")
