"""What a client can read as a resource: the index of memories, the core page, the days' episodes.

Reading counts as no use. Only these files of the project's own memory folder, each by a name of ours.
"""

from __future__ import annotations

import re
from typing import Any

from pipeline.app.application import App
from pipeline.core.errors import StoreError
from pipeline.hooklib.memory_format import INDEX
from pipeline.server.jsonrpc import INVALID_PARAMS, NO_RESOURCE, ProtocolError
from pipeline.store.files.layout import read_regular

_SCHEME = "reverie://"
_FILES = {
    "memory": (INDEX, "MEMORY", "One line for each memory of this project."),
    "core": ("CORE.md", "CORE", "The memories that matter most now, by section."),
}
_EPISODES = "episodes"
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_KIND = "text/markdown"
TEMPLATES: list[dict[str, Any]] = [
    {
        "uriTemplate": f"{_SCHEME}{_EPISODES}/{{day}}",
        "name": "episode",
        "title": "Episode of a day",
        "description": "What happened to the memories on a day, such as 2026-11-20.",
        "mimeType": _KIND,
    }
]


def listed(app: App) -> list[dict[str, Any]]:
    """Return the resources that are there: the pages, then the days, the last first."""
    if app.is_fresh:
        return []
    root = app.open_store().root
    found = [
        {"uri": _SCHEME + key, "name": name, "title": name, "description": about, "mimeType": _KIND}
        for key, (file, name, about) in _FILES.items()
        if (root / file).is_file()
    ]
    days = sorted((path.stem for path in (root / _EPISODES).glob("*.md")), reverse=True)
    return found + [
        {"uri": f"{_SCHEME}{_EPISODES}/{day}", "name": f"episode {day}", "mimeType": _KIND}
        for day in days
        if _DAY.fullmatch(day)
    ]


def read(app: App, uri: object) -> dict[str, Any]:
    """Return the resource at `uri`. Raises ProtocolError where there is none."""
    if not isinstance(uri, str):
        raise ProtocolError(INVALID_PARAMS, "uri is a text")
    path = _path(uri)
    if not path or app.is_fresh:
        raise _missing(uri)
    try:
        root = app.open_store().root
        file = (root / path).resolve(strict=True)
        if not file.is_relative_to(root):
            raise _missing(uri)
        data, _ = read_regular(file)
    except (OSError, StoreError):
        raise _missing(uri) from None
    return {"uri": uri, "mimeType": _KIND, "text": data.decode("utf-8", "replace")}


def _path(uri: str) -> str:
    key = uri.removeprefix(_SCHEME) if uri.startswith(_SCHEME) else ""
    if key in _FILES:
        return _FILES[key][0]
    folder, _, day = key.partition("/")
    return f"{_EPISODES}/{day}.md" if folder == _EPISODES and _DAY.fullmatch(day) else ""


def _missing(uri: str) -> ProtocolError:
    return ProtocolError(NO_RESOURCE, f"there is no resource {uri!a}; resources/list names those there are")
