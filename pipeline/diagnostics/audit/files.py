"""Each memory file by itself: front matter, secrets, what no memory may say, dates that never were, age."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from pipeline.core.zone import day
from pipeline.diagnostics.audit.folder import File
from pipeline.domain.finding import Finding, Level
from pipeline.domain.memory import TYPES
from pipeline.hooklib.memory_format import conflicts
from pipeline.hooklib.plain import lines_of
from pipeline.safety.guard import never, violation
from pipeline.safety.redaction import redact
from pipeline.store.files.document import conflict_in_words, settling
from pipeline.store.files.layout import INDEX
from pipeline.store.soundness import MERGE_CONFLICT
from pipeline.text.dates import relative_days

STALE_DAYS = 90
LONG_DESCRIPTION = 300
_AGING = frozenset({"project", "task", "problem", "error"})
"""Types that say how things stand, which time overtakes; a preference or a decision does not go bad so."""
_QUOTES_A_PERSON = re.compile(r"\W*(?:user|human)\s*:", re.IGNORECASE)


def check(file: File, now: datetime) -> Iterator[Finding]:
    """Yield what is wrong with one memory file."""
    yield from secrets(file.path, file.text)
    yield from unsettled(file.path, file.text)
    if file.memory is None:
        return
    yield from _front(file)
    yield from _words(file)
    yield from _age(file, now)


def secrets(path: str, text: str) -> Iterator[Finding]:
    """Yield where `text` holds what looks like a secret; the message names its kind and never the value."""
    whole = [kind for kind in redact(text).kinds if kind != "private"]
    if not whole:
        return
    lines = []
    for number, line in enumerate(lines_of(text), start=1):
        kinds = [kind for kind in redact(line).kinds if kind != "private"] if line.strip() else []
        if kinds:
            lines.append((number, ", ".join(kinds)))
    for number, kinds_here in lines or [(0, ", ".join(whole))]:
        fix = "Take it out, and change it where it is used: sessions have read it."
        yield Finding("error", "secret", f"looks like a secret ({kinds_here})", fix, path=path, line=number)


def unsettled(path: str, text: str) -> Iterator[Finding]:
    """Yield where a merge left both sides of a conflict in `text`."""
    for marks in conflicts(lines_of(text)):
        yield Finding(
            "error", MERGE_CONFLICT, conflict_in_words(marks), settling(path), path=path, line=marks[0] + 1
        )


def _front(file: File) -> Iterator[Finding]:
    memory = file.memory
    assert memory is not None
    if file.front is None:
        what = "no front matter, so its name, type and description are guesses"
        yield Finding(
            "note", "no-front-matter", what, "Give it name, description and type.", path=file.path, line=1
        )
        return
    if not file.given("description"):
        what = "no description, by which a memory is found and chosen"
        yield Finding(
            "warning",
            "no-description",
            what,
            "Add one line that says what it is about.",
            path=file.path,
            line=1,
        )
    elif len(file.given("description")) > LONG_DESCRIPTION:
        what = f"a description of {len(file.given('description'))} characters"
        line = file.line_of("description:")
        yield Finding(
            "note", "long-description", what, "One line of up to 150 is enough.", path=file.path, line=line
        )
    if file.given("type") not in TYPES:
        line = file.line_of("type:")
        what = f"no known type: {file.given('type')}" if file.given("type") else "no type"
        yield Finding(
            "note", "type", what, f"One of {', '.join(list(TYPES)[:4])}, …", path=file.path, line=line
        )
    if not memory.body.strip():
        yield Finding(
            "warning", "empty", "no text below the front matter", "Write it, or remove it.", path=file.path
        )


def _words(file: File) -> Iterator[Finding]:
    for number, line in _body_lines(file):
        barred = violation(line)
        if barred:
            what = f"reads like {barred}, and every session that loads it reads it so"
            fix = "State a fact instead, or remove it."
            # What words alone read like is wrong too often; Claude quotes a person by “User: …”.
            sure = never(line) is not None and _QUOTES_A_PERSON.match(line) is None
            level: Level = "warning" if sure else "note"
            yield Finding(level, "not-a-fact", what, fix, path=file.path, line=number)
        days = relative_days(line)
        if days:
            what = f"says “{days[0]}”, which is another day whenever it is read"
            yield Finding("note", "relative-date", what, "Write the date.", path=file.path, line=number)


def _body_lines(file: File) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines_of(file.text), start=1):
        if number >= file.body_line and line.strip():
            yield number, line


def _age(file: File, now: datetime) -> Iterator[Finding]:
    memory = file.memory
    assert memory is not None
    if memory.type_row.name not in _AGING or memory.pinned:
        return
    dated = file.dated()
    moment = dated or datetime.fromtimestamp(file.mtime, UTC)
    days = (now - moment).days
    if days > STALE_DAYS:
        by = "" if dated else ", by its file's time"
        what = f"says how things stood {days} days ago{by} ({day(moment)})"
        yield Finding(
            "note", "stale", what, "See whether it still holds; correct or remove it.", path=file.path
        )


def index_secrets(text: str | None) -> Iterator[Finding]:
    """Yield the secrets in MEMORY.md."""
    yield from secrets(INDEX, text or "")
