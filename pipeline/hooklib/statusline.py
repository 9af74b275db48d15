"""One line for Claude Code's status line: what was learned today, what waits for the person, what is held.

Claude Code runs it after each message, so it reads ``<home>/recall/board.json`` and nothing else.
"""

import os

from pipeline.hooklib import jsonish, ownership, projects, settings, times, zone
from pipeline.hooklib.plain import clipped, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_HELD_CHARS = 48
_FAULT_CHARS = 72
_LEARNED = ("created", "updated", "merged")


def line(data: bytes, home: str, now: "float | None" = None) -> str:
    """Return the line for the session that `data` (the JSON Claude Code gives a status line) is about.

    `home` is Reverie's home, `now` in epoch seconds. Of whatever is odd or missing the line says nothing;
    it is never empty and never raises for what it was given.
    """
    board = settings.board(home)
    stores = board.get("stores")
    cwd = _cwd(data)
    store = stores.get(ownership.project_store(cwd)) if isinstance(stores, dict) else None
    values = settings.hook_settings(home)
    zone.use(values["time_zone"], home)
    mode = values["mode"]
    fault = settings.config_fault(home) or settings.home_fault(home) or settings.noted(board, "trouble")
    if mode == "off" and not fault:
        return "reverie off"
    if projects.why_ignored(cwd, values["only"], values["ignore"]):
        return "reverie: not in this project"
    if fault:
        return _plain(f"reverie paused: {clipped(fault, _FAULT_CHARS)}")
    if not isinstance(store, dict):
        return "reverie" if mode == "auto" else f"reverie {mode}"
    at = times.now() if now is None else now
    unread = settings.left_over(board)[0]
    parts = [_learned(store, at), *_waiting(store), f"{unread} unread" if unread else ""]
    shown = [part for part in parts if part] or ["nothing new"]
    return _plain(f"reverie{'' if mode == 'auto' else ' ' + mode}: {' · '.join(shown)}")


def _cwd(data: bytes) -> str:
    try:
        fields = jsonish.loads(jsonish.decode(data))
    except ValueError:
        fields = None
    workspace = fields.get("workspace") if isinstance(fields, dict) else None
    for holder, key in ((workspace, "project_dir"), (workspace, "current_dir"), (fields, "cwd")):
        value = holder.get(key) if isinstance(holder, dict) else None
        if isinstance(value, str) and value.startswith("/") and "\0" not in value:
            return value
    return os.getcwd()


def _learned(store: "dict[str, Any]", now: float) -> str:
    changes = store.get("changes")
    fresh = 0
    for change in changes if isinstance(changes, list) else ():
        if isinstance(change, list) and len(change) > 1 and isinstance(change[0], (int, float)):
            fresh += change[1] in _LEARNED and zone.day(change[0]) == zone.day(now)
    return f"{fresh} learned today" if fresh else ""


def _waiting(store: "dict[str, Any]") -> "list[str]":
    inbox, parked, held = store.get("inbox"), store.get("parked"), store.get("held")
    found = [f"inbox {inbox}" if isinstance(inbox, int) and inbox > 0 else ""]
    found.append(f"{len(parked)} given up" if isinstance(parked, list) and parked else "")
    if isinstance(held, str) and held:
        found.append(f"paused: {_brief(held)}")
    return found


def _brief(held: str) -> str:
    """Return why work waits in `_HELD_CHARS` characters: all, or its first sentence without brackets."""
    if len(held) <= _HELD_CHARS:
        return held
    return one_line(held.partition(". ")[0].partition(" (")[0], _HELD_CHARS)


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
