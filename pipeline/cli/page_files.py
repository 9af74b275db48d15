"""Options and writing that commands share which make one self-contained page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import output
from pipeline.core import paths
from pipeline.core.atomic import write_atomic
from pipeline.core.errors import InputError

HtmlOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write it as one self-contained page to keep or send."),
]
RedactOption = Annotated[
    bool, typer.Option("--redact", help="With --html: leave out secrets and paths of this machine.")
]
_BEGINNING = 1_000


def require_fit(html: Path | None, *, redact: bool, as_json: bool) -> None:
    """Raise InputError for options that say nothing together, and for a file that is somebody else's."""
    if redact and html is None:
        raise InputError("--redact is about the page that --html writes", fix="Give --html FILE as well.")
    if html is not None and as_json:
        raise InputError("--html and --json exclude each other", fix="Give one of them.")
    if html is not None and html.exists() and not _is_ours(html):
        raise InputError(
            "there is another file already", file=str(html), fix="Give --html a name that is free."
        )


def write_page(html: Path, text: str, *, redacted: bool) -> None:
    """Write the page `text` to `html`, for the person alone, and say so."""
    if not html.absolute().parent.is_dir():
        raise InputError("there is no such folder", file=str(html.parent), fix="Make it, or name another.")
    write_atomic(html.absolute(), text.encode("utf-8", "replace"))
    output.line(f"written    {html}")
    if not redacted:
        output.talk("It has your memories as they are; --redact leaves out secrets and paths.")


def homes(*folders: Path) -> tuple[str, ...]:
    """Return what is taken out of a page wherever it stands: the person's home, and `folders`."""
    return (str(paths.home_dir()), str(Path.home()), *map(str, folders))


def _is_ours(html: Path) -> bool:
    from pipeline.web.alone import MARK

    if not html.is_file() or html.is_symlink():
        return False
    with html.open("rb") as file:
        return MARK.encode() in file.read(_BEGINNING)
