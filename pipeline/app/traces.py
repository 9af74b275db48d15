"""Traces: what tools did in each session, listed, shown and written out for other programs."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from pathlib import Path

from pipeline.app import conversations
from pipeline.app.application import App
from pipeline.core import paths
from pipeline.core.atomic import ensure_dir, install, write_temp
from pipeline.core.errors import InputError, UnreadableError, cause
from pipeline.core.home import Home
from pipeline.formats.keisei.events import Problem, Trace
from pipeline.formats.keisei.export import Tally, lines
from pipeline.formats.keisei.overview import Call, Overview, calls, overview
from pipeline.ledger import secrets
from pipeline.record import changing, field
from pipeline.safety.recognised import Recognised
from pipeline.safety.structured import Cleaner
from pipeline.transcript import scan, survey

_REDACTED = re.compile(rb"\[redacted:[a-z-]+\]")
_LEAST_PREFIX = 4
_FORCE = "Give another --to, or --force to replace it."


@changing
class Exported:
    """What became of one trace.

    `outcome` is ``new``, ``grown`` (a former export of which this is the continuation was replaced),
    ``replaced`` (by --force), ``same``, ``left`` or ``shown``; `why` says why it was left.
    """

    session: str
    source: str
    target: str = ""
    outcome: str = "shown"
    why: str = ""
    lines: int = 0
    calls: int = 0
    errors: int = 0
    problems: list[Problem] = field(default_factory=list)


@changing
class Redaction:
    """How many secrets were taken out of all that was written, and of which kinds."""

    found: int = 0
    kinds: tuple[str, ...] = ()


def everywhere() -> tuple[list[Path], list[UnreadableError]]:
    """Return all transcripts of Claude Code's, the last written first, and what can't be looked into."""
    found: list[tuple[float, str]] = []
    hidden: list[UnreadableError] = []
    for entry in survey(paths.projects_dir()):
        if isinstance(entry, UnreadableError):
            hidden.append(entry)
            continue
        try:
            found.append((entry.stat().st_mtime, entry.path))
        except OSError:
            # Gone since it was listed.
            continue
    return [Path(path) for _, path in sorted(found, key=lambda item: (-item[0], item[1]))], hidden


def transcripts(folder: Path | None = None) -> Iterator[Path]:
    """Yield every transcript below `folder`, which has one folder for each project; default: the client's.

    A folder that holds transcripts itself counts too. Raises InputError where `folder` is not there.
    """
    root = folder or paths.projects_dir()
    if folder is not None and not folder.is_dir():
        raise InputError("there is no such folder", file=str(folder), fix="Name one with transcripts.")
    own = sorted(root.glob("*.jsonl")) if root.is_dir() else []
    yield from (path for path in own if not path.name.startswith("agent-"))
    for found in scan(root):
        # A folder out of reach is `doctor`'s matter: the others are what is asked for.
        if not isinstance(found, UnreadableError):
            yield found


def below(folder: Path | None) -> tuple[list[Path], list[UnreadableError]]:
    """Return the transcripts below `folder`, or `everywhere`, the last written first.

    Raises InputError where there is no such folder.
    """
    if folder is None:
        return everywhere()
    return sorted(transcripts(folder), key=lambda path: (-_written(path), str(path))), []


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        # Gone since it was listed.
        return 0.0


def find(text: str, folder: Path | None = None) -> Path:
    """Return the transcript that `text` names: a path, a session's id, or the beginning of one.

    An id is looked for below `folder`, where one is given, else everywhere.
    """
    if Path(text).expanduser().is_dir():
        raise InputError(
            "that is a folder, no session",
            file=text,
            fix=f"`reverie traces export --all --dir {shlex.quote(text)}` takes all below it.",
        )
    if folder is not None and not Path(text).expanduser().exists():
        return _begun(text, transcripts(folder))
    try:
        return conversations.transcript(text)
    except UnreadableError:
        raise
    except InputError:
        if len(text) < _LEAST_PREFIX or "/" in text:
            raise
        found = [path for path in everywhere()[0] if path.stem.startswith(text)]
        if not found:
            raise
    return _begun(text, found)


def _begun(text: str, files: Iterable[Path]) -> Path:
    """Return the one of `files` that belongs to the session whose id begins with `text`."""
    found = [path for path in files if path.stem.startswith(text)]
    if not found:
        raise InputError("there is no such session", file=text, fix="`reverie traces list` names them.")
    if len({path.stem for path in found}) > 1:
        names = ", ".join(path.stem for path in found[:3])
        raise InputError(
            f"{len(found)} sessions have an id that begins with {text!r}", fix=f"Write more of it: {names}."
        )
    return found[0]


def listed(files: Iterable[Path], known: Recognised | None) -> Iterator[Overview | InputError]:
    """Yield each trace in a row without secrets, also those `known`, or why it can't be read."""
    cleaner = Cleaner(known)
    for path in files:
        try:
            yield overview(path, cleaner)
        except (InputError, FileNotFoundError) as error:
            yield _as_input(error, path)


