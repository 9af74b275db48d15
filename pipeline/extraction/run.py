"""The extraction phase: one span of dialogue becomes memories, exactly once, whatever dies in between.

    1 span     what has not been read            (ledger)
    2 ask      render, prompt, model             (llm)
    3 commit   the reply, before anything else   (ledger)
    4 screen   what holds against the dialogue   (code)
    5 plan     create, update, retire, propose   (code)
    6 apply    one change set                    (store)
    7 finish   run, watermark and inbox together (ledger)

A crash after 3 resumes from the committed reply; the change set's id is the run's, so applying it again
does nothing. A crash before 3 asks again, since nobody can know what the lost reply said.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from pipeline import faults
from pipeline.clock import Clock, parse_time
from pipeline.config import Settings
from pipeline.domain.memory import Memory
from pipeline.domain.speech import Utterance
from pipeline.errors import ConflictError, ModelError, SpendError, TooLongError, TruncatedError
from pipeline.extraction import existing, rules
from pipeline.extraction.render import Rendering, render, size
from pipeline.extraction.schema import ConversationExtraction, Extraction
from pipeline.extraction.screen import Verdict, screen
from pipeline.extraction.strategies import Span, Strategy
from pipeline.extraction.write import Plan, overtaken, plan
from pipeline.ids import new_id
from pipeline.ledger import Ledger, inbox, runs, tombstones, watermarks
from pipeline.llm import Client, Message, Request
from pipeline.prompts import load
from pipeline.store import ChangeSet, Snapshot, Store, WriteFile

LEAST_WINDOW = 2_000
"""A window is halved when the model can't take it, down to this many characters."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What the phase works with. `client` is None when no model is to be asked (offline)."""

    ledger: Ledger
    store: Store
    client: Client | None
    settings: Settings
    clock: Clock

    @property
    def store_key(self) -> str:
        """Return the store's name in the ledger."""
        return str(self.store.path)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run did. `word` is applied, nothing or skipped; counts are by action."""

    run_id: str
    word: str
    reason: str = ""
    actions: tuple[dict[str, str], ...] = ()
    rejected: tuple[dict[str, str], ...] = ()
    proposals: int = 0
    dollars: float = 0.0


@dataclass(frozen=True, slots=True)
class _Answer:
    """A committed reply with the numbered lines it cites."""

    reply: Extraction
    rendering: Rendering
    provisional: frozenset[str]
    dollars: float = 0.0


def extract(desk: Desk, strategy: Strategy) -> Outcome | None:
    """Do the next span of `strategy`, or finish one that was interrupted; None when nothing is left.

    Raises ModelError or SpendError with nothing changed, so that the caller can try again later.
    """
    interrupted = runs.pending_run(desk.ledger, strategy.source, desk.store_key, strategy.id)
    if interrupted is not None:
        return _resume(desk, strategy, interrupted)
    window = desk.settings.extraction.window_chars
    while True:
        span = strategy.next_span(desk.ledger, desk.store_key, max_chars=window, now=desk.clock.now())
        if span is None:
            return None
        try:
            return _fresh(desk, strategy, span)
        except (TooLongError, TruncatedError) as error:
            window = _narrower(span, window, error)


def _narrower(span: Span, window: int, error: Exception) -> int:
    used = sum(size(utterance) for utterance in span.new)
    if len(span.new) == 1 or min(used, window) // 2 < LEAST_WINDOW:
        raise error
    return min(used, window) // 2


def _fresh(desk: Desk, strategy: Strategy, span: Span) -> Outcome:
    run_id = new_id()
    with desk.ledger.transaction():
        _start(desk, strategy, span, run_id)
    if span.skip:
        return _finish(desk, strategy, span, Outcome(run_id, "skipped", span.skip), Plan())
    faults.reach("extract.before_call")
    try:
        answer = _ask(desk, strategy, span, run_id)
    except (ModelError, SpendError) as error:
        _note_failure(desk, run_id, error)
        raise
    faults.reach("extract.after_reply_commit")
    return _bring_in(desk, strategy, span, run_id, answer)


def _note_failure(desk: Desk, run_id: str, error: ModelError | SpendError) -> None:
    word = error.outcome if isinstance(error, ModelError) else "spend"
    summary = json.dumps({"reason": str(error)}, ensure_ascii=False)
    with desk.ledger.transaction():
        runs.finish_run(
            desk.ledger, run_id, outcome=f"failed:{word}", summary_json=summary, now=desk.clock.now()
        )


def _ask(desk: Desk, strategy: Strategy, span: Span, run_id: str) -> _Answer:
    snapshot = desk.store.scan()
    mine = _provisional(snapshot, span)
    rendering = render(span.context, span.new)
    if desk.client is None:
        reply: Extraction = rules.extract(rendering)
        meta = {"prompt_digest": "", "model": "", "provider": "offline"}
        dollars = 0.0
    else:
        variables = {
            "today": desk.clock.now().date().isoformat(),
            "existing": existing.listing(snapshot, rendering.new, leave_out=frozenset(m.name for m in mine)),
            "context": rendering.context or existing.NONE,
            "new": rendering.new,
        }
        if strategy.id == "conversation":
            variables["provisional"] = existing.in_full(mine)
        answered = desk.client.complete(
            Request(
                purpose=strategy.prompt,
                model=desk.settings.model.model,
                system=load("extract.system").render(),
                messages=(Message("user", load(strategy.prompt).render(**variables)),),
                max_tokens=desk.settings.model.max_output_tokens,
            ),
            strategy.schema,
        )
        faults.reach("extract.after_call")
        reply = answered.value
        meta = {"prompt_digest": answered.digest, "model": answered.model, "provider": answered.provider}
        dollars = answered.dollars
    names = frozenset(m.name for m in mine)
    with desk.ledger.transaction():
        runs.commit_reply(
            desk.ledger, run_id, _pack(reply, rendering, span, names), now=desk.clock.now(), **meta
        )
    return _Answer(reply, rendering, names, dollars)


def _bring_in(desk: Desk, strategy: Strategy, span: Span, run_id: str, answer: _Answer) -> Outcome:
    verdict = screen(
        answer.reply,
        answer.rendering,
        limit=desk.settings.extraction.max_candidates,
        tombstones=tombstones.tombstones(desk.ledger, desk.store_key),
        provisional=answer.provisional,
    )
    planned = _apply(desk, verdict, span, run_id, answer)
    faults.reach("extract.after_store")
    outcome = Outcome(
        run_id=run_id,
        word="applied" if planned.actions else "nothing",
        actions=tuple(planned.actions),
        rejected=tuple({"name": r.name, "reason": r.reason} for r in verdict.rejected),
        proposals=len(planned.proposals),
        dollars=answer.dollars,
    )
    return _finish(desk, strategy, span, outcome, planned)


def _apply(desk: Desk, verdict: Verdict, span: Span, run_id: str, answer: _Answer) -> Plan:
    """Plan and apply, again if a file changed in between: Claude itself may write at any time."""
    for attempt in range(4):
        planned = plan(
            verdict,
            desk.store,
            desk.store.scan(),
            run_id=run_id,
            now=desk.clock.now(),
            provisional=answer.provisional,
            propose_only=desk.settings.store.mode == "propose",
        )
        operations = [*planned.operations, *_episode(desk, span, run_id, answer.reply, planned)]
        if not operations:
            return planned
        try:
            change = ChangeSet(id=run_id, reason=f"extraction of {span.key}", operations=operations)
            applied = desk.store.apply(change)
        except ConflictError:
            if attempt == 3:
                raise
            continue
        planned.proposals += [overtaken(path) for path in applied.conflicts]
        return planned
    raise AssertionError("unreachable: the loop returns or raises")


def _episode(desk: Desk, span: Span, run_id: str, reply: Extraction, planned: Plan) -> list[WriteFile]:
    if not isinstance(reply, ConversationExtraction) or not reply.episode.title or not span.last:
        return []
    if desk.settings.store.mode == "propose":
        return []
    moment = parse_time(span.ended_at) or desk.clock.now()
    made = [action for action in planned.actions if "path" in action]
    entry = desk.store.append_episode(
        date=moment.date().isoformat(),
        time=moment.strftime("%H:%M"),
        title=reply.episode.title,
        type_name="conversation",
        link=made[0]["path"] if made else "",
        summary=tuple(reply.episode.summary),
        marker=run_id,
    )
    return [entry] if entry else []


def _finish(desk: Desk, strategy: Strategy, span: Span, outcome: Outcome, planned: Plan) -> Outcome:
    now = desk.clock.now()
    summary = {"reason": outcome.reason, "actions": outcome.actions, "rejected": outcome.rejected}
    with desk.ledger.transaction():
        for item in planned.proposals:
            inbox.add_inbox(
                desk.ledger,
                desk.store_key,
                kind=item.kind,
                payload_json=json.dumps({"name": item.name, **item.payload}, ensure_ascii=False),
                reason=item.reason,
                run_id=outcome.run_id,
                now=now,
            )
        runs.finish_run(
            desk.ledger,
            outcome.run_id,
            outcome=outcome.word,
            summary_json=json.dumps(summary, ensure_ascii=False),
            now=now,
        )
        _advance(desk, strategy, span)
    faults.reach("extract.after_cursor")
    return outcome


def _advance(desk: Desk, strategy: Strategy, span: Span) -> None:
    watermarks.set_watermark(desk.ledger, span.key, desk.store_key, strategy.id, span.through_row)
    if strategy.id == "conversation":
        # What was read as a whole is not read again turn by turn.
        watermarks.set_watermark(desk.ledger, span.key, desk.store_key, "turn", span.through_row)


def give_up(desk: Desk, strategy: Strategy, reason: str) -> Outcome | None:
    """Move past a span no model can read, leaving a run with the outcome ``unextractable`` to be seen.

    Its rows stay in the ledger, so nothing is lost: a retry reads exactly that span again.
    """
    window = desk.settings.extraction.window_chars
    span = strategy.next_span(desk.ledger, desk.store_key, max_chars=window, now=desk.clock.now())
    if span is None:
        return None
    run_id = new_id()
    with desk.ledger.transaction():
        _start(desk, strategy, span, run_id)
    return _finish(desk, strategy, span, Outcome(run_id, "unextractable", reason), Plan())


def _start(desk: Desk, strategy: Strategy, span: Span, run_id: str) -> None:
    runs.start_run(
        desk.ledger,
        id=run_id,
        kind="extract",
        key=span.key,
        store=desk.store_key,
        strategy=strategy.id,
        from_row=span.from_row,
        through_row=span.through_row,
        now=desk.clock.now(),
    )


def _provisional(snapshot: Snapshot, span: Span) -> list[Memory]:
    """Return the memories that were taken from this very conversation, by their sources' entries."""
    if not span.sessions:
        return []
    spoken = {u.uuid for u in (*span.context, *span.new)}
    return [
        d.memory
        for d in snapshot.documents
        if any(s.session in span.sessions and s.uuid in spoken for s in d.memory.sources)
    ]
