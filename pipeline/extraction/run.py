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
from dataclasses import dataclass, replace

from pipeline.context import PhaseContext
from pipeline.core import faults
from pipeline.core.clock import parse_time
from pipeline.core.errors import ConflictError, ModelError, SpendError, TooLongError, TruncatedError
from pipeline.core.ids import new_id
from pipeline.domain.action import MemoryAction, RunSummary
from pipeline.extraction import known_memories, offline
from pipeline.extraction.checkpoint import Answer, pack, unpack, without_secrets
from pipeline.extraction.episode import Entry, entry
from pipeline.extraction.render import render, size
from pipeline.extraction.schema import Extraction
from pipeline.extraction.screen import Verdict, screen
from pipeline.extraction.strategies import Span, Strategy
from pipeline.extraction.write import ExtractionPlan, overtaken, plan, taken_from
from pipeline.ledger import inbox, runs, watermarks
from pipeline.llm import Message, Request
from pipeline.llm.prompts import load
from pipeline.store import ChangeSet, WriteFile, require_writable

LEAST_TOO_LONG = 2_000
"""An utterance shorter than this is never itself what is too long for a model, in characters."""
_NO_FIT = (TooLongError, TruncatedError)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run did. `word` is applied, nothing, skipped or ``failed:…``; counts are by action.

    `window` is how many characters of new dialogue the model took, for the spans that follow.
    """

    run_id: str
    word: str
    reason: str = ""
    actions: tuple[MemoryAction, ...] = ()
    rejected: tuple[dict[str, str], ...] = ()
    proposals: int = 0
    dollars: float = 0.0
    window: int = 0


def extract(phase: PhaseContext, strategy: Strategy, *, window: int = 0) -> Outcome | None:
    """Do the next span of `strategy`, or finish one that was interrupted; None when nothing is left.

    A span the model can't take is halved until it can; `window` (0: as set) starts with fewer characters,
    and a single long utterance that is still too much is passed over. Raises ModelError, SpendError or
    StoreError with nothing changed, so that the caller can try again later.
    """
    interrupted = runs.pending_run(phase.ledger, strategy.source, phase.store_key, strategy.id)
    if interrupted is not None:
        answer, resumed = unpack(interrupted, strategy.schema)
        return _bring_in(phase, strategy, resumed, interrupted.id, answer)
    window = window or phase.settings.extraction.window_chars
    while True:
        span = strategy.next_span(phase.ledger, phase.store_key, max_chars=window, now=phase.clock.now())
        if span is None:
            return None
        try:
            outcome = _fresh(phase, strategy, span)
        except _NO_FIT as error:
            used = sum(size(utterance) for utterance in span.new)
            # Half of what was used: a window that was not full would give the same span again.
            if len(span.new) > 1:
                window = min(used, window) // 2
                continue
            if used < LEAST_TOO_LONG:
                raise
            outcome = _pass_over(phase, strategy, span, f"{error.outcome}: {error}")
        return replace(outcome, window=window)


def _fresh(phase: PhaseContext, strategy: Strategy, span: Span) -> Outcome:
    if not span.skip and phase.settings.store.mode != "propose":
        # Before the model is paid for memories that could not be written (bug 52).
        require_writable(phase.store.root)
    run_id = _start(phase, strategy, span)
    if span.skip:
        return _finish(phase, strategy, span, Outcome(run_id, "skipped", span.skip), ExtractionPlan())
    faults.reach("extract.before_call")
    try:
        answer = _ask(phase, strategy, span, run_id)
    except (ModelError, SpendError) as error:
        word = error.outcome if isinstance(error, ModelError) else "spend"
        _end(phase, Outcome(run_id, f"failed:{word}", str(error)))
        raise
    faults.reach("extract.after_reply_commit")
    return _bring_in(phase, strategy, span, run_id, answer)


def _ask(phase: PhaseContext, strategy: Strategy, span: Span, run_id: str) -> Answer:
    snapshot = phase.store.scan()
    provisional = taken_from(snapshot, span)
    names = frozenset(memory.name for memory in provisional)
    rendering = render(span.context, span.new)
    if phase.client is None:
        reply: Extraction = offline.extract(rendering)
        meta = {"prompt_digest": "", "model": "", "provider": "offline"}
        dollars = 0.0
    else:
        variables = {
            "today": phase.clock.now().date().isoformat(),
            "existing": known_memories.listing(snapshot, rendering.new, leave_out=names),
            "context": rendering.context or known_memories.NONE,
            "new": rendering.new,
        }
        if strategy.id == "conversation":
            variables["provisional"] = known_memories.in_full(provisional)
        answered = phase.client.complete(
            Request(
                purpose=strategy.prompt,
                model=phase.settings.model.model,
                system=load("extract.system").render(),
                messages=(Message("user", load(strategy.prompt).render(**variables)),),
                max_tokens=phase.settings.model.max_output_tokens,
            ),
            strategy.schema,
        )
        faults.reach("extract.after_call")
        reply = answered.value
        meta = {"prompt_digest": answered.digest, "model": answered.model, "provider": answered.provider}
        dollars = answered.dollars
    answer = Answer(without_secrets(reply), rendering, names, dollars)
    with phase.ledger.transaction():
        runs.commit_reply(phase.ledger, run_id, pack(answer, span), now=phase.clock.now(), **meta)
    return answer


def _bring_in(phase: PhaseContext, strategy: Strategy, span: Span, run_id: str, answer: Answer) -> Outcome:
    verdict = screen(
        answer.reply,
        answer.rendering,
        limit=phase.settings.extraction.max_candidates,
        forgotten=phase.store.forgotten(),
        provisional=answer.provisional,
    )
    diary = entry(answer.reply)
    verdict.rejected += diary.rejected
    planned = _apply(phase, verdict, span, run_id, answer.provisional, diary)
    faults.reach("extract.after_store")
    outcome = Outcome(
        run_id=run_id,
        word="applied" if planned.actions else "nothing",
        actions=tuple(planned.actions),
        rejected=tuple({"name": item.name, "reason": item.reason} for item in verdict.rejected),
        proposals=len(planned.proposals),
        dollars=answer.dollars,
    )
    return _finish(phase, strategy, span, outcome, planned)


def _apply(
    phase: PhaseContext, verdict: Verdict, span: Span, run_id: str, provisional: frozenset[str], diary: Entry
) -> ExtractionPlan:
    """Plan and apply, again if a file changed in between: Claude itself may write at any time."""
    for attempt in range(4):
        try:
            # Planning reads files too, so it meets such a change as well.
            planned = plan(
                verdict,
                phase.store,
                phase.store.scan(),
                run_id=run_id,
                now=phase.clock.now(),
                provisional=provisional,
                propose_only=phase.settings.store.mode == "propose",
            )
            operations = [*planned.operations, *_episode(phase, span, run_id, diary, planned)]
            if not operations:
                return planned
            change = ChangeSet(id=run_id, reason=f"extraction of {span.key}", operations=operations)
            # A page of the diary alone is no change of a memory, and nothing that anybody would undo.
            applied = phase.store.apply(change, generation=bool(planned.operations))
        except ConflictError:
            phase.store.drop_plans()
            if attempt == 3:
                raise
            continue
        planned.proposals += [overtaken(path) for path in applied.conflicts]
        return planned
    raise AssertionError("unreachable: the loop returns or raises")


def _episode(
    phase: PhaseContext, span: Span, run_id: str, diary: Entry, planned: ExtractionPlan
) -> list[WriteFile]:
    if not diary.title or not span.last:
        return []
    if phase.settings.store.mode == "propose":
        return []
    moment = parse_time(span.ended_at) or phase.clock.now()
    paths = [action.path for action in planned.actions if action.path]
    page = phase.store.append_episode(
        date=moment.date().isoformat(),
        time=moment.strftime("%H:%M"),
        title=diary.title,
        type_name="conversation",
        link=paths[0] if paths else "",
        summary=diary.summary,
        marker=run_id,
    )
    return [page] if page else []


def _finish(
    phase: PhaseContext, strategy: Strategy, span: Span, outcome: Outcome, planned: ExtractionPlan
) -> Outcome:
    now = phase.clock.now()
    with phase.ledger.transaction():
        for item in planned.proposals:
            inbox.add_inbox(
                phase.ledger,
                phase.store_key,
                kind=item.kind,
                payload_json=json.dumps({"name": item.name, **item.payload}, ensure_ascii=False),
                reason=item.reason,
                run_id=outcome.run_id,
                now=now,
            )
        _end(phase, outcome)
        _advance(phase, strategy, span)
    faults.reach("extract.after_cursor")
    return outcome


def _end(phase: PhaseContext, outcome: Outcome) -> None:
    summary = RunSummary(outcome.reason, outcome.actions, outcome.rejected)
    runs.finish_run(
        phase.ledger, outcome.run_id, outcome=outcome.word, summary=summary, now=phase.clock.now()
    )


def _advance(phase: PhaseContext, strategy: Strategy, span: Span) -> None:
    watermarks.set_watermark(phase.ledger, span.key, phase.store_key, strategy.id, span.through_row)
    if strategy.id == "conversation" and not span.skip:
        # What was read as a whole is not read again turn by turn.
        watermarks.set_watermark(phase.ledger, span.key, phase.store_key, "turn", span.through_row)


def give_up(phase: PhaseContext, strategy: Strategy, reason: str) -> Outcome | None:
    """Move past a span no model can read, leaving a run ``failed:unextractable`` to be seen.

    Its rows stay in the ledger, so nothing is lost: a retry reads exactly that span again.
    """
    window = phase.settings.extraction.window_chars
    span = strategy.next_span(phase.ledger, phase.store_key, max_chars=window, now=phase.clock.now())
    return None if span is None else _pass_over(phase, strategy, span, reason)


def _pass_over(phase: PhaseContext, strategy: Strategy, span: Span, reason: str) -> Outcome:
    run_id = _start(phase, strategy, span)
    return _finish(phase, strategy, span, Outcome(run_id, "failed:unextractable", reason), ExtractionPlan())


def _start(phase: PhaseContext, strategy: Strategy, span: Span) -> str:
    run_id = new_id()
    runs.start_run(
        phase.ledger,
        id=run_id,
        kind="extract",
        key=span.key,
        store=phase.store_key,
        strategy=strategy.id,
        from_row=span.from_row,
        through_row=span.through_row,
        now=phase.clock.now(),
    )
    return run_id
