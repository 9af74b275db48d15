"""Formats whose files are ours or near to ours: front matter may hold any key, so nothing is lost.

`claude-code` is a folder as Claude Code keeps one, all files side by side; `cognitive` has folders by type;
`basic-memory` names some keys otherwise and writes relations into the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from pipeline.domain.memory import TYPES, Memory
from pipeline.formats.carried import Carried, told_title
from pipeline.formats.notes import Notes
from pipeline.hooklib.front_matter import text_of
from pipeline.hooklib.memory_format import NOT_MEMORIES
from pipeline.hooklib.plain import lines_of
from pipeline.store.files import yaml_text
from pipeline.store.files.document import Parts, compose, front_of, parse, read_front, split
from pipeline.store.files.frontmatter_schema import to_memory
from pipeline.store.files.layout import memory_files
from pipeline.store.files.rewriting import NotAloneError, rewrite
from pipeline.text.slugs import slugify

FOLDERS = {
    "user": "graph/users",
    "feedback": "graph/feedback",
    "project": "graph/projects",
    "reference": "graph/references",
}
"""Where memories lie in an export whose files stand in the store itself, by type; schema v3 has no such."""
_NOTE = "note"
_OTHER_TYPE = "note_type"
_RELATION = re.compile(
    r"\s*[-*] (?P<type>[^\[\]]{1,60}?)\s*\[\[(?P<target>[^\[\]]+)\]\](?:\s*\((?P<context>.*)\))?"
)


def folder_of(type_name: str) -> str:
    """Return the folder of a type in the layout of schema v3."""
    kind = TYPES.get(type_name)
    return FOLDERS.get(type_name) or (kind.folder if kind else FOLDERS["project"])


def home_of(path: str) -> str:
    """Return where a file at `path` of that layout lies in a store of ours."""
    folder, _, name = path.rpartition("/")
    if folder in FOLDERS.values() and name.lower() not in NOT_MEMORIES:
        return PurePosixPath(path).name
    return path


class ClaudeCode(Notes):
    """A memory folder of Claude Code."""

    name = "claude-code"
    about = "a memory folder of Claude Code, with MEMORY.md"
    indexed = True

    def listed(self, root: Path) -> Iterator[str]:
        """Yield what a store takes for memories, in its folders too."""
        yield from (path for path, _ in memory_files(root, [], stamps=False))

    def decoded(self, data: bytes, path: str) -> Carried:
        """Return the memory in `data`, which must be UTF-8: it is written again where it changes."""
        split(data, path)
        return Carried(parse(data, path), path, path, 1, data)

    def encoded(self, memory: Memory, base: bytes | None) -> bytes:
        """Return the file of `memory` as a store has it."""
        return compose(replace(memory, path=""), base)


class Cognitive(ClaudeCode):
    """The memories of a folder in the layout of schema v3. Edges and the diary are `app.cognitive`'s."""

    name = "cognitive"
    about = "a folder that holds graph/ (schema v3)"
    indexed = False

    def decoded(self, data: bytes, path: str) -> Carried:
        """Return the memory in `data`; of some the folder alone tells the type."""
        split(data, path)
        return Carried(parse(data, home_of(path)), path, path, 1, data)

    def file_name(self, memory: Memory) -> str:
        """Return the path in the folder of its type, with the start of its id."""
        stem = super().file_name(memory)
        return (
            f"{folder_of(memory.type)}/{stem}-{memory.id[:6]}"
            if memory.id
            else f"{folder_of(memory.type)}/{stem}"
        )


class BasicMemory(Notes):
    """A project of basic-memory: notes with title, type, permalink and tags; observations and relations."""

    name = "basic-memory"
    about = "a folder of notes"

    def listed(self, root: Path) -> Iterator[str]:
        """Yield every note in all folders but hidden ones."""
        for file in sorted(root.rglob("*.md")):
            relative = file.relative_to(root)
            if not any(part.startswith(".") for part in relative.parts):
                yield relative.as_posix()

    def decoded(self, data: bytes, path: str) -> Carried:
        """Return the note in `data` as a memory; its relations stand in its text and as links."""
        parts = split(data, path)
        front = read_front(parts.front, path) if parts.front is not None else None
        body = parts.body if front is not None else parts.join().decode("utf-8")
        memory = to_memory(_from_note(front or {}, path), body.removeprefix("\n"), path)
        links = [found for line in lines_of(body) if (found := _RELATION.match(line))]
        return Carried(
            replace(memory, path=""),
            path,
            path,
            1,
            data,
            tuple((item["type"].strip(), item["target"].strip(), item["context"] or "") for item in links),
        )

    def encoded(self, memory: Memory, base: bytes | None) -> bytes:
        """Return the note of `memory`; what `base` says already stays as it is written."""
        wanted = _as_note(memory)
        if base is None:
            body = memory.body if memory.body.endswith("\n") else memory.body + "\n"
            return Parts("", "---\n", yaml_text.dump(wanted), "---\n\n", body).join()
        there, parts = self.decoded(base, "base.md").memory, split(base)
        front, old = read_front(parts.front) if parts.front is not None else None, _as_note(there)
        changed = {key: value for key, value in wanted.items() if old.get(key) != value}
        target = {key: value for key, value in (front or {}).items() if key in wanted or key not in old}
        target |= changed
        if target != (front or {}):
            parts = _with_front(parts, front, target)
        if memory.body.strip("\n") != there.body.strip("\n"):
            parts = replace(parts, body="\n" * parts.body.startswith("\n") + memory.body.strip("\n") + "\n")
        return parts.join()


def _with_front(parts: Parts, front: dict[str, Any] | None, target: dict[str, Any]) -> Parts:
    if front is None:
        body = parts.front or ""
        return replace(
            parts, opening="---\n", front=yaml_text.dump(target), closing="---\n\n", body=body + parts.body
        )
    try:
        return replace(parts, front=rewrite(parts.front or "", front, target, parts.newline))
    except NotAloneError:
        return replace(parts, front=yaml_text.dump(target))


def _from_note(front: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the front matter of a note as ours."""
    found = dict(front)
    permalink = text_of(found.pop("permalink", ""))
    stem = path.rpartition("/")[2].removesuffix(".md")
    found.setdefault("title", stem)
    found["name"] = slugify(permalink.rpartition("/")[2] or stem)
    kind = text_of(found.get("type")) or _NOTE
    if kind not in TYPES:
        found["type"] = "general"
        if kind != _NOTE:
            found[_OTHER_TYPE] = kind
    return found


def _as_note(memory: Memory) -> dict[str, Any]:
    """Return what the front matter of a note says of `memory`."""
    extra = dict(memory.extra)
    other = extra.pop(_OTHER_TYPE, "")
    front = front_of(replace(memory, extra=extra))
    front.pop("metadata")
    front.pop("name", None)
    kind = other if memory.type == "general" and other else _NOTE if memory.type == "general" else memory.type
    return {
        "title": told_title(memory),
        "type": kind,
        "permalink": memory.name or slugify(memory.title or memory.description),
        **{key: value for key, value in front.items() if key not in ("title", "type") and value != []},
    }
