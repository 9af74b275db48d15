"""The extraction phase: one span of dialogue becomes memories, exactly once, whatever dies in between.

    1 span     what has not been read            (ledger)
    2 ask      render, prompt, model             (llm)
    3 commit   the reply, before anything else   (ledger)
    4 screen   what holds against the dialogue   (code)
    5 verify   a second reader, its reply kept   (llm, ledger)
    6 plan     create, update, retire, propose   (code)
    7 apply    one change set                    (revision)
    8 finish   run, watermark and inbox together (ledger)

A crash after 3 resumes from the committed replies; the change set's id is the run's, so applying it again
does nothing. A crash before 3 asks again, since nobody can know what the lost reply said; one in 5 asks the
second reader alone again, and so does a call of its that failed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from pipeline.context import PhaseContext
from pipeline.core import faults, zone
from pipeline.core.clock import parse_time
from pipeline.core.errors import ModelError, SpendError, TooLongError, TruncatedError
from pipeline.core.home import Home
from pipeline.core.ids import new_id
from pipeline.domain.action import MemoryAction, RunSummary
from pipeline.extraction import offline
from pipeline.extraction.checkpoint import Answer, Checkpoint, pack, unpack, without_secrets
from pipeline.extraction.episode import Entry, entry
from pipeline.extraction.known_memories import NONE, gather, of_user_scope, steadily
from pipeline.extraction.render import render, words_of
from pipeline.extraction.schema import Extraction
from pipeline.extraction.screen import Screen, Verdict
from pipeline.extraction.second_reader import SecondReader
from pipeline.extraction.shortening import size
from pipeline.extraction.strategies import Span, Strategy, context_room
from pipeline.extraction.write import ExtractionPlan, Terms, overtaken, plan
from pipeline.ledger import dialogue, inbox, runs, utterances, watermarks
from pipeline.llm import Message, Request
from pipeline.llm.prompts import load
from pipeline.revision import Door
from pipeline.store import Snapshot, WriteFile, require_writable

LEAST_TOO_LONG = 2_000
"""An utterance shorter than this is never itself what is too long for a model, in characters."""
_NO_FIT = (TooLongError, TruncatedError)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run did. `word` is as in `ledger.runs`; counts are by action.

    `sent_back` says of each candidate that needed narrower words why. `window` is how many characters
    of new dialogue the model took, for the spans that follow.
    """

    run_id: str
    word: str
    reason: str = ""
    actions: tuple[MemoryAction, ...] = ()
    rejected: tuple[dict[str, str], ...] = ()
    sent_back: tuple[str, ...] = ()
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
        return _resumed(phase, strategy, interrupted)
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
    if not span.skip and not phase.proposes_only:
        # Before the model is paid for memories that could not be written (bug 52).
        require_writable(phase.store.root)
    run_id = _start(phase, strategy, span)
    if span.skip:
        return _finish(phase, strategy, span, Outcome(run_id, "skipped", span.skip), ExtractionPlan())
    faults.reach("extract.before_call")
    try:
        answer, checkpoint = _ask(phase, strategy, span, run_id)
    except (ModelError, SpendError) as error:
        word = error.outcome if isinstance(error, ModelError) else "spend"
        _end(phase, Outcome(run_id, f"failed:{word}", str(error)))
        raise
    faults.reach("extract.after_reply_commit")
    return _bring_in(phase, strategy, span, answer, checkpoint)


def _resumed(phase: PhaseContext, strategy: Strategy, run: runs.Run) -> Outcome:
    """Go on with a run whose reply is kept; only what was not kept is asked again."""
    spoken = utterances.utterances(phase.ledger, run.key, after_row=run.from_row - 1)
    new = [line for line in spoken if line.row <= run.through_row]
    kept = json.loads(run.reply_json or "{}")
    # As much of what came before as the readers were shown, whatever is set by now.
    room = kept.get("context_room") or context_room(phase.settings.extraction, new)
    before = dialogue.context_before(phase.ledger, run.key, row=run.from_row, max_chars=room)
    words = words_of([*before, *new])
    answer, span = unpack(run, strategy.schema, words)
    checkpoint = Checkpoint(phase.ledger, run.id, kept)
    return _bring_in(phase, strategy, span, answer, checkpoint)


def _ask(phase: PhaseContext, strategy: Strategy, span: Span, run_id: str) -> tuple[Answer, Checkpoint]:
    shown = gather(phase, span, _waiting(phase), provisional=strategy.id == "conversation")
    rendering = render(span.context, span.new, room=span.room, context_room=span.context_room)
    if phase.client is None:
        reply: Extraction = offline.extract(rendering, [known.memory for known in shown.full])
        meta = {"prompt_digest": "", "model": "", "provider": "offline"}
        dollars = 0.0
    else:
        now = phase.clock.now()
        prompt = load(strategy.prompt).render(
            today=f"{zone.day(now)} ({zone.zone_name(now)}, as are all times here{_elsewhere(span)})",
            full=shown.text,
            existing=shown.listing,
            waiting=shown.waiting,
            context=rendering.context or NONE,
            new=rendering.new,
        )
        answered = phase.client.complete(
            Request(
                purpose=strategy.prompt,
                model=phase.settings.model.model,
                system=load("extract.system").render(),
                messages=(Message("user", prompt),),
                max_tokens=phase.settings.model.max_output_tokens,
            ),
            strategy.schema,
        )
        faults.reach("extract.after_call")
        reply = answered.value
        meta = {"prompt_digest": answered.digest, "model": answered.model, "provider": answered.provider}
        dollars = answered.dollars
    answer = Answer(
        without_secrets(reply),
        rendering,
        # Of two with one name the store's own is meant.
        {known.memory.name: known.memory for known in reversed(shown.full)},
        frozenset(known.memory.name for known in shown.full if known.provisional),
        by_rules=phase.client is None,
    )
    packed = pack(answer, span)
    with phase.ledger.transaction():
        text = json.dumps(packed, ensure_ascii=False)
        runs.commit_reply(phase.ledger, run_id, text, now=phase.clock.now(), **meta)
    checkpoint = Checkpoint(phase.ledger, run_id, packed)
    checkpoint.dollars = dollars
    return answer, checkpoint


