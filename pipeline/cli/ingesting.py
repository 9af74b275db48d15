"""Reading transcripts into the ledger, and telling what was read of each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.app.application import App
from pipeline.cli import output
from pipeline.cli.progress import progress
from pipeline.cli.tables import table
from pipeline.core.errors import InputError, UsageError
from pipeline.text.humanize import count

if TYPE_CHECKING:
    from pipeline.intake.ingest import Ingested

_MOST_BAD = 20
"""Lines that can't be read and are named one by one."""


def noted(done: Ingested) -> str:
    """Return why nothing was read of a file, or why from its start, and then what that changed."""
    changed = done.changed
    if not changed.rows:
        return done.skipped or done.restarted
    found = f"{done.restarted}: {changed.rows} changed"
    if not changed.conversations:
        return found
    kind = "conversation" if len(changed.conversations) == 1 else "conversations"
    return f"{found}, in {kind} {', '.join(map(str, changed.conversations))}"


def ingest(
    *,
    file: Path | None = None,
    folder: Path | None = None,
    reimport: bool = False,
    source: str = "",
    as_json: bool = False,
) -> App:
    """Read one transcript, or all under a folder; return the Reverie that did."""
    if (file is None) == (folder is None):
        raise UsageError("give --file or --dir", fix="reverie ingest --dir ~/.claude/projects")
    if folder is not None and not folder.is_dir():
        raise InputError("there is no such directory", file=str(folder), fix="Check the path.")
    app = App()
    rows: list[dict[str, Any]] = []
    bad: list[str] = []
    skipped = new = 0
    with progress("ingesting") as tell:
        reading, of_all = _reading(app, source, file, folder, reimport=reimport)
        for done in reading:
            if isinstance(done, InputError):
                output.talk(f"skipped: {done}")
                skipped += 1
                continue
            rows.append(
                {
                    "file": done.key,
                    "rows": done.new_rows,
                    "bad_lines": done.bad,
                    "note": noted(done),
                }
            )
            new += done.new_rows
            bad += _bad_lines(app, done) if len(bad) <= _MOST_BAD else []
            tell(f"ingesting: {count(len(rows) + skipped, 'file')}{of_all}, {count(new, 'row')}")
    if not (rows or skipped):
        output.talk(f"no session files (<project>/<session>.jsonl) under {folder}")
    output.data(
        rows,
        lambda: table(
            ["file", "new rows", "bad lines", "note"],
            [list(r.values()) for r in rows],
            empty="nothing was read",
        ),
        as_json=as_json,
    )
    for line in bad[:_MOST_BAD]:
        output.talk(line)
    if len(bad) > _MOST_BAD:
        output.talk("There are more lines that can't be read: `--json` counts them by file.")
    return app


def _reading(
    app: App, source: str, file: Path | None, folder: Path | None, *, reimport: bool
) -> tuple[Iterator[Ingested | InputError], str]:
    """Return what reads the files one by one, and how many there are, in words, if that is known."""
    if not source:
        of_all = f" of {_number(folder)}" if folder and sys.stderr.isatty() else ""
        return app.ingest(file=file, folder=folder, reimport=reimport), of_all
    from pipeline.app import importing

    importing.require_source(source)
    root = folder or Path()
    paths = [file] if file else importing.found(source, root)
    reading = importing.read(app, source, [*paths], root, asked_for=bool(file), reimport=reimport)
    return reading, f" of {len(paths)}"


def _number(folder: Path) -> int:
    from pipeline.transcript import survey

    return sum(1 for _ in survey(folder))


def _bad_lines(app: App, done: Ingested) -> list[str]:
    if not done.bad:
        return []
    from pipeline.app import importing

    return [f"{done.path}:{line}: {reason}" for line, reason in importing.bad_lines(app, done)]
