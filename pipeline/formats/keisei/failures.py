"""Errors per session: how many calls of tools failed, of which tools, and when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from pipeline.formats.keisei.classes import PERMISSION_DENIED, USER_CORRECTION, cues
from pipeline.formats.keisei.events import Event
from pipeline.record import changing, field
from pipeline.safety.structured import Cleaner
from pipeline.transcript.client_texts import comment_on_refusal

MOST_TOOLS = 200
OTHER = "other"


@changing
class SessionErrors:
    """The calls of one session and those that failed; milliseconds since 1970.

    `by_tool` has failed calls by tool, `calls_by_tool` all; `denied` are failures for want of a permission,
    `refused` calls that the person turned down, which count as failed too, `corrections` prompts in which
    the person corrects.
    """

    session: str
    first_ms: int | None = None
    last_ms: int | None = None
    calls: int = 0
    errors: int = 0
    denied: int = 0
    refused: int = 0
    corrections: int = 0
    by_tool: Counter[str] = field(default_factory=Counter)
    calls_by_tool: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """Return the share of calls that failed."""
        return self.errors / self.calls if self.calls else 0.0


def errors_per_session(
    events: Iterable[Event], clean: Callable[[str], str] | None = None
) -> list[SessionErrors]:
    """Return the sessions in the order in which they began, those without a time first.

    A session of which lines stand in several transcripts is one. Sessions without a call are left out.
    `clean` takes secrets out of a tool's name; None: those that show themselves.
    """
    clean = clean or Cleaner().text
    found: dict[str, SessionErrors] = {}
    for event in events:
        held = found.get(event.session)
        if held is None:
            held = found[event.session] = SessionErrors(event.session)
        if event.at_ms is not None:
            held.first_ms = event.at_ms if held.first_ms is None else min(held.first_ms, event.at_ms)
            held.last_ms = event.at_ms if held.last_ms is None else max(held.last_ms, event.at_ms)
        _count(held, event, clean(event.tool))
    kept = [held for held in found.values() if held.calls or held.errors]
    return sorted(kept, key=lambda held: (held.first_ms or 0, held.session))


def _count(held: SessionErrors, event: Event, tool: str) -> None:
    if event.role == "tool_use":
        held.calls += 1
        held.calls_by_tool[_name(held.calls_by_tool, tool)] += 1
    if event.is_error and (event.role == "tool_result" or event.flat):
        held.errors += 1
        held.by_tool[_name(held.by_tool, tool)] += 1
        held.refused += comment_on_refusal(event.text) is not None
        held.denied += PERMISSION_DENIED in cues(event.text)
    if event.typed:
        held.corrections += USER_CORRECTION in cues(event.typed)


def _name(known: Counter[str], tool: str) -> str:
    name = tool or "?"
    return name if name in known or len(known) < MOST_TOOLS else OTHER


def by_tool(sessions: Iterable[SessionErrors]) -> list[tuple[str, int, int]]:
    """Return tool, calls and failed calls over all sessions, the most failures first."""
    calls: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for held in sessions:
        calls.update(held.calls_by_tool)
        errors.update(held.by_tool)
    return sorted(
        ((tool, calls[tool], errors[tool]) for tool in calls | errors),
        key=lambda row: (-row[2], -row[1], row[0]),
    )
