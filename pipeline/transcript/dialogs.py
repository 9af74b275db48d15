"""What the client asks in dialogs of its own, plans and question forms, and what became of them.

A dialog is a tool use of the assistant's; the person's answer is that tool's result, in a later row. The row
does not say which tool it belongs to, so open tool uses are kept (`Dialogs`), from one reading to the next.
Whether a person answered at all is decided by `decided.py`.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any, NamedTuple, TypeGuard

from pipeline.domain.speech import FORMS, MENU_TOOL, PLAN_TOOL, Channel
from pipeline.hooklib.plain import lines_of
from pipeline.record import changing
from pipeline.safety.late import late
from pipeline.transcript import client_texts, decided
from pipeline.transcript.tools import may_be_plan

MOST_OPEN = 8
_MOST_TOOLS = 64

APPROVED = "[approved the plan]"
EDITED = "[approved the plan, changed by them]"
REFUSED = "[refused the plan]"
SENT_BACK = "[refused the plan, unless it was taken up afterwards]"
"""Older clients write the same row for a plan that is refused and for one carried out with a new context."""
_LEFT_OPEN = "[left this open; chosen until then:]"
_MORE = "[wants further questions first]"

_ASKED_AGAIN = (
    "The user wants to clarify these questions",
    "The user has indicated they have provided enough",
)
_ASKED = late(r"(?:\A|\n)[ \t]*- \"")
_TYPED = late(r"\n[ \t]*User notes: ")
_CHOSEN = late(r"\n[ \t]*Answer: ")
_NOTES_ONLY = "(notes only)"


class Said(NamedTuple):
    """One piece of speech; channel ``prose`` is the assistant's, every other a person's."""

    channel: Channel
    text: str


@changing
class Dialog:
    """A tool use whose result has not been seen: its name, the plan it shows, and where its record stands.

    `drafted` says that the plan is what its file was last seen to hold.
    """

    tool: str
    plan: str
    drafted: bool
    offset: int
    length: int


class Dialogs:
    """The tool uses without a result yet, by id, and the plan file as it was last written."""

    def __init__(self) -> None:
        self._open: dict[str, Dialog] = {}
        self._draft = ""
        self._last_plan = ""
        self.working = False
        """Whether something ran at the end of the reading before and nothing is known of it since."""

    def begin(self, blocks: list[Any], offset: int, length: int) -> None:
        """Take in the tool uses of an assistant's record at `offset`."""
        self.working = False
        for block in blocks:
            name = _name(block)
            tool_id = block.get("id") if name else None
            if not isinstance(tool_id, str):
                continue
            self._note_draft(name, _input(block))
            self.ask(tool_id, name, plan_text(block), offset, length)

    def ask(self, tool_id: str, name: str, plan: str, offset: int, length: int) -> None:
        """Take in one tool use, which shows `plan`, in the record at `offset`."""
        self._last_plan = plan or self._last_plan
        self._open[tool_id] = Dialog(name, plan or self._draft.strip(), not plan, offset, length)
        if len(self._open) > _MOST_TOOLS:
            oldest = next((key for key, held in self._open.items() if not _asks(held)), tool_id)
            del self._open[oldest]

    def asks(self, tool_id: str) -> bool:
        """Say whether the result of that tool use may be a person's answer to a plan or a form."""
        held = self._open.get(tool_id)
        return held is not None and _asks(held)

    def _note_draft(self, name: str, given: dict[str, Any]) -> None:
        """Follow the file that a plan is written into, for clients whose ExitPlanMode does not repeat it."""
        path = given.get("file_path")
        if not isinstance(path, str) or not may_be_plan(path):
            return
        content, old, new = given.get("content"), given.get("old_string"), given.get("new_string")
        if name == "Write" and isinstance(content, str):
            self._draft = content
        elif name == "Edit" and isinstance(old, str) and isinstance(new, str) and old:
            self._draft = self._draft.replace(old, new, 1)

    @property
    def draft(self) -> str:
        """Return the plan as it was last written into its file."""
        return self._draft

    @property
    def last_plan(self) -> str:
        """Return the plan that was shown last, "" when none was in this reading."""
        return self._last_plan

    def end(self, tool_id: object) -> Dialog | None:
        """Return and forget the dialog that a result belongs to, None when its tool use was not seen."""
        self.working = False
        return self._open.pop(tool_id, None) if isinstance(tool_id, str) else None

    @property
    def any_open(self) -> bool:
        """Say whether a tool runs or a person is asked something."""
        return self.working or bool(self._open)

    def forget(self) -> None:
        """Take all as over: the person has typed something new."""
        self._open.clear()
        self.working = False

    def dump(self) -> str:
        """Return the places of the records that may wait for a person, as text for a cursor.

        Any tool's use may be refused, but those that ask something come first where not all have room.
        """
        held = sorted(self._open.values(), key=_asks)
        places = dict.fromkeys((dialog.offset, dialog.length) for dialog in held)
        return ",".join(f"{offset}+{length}" for offset, length in sorted(list(places)[-MOST_OPEN:]))


