"""Whether a person decided about a tool use: by the client's own fields, never by the words of a result.

What a tool says in an error is the tool's: a server of the Model Context Protocol can return the client's
own phrases, a hook can, and so can a program's output. What none of them can write is the record around it.
As seen with client 2.1.332 for the same words:

    who                          toolDenialKind     permissionDecision.source
    a person who refuses         user-rejected      user_reject, or none before the question came up
    an MCP server (isError)      (none)             config, user_…: about the call, which was let pass
    a PreToolUse hook            permission-rule    hook
    a PermissionRequest hook     permission-rule    hook
    a program that hosts it      permission-rule    user_reject

A host's own denial can't be told from the comment that somebody typed into its window: neither is taken.
Older clients have none of these fields; then the tool decides: it must be one whose errors the client words.
A record that does not say which client wrote it is no older client's.
"""

from __future__ import annotations

from typing import Any

_STAMPED_SINCE = (2, 1, 205)
"""From this version on a refusal that is a person's says so."""
_EXIT_CODE_SINCE = (2, 0, 76)
"""From this version on what a failed command printed stands behind “Exit code 1”; before, it stood alone."""
_COMMANDS = frozenset({"Bash", "PowerShell"})
_WORDED_BY_CLIENT = frozenset(
    {
        "Edit",
        "Write",
        "MultiEdit",
        "NotebookEdit",
        "NotebookRead",
        "Read",
        "Glob",
        "Grep",
        "LS",
        "TodoWrite",
        "WebFetch",
        "WebSearch",
        "Task",
        "Agent",
        "TaskOutput",
        "BashOutput",
        "KillShell",
        "TaskStop",
        "Skill",
        "SlashCommand",
        "EnterPlanMode",
        "ExitPlanMode",
        "exit_plan_mode",
        "AskUserQuestion",
    }
)
"""Tools of the client whose errors hold no text from elsewhere at their beginning."""
_NOBODY = ("toolDenialFromHost", "toolDenialUnanswered", "toolDenialAfterRun", "retiredByNoPersonsInput")
"""Marks of a denial that nobody gave, or gave by stopping the turn."""


def refused_by_person(record: dict[str, Any], tool: str, *, alone: bool = True) -> bool:
    """Say whether a person refused the tool use that the failed result in `record` belongs to.

    `tool` is the name in the tool use that the result names, "" when that was not seen. `alone` says that
    the record holds no other result: its fields would not say which of them they are about.
    """
    if any(map(record.get, _NOBODY)) or not _by_person(record):
        return False
    kind = record.get("toolDenialKind")
    if kind is not None:
        return kind == "user-rejected" and alone
    version = _version(record)
    if not version or version >= _STAMPED_SINCE:
        return False
    return tool in _WORDED_BY_CLIENT or (tool in _COMMANDS and version >= _EXIT_CODE_SINCE)


def let_pass_by_person(record: dict[str, Any]) -> bool:
    """Say whether a plan or a form was answered by a person: not by a rule, a hook or the model itself.

    A form that a person left open ends by itself; what had been chosen until then is theirs.
    """
    result = record.get("toolUseResult")
    left_open = isinstance(result, dict) and bool(result.get("afkTimeoutMs"))
    return _by_person(record) or (left_open and _source(record) == "config")


def _by_person(record: dict[str, Any]) -> bool:
    source = _source(record)
    return source is None or source.startswith("user")


def _source(record: dict[str, Any]) -> str | None:
    """Return who decided about the call, None when the record does not say."""
    decision = record.get("permissionDecision")
    source = decision.get("source") if isinstance(decision, dict) else None
    return source if isinstance(source, str) else None


def _version(record: dict[str, Any]) -> tuple[int, ...]:
    """Return the client's version as three numbers, () when the record does not say."""
    version = record.get("version")
    if not isinstance(version, str):
        return ()
    parts = version.split("-", 1)[0].split(".")
    # Digits alone need not be a number: “²” is one.
    return tuple(map(int, parts)) if len(parts) == 3 and all(map(_is_number, parts)) else ()


def _is_number(part: str) -> bool:
    return part.isascii() and part.isdigit() and len(part) < 9
