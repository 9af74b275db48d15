"""One question for each command sequence that came back, once: is it a procedure, and in which words?

What the answer says is held against the commands: every step cites those it rests on, and what stands in
backticks must stand in one of them. A procedure tells Claude what to do, so it only ever waits in the inbox.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pipeline.consolidation.propose import committed_reply
from pipeline.context import PhaseContext
from pipeline.core import zone
from pipeline.core.errors import ModelError, SpendError
from pipeline.core.ids import digest
from pipeline.domain.memory import MAX_DESCRIPTION, MAX_QUOTE, Evidence
from pipeline.extraction.screened_candidate import Screened
from pipeline.hooklib.plain import one_line
from pipeline.ledger import inbox, runs, secrets
from pipeline.llm import Message, Request
from pipeline.llm.lenient_fields import ITEMS, Text, Texts
from pipeline.llm.prompts import load
from pipeline.safety.invisible import visible_line
from pipeline.store import Snapshot
from pipeline.text.slugs import slugify
from pipeline.verify.barred import forbidden
from pipeline.worker.procedures import borne_out
from pipeline.worker.procedures.sequences import SHORTEST, Command, Repeated

LOG = logging.getLogger("reverie.dream")
PURPOSE = "consolidate.procedure"
MOST_QUESTIONS = 3
"""Sequences of one dream; the others wait for the next."""
_MOST_SHOWN = 3
_COMMAND_CHARS = 400
_ASKED_CHARS = 300
_TEXT_CHARS = 500
_MOST_CONDITIONS = 8
_LETTERS = "abc"
WHY = "these commands came back in several sessions"


class Stated(BaseModel):
    """One sentence of a procedure, and the ids of the commands it rests on."""

    model_config = ConfigDict(extra="ignore")

    text: Text = ""
    commands: Texts = Field(default_factory=list)


class ProcedureReply(BaseModel):
    """The reply; without a title there is no procedure in it."""

    model_config = ConfigDict(extra="ignore")

    title: Text = ""
    when: Text = ""
    steps: Annotated[list[Stated], ITEMS] = Field(default_factory=list)
    before: Annotated[list[Stated], ITEMS] = Field(default_factory=list)
    after: Annotated[list[Stated], ITEMS] = Field(default_factory=list)


def propose(phase: PhaseContext, snapshot: Snapshot, found: Iterable[Repeated]) -> int:
    """Ask about the sequences of `found` that nobody asked about yet, and put procedures in the inbox.

    Return how many. What can't be asked now is logged and left to the next dream.
    """
    if phase.client is None or not phase.settings.dream.procedures:
        return 0
    proposed = asked = 0
    for sequence in found:
        key = f"procedure:{digest(json.dumps(sequence.steps))[:16]}"
        if committed_reply.was_used(phase, key):
            continue
        if asked == MOST_QUESTIONS:
            break
        asked += 1
        shown = numbered(sequence, secrets.masking(phase.ledger))
        try:
            reply = committed_reply.committed(phase, key, ProcedureReply) or committed_reply.complete(
                phase, key, _request(phase, shown), ProcedureReply
            )
        except (ModelError, SpendError) as error:
            LOG.warning("a sequence of %d commands was not asked about: %s", len(sequence.steps), error)
            break
        proposed += _keep(phase, snapshot, key, reply, shown)
    return proposed


def _keep(
    phase: PhaseContext, snapshot: Snapshot, key: str, reply: ProcedureReply, shown: Mapping[str, Command]
) -> bool:
    """Put what `reply` proposes in the inbox, and note that it was used; return whether it proposes any."""
    candidate, why = screened(reply, shown)
    if candidate is not None:
        why = _known(phase, snapshot, candidate)
    if why:
        LOG.info("no procedure was proposed: %s", why)
    proposal = None if why else candidate
    run_id = committed_reply.run_id(phase, key)
    with phase.ledger.transaction():
        if proposal is not None:
            inbox.add_inbox(
                phase.ledger,
                phase.store_key,
                kind="new",
                payload_json=json.dumps(proposal.to_json(), ensure_ascii=False),
                reason=WHY,
                run_id=run_id,
                now=phase.clock.now(),
            )
        committed_reply.close(phase, [key], word="nothing" if proposal is None else "applied")
        # What it says stands in the proposal, and nowhere else once a person deletes the dialogue.
        runs.drop_reply(phase.ledger, run_id)
    return proposal is not None


def _known(phase: PhaseContext, snapshot: Snapshot, candidate: Screened) -> str:
    memory = candidate.memory("", phase.clock.now())
    if snapshot.by_name(candidate.name) is not None:
        return "there is a memory of that name"
    if phase.store.forgotten().told_in(memory.whole_text):
        return "the person had it forgotten"
    waits = inbox.list_inbox(phase.ledger, phase.store_key, None)
    if any(item.payload.get("name") == candidate.name for item in waits if item.state != "accepted"):
        return "one of that name waits or was rejected"
    return ""


def screened(reply: ProcedureReply, shown: Mapping[str, Command]) -> tuple[Screened | None, str]:
    """Return the procedure of `reply` as it may wait in the inbox, or None and why there is none.

    `shown` are the commands by the ids that the reply cites them by.
    """
    title = one_line(visible_line(reply.title), 100)
    if not title:
        return None, "the model sees none in it"
    steps = [_sentence(item) for item in reply.steps]
    if len(steps) < SHORTEST or not all(steps):
        return None, f"it has fewer than {SHORTEST} steps"
    for item in reply.steps:
        why = _unfounded(item, shown)
        if why:
            return None, f"of the step “{one_line(item.text, 60)}” {why}"
    when = one_line(visible_line(reply.when), _TEXT_CHARS) or title
    conditions = [
        tuple(_sentence(item) for item in items if _sentence(item) and not _unfounded(item, shown))
        for items in (reply.before, reply.after)
    ]
    everything = "\n".join((title, when, *steps, *conditions[0], *conditions[1]))
    barred = forbidden(everything)
    if barred:
        return None, f"its text {barred}"
    cited = dict.fromkeys(_id(word) for item in reply.steps for word in item.commands[:1])
    return _candidate(title, when, steps, conditions, [shown[word] for word in cited]), ""


def _candidate(
    title: str,
    when: str,
    steps: Sequence[str],
    conditions: Sequence[Sequence[str]],
    commands: Sequence[Command],
) -> Screened:
    return Screened(
        name=slugify(title),
        update_of="",
        type="procedure",
        title=title,
        description=one_line(when, MAX_DESCRIPTION),
        statement=when,
        why="",
        how_to_apply="",
        tags=(),
        anchors=(),
        importance=0.5,
        confidence=0.6,
        origin="assistant-inferred",
        sources=tuple(_evidence(command) for command in commands),
        said_at=None,
        steps=tuple(steps),
        preconditions=tuple(conditions[0][:_MOST_CONDITIONS]),
        postconditions=tuple(conditions[1][:_MOST_CONDITIONS]),
    )


def _evidence(command: Command) -> Evidence:
    return Evidence(
        session=command.session,
        uuid=command.uuid,
        quote=one_line(command.text, MAX_QUOTE),
        at=command.at or None,
        speaker="assistant",
    )


def _sentence(item: Stated) -> str:
    return one_line(visible_line(item.text), _TEXT_CHARS)


def _id(word: str) -> str:
    return word.strip().strip("[]").lower()


def _unfounded(item: Stated, shown: Mapping[str, Command]) -> str:
    """Return what of `item` no command bears out, or "".

    A step may name what another one's command holds: all of them are of this one sequence.
    """
    cited = [_id(word) for word in item.commands]
    if not cited or any(word not in shown for word in cited):
        return "no command was cited"
    return borne_out.flaw_of(_sentence(item), [command.text for command in shown.values()])


def numbered(sequence: Repeated, mask: Callable[[str], str] = str) -> dict[str, Command]:
    """Return the latest occurrences' commands by the ids they are shown with, without what `mask` knows."""
    return {
        f"{letter}{number}": command._replace(text=mask(command.text), asked=mask(command.asked))
        for letter, done in zip(_LETTERS[:_MOST_SHOWN], sequence.occurrences, strict=False)
        for number, command in enumerate(done.commands, start=1)
    }


def _request(phase: PhaseContext, shown: Mapping[str, Command]) -> Request:
    return Request(
        purpose=PURPOSE,
        model=phase.settings.model.model,
        system="",
        messages=(Message("user", load("consolidate.procedure").render(occurrences=_rendered(shown))),),
        max_tokens=phase.settings.model.max_output_tokens,
    )


def _rendered(shown: Mapping[str, Command]) -> str:
    lines: list[str] = []
    for key, command in shown.items():
        if key.endswith("1") and key[1:] == "1":
            day = zone.day(command.at, "day unknown")
            asked = one_line(visible_line(command.asked), _ASKED_CHARS)
            lines += ["", f"{day}, the person had asked: {asked or '(nothing)'}"]
        text = one_line(visible_line(command.text), _COMMAND_CHARS)
        lines.append(f"[{key}] {text}")
    return "\n".join(lines).strip()
