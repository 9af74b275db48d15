"""Where a memory's file goes: a slug, a folder by type, and a suffix when the name is taken.

Names are compared in their `common_form`, since the store may lie on a file system that ignores case, or how
an accent is written.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Container
from dataclasses import replace

from pipeline.domain.memory import Memory
from pipeline.hooklib.memory_format import NOT_MEMORIES
from pipeline.store.files.layout import ARCHIVE, EARLIER, VAULT, check_path
from pipeline.text.slugs import MAX_SLUG, slugify

_RESERVED = frozenset(name.removesuffix(".md") for name in NOT_MEMORIES)


def common_form(name: str) -> str:
    """Return the form that `name`, or a path, has in common with all that a file system may take for it."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


def place_new(
    memory: Memory, taken_paths: Container[str], taken_names: Container[str], folder: str | None = None
) -> Memory:
    """Return `memory` with the name and path its new file gets.

    Both collections hold common forms. Root files are ``<name>.md``, graph kinds
    ``graph/<folder>/<name>-<first 6 of id>.md``, pinned ones lie in ``vault/``. In a `folder` that
    is named (empty: the store itself) all are ``<name>.md``.
    """
    base = slugify(memory.name or memory.title or memory.description)
    if base in _RESERVED:
        base += "-note"
    name, number = base, 1
    while name in taken_names or common_form(_path(memory, name, folder)) in taken_paths:
        number += 1
        suffix = f"-{number}"
        name = base[: MAX_SLUG - len(suffix)].rstrip("-") + suffix
    return replace(memory, name=name, path=check_path(_path(memory, name, folder), suffix=".md"))


def archive_path(path: str, year: int, taken_paths: Container[str]) -> str:
    """Return where the file at `path` goes when it is retired in `year`; `taken_paths` are common forms."""
    stem = path.rsplit("/", 1)[-1].removesuffix(".md")
    target, number = f"{ARCHIVE}/{year}/{stem}.md", 1
    while common_form(target) in taken_paths:
        number += 1
        target = f"{ARCHIVE}/{year}/{stem[:200]}-{number}.md"
    return check_path(target, suffix=".md")


def earlier_path(path: str, sha: str, year: int) -> str:
    """Return where a former text, with the digest `sha`, of the memory at `path` is kept."""
    stem = path.rsplit("/", 1)[-1].removesuffix(".md")
    return check_path(f"{ARCHIVE}/{year}/{EARLIER}/{stem[:150]}-{sha[:8]}.md", suffix=".md")


def moved_path(path: str, folder: str, taken_paths: Container[str]) -> str:
    """Return where the file at `path` goes in `folder` (empty: the store itself), keeping its file name.

    A suffix is added where the name is in `taken_paths`, common forms, or would not be a memory there.
    """
    stem = path.rsplit("/", 1)[-1].removesuffix(".md")
    start = f"{folder}/" if folder else ""
    target, number = f"{start}{stem}.md", 1
    while common_form(target) in taken_paths or target.lower() in NOT_MEMORIES:
        number += 1
        target = f"{start}{stem[:200]}-{number}.md"
    return check_path(target, suffix=".md")


def _path(memory: Memory, name: str, folder: str | None) -> str:
    if folder is not None:
        return f"{folder}/{name}.md" if folder else f"{name}.md"
    type_row = memory.type_row
    graph_name = f"{name}-{memory.id[:6]}.md" if type_row.is_graph and memory.id else f"{name}.md"
    if memory.pinned:
        return f"{VAULT}/{graph_name}"
    return f"{type_row.folder}/{graph_name}" if type_row.folder else graph_name
