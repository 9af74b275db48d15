"""Reading transcripts into the ledger, and telling what was read of each."""

from __future__ import annotations

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
    *, file: Path | None = None, folder: Path | None = None, reimport: bool = False, as_json: bool = False
) -> App:
    """Read one transcript, or all under a folder; return the Reverie that did."""
    if (file is None) == (folder is None):
        raise UsageError("give --file or --dir", fix="reverie ingest --dir ~/.claude/projects")
    if folder is not None and not folder.is_dir():
        raise InputError("there is no such directory", file=str(folder), fix="Check the path.")
    app = App()
    rows: list[dict[str, Any]] = []
    skipped = 0
    with progress("ingesting") as tell:
        for done in app.ingest(file=file, folder=folder, reimport=reimport):
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
            tell(f"ingesting: {count(len(rows), 'file')}")
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
    return app
