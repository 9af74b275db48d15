"""Commands about the reading of transcripts: watch, health-check, transition."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.app import watching
from pipeline.app.application import App
from pipeline.cli import ingesting, output, streams
from pipeline.cli.options import JsonOption
from pipeline.cli.tables import table
from pipeline.core.errors import InputError, UsageError
from pipeline.text.humanize import count

if TYPE_CHECKING:
    from pipeline.intake.ingest import Ingested


def watch(
    folder: Annotated[
        Path | None, typer.Option("--dir", metavar="D", help="Transcripts to watch; else Claude Code's.")
    ] = None,
    every: Annotated[
        float, typer.Option("--every", metavar="S", help="Seconds between two looks at everything.")
    ] = 30.0,
    settle: Annotated[
        float, typer.Option("--settle", metavar="S", help="Seconds a file is left alone before it is read.")
    ] = 2.0,
    as_json: JsonOption = False,
) -> None:
    """Read transcripts into the ledger as they grow, until stopped; no model is asked.

    With --json each pass is an object on a line of its own.
    """
    if every <= 0 or settle < 0:
        raise UsageError("--every and --settle are seconds", fix="reverie watch --every 30 --settle 2")
    stop = Event()

    def end(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    app = App()
    app.require_settings()

    read: Counter[str] = Counter()

    def tell(done: Ingested | InputError) -> None:
        if not isinstance(done, InputError):
            read[done.key] += done.new_rows
        if isinstance(done, InputError):
            output.talk(f"skipped: {done}")
        elif as_json:
            streams.write(json.dumps(_pass(done), ensure_ascii=False) + "\n")
        else:
            note = ingesting.noted(done)
            output.line(f"{done.key}: {note or count(done.new_rows, 'new row')}")

    watching.watch(app, folder=folder, every=every, settle=settle, stop=stop, tell=tell, warn=output.talk)
    output.talk(f"read {count(read.total(), 'new row')} of {count(len(read), 'file')}")


def _pass(done: Ingested) -> dict[str, Any]:
    return {
        "file": done.key,
        "rows": done.new_rows,
        "bad_lines": done.bad,
        "offset": done.offset,
        "note": ingesting.noted(done),
    }


def health_check(as_json: JsonOption = False) -> None:
    """Show how the reading of transcripts is: files, entries, conversations, the watcher."""
    found = watching.health_check(App(looks=True))

    def tell() -> None:
        rows = [
            [part, name, value]
            for part in ("files", "entries", "conversations", "ledger", "watch")
            for name, value in _flat(found[part])
        ]
        table(["part", "what", "value"], rows, empty="nothing was read")
        for trouble in found["troubles"]:
            output.talk(f"note: {trouble}")

    output.data(found, tell, as_json=as_json)


def _flat(values: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return what there is to show in a table: what is none or 0 of nested figures goes without saying."""
    found: list[tuple[str, Any]] = []
    for name, value in values.items():
        if isinstance(value, dict):
            found += [(f"{name} {inner}", number) for inner, number in value.items()]
        elif value not in ("", None):
            found.append((name, str(value).lower() if isinstance(value, bool) else value))
    return found


def transition(
    status: Annotated[str, typer.Argument(metavar="STATUS", help="ready, queued, skipped or archived.")],
    conversation: Annotated[
        int | None,
        typer.Argument(metavar="[ID]", help="The conversation; else those going on in the project here."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """End a conversation now, have it read, or pass it over.

    What was passed over or is in review can be queued again; what is being read is the worker's.
    """
    from pipeline.ledger.conversation_states import PERSONS

    if status not in PERSONS:
        raise UsageError(
            f"no conversation is brought to {status!r} by hand", fix=f"One of: {', '.join(PERSONS)}."
        )
    moved = watching.transition(App(), conversation, status)
    rows = [[item["id"], item["status"], item["entry_count"], item["source_file"]] for item in moved]
    output.data(
        moved,
        lambda: table(["id", "status", "messages", "file"], rows, empty="no conversation goes on here"),
        as_json=as_json,
    )
