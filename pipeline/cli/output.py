"""The only module that prints: data to stdout, as text or as JSON; talk, progress and errors to stderr."""

from __future__ import annotations

import json
import os
import re
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
from rich.text import Text

from pipeline.clock import iso
from pipeline.errors import ReverieError

_talk = Console(stderr=True, highlight=False, soft_wrap=True)
_WIDE = 10_000
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|\r(?!\n)")
"""What could move the cursor, recolour a terminal or turn text round. Not all text is ours."""


def utf8() -> None:
    """Write UTF-8 whatever the locale says: memories hold every script."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


def data(value: Any, text: Callable[[], None], *, as_json: bool) -> None:
    """Print `value` as JSON, or call `text` to print it for a person."""
    if as_json:
        _write(_json(value) + "\n")
    else:
        text()


def _json(value: Any) -> str:
    try:
        return orjson.dumps(
            value, default=_plain, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
        ).decode()
    except orjson.JSONEncodeError:
        # A path whose bytes are no UTF-8; the standard library writes such bytes as lone surrogates.
        return json.dumps(value, default=_plain, indent=2)


def line(text: str = "") -> None:
    """Print one line of data, control characters replaced."""
    _write(harmless(text) + "\n")


def talk(text: str) -> None:
    """Say something that is not data."""
    _talk.print(harmless(text), markup=False)


def harmless(text: str) -> str:
    """Return `text` with every control character but newline and tab replaced."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output left (`reverie list | head`); nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table without frames, as wide as the terminal, or unwrapped into a pipe."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE)
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        shown.add_column(column, overflow="fold")
    for row in rows:
        shown.add_row(*(_cell(value) for value in row))
    with console.capture() as captured:
        console.print(shown)
    _write("\n".join(text.rstrip() for text in captured.get().split("\n")))


def fields(values: Mapping[str, object]) -> None:
    """Print ``name  value`` lines, names aligned."""
    width = max((len(name) for name in values), default=0)
    for name, value in values.items():
        line(f"{name:<{width}}  {value}")


def failure(error: ReverieError) -> None:
    """Print what went wrong, and after a blank line how to mend it."""
    talk(f"error: {error}")
    if error.fix:
        talk(f"\n{error.fix}")


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Show that something takes its time; the yielded function changes the words. Silent in a pipe."""
    if not _talk.is_terminal:
        yield lambda text: None
        return
    with _talk.status(what) as status:
        yield lambda text: status.update(text)


def _cell(value: object) -> Text:
    return Text("" if value is None else harmless(str(value)))


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
