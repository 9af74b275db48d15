"""Reading in what another program left, or a backup that somebody converted: a history, once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from pipeline.app.application import App
from pipeline.core.errors import ODD_DATA, InputError, UsageError, cause
from pipeline.formats.claudia import pi
from pipeline.formats.claudia.sources import CONVERTED, PI, SOURCES
from pipeline.intake.ingest import Here, Ingested, Source, Task, file_key, look_at, stat_of, take_in
from pipeline.ledger import Ledger, files
from pipeline.transcript import scan


def require_source(source: str) -> None:
    """Raise UsageError for a source that there is not."""
    if source not in SOURCES:
        raise UsageError(f"there is no source {source!r}", fix=f"Sources: {', '.join(SOURCES)}.")


def found(source: str, folder: Path) -> list[Path | InputError]:
    """Return the files of `source` in `folder`, so that it can be told how many there are."""
    return [*pi.sessions(folder)] if source == PI else [*scan(folder)]


def read(
    app: App, source: str, paths: list[Path | InputError], root: Path, *, asked_for: bool, reimport: bool
) -> Iterator[Ingested | InputError]:
    """Read `paths` below `root` in, one after another; a bad one is yielded as its error, and stops none."""
    begin: Callable[[Task], Source] = pi.PiReading if source == PI else Here
    with app.ledger() as ledger:
        files.recover_ingesting(ledger)
        for path in paths:
            if isinstance(path, InputError):
                yield path
                continue
            try:
                yield _read(app, ledger, path.absolute(), root, begin, asked_for=asked_for, reimport=reimport)
            except InputError as error:
                yield error
            except (OSError, *ODD_DATA) as error:
                yield InputError(f"can't be taken in: {cause(error)}", file=str(path), fix="Check the file.")


def _read(
    app: App,
    ledger: Ledger,
    path: Path,
    root: Path,
    begin: Callable[[Task], Source],
    *,
    asked_for: bool,
    reimport: bool,
) -> Ingested:
    if stat_of(path) is None:
        raise InputError("there is no such file", file=str(path), fix="Check the path.")
    task = look_at(
        ledger,
        path,
        key=file_key(path, (root,)),
        settings=app.settings,
        clock=app.clock,
        quiet=True,
        reimport=reimport,
        asked_for=asked_for,
        source=CONVERTED,
    )
    if isinstance(task, Ingested):
        return task
    return take_in(ledger, task, begin, settings=app.settings, clock=app.clock)


def bad_lines(app: App, done: Ingested) -> list[tuple[int, str]]:
    """Return the lines that the pass `done` could not read: their numbers, and why."""
    if not done.bad:
        return []
    with app.ledger(to_look=True) as ledger:
        return files.bad_lines(ledger, done.key)[-done.bad :]
