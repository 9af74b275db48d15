"""The screen of ``reverie status``: the state of everything, and printing it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.app.application import App
from pipeline.app.status import troubles
from pipeline.cli import cells, output
from pipeline.core.zone import local
from pipeline.text.humanize import ago, bar, count, day_and_time, room

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
    theirs = (
        [f"{count(team['memories'], 'memory', 'memories')} of the team in {_short(team['folder'])}"]
        if team
        else []
    )
    return [left + " " * gap + clock, _short(value["store"]), *shared, *theirs, *allow, *moved]


def _work(value: dict[str, Any], now: datetime, columns: int) -> list[str]:
    jobs = value["jobs"]
    waiting = [job for job in jobs if job["state"] == "waiting"]
    parts = [count(value["spool"]["waiting"], "new event") if value["spool"]["waiting"] else ""]
    parts.append(f"{count(len(waiting), 'job')} waiting" if waiting else "")
    if waiting:
        due = min(_due(job, value) for job in waiting)
        parts.append(f"next {ago(due, now)}" if due > now.timestamp() else "due now")
    running = [job for job in jobs if job["state"] == "leased"]
    parts.append(f"{count(len(running), 'job')} at work" if running else "")
    parked = [job for job in jobs if job["state"] == "parked"]
    parts.append(f"{len(parked)} given up" if parked else "")
    queue = ", ".join(part for part in parts if part) or "empty"
    inbox = f"{value['inbox']} for you: `reverie inbox`" if value["inbox"] else "nothing for you"
    event = value["last_event"]
    hooks = f"{event['hook']} {ago(event['at'], now)}" if event else "no event has come yet"
    files, talks = value["files"], value["conversations"]
    read = f"{count(files['files'], 'transcript')}, {count(files['spoken'], 'utterance')}"
    odd = [f"{files['gone']} gone" if files["gone"] else ""]
    odd.append(count(files["bad_lines"], "bad line") if files["bad_lines"] else "")
    known = ", ".join(f"{number} {name}" for name, number in talks.items())
    found = {
        "queue": queue,
        "inbox": inbox,
        **({"adopt": _to_adopt(value["to_adopt"])} if value["to_adopt"] else {}),
        "last hook": hooks,
        "read": ", ".join([read, *filter(None, odd)]) + (f"; conversations: {known}" if known else ""),
        **({"to come": to_come(value["to_come"])} if value["to_come"]["turns"] else {}),
        "dialogue": _kept(value["dialogue"]),
    }
    return [line for name, text in found.items() for line in _wrapped(name, text, columns)]


def _to_adopt(waiting: dict[str, int]) -> str:
    """Return how many files wait for a yes; `waiting` counts them by who wrote them."""
    from pipeline.domain.authorship import UNKNOWN

    number, unknown = sum(waiting.values()), waiting.get(UNKNOWN, 0)
    wait = f"{'waits' if number == 1 else 'wait'} for `reverie adopt`"
    if unknown == number:
        return f"{count(number, 'file')} that nobody knows the writer of {wait}"
    some = f", of {unknown} of them nobody knows the writer" if unknown else ""
    return f"{count(number, 'file')} with words that are not Claude's alone {wait}{some}"


def _due(job: dict[str, Any], value: dict[str, Any]) -> float:
    """Return when a waiting job is due: one that asks a model, when one may be asked again."""
    down = value["provider"]["down"]
    return max(float(job["run_after"]), down["ends_at"] if down and job["kind"] != "reindex" else 0.0)


def to_come(waiting: dict[str, int]) -> str:
    """Return how much of what was said no model has read yet, and when it is read."""
    where = f"{count(waiting['turns'], 'turn')} of {count(waiting['sessions'], 'session')}"
    return f"{where} not read yet; a session is read whole {waiting['minutes']} minutes after its last word"


def _kept(dialogue: dict[str, Any]) -> str:
    """Return how much of what was said is held, and for how long."""
    days = dialogue["keep_days"]
    kept = "kept for ever" if days is None else f"kept {count(days, 'day')} after a session's last word"
    return f"{room(dialogue['bytes'])} in the ledger, {kept}"


def _unread(unread: dict[str, int], columns: int) -> list[str]:
    """Return what is not read, and why."""
    listed = "; ".join(f"{reason} ({number:,})" for reason, number in unread.items())
    return _wrapped("not read", listed, columns) if listed else []


def _spend(spend: dict[str, Any]) -> list[str]:
    calls, tokens, dollars = spend["calls_hour"], spend["tokens_hour"], spend["dollars_day"]
    rows = (
        ("calls", bar(*calls), f"{calls[0]:,} of {calls[1]:,} this hour"),
        ("tokens", bar(*tokens), f"{tokens[0]:,} of {tokens[1]:,} this hour"),
        ("dollars", bar(*dollars), f"{dollars[0]:.4f} of {dollars[1]:.2f} in 24 h"),
    )
    return ["", *(f"{name:<{_LABEL}} {drawn}  {text}" for name, drawn, text in rows)]


def _dream(value: dict[str, Any], now: datetime, columns: int) -> list[str]:
    dream = value["dream"]
    job = next((job for job in value["jobs"] if (job["kind"], job["key"]) == ("dream", value["store"])), None)
    not_before = dream["not_before"] if (dream["not_before"] or 0) > now.timestamp() else None
    last = "none yet" if dream["last_success"] is None else f"last {ago(dream['last_success'], now)}"
    if not dream["enabled"]:
        when = "switched off"
    elif value["config"]:
        when = "held, see below"
    elif job is not None:
        when = _queued(job, value, now)
    elif dream["asked_at"] is None and not_before is not None:
        when = "the next one is looked for after a session"
    elif dream["asked_at"] is None:
        when = "looked at after the next session"
    elif not dream["waits"]:
        when = "all gates open: it comes after the next session"
    else:
        closed = [gate["name"] for gate in dream["gates"] if not gate["open"]]
        when = f"held by {' and '.join(closed)}: {dream['waits']}"
    found = ["", *_wrapped("dream", f"{last}; {when}", columns)]
    if not_before is not None:
        found += _wrapped("", f"not before {day_and_time(not_before, now)}", columns)
    return found


def _queued(job: dict[str, Any], value: dict[str, Any], now: datetime) -> str:
    """Return how a dream that is in the queue stands."""
    if job["state"] == "leased":
        return "at work now"
    if job["last_error"] or value["provider"]["down"]:
        return "held, see below"
    return (
        "it comes next" if job["run_after"] <= now.timestamp() else f"it comes {ago(job['run_after'], now)}"
    )


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
