"""How ``claude -p`` is called: its arguments, its environment, and what goes to its standard input.

Source: the host's CLI reference and hook contract. The child must not fire hooks, load a project's
instructions, run tools, keep a transcript, or bill an account the person did not choose.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.core.errors import TooLongError, UnavailableError
from pipeline.hooklib import places
from pipeline.hooklib.events import SENTINEL
from pipeline.llm import logins, model_names
from pipeline.llm.request import Request

if TYPE_CHECKING:
    from pipeline.config import ModelSettings

MAX_ARGUMENT = 4096
"""Bytes; longer text never goes on the command line, which has a limit and which anyone can read."""
MAX_STDIN = 10_000_000
"""Bytes that the client takes on its standard input, a little under its own limit of 10 MB."""

_NEWER_FLAGS = (
    "--json-schema",
    "--tools",
    "--no-session-persistence",
    "--safe-mode",
    "--disable-slash-commands",
)
_PASSED = frozenset(
    {"PATH", "HOME", "LANG", "LANGUAGE", "TMPDIR", "CLAUDE_CONFIG_DIR"}
    # In what Claude Code starts these are the settings' own (`core.network`).
    | {"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}
    | {"http_proxy", "https_proxy", "no_proxy"}
)
_PASSED_PREFIXES = ("LC_",)
_TYPED = frozenset({"TZ", "TERM", "TMP", "TEMP", "SSL_CERT_DIR", "ALL_PROXY", "all_proxy"})
"""What passes besides where a person typed the command in a shell of their own; so does ``XDG_``."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call, ready to run. `files` are to be written beside it first, by path."""

    argv: tuple[str, ...]
    stdin: bytes
    files: Mapping[Path, bytes]


def flags_in(help_text: str) -> frozenset[str]:
    """Return which of the newer options ``claude --help`` names."""
    found = {flag for flag in _NEWER_FLAGS if re.search(rf"(?<![\w-]){flag}(?![\w-])", help_text)}
    if re.search(r"--system-prompt(-file\b|\[-file\])", help_text):
        found.add("--system-prompt-file")
    return frozenset(found)


def invocation(
    program: Path,
    flags: frozenset[str],
    request: Request,
    schema: Mapping[str, Any],
    folder: Path,
    *,
    alias: bool = False,
) -> Invocation:
    """Return how to ask `request` of the client at `program`, which knows `flags`.

    `folder` is where a file for the system prompt may be put; with `alias` the model is named as the client
    names it. Options that every version takes but
    ``--help`` hides are given always. Raises UnavailableError for a client too old to be kept from its
    tools, and TooLongError for a prompt that its standard input does not take.
    """
    if "--tools" not in flags:
        raise UnavailableError(f"{program} is too old to run without tools.", fix="Update Claude Code.")
    argv = [str(program), "-p", "--output-format", "json", "--model"]
    argv += [model_names.for_client(request.model) if alias else request.model]
    argv += ["--max-turns", "3"]
    argv += ["--tools", "", "--disallowedTools", "mcp__*", "--strict-mcp-config"]
    argv += ["--settings", '{"disableAllHooks":true}']
    argv += [
        flag
        for flag in ("--safe-mode", "--disable-slash-commands", "--no-session-persistence")
        if flag in flags
    ]
    parts = []
    files = {}
    system = request.system
    if system and "--system-prompt-file" in flags:
        file = folder / f"system-{os.getpid()}-{os.urandom(4).hex()}.md"
        files[file] = system.encode("utf-8", "replace")
        argv += ["--system-prompt-file", str(file)]
    elif system and _fits(system):
        argv += ["--system-prompt", system]
    elif system:
        parts.append(system)
    wanted = json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
    if "--json-schema" in flags and _fits(wanted):
        argv += ["--json-schema", wanted]
    else:
        parts.append(f"Output: one JSON value that fits this JSON Schema, and nothing else.\n{wanted}")
    stdin = "\n\n".join([*parts, _conversation(request)]).encode("utf-8", "replace")
    if len(stdin) > MAX_STDIN:
        raise TooLongError(f"The prompt is {len(stdin):,} bytes.", fix="Ask about less at once.")
    return Invocation(tuple(argv), stdin, files)


def environment(program: Path, settings: ModelSettings) -> dict[str, str]:
    """Return the child's whole environment: an allow-list, our sentinel, and the host's own switches.

    A key, token, cloud switch or address goes in only when the settings name it (`logins`), so that what
    happens to be set where a hook ran bills nobody. The client asks once: trying again is `llm.retry`'s, and
    a login that is refused would be refused again. The program's folder is put on PATH, since a scheduler's
    PATH may lack its interpreter.
    """
    typed = not places.by_client()
    names = _PASSED | (_TYPED if typed else frozenset())
    prefixes = (*_PASSED_PREFIXES, *(("XDG_",) if typed else ()))
    variables = {
        name: value for name, value in os.environ.items() if name in names or name.startswith(prefixes)
    }
    variables |= _user() | logins.passed(settings)
    searched = places.search_path(places.home_dir()).split(os.pathsep)
    variables["PATH"] = os.pathsep.join(dict.fromkeys([*filter(None, searched), str(program.parent)]))
    variables |= {
        SENTINEL: "1",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "DISABLE_AUTOUPDATER": "1",
        # Clients such as 2.1.197 would ask a model for a title of the prompt, which no ledger row would show.
        "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",
    }
    key, token = logins.key(settings), logins.token(settings)
    if key:
        variables[logins.KEY] = key
    if token:
        variables[logins.TOKEN] = token
    if settings.base_url:
        variables[logins.URL] = settings.base_url
    return variables


def _user() -> dict[str, str]:
    """Return who runs this, as the system knows it: the client looks for its login under that name.

    No variable says it, nor which shell there is: a project can set them, and none is needed without tools.
    """
    try:
        # Not on every system.
        import pwd

        name = pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return {}
    return {"USER": name, "LOGNAME": name}


def _fits(text: str) -> bool:
    return len(text.encode("utf-8", "replace")) <= MAX_ARGUMENT and "\0" not in text


def _conversation(request: Request) -> str:
    """Return the turns as one prompt; a single one as it is."""
    if len(request.messages) == 1:
        return request.messages[0].content
    return "\n\n".join(f'<turn role="{m.role}">\n{m.content}\n</turn>' for m in request.messages)
