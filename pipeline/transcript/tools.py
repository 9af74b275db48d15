"""What the assistant did with tools, as much of it as is kept: their names and the files they touched."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from pipeline.domain.speech import EDITED, TOUCHING, WROTE
from pipeline.safety.late import late

_IN_MEMORY = late(r"(?:\A|/)projects/[^/]+/memory/(?!(?:.*/)?\.\.(?:/|\Z)).+", re.DOTALL)
_MAY_BE_MEMORY = late(r"\A[^\0]{0,4000}/memory/[^\0]{1,1000}\.md\Z")
_PLAN = late(r"/\.claude/plans/[^/]+\.md\Z")
_MAY_BE_PLAN = late(r"(?:\A|/)plans/[^/]+\.md\Z")
_LONGEST_PATH = 160
_UNPRINTED = late(r"[\x00-\x1f\x7f\u2028\u2029]+")


class Used(NamedTuple):
    """The tools of one record: all names, files as `pipeline.domain.speech` tells them, memory paths."""

    names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    memory_writes: tuple[str, ...] = ()
    memory_reads: tuple[str, ...] = ()


NONE = Used()


def is_memory_path(path: object) -> bool:
    """Say whether `path` lies inside the memory folder of a project, whichever way its slashes lean."""
    return isinstance(path, str) and bool(_IN_MEMORY.search(path.replace("\\", "/")))


def may_be_memory(path: str) -> bool:
    """Say whether `path` is that of a markdown file in a folder called memory, wherever that lies."""
    return bool(_MAY_BE_MEMORY.search(path.replace("\\", "/")))


def is_plan(path: str) -> bool:
    """Say whether `path` is that of a plan, which is shown as such, where the client keeps them usually."""
    return bool(_PLAN.search(path.replace("\\", "/")))


def may_be_plan(path: str) -> bool:
    """Say whether `path` may be that of a plan: the client's own folder can lie anywhere."""
    return bool(_MAY_BE_PLAN.search(path.replace("\\", "/")))


def used(blocks: list[Any], cwd: str | None) -> Used:
    """Return the tools that an assistant's record uses; paths below `cwd` are shortened to it."""
    tools = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"]
    if not tools:
        return NONE
    names, files, writes, reads = [], [], [], []
    for tool in tools:
        given = tool.get("input")
        name = _text(tool, "name")
        fields = given if isinstance(given, dict) else {}
        path = path_in(fields)
        if is_plan(path):
            continue
        names += [name] if name else []
        if path and name in TOUCHING:
            files.append(f"{WROTE if name == 'Write' else EDITED} {_shortened(path, cwd)}")
            writes += [path] if is_memory_path(path) else []
        target = _text(fields, "file_path")
        if name == "Read" and target and may_be_memory(target):
            reads.append(target)
    return Used(tuple(names), tuple(files), tuple(writes), tuple(reads))


def path_in(given: dict[str, Any]) -> str:
    """Return the file or folder that a tool was given to work on, "" if none."""
    return _text(given, "file_path") or _text(given, "notebook_path") or _text(given, "path")


def _text(held: dict[str, Any], name: str) -> str:
    value = held.get(name)
    return value if isinstance(value, str) else ""


def _shortened(path: str, cwd: str | None) -> str:
    """Return `path` relative to `cwd` when it lies below, on one line, and of a very long one the end."""
    path = _UNPRINTED.sub(" ", path.replace("\\", "/")).strip()
    folder = (cwd or "").replace("\\", "/").rstrip("/") + "/"
    if len(folder) > 1 and path.startswith(folder):
        path = path[len(folder) :]
    return path if len(path) <= _LONGEST_PATH else f"…{path[-_LONGEST_PATH:]}"
