"""Bringing the time journals up to date with what the ledger and the transcripts know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from pipeline.app import traces
from pipeline.app.application import App
from pipeline.formats.keisei import agents, agents_file, claims, journals, sessions, tasks
from pipeline.formats.keisei.agents import Agent
from pipeline.formats.keisei.journals import Line
from pipeline.ledger import session_times
from pipeline.record import record
from pipeline.safety.structured import Cleaner


@record
class Brought:
    """How many lines each journal got, and how many sessions go on and have none yet."""

    folder: Path
    sessions: int
    tasks: int
    claims: int
    running: int


def update(app: App, folder: Path, *, dry_run: bool = False) -> Brought:
    """Add to the journals in `folder` what is known and not in them; `dry_run` only counts.

    Sessions are those of the ledger that are over, claims those that the assistant marked, tasks the
    sub-agents of all transcripts.
    """
    silent = app.settings.extraction.conversation_gap_minutes * 60
    with app.ledger(to_look=True) as ledger:
        known = session_times.session_times(ledger)
        over = sessions.over(known, now=app.clock.now().timestamp(), silent_seconds=silent)
        marked = list(claims.claimed(session_times.spoken_with(ledger, claims.MARKS)))
    found = list(sub_agents(app, traces.transcripts()))
    add = _count if dry_run else _add
    return Brought(
        folder,
        add(folder / journals.SESSIONS, "session", lambda held: sessions.new_lines(over, list(held))),
        add(folder / journals.TASKS, "task", lambda held: tasks.of_agents(found, held)),
        add(folder / journals.CLAIMS, "claim", lambda held: claims.new_lines(marked, held)),
        len(known) - len(over),
    )


def _add(file: Path, kind: str, new: Callable[[Iterable[Line]], Sequence[Line]]) -> int:
    # What is there is looked at under the lock, so that of two updates one adds.
    if not new(journals.read(file, kinds=(kind,))):
        return 0
    with journals.writing(file) as journal:
        return journal.append(new(journal.records(kind)))


def _count(file: Path, kind: str, new: Callable[[Iterable[Line]], Sequence[Line]]) -> int:
    return len(new(journals.read(file, kinds=(kind,))))


def sub_agents(app: App, found: Iterable[Path], *, session: str = "") -> Iterator[Agent]:
    """Yield the sub-agents of the transcripts, or those of the sessions whose id begins with `session`."""
    for agent in agents.agents(found, traces.secrets_known(app)):
        if agent.session_id.startswith(session):
            yield agent


def agents_in(app: App, ledger: Path, *, session: str = "") -> Iterator[Agent]:
    """Yield the sub-agents of a ledger that another program keeps, without secrets."""
    clean = Cleaner(traces.secrets_known(app)).text
    for agent in agents_file.read(ledger):
        if agent.session_id.startswith(session):
            yield agents.cleaned(agent, clean)
