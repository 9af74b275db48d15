"""What is asked most, or must begin soon: ``--help``, ``status``, ``ingest --dir``, ``mcp``, past the tree.

The tree takes longer to load than these take to answer. It gives the same bytes, which a test compares. What
is not exactly one of these goes to it.
"""

import os
import sys

from pipeline import __version__
from pipeline.cli import streams
from pipeline.hooklib import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_COLUMNS, _LEAST_COLUMNS = streams.USUAL, 50
_MARGIN = 2
STDIN_LIMIT = 1 << 20
"""Bytes of a session's JSON that `statusline` reads."""


def answered(arguments: "Sequence[str]") -> bool:
    """Answer `arguments` if they are what can be answered here; return whether they were."""
    if streams.completes():
        return False
    if arguments == ["--version"]:
        streams.write(f"reverie {__version__}\n")
    elif arguments == ["statusline"]:
        statusline()
    elif arguments in (["status"], ["status", "--json"]):
        status(as_json=len(arguments) > 1)
    elif len(arguments) == 3 and _is_ingest(*arguments):
        ingest(arguments[2])
    elif (profile := served(arguments)) != "":
        serve(profile)
    elif arguments in (["--help"], ["-h"], ["help"]):
        text = top_help(streams.columns())
        if not text:
            return False
        streams.write(text)
    else:
        return False
    return True


def _is_ingest(command: str, option: str, folder: str) -> bool:
    return (command, option) == ("ingest", "--dir") and folder[:1] not in ("", "-")


def status(*, as_json: bool) -> None:
    """Print the state of everything."""
    from pipeline.app.application import App
    from pipeline.cli.screen import show

    show(App(), as_json=as_json)


def ingest(folder: str) -> None:
    """Read all transcripts below `folder`."""
    from pathlib import Path

    from pipeline.cli import ingesting, output

    output.settings_trouble(ingesting.ingest(folder=Path(folder)).config_error)


def served(arguments: "Sequence[str]") -> str:
    """Return the profile that an MCP client asks for, "" where `arguments` ask for something else."""
    if list(arguments[:1]) != ["mcp"]:
        return ""
    from pipeline.server import tools

    options = " ".join(arguments[1:]).replace("--profile=", "--profile ").split(" ")
    if arguments[1:] and (len(options) != 2 or options[0] != "--profile"):
        return ""
    profile = options[1] if arguments[1:] else tools.LEAN
    return profile if profile in tools.PROFILES else ""


def serve(profile: str) -> None:
    """Serve over stdio until the client goes. It waits for the first answer, so nothing else is loaded."""
    from pipeline.server import stdio
    from pipeline.server.requests import Requests

    stdio.serve(Requests(profile))


def statusline() -> None:
    """Print one line for Claude Code's status line, of the session whose JSON stdin has."""
    from pipeline.hooklib import statusline

    data = b"" if sys.stdin.isatty() else sys.stdin.buffer.read(STDIN_LIMIT)
    streams.write(statusline.line(data, places.home_dir()) + "\n")


def top_help(columns: int) -> str:
    """Return what ``reverie --help`` prints on so many columns; "" where its first line does not fit."""
    from pipeline.cli import table

    width = max(min(columns, _MOST_COLUMNS) - _MARGIN, _LEAST_COLUMNS)
    usage = f"Usage: {_program()} {table.USAGE}"
    if len(usage) > width:
        return ""
    lines = [usage, "", *_filled(table.ABOUT, width, "  "), "", "Options:", *_options(width)]
    names = max(len(name) for commands in table.COMMANDS.values() for name in commands)
    for title, commands in table.COMMANDS.items():
        lines += ["", f"{title}:"]
        lines += [
            f"  {name:<{names}}  {shortened(entry.help, width - 6 - names)}"
            for name, entry in commands.items()
        ]
    return "\n".join(lines) + "\n"


def shortened(text: str, most: int) -> str:
    """Return `text` in at most so many characters: the words that fit, and ``...`` for those that don't."""
    if len(text) <= most:
        return text
    words = text.split()
    while words and len(" ".join(words)) + len("...") > most:
        words.pop()
    return f"{' '.join(words)}..."


def _options(width: int) -> "Iterator[str]":
    from pipeline.cli import table

    names = max(map(len, table.OPTIONS))
    for name, text in table.OPTIONS.items():
        first, *more = _filled(text, width - names - 2 * _MARGIN, "")
        yield f"  {name:<{names}}  {first}"
        for line in more:
            yield f"{'':<{names + 2 * _MARGIN}}{line}"


def _filled(text: str, width: int, indent: str) -> "list[str]":
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(indent + word)
    return lines


def _program() -> str:
    """Return how the program was called: by its file, or as a module of Python's."""
    package = getattr(sys.modules["__main__"], "__package__", None)
    name = os.path.basename(sys.argv[0])
    return f"python -m {package}.{os.path.splitext(name)[0]}" if package else name
