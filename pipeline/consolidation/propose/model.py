"""One group of memories put to the model: what it is shown, and its answer as operations over real ids.

The model sees handles (m1, f1), never ids, so it can't name a memory it was not shown. Pinned, hand-edited
and foreign memories have handles that no operation may use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pipeline.consolidation.propose.plan_schema import Plan, Proposed
from pipeline.context import PhaseContext
from pipeline.core import faults
from pipeline.core.ids import digest, new_id
from pipeline.domain.action import RunSummary
from pipeline.domain.memory import Memory
from pipeline.domain.operations import Cluster, Operation, Refused
from pipeline.ledger import runs
from pipeline.llm import Message, Request
from pipeline.llm.prompts import load
from pipeline.safety.invisible import visible, visible_line
from pipeline.safety.redaction import redact_values
from pipeline.verify.evidence import said_at

KIND = "dream_group"
BODY_CHARS = 3_000
"""Most of one memory's text that is shown; a longer one is shown cut and then never offered for change."""
STRENGTH = 0.7
_HANDLE = re.compile(r"\b[mf]\d+\b")


def handles(cluster: Cluster) -> dict[str, str]:
    """Return handle → memory id: m1, m2, … for those that may change, f1, … for those that may not."""
    changeable = {f"m{number}": memory_id for number, memory_id in enumerate(cluster.ids, start=1)}
    return {
        **changeable,
        **{f"f{number}": memory_id for number, memory_id in enumerate(cluster.fixed, start=1)},
    }


def show(cluster: Cluster, memories: Mapping[str, Memory]) -> str:
    """Return the group as the model reads it; each further line of a memory is indented under its handle."""
    blocks = []
    for handle, memory_id in handles(cluster).items():
        memory = memories[memory_id]
        text = visible(f"{memory.description}\n{memory.body.strip()[:BODY_CHARS]}")
        indented = "\n".join("    " + line for line in text.splitlines() if line.strip())
        name, type_name = (visible_line(given) for given in (memory.name, memory.type))
        blocks.append(f"[{handle}] {name} ({type_name}), {_provenance(memory)}\n{indented}")
    return "\n\n".join(blocks)


def group_key(cluster: Cluster, memories: Mapping[str, Memory]) -> str:
    """Return what names this group with these very texts: 16 hex digits.

    The same group after a crash has the same key, so that its committed answer is found again.
    """
    texts = [
        "\x1f".join((memory_id, memories[memory_id].description, memories[memory_id].body))
        for memory_id in cluster.ids
    ]
    texts += ["\x1f".join(("fixed", memory_id, memories[memory_id].body)) for memory_id in cluster.fixed]
    return digest("\x1e".join(texts))[:16]


def plan_group(
    phase: PhaseContext, cluster: Cluster, memories: Mapping[str, Memory]
) -> tuple[list[Operation], list[Refused], float]:
    """Return what the model would do with `cluster`, what of that names nothing, and the dollars spent.

    The answer is committed in the ledger before it is returned, and a committed one is never asked for
    again. Raises ModelError or SpendError with nothing changed.
    """
    assert phase.client is not None
    key = group_key(cluster, memories)
    strategy = f"dream:{key}"
    earlier = runs.pending_run(phase.ledger, phase.store_key, phase.store_key, strategy)
    if earlier is not None and earlier.reply_json:
        return *_read(Plan.model_validate_json(earlier.reply_json), cluster, memories), 0.0
    run_id = new_id()
    answered = phase.client.complete(_request(phase, show(cluster, memories)), Plan)
    faults.reach("dream.after_call")
    reply = Plan.model_validate(redact_values(answered.value.model_dump()))
    with phase.ledger.transaction():
        runs.start_run(
            phase.ledger,
            id=run_id,
            kind=KIND,
            key=phase.store_key,
            store=phase.store_key,
            strategy=strategy,
            from_row=0,
            through_row=0,
            now=phase.clock.now(),
        )
        runs.commit_reply(
            phase.ledger,
            run_id,
            reply.model_dump_json(),
            prompt_digest=answered.digest,
            model=answered.model,
            provider=answered.provider,
            now=phase.clock.now(),
        )
    faults.reach("dream.after_group_commit")
    return *_read(reply, cluster, memories), answered.dollars


def _request(phase: PhaseContext, shown: str) -> Request:
    today = phase.clock.now().date().isoformat()
    return Request(
        purpose="consolidate.cluster",
        model=phase.settings.model.model,
        system=load("consolidate.system").render(),
        messages=(Message("user", load("consolidate.cluster").render(today=today, memories=shown)),),
        max_tokens=phase.settings.model.max_output_tokens,
    )


def close_groups(phase: PhaseContext, clusters: list[str], *, word: str) -> None:
    """Mark the committed answers of the groups `clusters` (their keys) as used; inside a transaction."""
    for key in clusters:
        open_run = runs.pending_run(phase.ledger, phase.store_key, phase.store_key, f"dream:{key}")
        if open_run is not None:
            runs.finish_run(
                phase.ledger, open_run.id, outcome=word, summary=RunSummary(), now=phase.clock.now()
            )


def _provenance(memory: Memory) -> str:
    moment = said_at(memory) or memory.created
    day = moment.date().isoformat() if moment else "on an unknown day"
    who = {"user-stated": "by the user", "user-confirmed": "by the assistant, confirmed by the user"}
    return f"said {day} {who.get(memory.origin, 'by the assistant' if memory.origin else 'by someone')}"


def _read(
    plan: Plan, cluster: Cluster, memories: Mapping[str, Memory]
) -> tuple[list[Operation], list[Refused]]:
    known = handles(cluster)
    names = {handle: memories[memory_id].name for handle, memory_id in known.items()}
    operations: list[Operation] = []
    refused: list[Refused] = []
    for item in plan.operations:
        if item.op == "keep":
            continue
        named = [*item.ids, *([item.into] if item.into else [])]
        unknown = [handle for handle in named if handle.strip().lower() not in known]
        operation = _operation(item, known, names)
        if unknown:
            refused.append(Refused(operation, f"names {_shown_handles(unknown)}, which it was not shown"))
        else:
            operations.append(operation)
    return operations, refused


def _shown_handles(handles: Sequence[str]) -> str:
    """Return handles that the model made up as a report may show them: a few plain letters each."""
    return ", ".join(ascii(handle[:40])[1:-1] for handle in handles[:5])


def _operation(item: Proposed, known: Mapping[str, str], names: Mapping[str, str]) -> Operation:
    def real(handle: str) -> str:
        return known.get(handle.strip().lower(), handle)

    def with_names(text: str) -> str:
        # A reason is read long after the handles are forgotten.
        return _HANDLE.sub(lambda match: names.get(match.group(), match.group()), text)

    return Operation(
        op=visible(item.op.strip().lower())[:40],
        ids=tuple(dict.fromkeys(real(handle) for handle in item.ids)),
        into=real(item.into) if item.into else "",
        name=item.name,
        type=item.type,
        title=item.title,
        description=item.description,
        statement=item.statement,
        why=item.why,
        how_to_apply=item.how_to_apply,
        tags=tuple(item.tags),
        relation=item.relation,
        strength=STRENGTH,
        dropped=tuple((dropped.text, with_names(dropped.reason)) for dropped in item.dropped),
        reason=with_names(item.reason),
    )
