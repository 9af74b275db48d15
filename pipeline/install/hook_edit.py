"""The text of a settings file with our hooks, and without: changed only where it must be.

Order, indentation, line ends and escapes stay a person's own (`pipeline.install.json_edit`). A text whose
shape Claude Code would not take is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core.errors import InputError
from pipeline.hooklib.events import EVENTS
from pipeline.hooklib.jsonish import BOM
from pipeline.install import json_edit
from pipeline.install.claude_settings import MEND, command_of, parse_object
from pipeline.install.hook_registration import is_our_hook, settings_snippet
from pipeline.install.json_edit import Item


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one handler of ours stands: the event's list, the group in it, the handler in the group."""

    event: str
    group: int
    handler: int


def with_hooks(text: str, file: Path, events: Sequence[str] = EVENTS) -> str:
    """Return `text` with our hook once for each of `events`, as it should be now; `text` itself if it is so.

    Other hooks stay, and stay before ours. Raises InputError, naming the line, when `text` is no JSON or
    its ``hooks`` are none that Claude Code would take.
    """
    if text.startswith(BOM):
        return BOM + with_hooks(text.removeprefix(BOM), file, events)
    wanted = settings_snippet(events)["hooks"]
    if not text.strip():
        return text if not events else json.dumps({"hooks": wanted}, ensure_ascii=False, indent=2) + "\n"
    text = _without_doubles(text, file, events)
    if not events:
        return text
    if _member(text, json_edit.first(text), "hooks", "{", file) is None:
        return json_edit.put_in(text, json_edit.first(text), wanted, key="hooks")
    for event in events:
        text = _with_hook(text, event, wanted[event][0], file)
    return text


def without_hooks(text: str, file: Path, *, before: str = "") -> str:
    """Return `text` without our hooks and without what only they filled; `text` itself if there are none.

    What was empty in `before`, the text as it was before we came, stays there. Raises InputError as
    `with_hooks` does.
    """
    if text.startswith(BOM):
        return BOM + without_hooks(text.removeprefix(BOM), file, before=before.removeprefix(BOM))
    kept = _kept(before)
    while spot := next(_ours(text, file), None):
        text = _take_out(text, spot, kept, file)
    return text


def ours(text: str, file: Path) -> list[str]:
    """Return the event of each hook of ours in `text`. Raises InputError as `with_hooks` does."""
    return [spot.event for spot in _ours(text.removeprefix(BOM), file)]


def by_event(text: str, file: Path, events: Iterable[str]) -> dict[str, Any]:
    """Return what `text` has for each of `events`. Raises InputError as `with_hooks` does."""
    plain = text.removeprefix(BOM)
    hooks = parse_object(plain, file).get("hooks") if plain.strip() else None
    return {event: hooks.get(event) for event in events} if isinstance(hooks, dict) else {}


def _root(text: str, file: Path) -> int:
    """Return where the root object of `text` begins. Raises InputError when it is none."""
    parse_object(text, file)
    return json_edit.first(text)


def _member(text: str, start: int, key: str, opening: str, file: Path) -> Item | None:
    item = json_edit.member(text, start, key)
    if item is not None and text[item.value] != opening:
        kind = "an object" if opening == "{" else "a list"
        line = json_edit.line_of(text, item.value)
        raise InputError(f"{key!r} must hold {kind}", file=str(file), line=line, fix=MEND)
    return item


def _hooks(text: str, file: Path) -> Item | None:
    return _member(text, _root(text, file), "hooks", "{", file)


def _handlers(text: str, event: str, file: Path) -> Iterator[tuple[_Place, Item]]:
    """Yield place and span of every handler of `event`; odd groups are passed over, as Claude Code does."""
    hooks = _hooks(text, file)
    listed = _member(text, hooks.value, event, "[", file) if hooks else None
    for number, group in enumerate(json_edit.items(text, listed.value) if listed else ()):
        inner = json_edit.member(text, group.value, "hooks") if text[group.value] == "{" else None
        if inner is not None and text[inner.value] == "[":
            for count, handler in enumerate(json_edit.items(text, inner.value)):
                yield _Place(event, number, count), handler


def _ours(text: str, file: Path) -> Iterator[_Place]:
    hooks = _hooks(text, file) if text.strip() else None
    for event in dict.fromkeys(
        str(item.key) for item in (json_edit.items(text, hooks.value) if hooks else ())
    ):
        for spot, handler in _handlers(text, event, file):
            if _is_ours(text, handler, event):
                yield spot


def _is_ours(text: str, handler: Item, event: str) -> bool:
    return is_our_hook(command_of(json_edit.parse(text[handler.value : handler.end])), event)


def _without_doubles(text: str, file: Path, events: Sequence[str]) -> str:
    """Return `text` with one hook of ours an event at most, and none for others than `events`."""
    while True:
        seen: set[str] = set()
        for spot in _ours(text, file):
            if spot.event in seen or spot.event not in events:
                text = _take_out(text, spot, set(), file)
                break
            seen.add(spot.event)
        else:
            return text


def _with_hook(text: str, event: str, wanted: dict[str, Any], file: Path) -> str:
    """Return `text` with the group `wanted` for `event`, or its command in place of our outdated one."""
    (handler,) = wanted["hooks"]
    for _, item in _handlers(text, event, file):
        if _is_ours(text, item, event):
            value = json_edit.parse(text[item.value : item.end])
            if value.get("command") == handler["command"]:
                return text
            return json_edit.put_in_place(text, item, {**_numbers(text, item), "command": handler["command"]})
    hooks = _hooks(text, file)
    assert hooks is not None
    listed = _member(text, hooks.value, event, "[", file)
    if listed is None:
        return json_edit.put_in(text, hooks.value, [wanted], key=event)
    return json_edit.put_in(text, listed.value, wanted)


def _numbers(text: str, item: Item) -> dict[str, Any]:
    """Return the handler as Python has it, numbers as numbers."""
    value: dict[str, Any] = json.loads(text[item.value : item.end])
    return value


def _take_out(text: str, spot: _Place, kept: set[str], file: Path) -> str:
    """Return `text` without the handler at `spot`, nor the group, list and object that it leaves empty."""
    hooks = _hooks(text, file)
    assert hooks is not None
    listed = json_edit.member(text, hooks.value, spot.event)
    assert listed is not None
    group = json_edit.items(text, listed.value)[spot.group]
    inner = json_edit.member(text, group.value, "hooks")
    assert inner is not None
    if len(json_edit.items(text, inner.value)) > 1:
        return json_edit.take_out(text, inner.value, spot.handler)
    if len(json_edit.items(text, listed.value)) > 1 or spot.event in kept:
        return json_edit.take_out(text, listed.value, spot.group)
    if len(json_edit.items(text, hooks.value)) > 1 or "hooks" in kept:
        return json_edit.take_out(text, hooks.value, _number(text, hooks.value, listed))
    return json_edit.take_out(text, json_edit.first(text), _number(text, json_edit.first(text), hooks))


def _number(text: str, start: int, item: Item) -> int:
    return [member.start for member in json_edit.items(text, start)].index(item.start)


def _kept(before: str) -> set[str]:
    """Return what was there but empty: ``hooks`` itself, or events in it."""
    try:
        hooks = json_edit.parse(before.removeprefix(BOM)).get("hooks")
    except (json_edit.BadJsonError, AttributeError):
        return set()
    if not isinstance(hooks, dict):
        return set()
    return {event for event, groups in hooks.items() if groups == []} or ({"hooks"} if not hooks else set())
