"""A run asked anew: what another model, or the prompts of today, make of the dialogue that it read.

The dialogue is in the ledger. The store is a copy of today's without what the run did, and is thrown away; of
all that happens only the calls are booked, under the caps of every call.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.app import past_runs
from pipeline.app.application import App
from pipeline.app.sandbox import Sandbox, outcome_of, sandbox
from pipeline.core.clock import FixedClock
from pipeline.core.errors import InputError, ReverieError
from pipeline.core.home import Home
from pipeline.core.ids import new_id
from pipeline.extraction import reading
from pipeline.extraction.strategies import (
    ConversationStrategy,
    Span,
    Strategy,
    TurnStrategy,
    context_room,
)
from pipeline.ledger import Ledger, calls, conversations, dialogue, inbox, runs, secrets, utterances
from pipeline.llm import Client, Provider, describe, logins, open_provider
from pipeline.record import record
from pipeline.text.slugs import slugify


@record
class Side:
    """What one reading came to: by which model, at what price, and what it did; `texts` are by name."""

    provider: str
    model: str
    request: str
    calls: int
    tokens: int
    dollars: float
    done: dict[str, Any]
    texts: dict[str, str]

    @property
    def became(self) -> dict[str, str]:
        """Return what became of each memory, by its name."""
        found = {str(item["name"]): f"turned down: {item['reason']}" for item in self.done["rejected"]}
        found |= {str(item["name"]): f"inbox: {item['reason']}" for item in self.done["proposals"]}
        return found | {str(item["name"]): str(item["action"]) for item in self.done["actions"]}


@record
class Rerun:
    """Two readings of the same rows. `notes` say in what the second had it otherwise."""

    run_id: str
    key: str
    from_row: int
    through_row: int
    then: Side
    now: Side
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all memories that either is about, those of the first before."""
        return tuple(dict.fromkeys((*self.then.became, *self.now.became)))


def rerun(app: App, run_id: str, *, model: str = "", provider: Provider | None = None) -> Rerun:
    """Ask the model of `app`, or `model` of its provider, about the dialogue of a run; nothing is written.

    `provider` answers in the place of what the settings name. Raises InputError where the dialogue is gone,
    and ModelError or SpendError where nobody answers or a cap forbids it.
    """
    app.require_settings()
    settings = app.settings
    if model:
        settings = settings.model_copy(update={"model": settings.model.model_copy(update={"model": model})})
    with app.ledger() as ledger:
        run = past_runs.find(ledger, run_id)
        packed = json.loads(run.reply_json or "{}")
        strategy, span = _read_again(app, ledger, run, packed)
        mine = f"rerun-{new_id()}"
        client = _client(app, ledger, mine, settings.model, provider)
        user_store = Home(app.home).user_store
        now = FixedClock(app.clock.now())
        user_scope = Path(run.store) == user_store
        with sandbox(settings, now, store=Path(run.store), everyone=user_store, user_scope=user_scope) as box:
            notes = _without_the_run(box, run)
            _keep_waiting(box, ledger, run, user_store)
            # A change set is applied once under its id, and the copy knows that of the run.
            anew = replace(run, id=new_id())
            box.start(anew)
            phase = box.phase(client)
            answer, checkpoint = reading.ask(phase, strategy, span, anew.id)
            read = reading.bring_in(phase, span, answer, checkpoint)
            asked = runs.run(box.ledger, anew.id) or anew
            after = _side(
                asked, outcome_of(read), calls.booked_as(ledger, mine), _texts_in(box, read.outcome.actions)
            )
        before = _side(
            run,
            past_runs.done_by(ledger, run),
            past_runs.calls_of(ledger, run, app.clock.now()),
            _texts_of(packed),
        )
    return Rerun(run.id, run.key, run.from_row, run.through_row, before, after, tuple(notes))


def _client(app: App, ledger: Ledger, run_id: str, settings: Any, provider: Provider | None) -> Client | None:
    if provider is None:
        if describe(app.llm, settings)[0] == "offline":
            return None
        provider = open_provider(app.llm, settings, home=app.home)
    meter = calls.LedgerMeter(
        ledger, app.settings.spend, app.clock, run_id=run_id, held_for=logins.stamp(settings)
    )
    return Client(provider, meter, settings=settings, mask=secrets.masking(ledger))


