"""How wide a text is on a terminal, and texts of a given width. What is plain ASCII needs no table for it."""

from __future__ import annotations


def cell_len(text: str) -> int:
    """Return how many cells `text` takes; a wide character takes two."""
    if text.isascii() and text.isprintable():
        return len(text)
    from rich import cells

    return cells.cell_len(text)


def cut(text: str, columns: int) -> str:
    """Return `text` cut to what fits into `columns`, wide characters counted as two."""
    if cell_len(text) <= columns:
        return text
    return _sized(text, columns - 1).rstrip() + "…"


def fill(text: str, columns: int) -> str:
    """Return `text` cut or filled up to exactly `columns`."""
    return _sized(cut(text, columns), columns)


def _sized(text: str, columns: int) -> str:
    if text.isascii() and text.isprintable():
        return text[:columns].ljust(columns)
    from rich import cells

    return cells.set_cell_size(text, columns)