def _bring_in(
    phase: PhaseContext, strategy: Strategy, span: Span, answer: Answer, checkpoint: Checkpoint
) -> Outcome:
    # A flood is more than a person can have said: of a long conversation no flat number tells.
    screen = Screen(
        answer.rendering,
        phase.store.forgotten(),
        answer.shown,
        answer.provisional,
        max(span.spoken, phase.settings.extraction.max_candidates),
    )
    verdict = SecondReader(phase, screen, answer, checkpoint).read(screen.judge(answer.reply))
    diary = entry(answer.reply)
    verdict.rejected += diary.rejected
    planned = _apply(phase, verdict, span, answer, checkpoint, diary)
    faults.reach("extract.after_store")
    outcome = Outcome(
        run_id=checkpoint.run_id,
        word=_word(planned),
        actions=tuple(planned.actions),
        rejected=tuple(
            {"name": item.name, "reason": item.reason, "check": item.check} for item in planned.rejected
        ),
        sent_back=tuple(verdict.sent_back),
        proposals=len(planned.proposals),
        dollars=checkpoint.dollars,
    )
    return _finish(phase, strategy, span, outcome, planned)


def _waiting(phase: PhaseContext) -> list[inbox.InboxItem]:
    """Return what waits for a person about the memories of this store and of the user scope."""
    stores = (phase.store_key, str(Home(phase.home).user_store))
    return [item for store in dict.fromkeys(stores) for item in inbox.list_inbox(phase.ledger, store)]


def _word(planned: ExtractionPlan) -> str:
    if any(action.action != "known" for action in planned.actions):
        return "applied"
    if planned.proposals:
        return "proposed"
    return "known" if planned.actions or planned.waits_already else "nothing"


def _apply(
    phase: PhaseContext, verdict: Verdict, span: Span, answer: Answer, checkpoint: Checkpoint, diary: Entry
) -> ExtractionPlan:
    """Plan and write, again if a file changed in between; what was written before a crash stays as it is."""
    kept = checkpoint.kept("planned")
    if kept is not None and phase.store.was_applied(checkpoint.run_id):
        return ExtractionPlan.from_json(kept)
    terms = Terms(
        run_id=checkpoint.run_id,
        now=phase.clock.now(),
        provisional=answer.provisional,
        everyone=of_user_scope(phase, answer.shown),
        waiting=_waiting(phase),
        propose_only=phase.proposes_only,
    )

    def write(snapshot: Snapshot) -> ExtractionPlan:
        door = Door(phase.store, now=terms.now)
        # Planning reads files too, so it meets a change by somebody else as well.
        planned = plan(verdict, door, snapshot, terms)
        door.bring(_episode(phase, span, checkpoint.run_id, diary, planned))
        if door.operations:
            checkpoint.keep("planned", planned.to_json(), now=terms.now)
            faults.reach("extract.planned_kept")
        applied = door.write(checkpoint.run_id, f"extraction of {span.key}")
        planned.proposals += [overtaken(path) for path in applied.conflicts]
        return planned

    return steadily(phase.store, write)


def _elsewhere(span: Span) -> str:
    """Return what a request adds to its zone where its lines began in another."""
    began = next((utterance.at for utterance in [*span.context, *span.new] if utterance.at), None)
    found = zone.elsewhere(began)
    return f"; {found}" if found else ""


def _episode(
    phase: PhaseContext, span: Span, run_id: str, diary: Entry, planned: ExtractionPlan
) -> list[WriteFile]:
    if not diary.title or not span.last:
        return []
    if phase.proposes_only:
        return []
    day, _, clock = zone.minute(parse_time(span.ended_at) or phase.clock.now()).partition(" ")
    paths = [action.path for action in planned.actions if action.path]
    page = phase.store.append_episode(
        date=day,
        time=clock,
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
                str(Home(phase.home).user_store) if item.everywhere else phase.store_key,
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

    Its rows stay in the ledger, so nothing is lost: `reverie work --retry` and `reverie process` read exactly
    that span again.
    """
    window = phase.settings.extraction.window_chars
    span = strategy.next_span(phase.ledger, phase.store_key, max_chars=window, now=phase.clock.now())
    return None if span is None else _pass_over(phase, strategy, span, reason)


def _pass_over(phase: PhaseContext, strategy: Strategy, span: Span, reason: str) -> Outcome:
    run_id = _start(phase, strategy, span)
    return _finish(phase, strategy, span, Outcome(run_id, runs.GIVEN_UP, reason), ExtractionPlan())


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