def _read_again(app: App, ledger: Ledger, run: runs.Run, packed: Mapping[str, Any]) -> tuple[Strategy, Span]:
    """Return how `run` read, and the span that it read, from the rows in the ledger."""
    limits = app.settings.extraction
    strategy: Strategy = TurnStrategy(run.key, limits)
    whole = dialogue.dialogue(ledger, run.key, after_row=run.from_row - 1)
    if run.strategy == "conversation":
        found = conversations.conversation(ledger, int(packed.get("conversation") or 0))
        if found is not None:
            strategy = ConversationStrategy(found, limits)
            whole = dialogue.dialogue_of_conversation(ledger, found.id)
    new = [line for line in whole if run.from_row <= line.row <= run.through_row]
    if not new or strategy.id != run.strategy:
        raise InputError(
            "the dialogue of that run is not kept any more",
            file=run.key,
            fix="Its bundle, if it has one, can be run again: `reverie replay`.",
        )
    room = packed.get("context_room") or context_room(limits, new)
    writes = utterances.memory_writes(
        ledger, run.key, after_row=run.from_row - 1, through_row=run.through_row
    )
    return strategy, Span(
        key=run.key,
        new=new,
        context=dialogue.context_before(ledger, run.key, row=run.from_row, max_chars=room),
        from_row=run.from_row,
        through_row=run.through_row,
        conversation=packed.get("conversation"),
        last=packed.get("last", True),
        written=tuple(writes),
        ended_at=packed.get("ended_at"),
        begins_row=run.from_row,
        room=max(limits.window_chars, sum(len(line.text) for line in new)),
        context_room=room,
    )


def _without_the_run(box: Sandbox, run: runs.Run) -> list[str]:
    """Take what `run` did out of the copy; return what the copy has otherwise than the run had it."""
    notes = ["the memories are those of today, without what this run did"]
    if not box.store.was_applied(run.id):
        return ["the memories are those of today"]
    standing = [item for item in box.store.history() if item.run == run.id and not item.undone]
    try:
        if standing:
            box.store.undo(run.id, at=box.clock.now())
    except ReverieError as error:
        notes = [f"the memories are those of today, with what this run did: {error}"]
    return notes


def _keep_waiting(box: Sandbox, ledger: Ledger, run: runs.Run, user_store: Path) -> None:
    """Let wait in the sandbox what waits for the person, but for what the run itself proposed."""
    for store, target in ((run.store, box.store), (str(user_store), box.everyone)):
        if target is box.store and store != run.store:
            continue
        for item in inbox.list_inbox(ledger, store):
            if item.run_id != run.id and item.kind != inbox.CITED:
                inbox.add_inbox(
                    box.ledger,
                    str(target.path),
                    kind=item.kind,
                    payload_json=item.payload_json,
                    reason=item.reason,
                    run_id=item.run_id,
                    now=item.created_at,
                )


def _side(run: runs.Run, done: dict[str, Any], made: Iterable[calls.Call], texts: dict[str, str]) -> Side:
    made = list(made)
    tokens = sum(
        call.input_tokens + call.output_tokens + call.cache_write_tokens + call.cache_read_tokens
        for call in made
    )
    return Side(
        run.provider or "",
        run.model or "",
        run.prompt_digest or "",
        len(made),
        tokens,
        sum(call.dollars for call in made),
        done,
        texts,
    )


def _texts_of(packed: Mapping[str, Any]) -> dict[str, str]:
    """Return what the candidates of a kept reply say, by the name each would have."""
    given = (packed.get("reply") or {}).get("memories") or []
    return {slugify(str(item.get("name") or "")): str(item.get("statement") or "") for item in given}


def _texts_in(box: Sandbox, actions: Iterable[Any]) -> dict[str, str]:
    snapshot = box.store.scan()
    found = {action.name: snapshot.by_name(action.name) for action in actions}
    return {name: document.memory.body.strip() for name, document in found.items() if document}
