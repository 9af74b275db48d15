"""Tables without frames: fitted to a terminal, and a row a line in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pipeline.cli.cells import cell_len
from pipeline.cli.output import LEAST_PROSE, hanging, harmless, line, width
from pipeline.cli.streams import colours, write

_GAP = 2
"""Cells between two columns."""


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str = "nothing") -> None:
    """Print a table, wrapped on a terminal; in a pipe each row is a line of its own. `empty` without rows.

    A row that is shorter than `columns` has nothing in the last of them.
    """
    shown = [[_text(value) for value in [*row, *[""] * (len(columns) - len(row))]] for row in rows]
    if not shown:
        line(empty)
        return
    limit = width()
    if limit is None:
        _lines(columns, shown)
        return
    by_column = [[head, *(row[at] for row in shown)] for at, head in enumerate(columns)]
    least = [max(map(_least, texts)) for texts in by_column]
    if sum(least) + _GAP * (len(columns) - 1) > limit:
        _records(columns, shown)
        return
    widths = _widths(by_column, least, limit)
    for number, row in enumerate([list(columns), *shown]):
        for text in _wrapped_row(row, widths):
            write(_bold(text) if number == 0 else f"{text}\n")


def titled(lead: str, name: str, more: Sequence[str]) -> None:
    """Print `name` with `more` in brackets behind it; where both fit no line, the brackets have their own."""
    brackets, columns = f"({', '.join(more)})", width()
    if columns is None or cell_len(f"{lead}{name}  {brackets}") <= columns:
        hanging(lead, f"{name}  {brackets}", level="ok")
    else:
        hanging(lead, name, level="ok")
        hanging(" " * max(len(lead), _GAP), brackets)


def _lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print one line for each row, its columns below one another."""
    flat = [[*columns], *([" ".join(text.split()) if "\n" in text else text for text in row] for row in rows)]
    widths = [max(map(cell_len, texts)) for texts in zip(*flat, strict=True)]
    for row in flat:
        write(_padded(row, widths) + "\n")


def _padded(row: Sequence[str], widths: Sequence[int]) -> str:
    gap = " " * _GAP
    return gap.join(
        text + " " * (room - cell_len(text)) for text, room in zip(row, widths, strict=True)
    ).rstrip()


def _wrapped_row(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a row whose texts are wrapped to `widths`; no word in it is longer."""
    parts = [
        [text for own in value.split("\n") for text in _filled(own, room)]
        for value, room in zip(row, widths, strict=True)
    ]
    for at in range(max(map(len, parts))):
        yield _padded([texts[at] if at < len(texts) else "" for texts in parts], widths)


def _filled(text: str, room: int) -> list[str]:
    if cell_len(text) <= room:
        return [text]
    lines: list[str] = []
    for word in text.split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _widths(by_column: Sequence[Sequence[str]], least: Sequence[int], limit: int) -> list[int]:
    """Return the cells of each column of a table that fits: the widest give way, none below its words."""
    found = [max(cell_len(part) for text in column for part in text.split("\n")) for column in by_column]
    over = sum(found) + _GAP * (len(found) - 1) - limit
    while over > 0 and (wide := [at for at, size in enumerate(found) if size > least[at]]):
        found[max(wide, key=lambda at: found[at])] -= 1
        over -= 1
    return found


def _least(text: str) -> int:
    longest = max((cell_len(word) for word in text.split()), default=0)
    return max(longest, min(cell_len(text), LEAST_PROSE))


def _records(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print each row as lines of their own: the first column, and below it the others with their names."""
    names = max(len(name) for name in columns[1:])
    for row in rows:
        hanging("", row[0] or f"({columns[0]}: none)", level="ok")
        for name, text in zip(columns[1:], row[1:], strict=True):
            if text:
                hanging(f"  {name:<{names}}  ", text)


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m\n" if colours() else f"{text}\n"


def _text(value: object) -> str:
    return "" if value is None else harmless(str(value))
