"""The state of everything in words: what the screen of ``reverie status`` and the page of its health say."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pipeline.text.humanize import ago, count, room


def queue_words(value: Mapping[str, Any], now: datetime) -> str:
    """Return what waits to be done, as `App.status` found it, and when the next of it is."""
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
    return ", ".join(part for part in parts if part) or "empty"


def batch_words(batch: Mapping[str, Any]) -> str:
    """Return how far a backlog is that is being read in batches, and what it waits for."""
    parts = [f"{batch['read']:,} of {count(batch['conversations'], 'conversation')} read"]
    if batch["batches"]:
        parts.append(f"{count(batch['requests'], 'request')} under way")
    parts.append(f"${batch['spent_dollars']:.2f} of ${batch['most_dollars']:.2f} spent")
    parts += ["being canceled"] if batch["state"] == "canceling" else []
    return ", ".join(parts) + (f"; waits: {batch['waits']}" if batch["waits"] else "")


def hook_words(value: Mapping[str, Any], now: datetime) -> str:
    """Return which hook fired last, and when."""
    event = value["last_event"]
    return f"{event['hook']} {ago(event['at'], now)}" if event else "no event has come yet"


def read_words(value: Mapping[str, Any]) -> str:
    """Return how much was read of what was said."""
    files, talks = value["files"], value["conversations"]
    read = f"{count(files['files'], 'transcript')}, {count(files['spoken'], 'utterance')}"
    odd = [f"{files['gone']} gone" if files["gone"] else ""]
    odd.append(count(files["bad_lines"], "bad line") if files["bad_lines"] else "")
    known = ", ".join(f"{number} {name}" for name, number in talks.items())
    return ", ".join([read, *filter(None, odd)]) + (f"; conversations: {known}" if known else "")


def to_adopt(waiting: dict[str, int]) -> str:
    """Return how many files wait for a yes; `waiting` counts them by who wrote them."""
    from pipeline.domain.authorship import UNKNOWN

    number, unknown = sum(waiting.values()), waiting.get(UNKNOWN, 0)
    wait = f"{'waits' if number == 1 else 'wait'} for `reverie adopt`"
    if unknown == number:
        return f"{count(number, 'file')} that nobody knows the writer of {wait}"
    some = f", of {unknown} of them nobody knows the writer" if unknown else ""
    return f"{count(number, 'file')} with words that are not Claude's alone {wait}{some}"


def sync_words(turn: Mapping[str, Any], now: datetime) -> str:
    """Return how the memories stand to other machines, as `App.status` found it."""
    last = ago(turn["done"], now) if turn["done"] else "never"
    command = "team" if turn["team"] else "sync"
    parts = [f"with {turn['team'] or turn['remote']}, {last}"]
    kept = turn["held"] + turn["refused"]
    parts += [f"{count(kept, 'memory', 'memories')} not: `reverie {command} status`"] if kept else []
    parts += [turn["backlog"]] if turn.get("backlog") else []
    error = turn["error"].removeprefix(f"{turn['remote']}: ")
    parts += [f"not since: {error}"] if error else []
    return "; ".join(parts)


def _due(job: dict[str, Any], value: Mapping[str, Any]) -> float:
    """Return when a waiting job is due: one that asks a model, when one may be asked again."""
    down = value["provider"]["down"]
    return max(
        float(job["run_after"]), down["ends_at"] if down and job["kind"] not in ("reindex", "sync") else 0.0
    )


def to_come(waiting: dict[str, int]) -> str:
    """Return how much of what was said no model has read yet, and when it is read."""
    where = f"{count(waiting['turns'], 'turn')} of {count(waiting['sessions'], 'session')}"
    return f"{where} not read yet; a session is read whole {waiting['minutes']} minutes after its last word"


def kept_words(dialogue: dict[str, Any]) -> str:
    """Return how much of what was said is held, and for how long."""
    days = dialogue["keep_days"]
    kept = "kept for ever" if days is None else f"kept {count(days, 'day')} after a session's last word"
    return f"{room(dialogue['bytes'])} in the ledger, {kept}"


def dream_words(value: Mapping[str, Any], now: datetime) -> str:
    """Return when the last dream was, when or why not the next one comes, and when the team's was."""
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
    team = value["team_sync"] and value["team_sync"]["dream"]
    theirs = f"; the team's was {ago(team['at'], now)}, by {team['by'] or 'you'}" if team else ""
    return f"{last}; {when}{theirs}"


def _queued(job: dict[str, Any], value: Mapping[str, Any], now: datetime) -> str:
    """Return how a dream that is in the queue stands."""
    if job["state"] == "leased":
        return "at work now"
    if job["last_error"] or value["provider"]["down"]:
        return "held, see below"
    return (
        "it comes next" if job["run_after"] <= now.timestamp() else f"it comes {ago(job['run_after'], now)}"
    )


def damaged_words(value: Mapping[str, Any]) -> list[str]:
    """Return which files can't be read, what is wrong with each, and what mends it."""
    return [f"{item['file']}: {item['message']}. {item['fix']}" for item in value["damaged"]]


def troubles(value: Mapping[str, Any]) -> list[str]:
    """Return in sentences what stands in the way, as `App.status` found it."""
    alone = value["left_alone"]
    found = [f"sessions in this folder are neither read nor recalled into: {alone}" if alone else ""]
    # What the provider would do says nothing while it may not be asked.
    found.append(value["config"] or value["provider"]["means"])
    found.append(value["left_behind"])
    found += value["left_out"]
    found.append(f"ledger: {value['ledger']}" if value["ledger"] else "")
    found += damaged_words(value)
    found += [f"mirror of agent-memory: {text}" for text in value["mirror"]]
    found.append(f"model calls wait: {value['spend']['held']}" if value["spend"]["held"] else "")
    found += [f"{held['jobs']}: {held['cause']}" for held in value["obstacles"]]
    events = value["spool"]
    found.append(f"last hook trouble: {events['hook_log']}" if events["hook_log"] else "")
    found += [f"left for later {event}: {reason}" for event, reason in events["left"]]
    found += [f"quarantined {event}: {reason}" for event, reason in events["quarantined"]]
    return [text for text in found if text]
