"""The seed ``s09``: a folder ``.memory/`` of markdown files with flat front matter, and its ``MEMORY.md``.

Written as its own program writes them, byte for byte; read with a reader of our own, to which a description
with ``---`` or a colon is nothing special. A file that says the same stays as it is.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace

from pipeline.core.errors import DocumentError
from pipeline.domain.memory import MAX_DESCRIPTION, Memory
from pipeline.formats.carried import Carried
from pipeline.formats.notes import Notes
from pipeline.hooklib.memory_format import split_front_matter
from pipeline.hooklib.plain import lines_of, one_line
from pipeline.store.files.document import split
from pipeline.store.files.frontmatter_schema import first_line
from pipeline.text.slugs import slugify

CLASSES = ("user", "feedback", "project", "reference")
_KEYS = ("name", "description", "type")
_PLAIN = re.compile(r"[^\s!&*?|>'\"%@`{}\[\],#:-](?:(?!: | #).)*(?<![:\s])")
_NO_TEXT = re.compile(r"(?i:true|false|yes|no|on|off|null|~|[-+.\d][\d._eE+-]*)")


@dataclass(frozen=True, slots=True)
class Teaching:
    """The limits of the seed's teaching pipeline, and the settings that put them in force here."""

    memories: int = 10
    messages: int = 10
    chars: int = 4_000

    def settings(self) -> dict[str, str]:
        """Return key and value of each setting."""
        return {
            "dream.memories": str(self.memories),
            "extraction.newest_messages": str(self.messages),
            "extraction.newest_chars": str(self.chars),
        }


TEACHING = Teaching()


class S09(Notes):
    """A folder ``.memory/``."""

    name = "s09"
    about = "a folder .memory/ with MEMORY.md"
    indexed = True

    def decoded(self, data: bytes, path: str) -> Carried:
        """Return the memory in `data`; a class that is none reads as project."""
        parts = split(data, path)
        values = _values(parts.front or "")
        body = parts.body.replace("\r\n", "\n")
        if parts.front is not None:
            body = body.removeprefix("\n")
        description = values.get("description") or first_line(body)
        if not body.strip() and not description:
            raise DocumentError("there is no fact in it", file=path, line=1, fix="Write one, or delete it.")
        kind = values.get("type", "")
        name = values.get("name") or path.rpartition("/")[2].removesuffix(".md")
        memory = Memory(name, description, kind if kind in CLASSES else "project", body)
        return Carried(memory, path, path, 1, data)

    def encoded(self, memory: Memory, base: bytes | None) -> bytes:
        """Return the file as the seed writes one; what `base` says already stays."""
        name, more = one_line(memory.name, 200), []
        if base is not None:
            there = self.decoded(base, "base.md").memory
            name = there.name if slugify(there.name) == slugify(name) else name
            more = _others(base)
        description = one_line(memory.description, MAX_DESCRIPTION).replace("---", "—")
        wanted = Memory(name, description, memory.host_class, memory.whole_text.strip("\n") + "\n")
        if base is not None and replace(there, body=there.body.strip("\n") + "\n") == wanted:
            return base
        lines = [
            f"name: {quoted(name)}",
            f"description: {quoted(description)}",
            f"type: {wanted.type}",
            *more,
        ]
        return ("---\n" + "\n".join(lines) + f"\n---\n\n{wanted.body}").encode()


def quoted(value: str) -> str:
    """Return `value` as front matter has it: as it is where YAML reads it so, else in quotes."""
    if _PLAIN.fullmatch(value) and not _NO_TEXT.fullmatch(value):
        return value
    if "'" not in value and ('"' in value or "\\" in value):
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False)


def _values(front: str) -> dict[str, str]:
    """Return key → text of flat front matter; a line of another form is none of it."""
    found: dict[str, str] = {}
    for line in lines_of(front):
        key, colon, value = line.partition(":")
        if colon and key.strip() in _KEYS and key == key.strip():
            found.setdefault(key, _unquoted(value.strip()))
    return found


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return str(json.loads(value))
        except ValueError:
            return value[1:-1]
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value


def _others(base: bytes) -> list[str]:
    """Return the lines of front matter that hold none of the three keys."""
    front = split_front_matter(base.decode("utf-8", "replace").removeprefix("\ufeff"))[0] or ""
    return [line for line in lines_of(front) if line.partition(":")[0] not in _KEYS]
