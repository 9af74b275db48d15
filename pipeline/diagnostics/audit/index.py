"""MEMORY.md against the files: what it leaves out, what it links to in vain, what the host does not load."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pipeline.diagnostics.audit.files import unsettled
from pipeline.diagnostics.audit.folder import Folder
from pipeline.domain.finding import Finding
from pipeline.hooklib.memory_format import INDEX_BYTES, INDEX_LINES, split_front_matter
from pipeline.hooklib.plain import lines_of
from pipeline.store.derived.memory_index_writer import merged_lines
from pipeline.store.files.layout import INDEX, OVERFLOW
from pipeline.store.files.memory_index import LINE_LIMIT, block_lines, linked_paths

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def check(folder: Folder) -> Iterator[Finding]:
    """Yield what is wrong with the index of `folder`."""
    if folder.index is None:
        if folder.files:
            what = "there is no MEMORY.md, so a session is shown none of the files"
            yield Finding("error", "no-index", what, "`reverie reindex --store DIR` writes one.", path=INDEX)
        return
    yield from unsettled(INDEX, folder.index)
    yield from unsettled(OVERFLOW, folder.overflow)
    yield from _merged(folder.root, folder.index)
    yield from _links(folder, INDEX, folder.index)
    yield from _links(folder, OVERFLOW, folder.overflow)
    yield from _orphans(folder, linked_paths(folder.index + "\n" + folder.overflow))
    yield from _overflow(folder.index)
    for number, line in enumerate(lines_of(folder.index), start=1):
        if len(line) > LINE_LIMIT:
            what = f"a line of {len(line)} characters, where one line a memory is loaded in every session"
            yield Finding(
                "note", "long-line", what, "Move the detail into the memory's file.", path=INDEX, line=number
            )


def _merged(root: Path, text: str) -> Iterator[Finding]:
    """Find the lines that a merge had left within our block, and that are not ours."""
    merged = merged_lines(root)
    within = set(block_lines(text.encode("utf-8", "surrogatepass")))
    for number, line in enumerate(lines_of(text) if merged else (), start=1):
        if line in merged and line not in within:
            what = "a merge had left this line within Reverie's block, and Reverie did not write it"
            fix = "Remove it if it no longer holds: what it links to is not listed a second time."
            yield Finding("note", "merged-line", what, fix, path=INDEX, line=number)


def _links(folder: Folder, name: str, text: str) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for number, line in enumerate(lines_of(text), start=1):
        for target in sorted(linked_paths(line)):
            if not target or target.startswith(("/", "mailto:")):
                continue
            if not _there(folder, target):
                what = f"links to {target}, which is not there"
                yield Finding(
                    "error",
                    "dangling",
                    what,
                    "Remove the line, or bring the file back.",
                    path=name,
                    line=number,
                )
            elif target in first and target != OVERFLOW:
                what = f"links to {target} again, as line {first[target]} does"
                yield Finding(
                    "note", "listed-twice", what, "Keep one of the two lines.", path=name, line=number
                )
            first.setdefault(target, number)


def _there(folder: Folder, target: str) -> bool:
    try:
        return (folder.root / target).exists()
    except (OSError, ValueError):
        return False


def _orphans(folder: Folder, linked: set[str]) -> Iterator[Finding]:
    for file in folder.files:
        if file.path not in linked:
            what = f"no line of {INDEX} leads to it, so no session is told of it"
            yield Finding(
                "warning", "orphan", what, f"Add a line to {INDEX}, or remove the file.", path=file.path
            )


def _overflow(text: str) -> Iterator[Finding]:
    """Find the line at which the host stops reading: it drops front matter and comments, then counts."""
    kept = _blanked(text, len(text) - len(split_front_matter(text)[1]))
    bytes_read = 0
    total = len(lines_of(text))
    for lines, (number, line) in enumerate(kept, start=1):
        bytes_read += len(line.encode("utf-8", "replace")) + 1
        if lines > INDEX_LINES or bytes_read > INDEX_BYTES:
            limit = f"{INDEX_LINES} lines" if lines > INDEX_LINES else f"{INDEX_BYTES:,} bytes"
            left = total - number + 1
            what = f"from here on ({left} of {total} lines) it is past {limit} and not loaded"
            yield Finding(
                "error", "overflow", what, "Shorten lines, or drop the least useful.", path=INDEX, line=number
            )
            return


def _blanked(text: str, start: int) -> list[tuple[int, str]]:
    """Return number and text of each line from `start` on, comments taken out as the host does."""
    first = text.count("\n", 0, start) + 1
    gone = _COMMENT.sub(lambda match: "\x00" * match.group().count("\n"), text[start:])
    found, number = [], first
    for line in gone.split("\n"):
        found.append((number, line.replace("\x00", "")))
        number += 1 + line.count("\x00")
    return found[:-1] if found and not found[-1][1] else found
