"""``reverie process --batch``: a backlog at half the price, asked in batches that nobody has to wait for."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.app import batches
from pipeline.app.application import App
from pipeline.app.batches import Look, Offer
from pipeline.cli import output
from pipeline.cli.progress import progress
from pipeline.ledger.batches import Progress
from pipeline.text.humanize import count, money

_NOT_ORDERED = "nothing was ordered"


def process(
    app: App, *, everything: bool, only_estimate: bool, cancel: bool, yes: bool, as_json: bool
) -> None:
    """Order the backlog, tell how far it is, or end it."""
    if cancel:
        with progress("canceling"):
            found = batches.cancel(app, alone=yes)
        _show(found, as_json=as_json)
        return
    if not only_estimate and batches.is_open(app):
        with progress("looking"):
            found = batches.look(app, now_too=True)
        _show(found, as_json=as_json)
        return
    with progress("estimating") as now:
        wanted = batches.offer(app, everything=everything, each=lambda done: now(f"estimating: {done:,}"))
    if only_estimate:
        output.data(_plain(wanted), lambda: _tell_offer(wanted, output.line), as_json=as_json)
        if wanted.refusal:
            output.talk(f"As it is set now, no batch can be sent: {wanted.refusal}")
        return
    _tell_offer(wanted, output.talk)
    if not wanted.items:
        output.talk("nothing is left for a batch")
        _show(batches.look(app), as_json=as_json)
        return
    batches.require_provider(app)
    question = f"Read them in batches for {money(wanted.most_dollars)} at most?"
    if not output.agreed(question, yes=yes, unasked=_NOT_ORDERED, fix="Add --yes or --estimate."):
        output.data({"order": None}, lambda: output.line(_NOT_ORDERED), as_json=as_json)
        return
    with progress("asking"):
        found = batches.order(app, wanted)
    _show(found, as_json=as_json)


def words(so_far: Progress) -> str:
    """Return in one line how far an order is."""
    parts = [f"{so_far.read:,} of {count(so_far.total, 'conversation')} read"]
    if so_far.batches:
        requests = count(so_far.requests, "request")
        parts.append(f"{requests} in {count(so_far.batches, 'batch', 'batches')} under way")
    alone = so_far.readings.get("alone", 0)
    if alone:
        parts.append(f"{alone:,} asked singly instead")
    left = so_far.readings.get("left", 0)
    if left:
        parts.append(f"{left:,} left")
    return ", ".join(parts)


def _plain(wanted: Offer) -> dict[str, object]:
    return {
        "conversations": [item.id for item in wanted.items],
        "calls": wanted.calls,
        "dollars": wanted.dollars,
        "most_dollars": wanted.most_dollars,
        "single_dollars": wanted.single_dollars,
        "others": wanted.others,
        "refusal": wanted.refusal,
    }


def _tell_offer(wanted: Offer, tell: Callable[[str], None]) -> None:
    calls = count(wanted.calls, "call")
    tell(
        f"{count(len(wanted.items), 'conversation')}, about {calls} and {money(wanted.dollars)} in batches"
        f" ({money(wanted.single_dollars)} singly), {money(wanted.most_dollars)} at most"
    )
    if wanted.others:
        output.talk(
            f"{count(wanted.others, 'conversation')} more no batch takes, being short or read in part:"
            " `reverie process` reads them by their turns, at the full price."
        )


def _show(found: Look, *, as_json: bool) -> None:
    output.data(_look_values(found), lambda: _tell_look(found), as_json=as_json)


def _look_values(found: Look) -> dict[str, object]:
    so_far = found.progress
    if so_far is None:
        return {"order": None}
    return {
        "order": so_far.order.id,
        "state": so_far.order.state,
        "readings": so_far.readings,
        "batches": so_far.batches,
        "requests": so_far.requests,
        "reserved_dollars": round(so_far.reserved_dollars, 6),
        "spent_dollars": round(so_far.spent_dollars, 6),
        "most_dollars": so_far.order.most_dollars,
        "waits": so_far.order.waits,
        "next_in": found.next_in,
        "failures": found.done.failures if found.done else [],
    }


def _tell_look(found: Look) -> None:
    so_far = found.progress
    if so_far is None:
        output.line("nothing was ever ordered in batches")
        return
    output.line(f"{so_far.order.state}: {words(so_far)}")
    output.line(
        f"${so_far.spent_dollars:.4f} spent, ${so_far.reserved_dollars:.4f} at most for what is under way,"
        f" {money(so_far.order.most_dollars)} agreed to"
    )
    for failure in found.done.failures if found.done else []:
        output.talk(f"failed: {failure}")
    waits = so_far.order.waits or (found.done.waiting if found.done else "")
    if waits and so_far.order.ended_at is None:
        output.talk(f"waiting: {waits}")
    if so_far.order.state == "canceling":
        output.talk(
            "It is being canceled, so nothing new is ordered. Once it has ended,"
            " `reverie process --all --batch` orders what is left; this looks in now."
        )
    elif so_far.order.ended_at is None:
        output.talk(
            "The worker goes on with it, at the next session or by `reverie schedule`; this looks in now."
        )
