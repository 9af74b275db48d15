"""Dreams at a person's or the scheduler's word: over the store here, or over every store there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pipeline.app.application import App
from pipeline.consolidation.commit.report import DreamReport
from pipeline.consolidation.run import dream
from pipeline.context import PhaseContext, known_stores
from pipeline.core.clock import iso
from pipeline.core.errors import ReverieError, UsageError
from pipeline.core.ids import new_id
from pipeline.text.since import since as moment_of
from pipeline.worker.procedures.looking import question


def consolidate(
    app: App,
    *,
    force: bool = False,
    dry_run: bool = False,
    since: str = "",
    between: Callable[[], object] = int,
) -> DreamReport:
    """Dream over the store of `app` now; `force` skips the gates, `dry_run` only says what would be done.

    `since` is a day, or how long ago: then it is about what was changed from then on instead of what changed
    since the last dream. Raises UsageError for what is neither.

    `between` is called before each question to the model; what it raises ends the dream there. What was
    answered until then is kept for the next one.
    """
    now = app.clock.now()
    begin = moment_of(since, now) if since else None
    if begin is not None and begin > now:
        fix = "Write a day that was, or how long ago: 12h, 7d, 2w."
        raise UsageError(f"{since!r} is yet to come, and nothing was changed since", fix=fix)
    store = app.open_store()
    with app.ledger() as ledger, app.alone(ledger) as worker:
        client = worker.client()
        if client is not None:
            client.between = between
        phase = PhaseContext(ledger, store, client, app.settings, app.clock)
        return dream(phase, home=app.home, force=force, dry_run=dry_run, since=begin, last=question())


def dream_all(app: App, *, everywhere: bool) -> Iterator[DreamReport]:
    """Dream over the store here, or over every known store, where the gates are open.

    Of many stores one that can't be used does not stop the rest: its report says why it ``failed``.
    """
    with app.ledger() as ledger, app.alone(ledger) as worker:
        paths = known_stores(ledger) if everywhere else [app.store_path]
        for path in paths:
            if not path.is_dir():
                continue
            try:
                store = worker.open_store(path)
                phase = PhaseContext(ledger, store, worker.client(), app.settings, app.clock)
                report = dream(phase, home=app.home, last=question())
            except ReverieError as error:
                if not everywhere:
                    raise
                reason = f"{error}. {error.fix}".strip()
                report = DreamReport(new_id(), str(path), iso(app.clock.now()), word="failed", reason=reason)
            yield report
