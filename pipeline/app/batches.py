"""Reading a backlog in batches: what it would cost, the order for it, how far that is, and its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pipeline.app.application import App
from pipeline.app.estimates import estimate
from pipeline.app.to_be_read import to_be_read
from pipeline.core.errors import InputError, ReverieError, UsageError
from pipeline.ledger import Ledger, batches, conversations, jobs
from pipeline.ledger.batches import Progress
from pipeline.ledger.conversations import Conversation
from pipeline.llm.budget import BATCH_SHARE
from pipeline.record import record
from pipeline.worker import Pass, store_for
from pipeline.worker.batch_runner import is_whole

if TYPE_CHECKING:
    from pipeline.config import Settings


@record
class Offer:
    """What an order would read: `items`, in so many calls, for about `dollars` and at most `most_dollars`.

    `single_dollars` is about what the same costs without batches. `others` counts conversations that no
    batch takes, since they are short or were read in part. `refusal` says why no batch can be sent as it is
    set now, "" where one can.
    """

    items: tuple[Conversation, ...]
    calls: int
    dollars: float
    most_dollars: float
    single_dollars: float
    others: int
    refusal: str


@record
class Look:
    """How far the order is, if there ever was one, and what was done just now."""

    progress: Progress | None
    done: Pass | None = None
    next_in: float | None = None


def offer(app: App, *, everything: bool, each: Callable[[int], object] = int) -> Offer:
    """Return what an order would read now; `each` is told how many conversations were estimated.

    Raises UsageError where the background could not go on with it, ConfigError where no provider takes it.
    """
    _require_background(app)
    store = None if everything else app.store_path
    with app.ledger() as ledger:
        limits = app.settings.extraction
        conversations.mark_ready(ledger, now=app.clock.now(), gap_minutes=limits.conversation_gap_minutes)
        ready = to_be_read(ledger, app.settings, store, named=False)
        items, rows = [], []
        for item in ready:
            if is_for_a_batch(ledger, app.settings, item):
                items.append(item)
                rows.append(estimate(ledger, app.settings, item, offline=False))
                each(len(items))
    single = sum(row["dollars"] for row in rows)
    return Offer(
        tuple(items),
        sum(row["calls"] for row in rows),
        round(single * BATCH_SHARE, 4),
        round(sum(row["most"] for row in rows) * BATCH_SHARE, 4),
        round(single, 4),
        len(ready) - len(items),
        _refusal(app),
    )


def _refusal(app: App) -> str:
    try:
        require_provider(app)
    except ReverieError as error:
        return f"{error}. {error.fix}"
    return ""


def require_provider(app: App) -> None:
    """Raise ConfigError where the provider takes no batches, UnauthorisedError where there is no key."""
    from pipeline.llm import open_provider
    from pipeline.llm.batching import takes_batches

    takes_batches(open_provider(app.llm, app.settings.model, home=app.home))


def order(app: App, wanted: Offer) -> Look:
    """Order what was offered, and send what the caps leave room for.

    Raises InputError beside another order, and what asking a model raises.
    """
    _require_background(app)
    with app.ledger() as ledger, app.alone(ledger) as worker:
        if batches.open_order(ledger) is not None:
            raise InputError(
                "another backlog is being read in batches",
                fix="`reverie process --batch` tells how far it is.",
            )
        worker.batches.order(wanted.items, wanted.most_dollars)
        done = worker.read_batches()
        return _look(app, ledger, done)


def look(app: App, *, now_too: bool = False) -> Look:
    """Return how far the order is; `now_too` asks the provider first, and brings in what has come."""
    if not now_too:
        with app.ledger(to_look=True) as ledger:
            return _look(app, ledger, None)
    with app.ledger() as ledger, app.alone(ledger) as worker:
        return _look(app, ledger, worker.read_batches())


def cancel(app: App, *, alone: bool = False) -> Look:
    """End the order: nothing more is asked, and what the provider has done already is brought in.

    One for a team ends `alone`, without a word to the team, where a person says so. Raises InputError
    without an order.
    """
    with app.ledger() as ledger:
        found = batches.open_order(ledger)
        if found is None:
            raise InputError("nothing is being read in batches", fix="There is nothing to cancel.")
        if found.team and not alone:
            raise InputError(
                "it is read for a team",
                fix="`reverie process --team --cancel` ends that. If you are in that team no more,"
                " `reverie process --batch --cancel --yes` ends it here.",
            )
        batches.cancel(ledger, found.id)
        with app.alone(ledger) as worker:
            if found.team:
                worker.batches.look(batches.open_order(ledger) or found)
                return _look(app, ledger, Pass())
            return _look(app, ledger, worker.read_batches())


def is_open(app: App) -> bool:
    """Whether something is being read in batches."""
    with app.ledger(to_look=True) as ledger:
        return batches.open_order(ledger) is not None


def _look(app: App, ledger: Ledger, done: Pass | None) -> Look:
    found = batches.last_order(ledger)
    if found is None:
        return Look(None, done)
    waits = [job.run_after for job in jobs.list_jobs(ledger, state="waiting") if job.key == found.id]
    next_in = max(0.0, waits[0] - app.clock.now().timestamp()) if waits else None
    return Look(batches.progress(ledger, found), done, next_in)


def _require_background(app: App) -> None:
    """Raise UsageError for what only this process knows: a batch outlives it."""
    if app.store_override is not None or app.llm != app.settings.model.provider:
        raise UsageError(
            "--batch goes by the settings alone: it goes on in the background",
            fix="Leave out --store, --graph and --llm; set model.provider and model.api_key_env instead.",
        )
    if app.settings.store.mode in ("off", "observe"):
        raise InputError(
            f"the mode is {app.settings.store.mode}, so nothing is read in the background",
            fix="`reverie mode auto` lets Reverie read; or read it now, without --batch.",
        )


def is_for_a_batch(ledger: Ledger, settings: Settings, item: Conversation) -> bool:
    """Whether a conversation can be read in a batch."""
    store = store_for(ledger, item.source_file)
    return is_whole(ledger, item, store, least=settings.extraction.min_conversation_messages)
