"""One group of memories put to the model: what it is shown, and its answer as operations over real ids.

The model sees handles (m1, f1), never ids, so it can't name a memory it was not shown, and numbered
sentences (m1.2), which is all that it can say about a text. Pinned, hand-edited and foreign memories have
handles that no operation may change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pipeline.consolidation.propose.committed_reply import committed, complete
from pipeline.consolidation.propose.plan_schema import Plan, Proposed, ProposedCover
from pipeline.context import PhaseContext
from pipeline.core.ids import digest
from pipeline.core.zone import day
from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.operations import Cluster, Cover, Operation, Refused
from pipeline.domain.sentences import ALSO, Sentence, sentences
from pipeline.hooklib.plain import lines_of
from pipeline.llm import Message, Request
from pipeline.llm.prompts import load
from pipeline.safety.invisible import visible, visible_line
from pipeline.verify.check import LONGEST
from pipeline.verify.provenance import said_at, sentence_said_at, sources_of

PURPOSE = "consolidate.cluster"
STRENGTH = 0.7
_UNKNOWN = "on an unknown day"
_HANDLE = re.compile(r"\b[mf]\d+\b")
_SENTENCE = re.compile(r"([mf]\d+)\.(\d{1,4})")


def handles(cluster: Cluster) -> dict[str, str]:
    """Return handle → memory id: m1, m2, … for those that may change, f1, … for those that may not."""
    changeable = {f"m{number}": memory_id for number, memory_id in enumerate(cluster.ids, start=1)}
    return {
        **changeable,
        **{f"f{number}": memory_id for number, memory_id in enumerate(cluster.fixed, start=1)},
    }


def show(cluster: Cluster, memories: Mapping[str, Memory]) -> str:
    """Return the group as the model reads it: its memories, below each its numbered sentences, indented."""
    return "\n\n".join(_shown(handle, memories[memory_id]) for handle, memory_id in handles(cluster).items())


def _shown(handle: str, memory: Memory) -> str:
    name, type_name = (visible_line(given) for given in (memory.name, memory.type))
    lines = [
        f"[{handle}] {name} ({type_name}), {_provenance(memory)}",
        f"    {visible_line(memory.description)}",
    ]
    found = sentences(memory.body)
    differ = len({_spoken(memory, sentence) for sentence in found}) > 1
    for number, sentence in enumerate(found, start=1):
        if sentence.end > LONGEST:
            lines.append("    (it goes on)")
            break
        notes: list[str] = [] if sentence.part == "statement" else [sentence.part]
        if number > 1 and sentence.fact != found[number - 2].fact:
            lines.append(f"    {ALSO.strip('*')}")
        notes += [_spoken(memory, sentence)] if differ else []
        note = f" ({'; '.join(notes)})" if notes else ""
        lines.append(f"    [{handle}.{number}]{note} {indented(visible(sentence.text), 8).lstrip()}")
    return "\n".join(lines)


def indented(text: str, depth: int = 4) -> str:
    """Return `text` without empty lines, the others `depth` blanks in, so that none can pass for a head."""
    return "\n".join(" " * depth + line for line in lines_of(text) if line.strip())


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
) -> tuple[list[Operation], list[Refused]]:
    """Return what the model would do with `cluster`, and what of that names nothing.

    The answer is committed in the ledger before it is returned, and a committed one is never asked for
    again. Raises ModelError or SpendError with nothing changed.
    """
    key = group_key(cluster, memories)
    plan = committed(phase, key, Plan) or complete(phase, key, _request(phase, show(cluster, memories)), Plan)
    return _read(plan, cluster, memories)


def _request(phase: PhaseContext, shown: str) -> Request:
    today = day(phase.clock.now())
    return Request(
        purpose=PURPOSE,
        model=phase.settings.model.model,
        system=load("consolidate.system").render(),
        messages=(Message("user", load("consolidate.cluster").render(today=today, memories=shown)),),
        max_tokens=phase.settings.model.max_output_tokens,
    )


def _provenance(memory: Memory) -> str:
    who = {"user-stated": "by the user", "user-confirmed": "by the assistant, confirmed by the user"}
    spoken = day(said_at(memory) or memory.created, _UNKNOWN)
    return f"said {spoken} {who.get(memory.origin, 'by the assistant' if memory.origin else 'by someone')}"


def _spoken(memory: Memory, sentence: Sentence) -> str:
    """Return on which day `sentence` was last said, and by whom."""
    spoken = day(sentence_said_at(memory, sentence.text), _UNKNOWN)
    # What a model wrote by tool is its own word, whatever it cites.
    sources = () if memory.origin == "assistant-written" else sources_of(memory, sentence.text)
    return f"{spoken}, {speaker(sources)}"


def speaker(sources: Sequence[Evidence]) -> str:
    """Return who speaks in `sources`; a person, where there is one."""
    return "the user" if any(source.speaker == "person" for source in sources) else "the assistant"


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
        operation = _operation(item, known, names)
        unknown = _unknown(item, known)
        if unknown:
            refused.append(Refused(operation, f"names {_shown_handles(unknown)}, which it was not shown"))
        else:
            operations.append(operation)
    return operations, refused


def _unknown(item: Proposed, known: Mapping[str, str]) -> list[str]:
    """Return the handles of `item`, also those before a sentence's number, that are not `known`."""
    named = [*item.ids, *([item.into] if item.into else [])]
    named += [handle for cover in item.covered for handle in (cover.sentence, cover.by)]
    return [handle for handle in named if handle.strip().lower().partition(".")[0] not in known]


def _shown_handles(handles: Sequence[str]) -> str:
    """Return handles that the model made up as a report may show them: a few plain letters each."""
    return ", ".join(ascii(handle[:40])[1:-1] for handle in handles[:5])


def _operation(item: Proposed, known: Mapping[str, str], names: Mapping[str, str]) -> Operation:
    def real(handle: str) -> str:
        return known.get(handle.strip().lower(), handle)

    # A reason is read long after the handles are forgotten.
    reason = _HANDLE.sub(lambda match: names.get(match.group(), match.group()), item.reason)
    return Operation(
        op=visible(item.op.strip().lower())[:40],
        ids=tuple(dict.fromkeys(real(handle) for handle in item.ids)),
        into=real(item.into) if item.into else "",
        covered=tuple(filter(None, (_cover(cover, known) for cover in item.covered))),
        until=item.until.strip()[:40],
        name=item.name,
        title=item.title,
        description=item.description,
        statement=item.statement,
        relation=item.relation,
        strength=STRENGTH,
        reason=reason,
    )


def _cover(item: ProposedCover, known: Mapping[str, str]) -> Cover | None:
    """Return the pair of sentences that `item` names; None when it names none, and the sentence stays."""
    found = [_SENTENCE.fullmatch(handle.strip().lower()) for handle in (item.sentence, item.by)]
    pairs = [(known[m[1]], int(m[2])) for m in found if m is not None and m[1] in known]
    return Cover(*pairs[0], *pairs[1]) if len(pairs) == 2 else None
