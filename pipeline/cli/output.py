"""The only module that prints: data to stdout, as text or as JSON; talk, progress and errors to stderr."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from pipeline.cli import cells, streams
from pipeline.cli.cells import cell_len
from pipeline.cli.progress import say
from pipeline.cli.streams import write
from pipeline.core.errors import InputError, ReverieError
from pipeline.safety.invisible import visible
from pipeline.safety.late import late

LEAST_PROSE = 16
"""Columns that some words need to be read on the rest of a line."""
_COLOURS = {"error": "31", "warning": "33", "note": "36", "ok": "32"}
_NARROW = 4
_PAGE = 80
_LEAST = 20
"""Columns a text gets however narrow the terminal is."""
_WORDS = late(r"(\s*)(\S+)")
_BREAKS = (late(r"(?<=/)(?=[^/])"), late(r"(?<=[^_-][_-])(?=[^_-])"), None)
"""Where a word too long for a line may break, the best places first; None is anywhere."""
_LEAD = late(r"\s*(?:\S+(?: \S+)?\s{2,}|[-*] )")
"""What stands before the words of a line: the mark of a list, or a label set apart by spaces."""
_CARRIAGE_RETURN = late(r"\r(?!\n)")


def data(value: Any, text: Callable[[], None], *, as_json: bool) -> None:
    """Print `value` as JSON, or call `text` to print it for a person."""
    if as_json:
        write(_json(value) + "\n")
    else:
        text()


def _json(value: Any) -> str:
    import orjson

    try:
        return orjson.dumps(
            value, default=_plain, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
        ).decode()
    except orjson.JSONEncodeError:
        # A path whose bytes are no UTF-8; the standard library writes such bytes as lone surrogates.
        return json.dumps(value, default=_plain, indent=2)


def plain(value: Any) -> dict[str, Any]:
    """Return the dataclass `value` as a mapping of its own fields, whose values stay as they are."""
    from dataclasses import fields as fields_of

    return {field.name: getattr(value, field.name) for field in fields_of(value)}


def shown(value: object) -> str:
    """Return a setting's value as a person writes it: as in the file, a text without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return json.dumps(value, ensure_ascii=False)
    return str(value) or '""'


def line(text: str = "") -> None:
    """Print a line of data, or several, control characters replaced; on a terminal wrapped between words."""
    write(_flowing(text, width()) + "\n")


def page(text: str) -> None:
    """Print what only a person reads, wrapped between words: to the terminal, to 80 columns without one."""
    write(_flowing(text, width() or _PAGE) + "\n")


def verbatim(text: str) -> None:
    """Print data as it is, but for control characters: a file, a diff, or what was fitted before."""
    write(harmless(text) + "\n")


def talk(text: str) -> None:
    """Say something that is not data, wrapped at words on a terminal; nothing for nothing."""
    if not text:
        return
    say(_flowing(text, _columns(sys.stderr)) + "\n")


def harmless(text: str) -> str:
    """Return `text` with all that could act on a terminal or hide there as U+FFFD. Not all text is ours."""
    shown = visible(text, instead="\N{REPLACEMENT CHARACTER}")
    # Alone it moves the cursor back, so that what follows stands in place of what was there.
    return _CARRIAGE_RETURN.sub("\N{REPLACEMENT CHARACTER}", shown) if "\r" in shown else shown


def width() -> int | None:
    """Return the columns of the terminal that data goes to, None when it goes elsewhere."""
    return _columns(sys.stdout)


def _columns(stream: TextIO) -> int | None:
    if not stream.isatty():
        return None
    try:
        own = os.get_terminal_size(stream.fileno())
    except OSError:
        return None
    # COLUMNS stands above what the terminal says, as everywhere.
    from shutil import get_terminal_size

    return get_terminal_size(own).columns or None


def _flowing(text: str, columns: int | None) -> str:
    """Return the lines of `text`, made harmless, as a terminal of `columns` has them (None: as is)."""
    lines = harmless(text).split("\n")
    if columns is None:
        return "\n".join(lines)
    return "\n".join(more for each in lines for more in wrapped(each, columns, hang=_hang_of(each, columns)))


def _hang_of(text: str, columns: int) -> str:
    """Return the blanks that later lines of `text` begin with: as far in as its words, behind any label.

    Without a label, or with one that takes half the line, two blanks further in than it begins.
    """
    lead = _LEAD.match(text)
    own = len(text) - len(text.lstrip(" ")) + 2
    return " " * (lead.end() if lead and lead.end() * 2 < columns else own)