def secrets_known(app: App) -> Recognised | None:
    """Return the secrets that were recognised in this home, None where there is no ledger yet."""
    if not Home(app.home).ledger.exists():
        return None
    with app.ledger(to_look=True) as ledger:
        return secrets.recognised(ledger)


def shown(path: Path, known: Recognised | None) -> tuple[list[Call], list[Problem]]:
    """Return the calls of tools in the trace `path` in its order, and the lines that hold no record."""
    trace = Trace(path, quiet=True)
    found = sorted(calls(trace.events, Cleaner(known)), key=lambda call: call.line)
    return found, trace.problems


def export(
    files: Sequence[Path],
    *,
    known: Recognised | None,
    annotated: bool = False,
    strict: bool = False,
    to: Path | None = None,
    force: bool = False,
    write: Callable[[bytes], object],
    redaction: Redaction,
) -> Iterator[Exported | InputError]:
    """Write each trace as compact JSONL, to the folder `to` or through `write`; yield what became of each.

    Of each trace the lines come one after another, so memory does not grow with it. A file in `to` is
    replaced only where the new one begins with all that is in it, but for secrets that are known only since,
    or with `force`. `known` are secrets to take out wherever they stand; `redaction` is filled.
    """
    if to is not None:
        _refuse_projects(to)
    written: set[str] = set()
    for path in files:
        made, tally = Exported(path.stem, str(path)), Tally()
        # What one trace tells stays with it, so that it gives the same lines alone and among others.
        cleaner = Cleaner(deepcopy(known))
        try:
            trace = Trace(path, quiet=True)
            rows = lines(trace.events, cleaner, annotated=annotated, strict=strict, tally=tally)
            if to is None:
                for row in rows:
                    write(row)
            elif path.stem in written:
                made.outcome, made.why = "left", "another transcript of this session was written just now"
            else:
                _into(to / f"{path.stem}.jsonl", rows, made, path, force=force)
                written.add(path.stem)
        except (InputError, FileNotFoundError) as error:
            yield _as_input(error, path)
            continue
        made.lines, made.calls, made.errors = tally.lines, tally.calls, tally.errors
        made.problems = trace.problems
        redaction.found += cleaner.found
        redaction.kinds = tuple(sorted({*redaction.kinds, *cleaner.kinds}))
        yield made


def _as_input(error: InputError | FileNotFoundError, path: Path) -> InputError:
    if isinstance(error, InputError):
        return error
    return InputError("there is no such file", file=str(path), fix="Check the path.")


def _refuse_projects(folder: Path) -> None:
    """Raise InputError for a folder among Claude Code's own transcripts, which an export would shadow."""
    projects = paths.projects_dir()
    if Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(projects)):
        raise InputError(
            "that is where Claude Code keeps its transcripts",
            file=str(folder),
            fix="Name another folder, ~/.claude/memory/traces for example.",
        )


def _into(target: Path, rows: Iterable[bytes], made: Exported, source: Path, *, force: bool) -> None:
    made.target = str(target)
    if target.exists() and target.samefile(source):
        raise InputError("an export can't take the place of its transcript", file=str(target), fix=_FORCE)
    if target.is_symlink():
        raise InputError(
            "there is a link of that name", file=str(target), fix="Remove it, or give another --to."
        )
    try:
        ensure_dir(target.parent)
        # A former file's mode is not taken over: who could read that need not read this.
        temp = write_temp(target, rows)
        made.outcome = _outcome(target, temp, force=force)
        if made.outcome == "left" or (made.outcome == "same" and not force):
            temp.unlink()
        else:
            install(temp, target)
    except OSError as error:
        raise InputError(f"can't be written: {cause(error)}", file=str(target), fix=_FORCE) from error
    if made.outcome == "left":
        made.why = f"another file has that name. {_FORCE}"


def _outcome(target: Path, temp: Path, *, force: bool) -> str:
    """Return what is to become of `target`, now that `temp` would take its place."""
    if not target.exists():
        return "new"
    if not target.is_file():
        return "left"
    same = True
    with target.open("rb") as old, temp.open("rb") as new:
        for line in old:
            mine = new.readline()
            same = same and mine == line
            if not _goes_on(line, mine):
                return "replaced" if force else "left"
        return "grown" if new.read(1) or not same else "same"


def _goes_on(line: bytes, mine: bytes) -> bool:
    """Say whether `mine` is `line`, or that without secrets that nobody knew when it was written."""
    if mine == line:
        return True
    first, *rest = _REDACTED.split(mine)
    if not rest or not line.startswith(first) or not line.endswith(rest[-1]):
        return False
    at = len(first)
    for part in rest:
        at = line.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True
