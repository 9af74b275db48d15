"""What a team's database said last, for who looks while nobody asks it: its dream, and a backlog one gave.

It lies beside what is known of the team's folder, and each sync makes it anew. All moments are epoch seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from pipeline.core.atomic import write_atomic
from pipeline.hooklib.times import DAY
from pipeline.team import dreams, members, queue
from pipeline.text.humanize import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FILE = "heard.json"
NEWS_SECONDS = 3 * DAY
"""So long it is news that a backlog was read."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What was heard. `dreamt` is when the team's memories were dreamt over, 0 for never.

    `dreamer` is who did it, "" for this login. Of `given` transcripts, since `given_at`, so many are still
    `open`, and so many have `failed`; `read_at` is when it was heard that none is open, 0 before.
    """

    team: str = ""
    dreamt: float = 0.0
    dreamer: str = ""
    given: int = 0
    given_at: float = 0.0
    open: int = 0
    failed: int = 0
    read_at: float = 0.0

    def backlog(self, now: float) -> str:
        """Return in words how far the backlog is that this person gave, "" for none or where that is old."""
        if not self.given or (self.read_at and now - self.read_at >= NEWS_SECONDS):
            return ""
        sessions = count(self.given, "session")
        if not self.read_at:
            return f"of the {sessions} that you gave to its workers, {self.open:,} are still to be read"
        text = f"the workers of {self.team} have read the {sessions} that you gave them"
        return f"{text}, but for {self.failed:,} that can't be read" if self.failed else text


def read(folder: Path) -> Heard:
    """Return what is in `folder`, the home's for a team's folder; nothing where that is odd."""
    try:
        return Heard(**orjson.loads((folder / FILE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return Heard()  # The next sync hears it again.


def note_dream(folder: Path, at: float) -> None:
    """Note that a machine of this login dreamt at that moment."""
    _keep(folder, replace(read(folder), dreamt=at, dreamer=""))


def note_given(folder: Path, team: str, fresh: int, again: int, now: float) -> None:
    """Note that the workers of `team` got so many `fresh` transcripts, and failed ones `again`."""
    before = read(folder)
    given = fresh + (before.given if before.given and not before.read_at else again)
    if given:
        open_ = min(given, fresh + again + (0 if before.read_at else before.open))
        found = replace(before, team=team, given=given, given_at=now, open=open_, failed=0, read_at=0.0)
        _keep(folder, found)


def note_taken_back(folder: Path, transcripts: int) -> None:
    """Note that so many of them were taken back; with the last of them there is nothing more to hear."""
    before = read(folder)
    if before.given and not before.read_at:
        left = max(0, before.given - transcripts)
        _keep(folder, replace(before, given=left, open=min(before.open, left)))


def hear(connection: Any, team: str, folder: Path, people: Mapping[str, Sequence[str]]) -> None:
    """Ask the database, where `people` are the names of each login, and keep the answer."""
    before = read(folder)
    login, last, left = members.login(connection), dreams.last(connection, team), None
    if before.given and not before.read_at:
        left = queue.left_of_mine(connection, team)
    now = read(folder)
    if last is not None:
        names = people.get(last.login, (last.login,))
        now = replace(now, dreamt=last.at, dreamer="" if last.login == login else str(names[0]))
    if left is not None and now.given_at == before.given_at:
        done = 0.0 if left.open else left.at
        given = now.given if left.open else max(0, now.given - left.canceled)
        open_ = min(given, left.open)
        now = replace(now, given=given, open=open_, failed=left.failed, read_at=done)
    if now != before:
        _keep(folder, now)


def news(sharing: Path, now: float) -> list[list[Any]]:
    """Return of each backlog below `sharing` that was read lately when that was, and in words what it was."""
    if not sharing.is_dir():
        return []
    found = [read(file.parent) for file in sorted(sharing.glob(f"*/{FILE}"))]
    return [[item.read_at, text] for item in found if item.read_at and (text := item.backlog(now))]


def forget(folder: Path) -> None:
    """Forget what was heard: the person left the team."""
    (folder / FILE).unlink(missing_ok=True)


def _keep(folder: Path, found: Heard) -> None:
    values = {name: getattr(found, name) for name in Heard.__slots__}
    write_atomic(folder / FILE, orjson.dumps(values))
