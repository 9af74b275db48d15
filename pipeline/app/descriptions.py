"""Titles and descriptions that fit a text no more: nobody guesses others, so whoever reads them is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pipeline.app import history, scopes
from pipeline.app.application import App
from pipeline.app.history import Change
from pipeline.domain.memory import Memory
from pipeline.hooklib.plain import one_line
from pipeline.safety.invisible import visible_line
from pipeline.store import Document, Store
from pipeline.store.files.described import is_left_behind, is_made_of
from pipeline.store.files.document import parse

_LINES = ("title", "description")
_SHOWN = 80


def of_former_text(memory: Memory, changes: Iterable[Change]) -> list[str]:
    """Return which of title and description of `memory` fit a former text, and its own no more.

    `changes` are those of the memory, the newest first.
    """
    found, asked = set[str](), _not_of_its_text(memory)
    for change in changes:
        for before in (item.before for item in change.shown):
            if before is None:
                return _in_order(found)
            asked = {line for line in asked if getattr(before, line) == getattr(memory, line)}
            found.update(asked.intersection(_left_behind(before, memory)))
    return _in_order(found)


def edited_by_hand(store: Store) -> Iterator[tuple[Memory, list[str]]]:
    """Yield the memories whose text somebody changed in their file, and what of each fits the former."""
    present = {document.path: document for document in store.scan().documents}
    for edit in store.hand_edits():
        document = present.get(edit.path)
        diff = store.hand_edit_diff(edit) if document is not None and edit.found_by is None else None
        if document is None or diff is None or diff.before is None:
            continue
        found = _left_behind(parse(diff.before, edit.path), document.memory)
        if found:
            yield document.memory, found


def note_on(app: App, document: Document) -> str:
    """Return what a person should know of title and description of `document`, "" for nothing."""
    memory = document.memory
    if not _not_of_its_text(memory):
        return ""  # As of most: its history need not be read.
    found = of_former_text(memory, history.of_memory(app, document))
    return f"{in_words(memory, found)}. {anew(memory, found, scopes.option(app))}" if found else ""


def in_words(memory: Memory, lines: Sequence[str]) -> str:
    """Return what is said where those `lines` of `memory` fit its text no more."""
    shown = (f"{line} “{one_line(visible_line(getattr(memory, line)), _SHOWN)}”" for line in lines)
    fit = "fits" if len(lines) == 1 else "fit"
    return f"its {' and '.join(shown)} {fit} a former text"


def anew(memory: Memory, lines: Sequence[str], option: str = "") -> str:
    """Return how those `lines` are made anew; `option` is what means the scope of `memory`."""
    empty = " ".join(f'--{line} ""' for line in lines)
    those = "it" if len(lines) == 1 else "them"
    return f"`reverie update {option}{memory.name} {empty}` makes {those} of its text."


def _not_of_its_text(memory: Memory) -> set[str]:
    """Return which of title and description `memory` has that its text did not make; none else is behind."""
    given = {line: getattr(memory, line) for line in _LINES}
    return {line for line, words in given.items() if words and not is_made_of(words, memory.body)}


def _left_behind(before: Memory, memory: Memory) -> list[str]:
    same = (line for line in _LINES if getattr(before, line) == getattr(memory, line))
    return [line for line in same if is_left_behind(getattr(memory, line), before.body, memory.body)]


def _in_order(found: Iterable[str]) -> list[str]:
    return sorted(found, key=_LINES.index)
