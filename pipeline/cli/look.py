"""Commands that show things: status, conversations, list, show, why, config, hooks."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from pipeline.app import App, Why
from pipeline.capture.registration import settings_snippet
from pipeline.cli import output
from pipeline.cli.options import JsonOption, LlmOption, StoreOption
from pipeline.clock import iso
from pipeline.config import Settings

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name, file stem or id.")]


def status(store: StoreOption = None, llm: LlmOption = None, as_json: JsonOption = False) -> None:
    """Show queue, last runs, spend against caps, inbox."""
    value = App(store=store, llm=llm).status()
    output.data(value, lambda: _tell_status(value), as_json=as_json)


def conversations(
    status: Annotated[
        str | None,
        typer.Option(
            "--status", metavar="S", help="active, ready, queued, processing, archived, skipped or review."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List conversations: dialogue between two silences."""
    rows = App().conversations(status)
    columns = ["id", "status", "first_message_at", "last_message_at", "entry_count", "source_file", "reason"]
    output.data(
        rows,
        lambda: output.table(columns, [[row[name] for name in columns] for row in rows]),
        as_json=as_json,
    )


def list_memories(
    kind: Annotated[str | None, typer.Option("--type", metavar="T", help="Only this type.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the memories of a store."""
    found, problems = App(store=store).memories(kind)
    value = [
        {"name": m.name, "type": m.type, "description": m.description, "origin": m.origin, "path": m.path}
        for m in (document.memory for document in found)
    ]
    output.data(
        value,
        lambda: output.table(
            ["name", "type", "description"], [[v["name"], v["type"], v["description"]] for v in value]
        ),
        as_json=as_json,
    )
    for problem in problems:
        where = f"{problem.path}:{problem.line}" if problem.line else problem.path
        output.talk(f"{where}: {problem.message}")


def show(name: NameArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Print one memory as it stands in its file."""
    document = App(store=store).open_store().read(name)
    text = document.raw.decode("utf-8", "replace")
    output.data(
        {"path": document.path, "text": text, "memory": document.memory},
        lambda: output.line(text.rstrip("\n")),
        as_json=as_json,
    )


def why(name: NameArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show who said it, where, and which run and model kept it."""
    found = App(store=store).why(name)
    output.data(found, lambda: _tell_why(found), as_json=as_json)


def config(as_json: JsonOption = False) -> None:
    """Show every setting, its value and what it means."""
    app = App()
    rows: list[dict[str, Any]] = []
    for section_name in Settings.model_fields:
        section = getattr(app.settings, section_name)
        for key, field in type(section).model_fields.items():
            value = getattr(section, key)
            rows.append(
                {
                    "key": f"{section_name}.{key}",
                    "value": value,
                    "default": field.default,
                    "meaning": field.description,
                }
            )
    output.data(
        {"file": str(app.home / "config.toml"), "settings": rows},
        lambda: output.table(
            ["key", "value", "meaning"], [[r["key"], r["value"], r["meaning"]] for r in rows]
        ),
        as_json=as_json,
    )
    output.talk(f"set them in {app.home / 'config.toml'}, or as REVERIE_SECTION__KEY in the environment")


def hooks(as_json: JsonOption = False) -> None:
    """Print the hooks to merge into Claude Code's settings.json."""
    del as_json  # it is JSON either way
    output.data(settings_snippet(), output.line, as_json=True)


def _tell_status(value: dict[str, Any]) -> None:
    spend = value["spend"]
    output.fields(
        {
            "store": value["store"],
            "mode": value["mode"],
            "provider": "{name} ({why}), model {model}".format(**value["provider"]),
            "worker": value["worker"],
            "spool": f"{value['spool']['waiting']} waiting, {len(value['spool']['quarantined'])} quarantined",
            "transcripts": ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in value["files"].items()),
            "conversations": ", ".join(f"{n} {name}" for name, n in value["conversations"].items()) or "none",
            "calls": f"{spend['calls_hour'][0]} of {spend['calls_hour'][1]} this hour",
            "tokens": f"{spend['tokens_hour'][0]:,} of {spend['tokens_hour'][1]:,} this hour",
            "dollars": f"{spend['dollars_day'][0]:.4f} of {spend['dollars_day'][1]:.2f} in 24 h",
            "inbox": f"{value['inbox']} waiting for you",
            "dream": _tell_dream(value["dream"]),
        }
    )
    if value["ledger"]:
        output.line(f"ledger: {value['ledger']}")
    if spend["held"]:
        output.line(f"held: {spend['held']}")
    if value["spool"]["hook_log"]:
        output.line(f"last hook trouble: {value['spool']['hook_log']}")
    for event, reason in value["spool"]["left"]:
        output.line(f"left for later {event}: {reason}")
    for event, reason in value["spool"]["quarantined"]:
        output.line(f"quarantined {event}: {reason}")
    for job in value["jobs"]:
        output.line(
            f"job {job['id']} {job['state']} {job['kind']} {job['key']}"
            f" (attempts {job['attempts']}) {job['last_error']}".rstrip()
        )
    for run in value["runs"]:
        names = ", ".join(map(_tell_action, run["actions"])) or run["reason"]
        output.line(f"run {run['id'][:8]} {run['strategy']} {run['outcome'] or 'unfinished'}: {names}")


def _tell_action(action: dict[str, Any]) -> str:
    """Return what a run did in a few words: an extraction names one memory, a dream those it was about."""
    if "op" not in action:
        return f"{action['action']} {action['name']}"
    into = f" into {action['into']}" if action["into"] and action["op"] != "retire" else ""
    others = [name for name in action["memories"] if not into or name != action["into"]]
    return f"{action['op']} {' and '.join(others)}{into}"


def _tell_dream(dream: dict[str, Any]) -> str:
    last = _moment(dream["last_success"]) if dream["last_success"] is not None else "never"
    if dream["asked_at"] is None:
        return f"last {last}; its gates were not asked yet"
    waits = f"waits: {dream['waits']}" if dream["waits"] else "all gates open"
    return f"last {last}; {waits} (asked {_moment(dream['asked_at'])})"


def _moment(seconds: float) -> str:
    return iso(datetime.fromtimestamp(seconds, UTC))


def _tell_why(found: Why) -> None:
    memory = found.memory
    output.line(f"{memory.name} ({memory.type}): {memory.description}")
    output.fields(
        {
            "file": found.path,
            "origin": memory.origin or "unknown",
            "written": iso(memory.created) if memory.created else "unknown",
            "changed since by someone else": "no" if found.ours else "yes, or it never was Reverie's",
        }
    )
    for number, source in enumerate(found.sources, start=1):
        said = "the person" if source["speaker"] == "person" else "the assistant"
        output.line(f"\nsource {number}: {said} said at {source['at'] or 'an unknown time'}")
        output.line(f"  session {source['session']}, entry {source['uuid']}")
        output.line(f"  quote: “{source['quote']}”")
        if source["file"]:
            output.line(f"  transcript: {source['file']} (in {source['cwd'] or 'an unknown directory'})")
        else:
            output.line("  the ledger does not hold that entry; the quote is all there is")
    for run in found.runs:
        output.line(f"\nrun {run['id']} ({run['strategy']}): {run['provider']} {run['model']}".rstrip())
    if not found.runs and memory.origin == "hand-written":
        output.line("\nwritten by hand, with no run")
