"""One call for all that a group's plan needs a second key for, and what comes of its answers.

The call sees neither the plan nor its reasons. Whatever is unclear, missing or malformed in the reply is no
agreement. The reply is committed like the plan's, so that a crash never asks twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pipeline.consolidation.propose.committed_reply import committed, complete
from pipeline.consolidation.second_reader.matters import Confirmed, Matter, matters_of, settle
from pipeline.consolidation.second_reader.questions import Question
from pipeline.consolidation.second_reader.reply_schema import Answers
from pipeline.context import PhaseContext
from pipeline.core.ids import digest
from pipeline.domain.memory import Memory
from pipeline.domain.operations import Operation, Refused
from pipeline.llm import Message, Request
from pipeline.llm.prompts import load

if TYPE_CHECKING:
    from pipeline.config import Settings

PURPOSE = "consolidate.verify"
MOST_QUESTIONS = 80
"""Most questions of one call; operations that would need more lead the next dream."""


def confirm(
    phase: PhaseContext,
    operations: Sequence[Operation],
    memories: Mapping[str, Memory],
    group: Sequence[str],
    elsewhere: frozenset[str] = frozenset(),
) -> tuple[Confirmed, str]:
    """Return what of `operations`, which passed the check, both keys agree on, and the key of the answer.

    `group` are the ids that the plan was made over, `elsewhere` those of them whose fact stands in another
    project's store too. The key names the committed answer; it is empty when nothing had to be asked.
    Raises ModelError or SpendError with nothing changed.
    """
    result = Confirmed()
    asked: list[tuple[Operation, list[Matter]]] = []
    room = MOST_QUESTIONS
    for operation in operations:
        matters = matters_of(operation, memories, group, elsewhere=not elsewhere.isdisjoint(operation.ids))
        room -= sum(len(matter.questions) for matter in matters)
        if room < 0:
            result.refused.append(Refused(operation, "there was no room to ask about it", later=True))
            continue
        asked.append((operation, matters))
    questions = _shuffled([q for _, matters in asked for matter in matters for q in matter.questions])
    agreed, key = _answered(phase, questions) if questions else (frozenset[Question](), "")
    for operation, matters in asked:
        verdicts = [
            matter.held if not matter.questions else agreed >= {*matter.questions} for matter in matters
        ]
        settled = settle(operation, matters, verdicts)
        result.operations += settled.operations
        result.denied += settled.denied
        result.refused += settled.refused
    return result, key


def _shuffled(questions: Sequence[Question]) -> list[Question]:
    """Return each of `questions` once, in an order that tells nothing and is the same every time."""
    return sorted(dict.fromkeys(questions), key=lambda question: digest(question.text))


def _answered(phase: PhaseContext, questions: Sequence[Question]) -> tuple[frozenset[Question], str]:
    """Return those of `questions` whose answer agrees, and the key of the committed reply."""
    shown = "\n\n".join(f"[q{number}] {item.text}" for number, item in enumerate(questions, start=1))
    key = digest(shown)[:16]
    reply = committed(phase, key, Answers) or complete(phase, key, _request(phase.settings, shown), Answers)
    found: dict[str, list[tuple[str, str]]] = {}
    for answer in reply.answers:
        found.setdefault(answer.question.strip().lower().strip("[]"), []).append(
            (answer.answer, answer.quote)
        )
    agreeing = set()
    for number, question in enumerate(questions, start=1):
        given = found.get(f"q{number}", [])
        # Two answers to one question are none.
        if len(given) == 1 and question.agrees(*given[0]):
            agreeing.add(question)
    return frozenset(agreeing), key


def _request(settings: Settings, shown: str) -> Request:
    return Request(
        purpose=PURPOSE,
        model=settings.model.model,
        system=load("consolidate.verify.system").render(),
        messages=(Message("user", load("consolidate.verify").render(questions=shown)),),
        max_tokens=settings.model.max_output_tokens,
    )
