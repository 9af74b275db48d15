"""Prompts: the files ``prompts/<name>.md``, with strict variables.

A file has front matter with exactly ``title``, ``purpose`` and ``variables`` (a list of names), and a body in
which ``{{ name }}`` stands for a value. Every declared variable is used and every used one declared, or
loading fails with the file's name and line; values go in as they are, but for tags of the prompt's own, and
are never expanded again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pipeline.core import paths
from pipeline.core.errors import PromptError
from pipeline.core.ids import digest
from pipeline.hooklib.memory_format import split_front_matter
from pipeline.safety.markup import without_tags

_NAME = re.compile(r"[a-z0-9_]+([.-][a-z0-9_]+)*")
_PLACE = re.compile(r"\{\{ ?([a-z_][a-z0-9_]*) ?\}\}")
_BRACES = re.compile(r"\{\{|\}\}")
_TAG = re.compile(r"(?m)^<([a-z_]+)")
_KEYS = {"title", "purpose", "variables"}


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. `digest` is of the body before values go in, so it names the wording."""

    name: str
    title: str
    purpose: str
    variables: frozenset[str]
    body: str
    file: Path

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the body."""
        return digest(self.body)

    def render(self, **values: object) -> str:
        """Return the body with `values` in place; raises PromptError on a missing or an extra one.

        A tag of the body's own, or of the host's, is broken where it stands in a value: no value ends before
        its place does.
        """
        given = set(values)
        wrong = [f"{name} is missing" for name in sorted(self.variables - given)]
        wrong += [f"{name} is not a variable" for name in sorted(given - self.variables)]
        if wrong:
            raise PromptError(
                "; ".join(wrong), file=str(self.file), fix="Give exactly the variables that the file lists."
            )
        tags = _TAG.findall(self.body)
        return _PLACE.sub(lambda match: without_tags(str(values[match.group(1)]), tags), self.body)


def names(folder: Path | None = None) -> list[str]:
    """Return the names of all prompts, sorted."""
    return sorted(
        file.stem for file in (folder or paths.bundled("prompts")).glob("*.md") if _NAME.fullmatch(file.stem)
    )


def load(name: str, folder: Path | None = None) -> Prompt:
    """Return the prompt `name`, from the bundled prompts unless `folder` is given.

    Raises PromptError when the file is missing, its front matter is off, or body and ``variables`` differ.
    """
    file = (folder or paths.bundled("prompts")) / f"{name}.md"
    if not _NAME.fullmatch(name):
        raise PromptError(
            f"{name!r} is no prompt name", fix="Use lower-case letters, digits, '_', '-' and '.'."
        )
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"can't be read: {error}", file=str(file), fix="Install Reverie anew.") from error
    return _made(name, text, file)


@lru_cache
def _made(name: str, text: str, file: Path) -> Prompt:
    meta, body = _front_matter(text, file)
    variables = _variables(meta, file)
    first_line = text[: text.find(body)].count("\n") + 1 if body else 1
    _check(body, variables, file, first_line)
    return Prompt(name, str(meta["title"]), str(meta["purpose"]), variables, body, file)


def _front_matter(text: str, file: Path) -> tuple[dict[str, Any], str]:
    import yaml  # deferred: most commands never need a YAML parser

    front, body = split_front_matter(text)
    try:
        meta = yaml.safe_load(front or "")
    except yaml.YAMLError as error:
        raise PromptError(
            f"front matter is not YAML: {error}", file=str(file), fix="Mend the YAML."
        ) from error
    if not isinstance(meta, dict):
        meta = {}
    if set(meta) != _KEYS:
        off = ", ".join(sorted(set(map(str, meta)) ^ _KEYS))
        raise PromptError(
            f"front matter needs exactly {', '.join(sorted(_KEYS))}; off: {off}",
            file=str(file),
            line=1,
            fix="Add or remove these keys.",
        )
    return meta, body.strip()


def _variables(meta: dict[str, Any], file: Path) -> frozenset[str]:
    listed = meta["variables"] or []
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise PromptError(
            "variables is not a list of names", file=str(file), fix="Write variables: [one, two]."
        )
    return frozenset(listed)


def _check(body: str, variables: frozenset[str], file: Path, first_line: int) -> None:
    """Raise PromptError for a placeholder that is undeclared, unused or misspelt."""
    used = set()
    for number, line in enumerate(body.split("\n"), first_line):
        found = set(_PLACE.findall(line))
        used |= found
        stray = _BRACES.search(_PLACE.sub("", line))
        undeclared = found - variables
        if stray or undeclared:
            what = f"{', '.join(sorted(undeclared))} is not in variables" if undeclared else "stray braces"
            raise PromptError(
                what, file=str(file), line=number, fix="Write {{ name }} for a listed variable."
            )
    if variables - used:
        raise PromptError(
            f"{', '.join(sorted(variables - used))} is listed but never used",
            file=str(file),
            line=1,
            fix="Use it or take it off the list.",
        )
