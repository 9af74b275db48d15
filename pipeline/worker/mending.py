"""What the worker mends by itself: a damaged ledger is set aside, made anew and filled from what there is."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config import first_sight_from
from pipeline.core import paths
from pipeline.core.clock import Clock
from pipeline.core.errors import ODD_DATA, InputError, cause
from pipeline.core.home import Home
from pipeline.intake.ingest import file_key, ingest_file
from pipeline.intake.left_alone import why_left_alone
from pipeline.ledger import Ledger, open_ledger, recovery
from pipeline.recall.prepared import hook_state
from pipeline.text.humanize import count
from pipeline.transcript import scan

if TYPE_CHECKING:
    from pipeline.config import Settings

LOG = logging.getLogger("reverie.worker")


def renew_ledger(home: Path, settings: Settings, clock: Clock) -> str:
    """Set the damaged ledger of `home` aside and fill a new one; return what to tell the person, "" for a
    ledger that is sound after all.

    The caller holds ``worker.lock``. Read again is what was written in the days of a history that is read
    unasked; events in the spool come with the next pass. Raises LedgerError.
    """
    renewed = recovery.renew(Home(home).ledger, now=clock.now())
    if renewed is None:
        return ""
    with open_ledger(Home(home).ledger) as ledger:
        read = count(_read_again(ledger, settings, clock), "transcript")
    spent = "" if renewed.spend_is_whole else "; what was spent before is not known any more"
    notice = (
        f"the ledger was damaged, so a new one was made from {read} of the last"
        f" {settings.extraction.first_sight_days} days{spent}. The damaged one is {renewed.aside.name}"
    )
    LOG.warning("%s", notice)
    hook_state.note(home, "renewed", notice, clock.now())
    return notice


def _read_again(ledger: Ledger, settings: Settings, clock: Clock) -> int:
    """Ingest what was written lately; return how many files. Conversations are read when they are due."""
    since = first_sight_from(settings.extraction, clock.now()).timestamp()
    read = 0
    for path in scan(paths.projects_dir()):
        if not isinstance(path, Path):
            continue
        key = file_key(path, (paths.projects_dir(),))
        try:
            if path.stat().st_mtime < since or why_left_alone(ledger, key, settings, path=path):
                continue
            ingest_file(ledger, path, key=key, settings=settings, clock=clock)
        except (InputError, OSError, *ODD_DATA) as error:
            LOG.warning("%s can't be read again: %s", path, cause(error), extra={"session": path.stem})
            continue
        read += 1
    return read
