"""Command sequences that sessions share. Nothing here knows what a command does: only that it came back.

Two commands are the same step when program, subcommand and the names of their options are equal; values,
paths and texts may differ. What only looks around (``ls``, ``git status``) and what failed is left out, and
what was done again at once counts once.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

SHORTEST = 3
LONGEST = 10
"""Steps of a sequence, at least and at most."""
_MOST_STEPS = 400
"""Steps of one session that are looked at, the last ones."""
_LONGEST_COMMAND = 2_000
_LOOKING = frozenset(
    {"ls", "cat", "head", "tail", "less", "more", "grep", "egrep", "rg", "ag", "find", "fd", "tree", "pwd"}
    | {"wc", "echo", "printf", "which", "whereis", "type", "file", "stat", "du", "df", "ps", "env", "date"}
    | {"printenv", "whoami", "id", "history", "man", "diff", "cmp", "sort", "uniq", "cut", "awk", "jq", "sed"}
    | {"true", "test", "[", "sleep", "read", "export", "cd", "pushd", "popd", "set", "unset", "source", "."}
)
_LOOKING_AT = frozenset({"status", "log", "show", "diff", "branch", "blame", "list", "ls", "view", "get"})
"""Subcommands by which one looks around, of any program."""
_NESTED = frozenset(
    {"npm", "yarn", "pnpm", "docker", "podman", "kubectl", "gh", "glab", "aws", "gcloud", "az", "helm"}
)
"""Programs whose subcommands are of two words."""
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_:+-]*\Z")
_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_APART = {"&&", "||", ";", "|", "&"}
_BEFORE = frozenset({"sudo", "env", "time", "nohup", "exec", "command", "npx", "uvx"})
"""Words before the program proper."""
_RUNNERS = frozenset({"uv", "poetry", "pipenv", "pdm", "hatch", "rye"})


class Command(NamedTuple):
    """One command that was run: where it is in its session's transcript, its text, and whether it went well.

    `uuid` is that of the record that ran it; `at` is when (ISO 8601), "" when nobody knows; `asked` is what
    the person typed last before it. Neither text holds a secret.
    """

    session: str
    uuid: str
    text: str
    succeeded: bool
    at: str = ""
    asked: str = ""


class Occurrence(NamedTuple):
    """One time that a sequence was done, in the order of its steps."""

    commands: tuple[Command, ...]

    @property
    def session(self) -> str:
        """Return the session in which it was done."""
        return self.commands[0].session


class Repeated(NamedTuple):
    """A sequence that sessions share: its steps in the form in which two are equal, and where it was done.

    `occurrences` are one for each session, the latest first.
    """

    steps: tuple[str, ...]
    occurrences: tuple[Occurrence, ...]


def step_of(command: str) -> str:
    """Return the form in which two commands are the same step, "" for one that only looks around.

    Of several commands in a row it is the form of each; of what can't be split the words of its first line.
    """
    text = command[:_LONGEST_COMMAND]
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        words = text.strip().partition("\n")[0].split()
    parts = [list(part) for is_mark, part in groupby(words, lambda word: word in _APART) if not is_mark]
    return " && ".join(filter(None, map(_form, parts)))


def _form(words: list[str]) -> str:
    words = [word for word in words if not _ASSIGNED.match(word)]
    while words and words[0] in _BEFORE:
        words = words[1:]
    if len(words) > 2 and words[0] in _RUNNERS and words[1] == "run":
        words = words[2:]
    if not words:
        return ""
    program, given = words[0].rpartition("/")[2], words[1:]
    if program in _LOOKING and not (program == "sed" and any(word.startswith("-i") for word in given)):
        return ""
    options = sorted({word.partition("=")[0] for word in given if word.startswith("-") and word != "-"})
    plain = [word for word in given if not word.startswith("-")]
    if program.startswith("python") and "-m" in options:
        program, options = f"python -m {plain[0] if plain else ''}".strip(), [o for o in options if o != "-m"]
        plain = plain[1:]
    named = [word for word in plain[: 2 if program in _NESTED else 1] if _WORD.match(word)]
    return "" if _LOOKING_AT.intersection(named) else " ".join((program, *named, *options))


def repeated(sessions: Iterable[Sequence[Command]], *, least: int = 2) -> list[Repeated]:
    """Return the sequences of `SHORTEST` to `LONGEST` steps that at least `least` sessions share.

    `sessions` hold the commands of one session each, oldest first. A sequence within a longer one is left
    out, though more sessions share it: nobody needs two procedures for one work. The one done last comes
    first, of equal ones the longer.
    """
    found: dict[tuple[str, ...], dict[str, Occurrence]] = {}
    for commands in sessions:
        steps = _steps(commands)
        keys = tuple(key for key, _ in steps)
        for size in range(SHORTEST, min(LONGEST, len(steps)) + 1):
            for at in range(len(steps) - size + 1):
                if len(set(keys[at : at + size])) >= SHORTEST:
                    done = Occurrence(tuple(command for _, command in steps[at : at + size]))
                    found.setdefault(keys[at : at + size], {})[done.session] = done
    shared = {steps: done for steps, done in found.items() if len(done) >= least}
    within = {part for steps in shared for part in (steps[1:], steps[:-1])}
    rows = [
        Repeated(steps, tuple(sorted(done.values(), key=_when, reverse=True)))
        for steps, done in shared.items()
        if steps not in within
    ]
    return sorted(rows, key=lambda row: (_when(row.occurrences[0]), len(row.steps), row.steps), reverse=True)


def _when(done: Occurrence) -> tuple[str, str]:
    return done.commands[-1].at, done.session


def _steps(commands: Sequence[Command]) -> list[tuple[str, Command]]:
    """Return the steps of a session, each with its form; of the same one several times at once the last."""
    made: list[tuple[str, Command]] = []
    for command in commands:
        key = step_of(command.text) if command.succeeded else ""
        if key and made and made[-1][0] == key:
            made[-1] = key, command
        elif key:
            made.append((key, command))
    return made[-_MOST_STEPS:]
