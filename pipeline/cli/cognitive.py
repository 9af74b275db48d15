"""What `reverie export cognitive` and `reverie import cognitive` say: a whole store, out and in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.app import cognitive, cognitive_import, scopes
from pipeline.app.application import App
from pipeline.app.cognitive import Exported, Left
from pipeline.app.cognitive_import import Imported
from pipeline.app.history import short_id
from pipeline.cli import named_rows, output
from pipeline.text.humanize import count


def export(app: App, target: Path, *, as_json: bool) -> None:
    """Write the store of `app` to `target`, and say what was written."""
    done = cognitive.export(app, target)
    output.data(done, lambda: _tell_export(done), as_json=as_json)


def take_in(app: App, folder: Path, *, dry_run: bool, instead: bool, force: bool, as_json: bool) -> None:
    """Take in the store in `folder`, and say what came."""
    done = cognitive_import.import_from(app, folder, dry_run=dry_run, instead=instead, force=force)
    output.data(done, lambda: _tell_import(done, dry_run=dry_run), as_json=as_json)
    if dry_run:
        output.talk("nothing was changed")
    elif done.change:
        store_option = scopes.option(app, own=True)
        output.talk(f"`reverie undo {store_option}{short_id(app, done.change)}` takes it back.")


def _tell_export(done: Exported) -> None:
    kinds = {"memory": done.memories, "edge": done.edges, "page of the diary": done.episodes}
    several = {"memory": "memories", "page of the diary": "pages of the diary"}
    parts = [count(number, kind, several.get(kind, f"{kind}s")) for kind, number in kinds.items()]
    output.line(f"{', '.join(parts)}: {done.target}")
    if done.redacted:
        output.line(f"{count(done.redacted, 'secret')} left out")
    _tell_left(done.left)


def _tell_import(done: Imported, *, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    words = {
        f"{would}taken in": done.number("new"),
        f"{would}replaced": done.number("replaced"),
        f"{would}added to": done.number("added"),
        "there already": done.number("there"),
        "here with another text": done.number("differs"),
        "refused": done.number("left"),
    }
    parts = [f"{number} {word}" for word, number in words.items() if number]
    output.line(f"{count(len(done.rows), 'file')}: {', '.join(parts) or 'nothing to take in'}")
    if done.counts:
        output.line(f"access counts of {count(done.counts, 'memory', 'memories')} came along")
    named_rows.tell_asleep(done.asleep)
    named_rows.tell([f"{row.path}: {row.why}" for row in done.rows if row.why])
    _tell_left(done.left)


def _tell_left(left: Sequence[Left]) -> None:
    if left:
        output.line("Not taken along:")
    named_rows.tell([f"{item.path}: {item.why}" for item in left])
