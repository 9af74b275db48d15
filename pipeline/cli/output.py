"""The only module that prints: data to stdout, as text or as JSON; talk, progress and errors to stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from pipeline.clock import iso
from pipeline.errors import ReverieError

_talk = Console(stderr=True, highlight=False, soft_wrap=True)


def utf8() -> None:
    """Write UTF-8 whatever the locale says: memories hold every script."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


def data(value: Any, text: Callable[[], None], *, as_json: bool) -> None:
    """Print `value` as JSON, or call `text` to print it for a person."""
    if as_json:
        dumped = orjson.dumps(value, default=_plain, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS)
        sys.stdout.write(dumped.decode() + "\n")
    else:
        text()


def line(text: str = "") -> None:
    """Print one line of data."""
    sys.stdout.write(text + "\n")


def talk(text: str) -> None:
    """Say something that is not data."""
    _talk.print(text, markup=False)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table without frames, as wide as the terminal, or unwrapped into a pipe."""
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 200)
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        shown.add_column(column, overflow="fold")
    for row in rows:
        shown.add_row(*(_cell(value) for value in row))
    console.print(shown)


def fields(values: Mapping[str, object]) -> None:
    """Print ``name  value`` lines, names aligned."""
    width = max((len(name) for name in values), default=0)
    for name, value in values.items():
        line(f"{name:<{width}}  {value}")


def failure(error: ReverieError) -> None:
    """Print what went wrong, and after a blank line how to mend it."""
    _talk.print(f"error: {error}", markup=False)
    if error.fix:
        _talk.print(f"\n{error.fix}", markup=False)


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Show that something takes its time; the yielded function changes the words. Silent in a pipe."""
    if not _talk.is_terminal:
        yield lambda text: None
        return
    with _talk.status(what) as status:
        yield lambda text: status.update(text)


def _cell(value: object) -> str:
    return "" if value is None else str(value).replace("[", r"\[")


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    if hasattr(value, "model_dump"):
        return value.model_dump()
    raise TypeError(f"{type(value).__name__} has no JSON form")
