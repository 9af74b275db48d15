"""Registering the MCP server with programs: the file of each, what is put in, and how it comes out again.

Changes are made and taken back as those of Claude Code's settings are (`pipeline.install.hooks`): as long as
nobody else changed the file its former bytes come back, after that our entry alone goes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core import paths
from pipeline.core.errors import InputError, UsageError
from pipeline.hooklib import places
from pipeline.install import claude_settings, jsonc_edit, toml_entry
from pipeline.install.json_edit import BadJsonError

NAME = "reverie"
"""Of the server in every file."""
CLAUDE_CODE = "claude-code"
_TOML = ".toml"
_MODULE = ("-P", "-m", "pipeline.cli.main")
_UNTOUCHED = "Nothing was changed in it."


@dataclass(frozen=True, slots=True)
class Client:
    """A program: how it is called, where its servers stand, by which key, and what an entry has besides."""

    title: str
    file: Callable[[], Path]
    key: str = "mcpServers"
    more: tuple[tuple[str, str], ...] = ()


def _in_home(path: str) -> Callable[[], Path]:
    return lambda: Path.home() / path


def _in_settings(path: str) -> Callable[[], Path]:
    """Return where programs keep settings that follow the system: ``~/.config``, or its like elsewhere."""

    def file() -> Path:
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Application Support" / path
        roaming = places.variable("APPDATA") if sys.platform == "win32" else ""
        return (Path(roaming) if roaming else paths.user_config_dir()) / path

    return file


def _of_codex() -> Path:
    named = places.variable("CODEX_HOME")
    return (Path(named) if named else Path.home() / ".codex") / f"config{_TOML}"


def _of_claude_code() -> Path:
    return Path(places.client_file())


CLIENTS: Mapping[str, Client] = {
    CLAUDE_CODE: Client("Claude Code", _of_claude_code, more=(("type", "stdio"),)),
    "claude-desktop": Client("Claude Desktop", _in_settings("Claude/claude_desktop_config.json")),
    "codex": Client("Codex", _of_codex, key="mcp_servers"),
    "cursor": Client("Cursor", _in_home(".cursor/mcp.json")),
    "gemini": Client("Gemini CLI", _in_home(".gemini/settings.json")),
    "vscode": Client("VS Code", _in_settings("Code/User/mcp.json"), key="servers", more=(("type", "stdio"),)),
    "zed": Client("Zed", lambda: _zed(), key="context_servers"),
}


def _zed() -> Path:
    return (
        Path.home() / ".config" if sys.platform == "darwin" else paths.user_config_dir()
    ) / "zed/settings.json"


def named(name: str) -> Client:
    """Return the client called `name`; UsageError where there is none."""
    if name not in CLIENTS:
        raise UsageError(f"there is no client {name!r}", fix=f"Clients: {', '.join(CLIENTS)}.")
    return CLIENTS[name]


def of_file(file: Path) -> Client | None:
    """Return the client whose servers stand in `file`."""
    return next((client for client in CLIENTS.values() if client.file() == file), None)


def plan(client: Client) -> tuple[Path, str | None, str]:
    """Return the file of `client`, its text, and that with our server. InputError where it can't be used."""
    file = client.file()
    before = claude_settings.read(file)
    return file, before, _with_server(before or "", client, file)


def without_server(text: str, client: Client, file: Path, *, before: str) -> str:
    """Return `text` without our server; what was empty `before` stays, and a server that is not ours.

    Raises InputError where the file can't be used.
    """
    try:
        if not _is_ours(_known(text, client, file)):
            return text
        if file.suffix == _TOML:
            return toml_entry.without_table(text, client.key, NAME)
        keep = client.key in jsonc_edit.value_of(before)
        return jsonc_edit.without_member(text, client.key, NAME, keep_outer=keep)
    except (BadJsonError, toml_entry.BadTomlError) as error:
        raise _unusable(file, client, error) from error


def has_server(text: str, client: Client, file: Path) -> bool:
    """Whether `text` names our server. InputError where it can't be used."""
    return without_server(text, client, file, before="") != text


def entry(client: Client) -> dict[str, Any]:
    """Return what starts our server."""
    command, *arguments = _program()
    return {**dict(client.more), "command": command, "args": [*arguments, "mcp"]}


def _with_server(text: str, client: Client, file: Path) -> str:
    try:
        known = _known(text, client, file)
        if known is None:
            change = toml_entry.with_table if file.suffix == _TOML else jsonc_edit.with_member
            return change(text, client.key, NAME, entry(client))
        if not _is_ours(known):
            raise InputError(
                f"there is a server called {NAME} already, which is not ours",
                file=str(file),
                fix=f"Give it another name there, or take it out, then run this again. {_UNTOUCHED}",
            )
        moved = _moved(known)
        if not moved:
            return text
        change = toml_entry.with_values if file.suffix == _TOML else jsonc_edit.with_values
        return change(text, client.key, NAME, moved)
    except (BadJsonError, toml_entry.BadTomlError) as error:
        raise _unusable(file, client, error) from error


def _known(text: str, client: Client, file: Path) -> Any:
    """Return what stands as a server of our name, None where nothing does."""
    if file.suffix == _TOML:
        return toml_entry.table_of(text, client.key, NAME)
    return jsonc_edit.member_of(text, client.key, NAME)


def _is_ours(known: object) -> bool:
    """Whether an entry starts our server, from wherever it was and with whatever else a person chose."""
    command, arguments = _started(known)
    by_module = arguments[: len(_MODULE)] == list(_MODULE)
    rest = arguments[len(_MODULE) :] if by_module else arguments
    name = command.replace("\\", "/").rpartition("/")[2]
    return (by_module or name.removesuffix(".exe") == NAME) and "mcp" in rest


def _moved(known: object) -> dict[str, Any]:
    """Return what must change for our entry to start the program that is here; its arguments stay.

    {} where it does.
    """
    command, arguments = _started(known)
    here, *before = _program()
    after = arguments[len(_MODULE) :] if arguments[: len(_MODULE)] == list(_MODULE) else arguments
    if (command, arguments) == (here, [*before, *after]):
        return {}
    return {"command": here, "args": [*before, *after]}


def _started(known: object) -> tuple[str, list[str]]:
    values = known if isinstance(known, dict) else {}
    command, arguments = values.get("command"), values.get("args")
    return (
        command if isinstance(command, str) else "",
        [*map(str, arguments)] if isinstance(arguments, list) else [],
    )


def _program() -> list[str]:
    """Return what runs `reverie` from anywhere: its script, the checkout's, or else the module."""
    for script in (Path(sys.executable).with_name("reverie"), paths.PACKAGE.parent / "bin" / "reverie"):
        if script.is_file():
            return [str(script)]
    return [sys.executable, *_MODULE]


def _unusable(file: Path, client: Client, error: ValueError) -> InputError:
    line = error.line if isinstance(error, BadJsonError) else None
    fix = claude_settings.MEND
    if isinstance(error, toml_entry.OddTomlError):
        fix = f"Give each server a table of its own, [{client.key}.NAME], then run this again. {_UNTOUCHED}"
    return InputError(str(error), file=str(file), line=line, fix=fix)