def _asks(held: Dialog) -> bool:
    return held.tool in FORMS


def _name(block: Any) -> str:
    name = block.get("name") if isinstance(block, dict) and block.get("type") == "tool_use" else None
    return name if isinstance(name, str) else ""


def _input(block: dict[str, Any]) -> dict[str, Any]:
    given = block.get("input")
    return given if isinstance(given, dict) else {}


def is_text(value: Any) -> TypeGuard[str]:
    """Say whether `value` is a text with something in it."""
    return isinstance(value, str) and bool(value.strip())


def plan_text(block: Any, draft: str = "") -> str:
    """Return the plan that ExitPlanMode shows; `draft` is what its file holds, for inputs without it."""
    if _name(block) != PLAN_TOOL:
        return ""
    plan = _input(block).get("plan") or _input(block).get("planContent")
    return str(plan).strip() if is_text(plan) else draft.strip()


def menu_text(block: Any) -> str:
    """Return the menu that AskUserQuestion shows: an answer means nothing without what it was chosen from."""
    if _name(block) != MENU_TOOL:
        return ""
    asked = _input(block).get("questions")
    lines: list[str] = []
    for question in asked if isinstance(asked, list) else []:
        if not isinstance(question, dict) or not is_text(question.get("question")):
            continue
        several = " (several may be chosen)" if question.get("multiSelect") is True else ""
        lines.append(question["question"] + several)
        options = question.get("options")
        for option in options if isinstance(options, list) else []:
            if isinstance(option, dict) and is_text(option.get("label")):
                about = f": {option['description']}" if is_text(option.get("description")) else ""
                lines.append(f"- {option['label']}{about}")
    return "\n".join(lines)


# -- what became of them -------------------------------------------------------------------------------


def outcome(
    record: dict[str, Any], block: dict[str, Any], text: str, asked: Dialog | None, *, alone: bool = True
) -> list[Said]:
    """Return what a person said by the tool result `block`, whose text is `text`, to the dialog `asked`.

    Without `asked`, its tool use was not read with this row, and the row says nothing of which tool it was.
    `alone` says that the row holds no other result.
    """
    if block.get("is_error"):
        return _refusal(record, text, asked, alone=alone)
    if asked is None or not decided.let_pass_by_person(record):
        return []
    if asked.tool == PLAN_TOOL:
        return _approval(record, text, asked)
    return _answers(record.get("toolUseResult")) if asked.tool == MENU_TOOL else []


def _refusal(record: dict[str, Any], text: str, asked: Dialog | None, *, alone: bool) -> list[Said]:
    comment = client_texts.comment_on_refusal(text)
    if comment is None or not decided.refused_by_person(record, asked.tool if asked else "", alone=alone):
        return []
    if is_text(record.get("userFeedback")):
        comment = client_texts.strip_injected(record["userFeedback"]) or comment
    if comment.startswith(_ASKED_AGAIN):
        typed = _typed_into_form(comment)
        return [Said("answer", typed)] if typed else []
    if comment:
        return [Said("refusal", comment)]
    if asked is None or asked.tool != PLAN_TOOL:
        return []
    return [Said("refusal", REFUSED if record.get("toolDenialKind") else SENT_BACK)]


