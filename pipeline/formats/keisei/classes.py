"""The class of an event (K-09): a label by which jq, awk and pandas count what happened.

The order is the one that kei-memory has: what failed, then what the words say, then what the line is. Its
patterns look at everything in a line, so that reading a file in which "retry" stands is no longer a call of
Read (K-C6). Here words count only where somebody speaks: a person's own, and the text of an error; what they
hint at stands beside the class, in `Classified.cues`. `strict` gives the labels that kei-memory gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import orjson

from pipeline.formats.keisei.events import UNNAMED, Event
from pipeline.safety.late import late
from pipeline.safety.structured import json_text

PERMISSION_DENIED = "permission_denied"
USER_CORRECTION = "user_correction"
WORKTREE_ERROR = "worktree_error"
CARGO_WORKSPACE = "cargo_workspace"
RETRY_LOOP = "retry_loop"
TOOL_ERROR = "tool_error"

_DENIED = late(r"(?i)(?:permission|access)\s+denied")
_CORRECTED = late(
    r"(?i)\b(?:again|broken|stop\s+doing|don'?t\s+(?:do|repeat)|you'?re\s+wrong|wrong\s+once\s+more)\b"
    r"|опять|ошибся|не\s+делай"
)
_RETRIED = late(r"(?i)retry|attempt\s+\d+|try\s+again")
_FAILURES = ("error", "denied", "fail")


class Classified(NamedTuple):
    """The class of an event, and all that its words hint at, in the order in which it is looked for."""

    label: str
    cues: tuple[str, ...] = ()


def _worktree_failed(text: str) -> bool:
    # A pattern with ".*" in it would go through a long line once for each worktree that it names.
    for line in text.lower().split("\n"):
        at = line.find("worktree")
        if at >= 0 and any(line.find(word, at) >= 0 for word in _FAILURES):
            return True
    return False


def _about_cargo(text: str) -> bool:
    return any("cargo" in line and "workspace" in line for line in text.lower().split("\n"))


_CUES: tuple[tuple[str, Callable[[str], object]], ...] = (
    (PERMISSION_DENIED, lambda text: _DENIED.search(text)),
    (USER_CORRECTION, lambda text: _CORRECTED.search(text)),
    (WORKTREE_ERROR, _worktree_failed),
    (CARGO_WORKSPACE, _about_cargo),
    (RETRY_LOOP, lambda text: _RETRIED.search(text)),
)


def cues(text: str) -> tuple[str, ...]:
    """Return what `text` hints at, in the order of precedence; "try again" is a correction first (K-C5)."""
    return tuple(name for name, matches in _CUES if matches(text)) if text else ()


def classify(event: Event, *, strict: bool = False) -> Classified:
    """Return the class of `event`; one that the line brought along stays.

    With `strict` it is the label of kei-memory, see `strict_label`.
    """
    if strict:
        return Classified(event.given_class or strict_label(event))
    hints = cues(event.typed)
    if event.is_error:
        # Nobody corrects anybody in a program's words.
        hints += tuple(name for name in cues(event.text) if name not in (*hints, USER_CORRECTION))
    return Classified(event.given_class or _label(event, hints), hints)


def _label(event: Event, hints: tuple[str, ...]) -> str:
    if event.is_error:
        return f"{TOOL_ERROR}:{event.tool}" if event.tool else TOOL_ERROR
    if event.role == "tool_use" and event.tool:
        return f"tool_use:{event.tool}"
    if event.role == "tool_result":
        return event.role
    return hints[0] if hints else event.kind


def strict_label(event: Event) -> str:
    """Return what kei-memory calls the event.

    It knows a flat line's kind only by its class (K-C2), of a result neither the tool nor that it is one, and
    its patterns look at the whole message.
    """
    kind = UNNAMED if event.flat else event.kind
    tool = event.tool if event.flat or event.role == "tool_use" else ""
    if event.is_error and not (event.role == "tool_use" and not event.flat):
        return f"{TOOL_ERROR}:{tool}" if tool else TOOL_ERROR
    found = cues(_message(event))
    if found:
        return found[0]
    if tool and kind == "assistant":
        return f"tool_use:{tool}"
    return kind


def strict_counts(event: Event) -> bool:
    """Say whether kei-memory makes a row of the event: of a line's results it sees the first alone."""
    return event.role != "tool_result" or event.number == 0


def _message(event: Event) -> str:
    message = event.record.get("message")
    if isinstance(message, str):
        return message
    if not isinstance(message, dict):
        return ""
    try:
        # As serde_json writes an object: its names in order, nothing escaped that need not be.
        return orjson.dumps(message, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:
        return json_text(message)
