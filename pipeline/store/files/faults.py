"""What a look at a store found that can't be taken, in words: for a screen, and where one is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.errors import DocumentError
from pipeline.safety.invisible import visible_name
from pipeline.store.files.layout import INDEX, Problem
from pipeline.store.files.names import common_form

_NAMED_FILES = 3
"""Files that are named where only their number matters."""


def in_lines(
    unread: Sequence[str], unsettled: Sequence[str], misnamed: Sequence[str], problems: Sequence[Problem]
) -> list[str]:
    """Return a line for the files that can't be read, one for those that a merge left unsettled.

    A third is for those whose names no memory can have, a fourth for folders, pipes and the like with the
    name of a memory; the last say what is wrong with MEMORY.md.
    """
    lines = []
    if unread:
        files = "1 file" if len(unread) == 1 else f"{len(unread)} files"
        lines.append(f"{files} can't be read: {_first_names(unread)}")
    if unsettled:
        hold = "1 file holds" if len(unsettled) == 1 else f"{len(unsettled)} files hold"
        lines.append(f"{hold} both sides of a merge: {_first_names(unsettled)}")
    if misnamed:
        have = "1 file has a name" if len(misnamed) == 1 else f"{len(misnamed)} files have names"
        lines.append(f"{have} that no memory can have: {_first_names(misnamed)}")
    if odd := [problem.path for problem in problems if problem.no_file]:
        has = "1 entry has the name of a memory and is no file"
        have = has if len(odd) == 1 else f"{len(odd)} entries have names of memories and are no files"
        lines.append(f"{have}: {_first_names(odd)}")
    return lines + [problem.in_words() for problem in problems if problem.path == INDEX]


def fault_of(problems: Sequence[Problem], name: str) -> DocumentError | None:
    """Return which of `problems` is that of the file that `name` means, None for none.

    It is meant by its path or its file stem: what it calls itself can't be read.
    """
    for problem in problems:
        known = {problem.path, stem_of(problem.path), folded(problem.path), folded(stem_of(problem.path))}
        if problem.path.endswith(".md") and not known.isdisjoint((name, folded(name))):
            why = problem.message if problem.line else f"it can't be read: {problem.message}"
            fix = problem.fix or "`reverie doctor` says what to do."
            return DocumentError(why, file=problem.path, line=problem.line or None, fix=fix)
    return None


def _first_names(paths: Sequence[str]) -> str:
    named = ", ".join(visible_name(path) for path in paths[:_NAMED_FILES])
    return (
        f"{named} … (`reverie doctor` lists all)"
        if len(paths) > _NAMED_FILES
        else f"{named} (`reverie doctor`)"
    )


def stem_of(path: str) -> str:
    """Return the name of the file at `path` without ``.md``."""
    return path.rsplit("/", 1)[-1].removesuffix(".md")


def folded(name: str) -> str:
    """Return `name` in the form in which names are compared."""
    return common_form(name).replace("_", "-").removesuffix(".md")
