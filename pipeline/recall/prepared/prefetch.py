"""Choosing memories for the next prompt with a model, ahead of time and in the background (seed 3, L-05 f.).

Off unless ``recall.model_selection`` is set: it costs a call for each turn that is read. The choice lies in
``<home>/recall/sessions/<session>.picks.json``; a hook that finds none, or one that does not fit the prompt,
goes by words alone. Nothing waits for it. No hook imports this module.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from pipeline.context import PhaseContext
from pipeline.core.atomic import write_atomic
from pipeline.core.ids import digest
from pipeline.domain.speech import Utterance
from pipeline.hooklib import jsonish
from pipeline.ledger import utterances
from pipeline.llm import Message, Request
from pipeline.llm.lenient_fields import Texts
from pipeline.llm.prompts import load
from pipeline.recall.live.session_file import session_path
from pipeline.safety.invisible import visible_line
from pipeline.store import Document, is_retired

PURPOSE = "recall.select"
MOST_SHOWN = 200
"""Memories the model chooses from, the newest (L-06)."""
MOST_CHOSEN = 5
PERSON_TEXTS = 3
TEXT_CHARS = 700
"""Of each text that is shown: three of the person and one reply make the seed's 2,000 and some."""
REPLY_TOKENS = 500
_DESCRIPTION_CHARS = 200
_READ_CHARS = 40_000
_LAST_ROW = 2**62
_KEPT_SECONDS = 30 * 86_400.0
_SUFFIX = ".picks.json"


class Selection(BaseModel):
    """What the model returns."""

    model_config = ConfigDict(extra="ignore")

    names: Texts = Field(
        default_factory=list, description="Names of at most five notes, the most needed first; often none."
    )


@dataclass(frozen=True, slots=True)
class Choice:
    """The memories chosen for `session`, by name; `asked` is False where nothing was new to ask about."""

    session: str
    names: tuple[str, ...]
    asked: bool = True
    dollars: float = 0.0


def prefetch(phase: PhaseContext, home: Path, key: str) -> Choice | None:
    """Choose for the session whose transcript is `key`, and write it down.

    None when there is nothing to choose by or from. The same notes and the same words are not asked about
    twice. Raises SpendError and ModelError, StoreError, and OSError when it can't be written.
    """
    spoken = utterances.utterances_before(phase.ledger, key, row=_LAST_ROW, max_chars=_READ_CHARS)
    conversation = shown_conversation(spoken)
    listed = listing(phase.store.scan().documents)
    session = next(
        (utterance.session_id for utterance in reversed(spoken) if utterance.speaker == "person"), ""
    )
    session_file = session_path(str(home), session)
    if phase.client is None or not (session_file and conversation and listed):
        return None
    file = Path(session_file.removesuffix(".jsonl") + _SUFFIX)
    question_digest = digest("\n".join((*listed.values(), conversation)))[:16]
    before = _read(file)
    # A job that found nothing new comes here as well, and the same question would cost another call.
    if before.get("asked") == question_digest and before.get("store") == phase.store_key:
        return Choice(session, tuple(before["names"]), asked=False)
    answered = phase.client.complete(question(phase.settings.model.model, listed, conversation), Selection)
    names = known(answered.value.names, listed)
    now = phase.clock.now().timestamp()
    value = {"at": round(now, 3), "store": phase.store_key, "names": names, "asked": question_digest}
    write_atomic(file, json.dumps(value).encode())
    _sweep(file.parent, now)
    return Choice(session, tuple(names), dollars=answered.dollars)


def listing(documents: Sequence[Document]) -> dict[str, str]:
    """Return ``name: description`` lines by the memory's own name, newest first, at most 200.

    Archived ones are hidden. Of two memories shown under one name only the first is.
    """
    alive = [item.head for item in documents if not is_retired(item.front)]
    alive.sort(key=lambda memory: (-memory.changed_at, memory.name))
    found: dict[str, str] = {}
    for memory in alive:
        if len(found) == MOST_SHOWN:
            break
        name = visible_line(memory.name)
        if name:
            found.setdefault(name, f"- {name}: {visible_line(memory.description)[:_DESCRIPTION_CHARS]}")
    return found


def shown_conversation(spoken: Sequence[Utterance]) -> str:
    """Return the person's last three texts and the reply after them, a line each; "" if no person spoke.

    A line begins with who speaks, and nothing in a text can begin another. Long texts are cut.
    """
    last = [utterance for utterance in spoken if utterance.speaker == "person"][-PERSON_TEXTS:]
    if not last:
        return ""
    reply = [
        utterance for utterance in spoken if utterance.speaker == "assistant" and utterance.row > last[-1].row
    ][-1:]
    role_of = {"person": "user", "assistant": "assistant"}
    lines = [(role_of[utterance.speaker], visible_line(utterance.text)) for utterance in (*last, *reply)]
    return "\n".join(f"{role}: {text[:TEXT_CHARS]}" for role, text in lines)


def question(model: str, listed: dict[str, str], conversation: str) -> Request:
    """Return the question which of the notes `listed` bear on `conversation`, for `model`."""
    prompt = load("recall.select").render(memories="\n".join(listed.values()), dialogue=conversation)
    return Request(
        purpose=PURPOSE,
        model=model,
        system=load("recall.select.system").render(),
        messages=(Message("user", prompt),),
        max_tokens=REPLY_TOKENS,
    )


def known(names: Sequence[str], listed: dict[str, str]) -> list[str]:
    """Return the names that were listed, each once, five at most; a name that was made up is dropped."""
    plain = (name.strip().removeprefix("- ") for name in names)
    return list(dict.fromkeys(name for name in plain if name in listed))[:MOST_CHOSEN]


def _read(file: Path) -> dict[str, Any]:
    try:
        held = jsonish.loads(jsonish.decode(file.read_bytes()))
    except (OSError, ValueError):
        return {}
    whole = isinstance(held, dict) and isinstance(held.get("names"), list)
    return held if whole else {}


def _sweep(folder: Path, now: float) -> None:
    """Remove the choices for sessions that nobody has taken up for a month."""
    for file in folder.glob(f"*{_SUFFIX}"):
        at = _read(file).get("at")
        if not isinstance(at, int | float) or now - at > _KEPT_SECONDS:
            file.unlink(missing_ok=True)