def _typed_into_form(comment: str) -> str:
    """Return the answers in a form that the person left to talk about it, each with its question."""
    lines: list[str] = []
    for part in _ASKED.split(comment)[1:]:
        question, _, rest = part.partition('"\n')
        rest, *notes = _TYPED.split(f"\n{rest}", maxsplit=1)
        answer = _CHOSEN.split(rest, maxsplit=1)
        chosen = answer[1].strip() if len(answer) > 1 else ""
        if chosen or notes:
            lines.append(f"Q: {question.strip()}")
            lines += [f"A: {chosen}"] if chosen else []
            lines += [f"Note: {note.strip()}" for note in notes]
    return client_texts.strip_injected("\n".join(lines))


def _approval(record: dict[str, Any], text: str, asked: Dialog) -> list[Said]:
    """Return that a plan was approved, what was changed in it, and the plan itself if it was not shown."""
    given = record.get("toolUseResult")
    result: dict[str, Any] = given if isinstance(given, dict) else {}
    of_agents = result.get("isAgent") is True or result.get("awaitingLeaderApproval") is True
    if of_agents or not client_texts.PLAN_APPROVED.match(text):
        return []
    plan = result["plan"].strip() if is_text(result.get("plan")) else client_texts.approved_plan(text)
    plan = client_texts.strip_injected(plan)
    shown = asked.plan
    marked = result.get("planWasEdited") is True or client_texts.EDITED in text
    if not plan or (shown and shown.split() == plan.split()):
        return [Said("answer", APPROVED)]
    if not shown or (asked.drafted and not marked):
        return [Said("prose", plan), Said("answer", EDITED if marked else APPROVED)]
    return [Said("answer", f"{EDITED}\n{_changes(shown, plan)}")]


def _changes(shown: str, approved: str) -> str:
    """Return the lines a person put into a plan (``+``) and took out of it (``-``)."""
    before = [line.rstrip() for line in lines_of(shown)]
    after = [line.rstrip() for line in lines_of(approved)]
    lines: list[str] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            lines += [f"- {line.strip()}" for line in before[i1:i2] if line.strip()]
            lines += [f"+ {line.strip()}" for line in after[j1:j2] if line.strip()]
    return "\n".join(lines)


def _answers(result: Any) -> list[Said]:
    """Return the answers to AskUserQuestion, each with its question, without which "B" means nothing."""
    if not isinstance(result, dict):
        return []
    answers, asked = result.get("answers"), result.get("questions")
    if not isinstance(answers, dict) or not isinstance(asked, list):
        return []
    annotations = result.get("annotations")
    notes = annotations if isinstance(annotations, dict) else {}
    questions = [
        item["question"] for item in asked if isinstance(item, dict) and is_text(item.get("question"))
    ]
    order = [*(question for question in answers if question in questions)]
    order += [question for question in questions if question in notes and question not in answers]
    lines: list[str] = []
    for question in order:
        lines += _answer(question, answers.get(question), notes.get(question))
    if lines and result.get("afkTimeoutMs"):
        lines.insert(0, _LEFT_OPEN)
    free = result.get("response")
    lines += [free.strip()] if is_text(free) else []
    if result.get("followUp") is True:
        lines.append(_MORE)
    return [Said("answer", client_texts.strip_injected("\n".join(lines)))] if lines else []


def _answer(question: str, answer: Any, note: Any) -> list[str]:
    if isinstance(answer, list):
        answer = ", ".join(filter(is_text, answer))
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        answer = str(answer)
    chosen = [f"A: {answer.strip()}"] if is_text(answer) and answer.strip() != _NOTES_ONLY else []
    noted = note.get("notes") if isinstance(note, dict) else None
    chosen += [f"Note: {noted.strip()}"] if is_text(noted) else []
    return [f"Q: {question.strip()}", *chosen] if chosen else []


def plan_taken_up(record: dict[str, Any], text: str, shown: str) -> list[Said]:
    """Return what the client's prompt to carry out a plan means, which a person approved.

    `shown` is the plan that was shown last in this file: the prompt may as well stand in a new one.
    """
    held = record.get("planContent")
    plan, comment = client_texts.plan_to_implement(text, held if isinstance(held, str) else "")
    plan = client_texts.strip_injected(plan)
    found = [Said("prose", plan)] if plan and plan.split() != shown.split() else []
    return [*found, Said("answer", f"{APPROVED}\n{comment}" if comment else APPROVED)]
