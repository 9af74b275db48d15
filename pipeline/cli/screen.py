"""The screen of ``reverie status``: the state of everything, and printing it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.app.application import App
from pipeline.app.state_words import (
    batch_words,
    dream_words,
    hook_words,
    kept_words,
    queue_words,
    read_words,
    sync_words,
    to_adopt,
    to_come,
    troubles,
)
from pipeline.cli import cells, output
from pipeline.core.zone import local
from pipeline.text.humanize import bar, count, day_and_time

_LABEL = 10
_TROUBLE = 3


def show(app: App, *, as_json: bool = False) -> None:
    """Print the state of everything."""
    value = app.status()

    def tell() -> None:
        for text in screen(value, output.width() or 0, 0):
            output.verbatim(text)

    output.data(value, tell, as_json=as_json)


def screen(value: dict[str, Any], columns: int, lines: int) -> list[str]:
    """Return the lines of the screen: cut to `columns` (0: not), the runs to what `lines` (0: all) leave."""
    now = datetime.fromtimestamp(value["at"], UTC)
    head = [
        *_head(value, now, columns),
        "",
        *_work(value, now, 0 if lines else columns),
        *_unread(value["unread"], columns),
    ]
    head += _spend(value["spend"])
    head += _dream(value, now, columns)
    trouble = [line for text in troubles(value) for line in _wrapped("!", text, columns)]
    if lines:
        trouble = trouble[: max(_TROUBLE, lines - len(head) - 6)]
    room = (
        max(1, lines - len(head) - len(trouble) - (2 if trouble else 0) - 2) if lines else len(value["runs"])
    )
    runs = _runs(value, now)[:room] or _nothing_read(value["next"], columns)
    if all(run.startswith(" " * 7) for run in runs):
        # None is of another day, so no line needs room for a date.
        runs = [run[5:] for run in runs]
    found = [*head, *(["", *trouble] if trouble else []), "", "Last runs", *runs]
    return [_cut(text, columns) for text in found]


def _nothing_read(step: str, columns: int) -> list[str]:
    return ["nothing was read yet", *_wrapped("next", step, columns)]


def _head(value: dict[str, Any], now: datetime, columns: int) -> list[str]:
    provider = value["provider"]
    model = (
        "no model, by rules" if provider["name"] == "offline" else f"{provider['name']} {provider['model']}"
    )
    left = f"Reverie  {value['mode']} · worker {value['worker']} · {model}"
    clock = local(now).strftime("%H:%M:%S")
    gap = max(2, columns - len(left) - len(clock)) if columns else 2
    waits = value["waiting_folder"]
    allow = [f"this project's settings name {_short(waits)}: `reverie allow` lets it count"] if waits else []
    moved = [f"these memories were made at {_short(value['moved_from'])}"] if value["moved_from"] else []
    shared = ["others write in this folder too: it is changed at your word only"] if value["shared"] else []
    team = value["team"]
    whose = (f"of {team['left']}, which you left," if team["left"] else "of the team") if team else ""
    theirs = (
        [f"{count(team['memories'], 'memory', 'memories')} {whose} in {_short(team['folder'])}"]
        if team
        else []
    )
    return [left + " " * gap + clock, _short(value["store"]), *shared, *theirs, *allow, *moved]


def _work(value: dict[str, Any], now: datetime, columns: int) -> list[str]:
    inbox = f"{value['inbox']} for you: `reverie inbox`" if value["inbox"] else "nothing for you"
    found = {
        "queue": queue_words(value, now),
        **({"batch": batch_words(value["batch"])} if value["batch"] else {}),
        "inbox": inbox,
        **({"adopt": to_adopt(value["to_adopt"])} if value["to_adopt"] else {}),
        **({"in step": sync_words(value["sync"], now)} if value["sync"] else {}),
        **({"team": sync_words(value["team_sync"], now)} if value["team_sync"] else {}),
        "last hook": hook_words(value, now),
        "read": read_words(value),
        **({"to come": to_come(value["to_come"])} if value["to_come"]["turns"] else {}),
        "dialogue": kept_words(value["dialogue"]),
    }
    return [line for name, text in found.items() for line in _wrapped(name, text, columns)]


def _unread(unread: dict[str, int], columns: int) -> list[str]:
    """Return what is not read, and why."""
    listed = "; ".join(f"{reason} ({number:,})" for reason, number in unread.items())
    return _wrapped("not read", listed, columns) if listed else []


def _spend(spend: dict[str, Any]) -> list[str]:
    calls, tokens, dollars = spend["calls_hour"], spend["tokens_hour"], spend["dollars_day"]
    aside = f", {spend['dollars_reserved']:.4f} reserved" if spend["dollars_reserved"] else ""
    rows = (
        ("calls", bar(*calls), f"{calls[0]:,} of {calls[1]:,} this hour"),
        ("tokens", bar(*tokens), f"{tokens[0]:,} of {tokens[1]:,} this hour"),
        ("dollars", bar(*dollars), f"{dollars[0]:.4f} of {dollars[1]:.2f} in 24 h{aside}"),
    )
    return ["", *(f"{name:<{_LABEL}} {drawn}  {text}" for name, drawn, text in rows)]


def _dream(value: dict[str, Any], now: datetime, columns: int) -> list[str]:
    not_before = value["dream"]["not_before"]
    found = ["", *_wrapped("dream", dream_words(value, now), columns)]
    if (not_before or 0) > now.timestamp():
        found += _wrapped("", f"not before {day_and_time(not_before, now)}", columns)
    return found


def _runs(value: dict[str, Any], now: datetime) -> list[str]:
    """Return a line for each run, newest first; why one failed stands there only if it was not told above."""
    known_causes = [held["cause"] for held in value["obstacles"]]
    found = []
    for run in value["runs"]:
        failed = (run["outcome"] or "").startswith("failed")
        repeated = failed and any(cause.startswith(run["reason"]) for cause in known_causes)
        found.append(_run({**run, "reason": ""} if repeated else run, now))
        known_causes += [run["reason"]] if failed and run["reason"] else []
    return found


def _run(run: dict[str, Any], now: datetime) -> str:
    names = _actions(run["actions"]) or run["reason"]
    outcome = "undone" if run["undone"] else run["outcome"] or "under way"
    summary = f"{run['strategy']} {outcome}" + (f": {names}" if names else "")
    project = cells.fill(" ".join(output.harmless(run["project"]).split()), 14)
    return f"{day_and_time(run['started_at'], now):>12}  {project}  {summary}"


def _actions(actions: list[dict[str, Any]]) -> str:
    """Return what a run did, memories of the same fate behind one verb: ``created a, b; updated c``."""
    summary: dict[str, list[str]] = {}
    for action in actions:
        verb, _, names = _action(action).partition(" ")
        summary.setdefault(verb, []).append(names)
    return "; ".join(f"{verb} {', '.join(names)}" for verb, names in summary.items())


def _action(action: dict[str, Any]) -> str:
    """Return what a run did in a few words: an extraction names one memory, a dream those it was about."""
    if "op" not in action:
        return f"{action['action']} {action['name']}"
    into = f" into {action['into']}" if action["into"] and action["op"] != "retire" else ""
    others = [name for name in action["memories"] if not into or name != action["into"]]
    return f"{action['op']} {' and '.join(others)}{into}"


def _short(path: str) -> str:
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path.startswith(home + "/") else path


def _wrapped(label: str, text: str, columns: int) -> list[str]:
    """Return `text` behind `label`, wrapped below itself where there is a width."""
    lead = f"{label:<{_LABEL}} " if label != "!" else "! "
    flat = " ".join(text.split())
    if not columns:
        return [lead + flat]
    first, *others = output.wrapped(flat, columns - len(lead))
    return [lead + first, *(" " * len(lead) + part for part in others)]


def _cut(text: str, columns: int) -> str:
    return cells.cut(text, columns) if columns else text
