"""One span read: asked of a model, screened, read again, and written; `run` has the order and the ledger."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pipeline.context import PhaseContext
from pipeline.core import faults, zone
from pipeline.core.clock import parse_time
from pipeline.core.home import Home
from pipeline.extraction import offline
from pipeline.extraction.checkpoint import Answer, Checkpoint, pack, unpack, without_secrets
from pipeline.extraction.episode import Entry, entry
from pipeline.extraction.known_memories import NONE, Shown, gather, of_user_scope, steadily
from pipeline.extraction.outcome import Outcome
from pipeline.extraction.render import Rendering, render, words_of
from pipeline.extraction.schema import Extraction
from pipeline.extraction.screen import Screen, Verdict
from pipeline.extraction.second_reader import SecondReader
from pipeline.extraction.strategies import Span, Strategy, context_room
from pipeline.extraction.write import ExtractionPlan, Proposal, Terms, overtaken, plan
from pipeline.ledger import dialogue, inbox, runs, utterances
from pipeline.llm import Message, Request
from pipeline.llm.prompts import load
from pipeline.revision import Door
from pipeline.store import Episode, Move, Put, Snapshot, WriteFile

_MOST_TAGS = 8
"""Tags of an entry in the diary."""


@dataclass(frozen=True, slots=True)
class Read:
    """A span that was read: how the run ended, but for the ledger, and what goes to the inbox."""

    span: Span
    outcome: Outcome
    proposals: tuple[Proposal, ...]


def resumed(phase: PhaseContext, strategy: Strategy, run: runs.Run) -> Read:
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
    return bring_in(phase, span, answer, checkpoint)


def look(phase: PhaseContext, strategy: Strategy, span: Span) -> tuple[Shown, Rendering]:
    """Return what a question about `span` shows: memories that exist, and the dialogue."""
    shown = gather(phase, span, _waiting(phase), provisional=strategy.id == "conversation")
    return shown, render(span.context, span.new, room=span.room, context_room=span.context_room)


def request(
    phase: PhaseContext, strategy: Strategy, span: Span, shown: Shown, rendering: Rendering
) -> Request:
    """Return the question about `span`, the same whether it is asked alone or in a batch."""
    now = phase.clock.now()
    prompt = load(strategy.prompt).render(
        today=f"{zone.day(now)} ({zone.zone_name(now)}, as are all times here{_elsewhere(span)})",
        full=shown.text,
        existing=shown.listing,
        waiting=shown.waiting,
        context=rendering.context or NONE,
        new=rendering.new,
    )
    return Request(
        purpose=strategy.prompt,
        model=phase.settings.model.model,
        system=load("extract.system").render(),
        messages=(Message("user", prompt),),
        max_tokens=phase.settings.model.max_output_tokens,
    )


def answer_to(shown: Shown, rendering: Rendering, reply: Extraction, *, by_rules: bool = False) -> Answer:
    """Return `reply` with what it was shown."""
    return Answer(
        without_secrets(reply),
        rendering,
        # Of two with one name the store's own is meant.
        {known.memory.name: known.memory for known in reversed(shown.full)},
        frozenset(known.memory.name for known in shown.full if known.provisional),
        by_rules=by_rules,
    )


def ask(phase: PhaseContext, strategy: Strategy, span: Span, run_id: str) -> tuple[Answer, Checkpoint]:
    """Ask what is to be kept of `span`; the reply is committed before anything else."""
    shown, rendering = look(phase, strategy, span)
    if phase.client is None:
        reply: Extraction = offline.extract(rendering, [known.memory for known in shown.full])
        meta = {"prompt_digest": "", "model": "", "provider": "offline"}
        dollars = 0.0
    else:
        answered = phase.client.complete(request(phase, strategy, span, shown, rendering), strategy.schema)
        faults.reach("extract.after_call")
        reply = answered.value
        meta = {"prompt_digest": answered.digest, "model": answered.model, "provider": answered.provider}
        dollars = answered.dollars
    answer = answer_to(shown, rendering, reply, by_rules=phase.client is None)
    packed = pack(answer, span)
    with phase.ledger.transaction():
        text = json.dumps(packed, ensure_ascii=False)
        runs.commit_reply(phase.ledger, run_id, text, now=phase.clock.now(), **meta)
    checkpoint = Checkpoint(phase.ledger, run_id, packed)
    checkpoint.dollars = dollars
    return answer, checkpoint


def bring_in(phase: PhaseContext, span: Span, answer: Answer, checkpoint: Checkpoint) -> Read:
    """Bring what holds of `answer` into the store, as one change set."""
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
    planned, wrote = _apply(phase, verdict, span, answer, checkpoint, diary)
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
        wrote=wrote,
    )
    return Read(span, outcome, tuple(planned.proposals))


def _waiting(phase: PhaseContext) -> list[inbox.InboxItem]:
    """Return what waits for a person about the memories of this store and of the user scope."""
    stores = (phase.store_key, str(Home(phase.home).user_store))
    waiting = [item for store in dict.fromkeys(stores) for item in inbox.list_inbox(phase.ledger, store)]
    return [item for item in waiting if item.kind != inbox.CITED]  # Those memories are there.


def _word(planned: ExtractionPlan) -> str:
    if any(action.action != "known" for action in planned.actions):
        return "applied"
    if planned.proposals:
        return "proposed"
    return "known" if planned.actions or planned.waits_already else "nothing"


def _apply(
    phase: PhaseContext, verdict: Verdict, span: Span, answer: Answer, checkpoint: Checkpoint, diary: Entry
) -> tuple[ExtractionPlan, bool]:
    """Plan and write, again if a file changed in between; what was written before a crash stays as it is.

    Returned with the plan is whether the store was changed.
    """
    kept = checkpoint.kept("planned")
    if kept is not None and phase.store.was_applied(checkpoint.run_id):
        return ExtractionPlan.from_json(kept), True
    terms = Terms(
        run_id=checkpoint.run_id,
        now=phase.clock.now(),
        provisional=answer.provisional,
        everyone=of_user_scope(phase, answer.shown),
        waiting=_waiting(phase),
        propose_only=phase.proposes_only,
    )

    def write(snapshot: Snapshot) -> tuple[ExtractionPlan, bool]:
        door = Door(phase.store, now=terms.now)
        # Planning reads files too, so it meets a change by somebody else as well.
        planned = plan(verdict, door, snapshot, terms)
        door.bring(_episodes(phase, span, answer, diary, door))
        if door.operations:
            checkpoint.keep("planned", planned.to_json(), now=terms.now)
            faults.reach("extract.planned_kept")
        applied = door.write(checkpoint.run_id, f"extraction of {span.key}")
        planned.proposals += [overtaken(path) for path in applied.conflicts]
        return planned, bool(applied.paths or applied.conflicts)

    return steadily(phase.store, write)


def _elsewhere(span: Span) -> str:
    """Return what a request adds to its zone where its lines began in another."""
    began = next((utterance.at for utterance in [*span.context, *span.new] if utterance.at), None)
    found = zone.elsewhere(began)
    return f"; {found}" if found else ""


def _episodes(phase: PhaseContext, span: Span, answer: Answer, diary: Entry, door: Door) -> list[WriteFile]:
    """Return the page of the diary with what came of `span`: its title and lines, or what was kept of it.

    Without a model nobody tells what a conversation was about, so each memory has an entry of its own.
    """
    if phase.proposes_only:
        return []
    kept = [
        (operation.target if isinstance(operation, Move) else operation.path, operation.memory)
        for operation in door.operations
        if isinstance(operation, Move | Put)
    ]
    moments = [moment for line in answer.rendering.lines.values() if (moment := parse_time(line.at))]
    at = parse_time(span.ended_at) or max(moments, default=phase.clock.now())
    entries: list[Episode] = []
    if diary.title and span.last:
        tags = [*dict.fromkeys(tag for _, memory in kept for tag in memory.tags)]
        link = kept[0][0] if kept else ""
        more = {"tags": tags[:_MOST_TAGS], "summary": diary.summary}
        entries = [Episode.of(at, diary.title, "conversation", **more, memory=link)]
    elif answer.by_rules:
        entries = [Episode.about(memory, path, at) for path, memory in kept]
    page = phase.store.append_episodes(entries)
    return [page] if page else []