def wrapped(text: str, columns: int, *, hang: str = "") -> list[str]:
    """Return `text`, one line of it, as lines of at most `columns` cells; later ones begin with `hang`.

    No word is broken that fits a line. A longer one, such as a path, breaks behind a slash, else behind a
    hyphen or the like, else anywhere, as scripts without spaces do. Wide characters count as two cells.
    Spaces between words stay as they are but where a line ends.
    """
    columns = max(columns, _LEAST + len(hang))
    lines, line = [], ""
    for gap, word in _WORDS.findall(text):
        if cell_len(line + gap + word) <= columns:
            line += gap + word
            continue
        fits = cell_len(hang + word) <= columns
        if line and (fits or columns - cell_len(line + gap) <= LEAST_PROSE):
            lines.append(line)
            line, gap = hang, ""
        line += gap
        for part in _parts(word, columns - len(hang)):
            if cell_len(line + part) > columns and line.strip():
                lines.append(line.rstrip())
                line = hang
            line += part
    return [*lines, line]


def _parts(word: str, columns: int) -> list[str]:
    """Return the pieces between which `word` may break to fit lines of so many `columns`."""
    found = [word]
    for pattern in _BREAKS:
        found = [
            piece
            for part in found
            for piece in ([part] if cell_len(part) <= columns else pattern.split(part) if pattern else part)
        ]
    return found


def hanging(lead: str, text: str, *, level: str = "") -> None:
    """Print `lead` and `text` on one line; on a terminal wrapped below the text, coloured as `level` says."""
    columns = width()
    if columns is None:
        line(lead + text)
        return
    flat = " ".join(harmless(text).splitlines()).strip()
    room = max(_LEAST, columns - len(lead))
    if len(lead) > _NARROW and max(map(cell_len, _BREAKS[0].sub(" ", flat).split()), default=0) > room:
        # A label as wide as that would break a word: the text goes below it.
        write(f"{_coloured(lead.rstrip(), level)}\n")
        lead, room = " " * _NARROW, columns - _NARROW
        write(lead)
    else:
        write(_coloured(lead, level))
    write(("\n" + " " * len(lead)).join(wrapped(flat, room)) + "\n")


def _coloured(text: str, level: str) -> str:
    colour = _COLOURS.get(level)
    return text if colour is None or not streams.colours() else f"\x1b[{colour}m{text}\x1b[0m"


def screens(draw: Callable[[int, int], Sequence[str]], *, seconds: float, frames: int = 0) -> None:
    """Show what `draw` (columns, lines) returns again every `seconds`, until Ctrl-C or for so many `frames`.

    On a terminal each frame is written over the last one, line by line, so that nothing flickers; elsewhere
    frames follow one another.
    """
    from shutil import get_terminal_size

    shown = 0
    terminal = sys.stdout.isatty()
    write("\x1b[?1049h\x1b[?25l" if terminal else "")
    try:
        while True:
            size = get_terminal_size()
            lines = [harmless(text) for text in draw(size.columns, size.lines)]
            if terminal:
                kept = [cells.cut(text, size.columns) for text in lines[: size.lines]]
                write("\x1b[H" + "\x1b[K\r\n".join(kept) + "\x1b[K\x1b[J")
            else:
                write("\n".join(lines) + "\n")
            shown += 1
            if shown == frames:
                return
            time.sleep(seconds)
    except KeyboardInterrupt:
        return
    finally:
        write("\x1b[?25h\x1b[?1049l" if terminal else "")


def fields(values: Mapping[str, object]) -> None:
    """Print ``name  value`` lines, names aligned."""
    width = max((len(name) for name in values), default=0)
    for name, value in values.items():
        hanging(f"{name:<{width}}  ", str(value))


def failure(error: ReverieError) -> None:
    """Print what went wrong, and after a blank line how to mend it."""
    talk(f"error: {error}")
    if error.fix:
        talk(f"\n{error.fix}")


def settings_trouble(error: ReverieError | None) -> None:
    """Say behind what a command showed that the settings it went by are not those of the file, if so."""
    if error is not None:
        talk(f"\n{error}. Until it is mended nothing is written and no model is asked.")


def can_ask() -> bool:
    """Whether a person sits before a terminal."""
    return sys.stdin.isatty()


def ask(question: str) -> bool:
    """Return whether a person says yes to `question`; True without asking where no terminal is."""
    if not can_ask():
        return True
    say(f"{_flowing(f'{question} [y/N]', _columns(sys.stderr))} ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def agreed(question: str, *, yes: bool, unasked: str, fix: str = "Add --yes.") -> bool:
    """Return whether a person says `yes`, in the command's options or to `question`.

    Raises InputError where nobody can be asked, saying that so nothing was done, which is `unasked`.
    """
    if not yes and not can_ask():
        raise InputError(f"{unasked}: here nobody can be asked", fix=fix)
    return yes or ask(question)


def _plain(value: Any) -> Any:
    from dataclasses import asdict, is_dataclass

    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, datetime):
        from pipeline.core.clock import iso

        return iso(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    if hasattr(value, "model_dump"):
        return value.model_dump()
    raise TypeError(f"{type(value).__name__} has no JSON form")
