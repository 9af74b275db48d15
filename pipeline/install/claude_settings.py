"""Claude Code's settings files: where they are, which hooks in them are ours, the texts with and without.

Sources merge and never override, so a hook counts wherever it stands. Texts are changed only where they
must be (`pipeline.install.json_edit`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core import paths
from pipeline.core.errors import InputError
from pipeline.install import json_edit
from pipeline.install.hook_registration import EVENTS, is_ours, settings_snippet
from pipeline.install.json_edit import Item

_MEND = "Mend the file first: nothing was changed in it."
_NAME = "reverie"
_MARK = "\ufeff"
"""The byte order mark that some editors put first; Claude Code passes it over."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one handler of ours stands: the event's list, the group in it, the handler in the group."""

    event: str
    group: int
    handler: int


def user_file() -> Path:
    """Return the settings of the person, for all projects."""
    return paths.config_dir() / "settings.json"


def project_file(project: Path) -> Path:
    """Return the settings of one person in one project.

    Not ``settings.json`` beside it, which a team shares: the commands name places on this machine.
    """
    return project / ".claude" / "settings.local.json"


def files(project: Path) -> tuple[Path, ...]:
    """Return every settings file that counts for a session in `project`, the weakest first."""
    return (user_file(), project / ".claude" / "settings.json", project_file(project))


def read(file: Path) -> str | None:
    """Return the text of a settings file, None when there is none; InputError when it can't be used."""
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"can't be read: {error}", file=str(file), fix=_MEND) from error


def with_hooks(text: str, file: Path) -> str:
    """Return `text` with our hook once for each of EVENTS, as it should be now; `text` itself if it is so.

    Other hooks stay, and stay before ours. Raises InputError, naming the line, when `text` is no JSON or
    its ``hooks`` are none that Claude Code would take.
    """
    if text.startswith(_MARK):
        return _MARK + with_hooks(text.removeprefix(_MARK), file)
    wanted = settings_snippet()["hooks"]
    if not text.strip():
        return json.dumps({"hooks": wanted}, ensure_ascii=False, indent=2) + "\n"
    text = _without_doubles(text, file)
    if _member(text, json_edit.first(text), "hooks", "{", file) is None:
        return json_edit.put_in(text, json_edit.first(text), wanted, key="hooks")
    for event in EVENTS:
        text = _with_hook(text, event, wanted[event][0], file)
    return text


def without_hooks(text: str, file: Path, *, before: str = "") -> str:
    """Return `text` without our hooks and without what only they filled; `text` itself if there are none.

    What was empty in `before`, the text as it was before we came, stays there. Raises InputError as
    `with_hooks` does.
    """
    if text.startswith(_MARK):
        return _MARK + without_hooks(text.removeprefix(_MARK), file, before=before.removeprefix(_MARK))
    kept = _kept(before)
    while place := next(_ours(text, file), None):
        text = _take_out(text, place, kept, file)
    return text


def ours(text: str, file: Path) -> list[str]:
    """Return the event of each hook of ours in `text`. Raises InputError as `with_hooks` does."""
    return [place.event for place in _ours(text.removeprefix(_MARK), file)]


def plugin(project: Path) -> str:
    """Return the name under which Reverie runs as a plugin in `project`, or "".

    A plugin counts as running when a settings file enables it, or when its folder stands among the
    person's skills, and no later file disables it.
    """
    enabled: dict[str, bool] = {}
    for manifest in sorted(paths.config_dir().glob("skills/*/.claude-plugin/plugin.json")):
        if _plain_object(read_quietly(manifest)).get("name") == _NAME:
            enabled[f"{_NAME}@skills-dir"] = True
    for file in files(project):
        named = _plain_object(read_quietly(file)).get("enabledPlugins")
        enabled |= {
            str(name): on is True
            for name, on in (named.items() if isinstance(named, dict) else ())
            if str(name).partition("@")[0] == _NAME
        }
    return next((name for name, on in enabled.items() if on), "")


def read_quietly(file: Path) -> str:
    """Return the text of a file that is only looked at, "" when it can't be read."""
    try:
        return file.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def _plain_object(text: str) -> dict[str, Any]:
    try:
        value = json_edit.parse(text.removeprefix(_MARK))
    except json_edit.BadJsonError:
        return {}
    return value if isinstance(value, dict) else {}


def _root(text: str, file: Path) -> int:
    """Return where the root object of `text` begins. Raises InputError when it is none."""
    try:
        value = json_edit.parse(text)
    except json_edit.BadJsonError as error:
        raise InputError(
            f"is no JSON: {error}, column {error.column}", file=str(file), line=error.line, fix=_MEND
        ) from error
    if not isinstance(value, dict):
        raise InputError("is no JSON object", file=str(file), line=1, fix=_MEND)
    return json_edit.first(text)


def _member(text: str, start: int, key: str, opening: str, file: Path) -> Item | None:
    item = json_edit.member(text, start, key)
    if item is not None and text[item.value] != opening:
        kind = "an object" if opening == "{" else "a list"
        line = json_edit.line_of(text, item.value)
        raise InputError(f"{key!r} must hold {kind}", file=str(file), line=line, fix=_MEND)
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
        for place, handler in _handlers(text, event, file):
            if _is_ours(text, handler, event):
                yield place


def _is_ours(text: str, handler: Item, event: str) -> bool:
    value = json_edit.parse(text[handler.value : handler.end])
    return isinstance(value, dict) and is_ours(str(value.get("command", "")), event)


def _without_doubles(text: str, file: Path) -> str:
    """Return `text` with one hook of ours an event at most, and none for events we no longer listen to."""
    while True:
        seen: set[str] = set()
        for place in _ours(text, file):
            if place.event in seen or place.event not in EVENTS:
                text = _take_out(text, place, set(), file)
                break
            seen.add(place.event)
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


def _take_out(text: str, place: _Place, kept: set[str], file: Path) -> str:
    """Return `text` without the handler at `place`, nor the group, list and object that it leaves empty."""
    hooks = _hooks(text, file)
    assert hooks is not None
    listed = json_edit.member(text, hooks.value, place.event)
    assert listed is not None
    group = json_edit.items(text, listed.value)[place.group]
    inner = json_edit.member(text, group.value, "hooks")
    assert inner is not None
    if len(json_edit.items(text, inner.value)) > 1:
        return json_edit.take_out(text, inner.value, place.handler)
    if len(json_edit.items(text, listed.value)) > 1 or place.event in kept:
        return json_edit.take_out(text, listed.value, place.group)
    if len(json_edit.items(text, hooks.value)) > 1 or "hooks" in kept:
        return json_edit.take_out(text, hooks.value, _number(text, hooks.value, listed))
    return json_edit.take_out(text, json_edit.first(text), _number(text, json_edit.first(text), hooks))


def _number(text: str, start: int, item: Item) -> int:
    return [one.start for one in json_edit.items(text, start)].index(item.start)


def _kept(before: str) -> set[str]:
    """Return what was there but empty: ``hooks`` itself, or events in it."""
    hooks = _plain_object(before).get("hooks")
    if not isinstance(hooks, dict):
        return set()
    return {event for event, groups in hooks.items() if groups == []} or ({"hooks"} if not hooks else set())
