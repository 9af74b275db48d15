"""What memories point at: files of the project that are gone, and memories that are not there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import orjson

from pipeline.core import paths
from pipeline.core.errors import ReverieError
from pipeline.diagnostics.audit.folder import File, Folder
from pipeline.domain.finding import Finding, Level
from pipeline.hooklib.plain import lines_of
from pipeline.store.ownership.access import owner
from pipeline.text.clauses import sentences

_CODE = re.compile(r"`([^`\n]{3,200})`")
_PATH = re.compile(r"(?:~/|/|\.{1,2}/)?(?:[\w.@+-]+/)+[\w.@+-]+/?")
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
_WIKI = re.compile(r"\[\[([^\]\n|#]{1,120})")
_HEAD_BYTES = 1 << 16
_STANDS_FOR = re.compile(r"YYYY|yyyy|JJJJ|(?<![A-Za-z])(?:MM|DD|NN+|XX+|xx+|nn+|N|X)(?![A-Za-z])|\.\.\.")
"""What stands for a day or a number in a path that names many files."""
_MOST_FOLDERS = 5_000
"""So many folders of a project are looked through for the end of a path."""
_SKIPPED = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", "vendor"))
# “A class `src/Label.php` is to be created.” · “`src/label.py` was created in May.”
_NOT_YET = re.compile(
    r"\b(?:(?:to|will|shall|should|must|can|could|would|might) be (?:\w+ )?(?:created|written|made"
    r"|added|generated|built"
    r"|introduced|named|called|put)|(?:not|n't|never) (?:yet |been )*(?:written|exist\w*|there|created"
    r"|made)|yet to\b"
    r"|still to\b|no longer|was (?:deleted|removed|renamed|moved)|were (?:deleted|removed|renamed"
    r"|moved)|planned"
    r"|does not exist|doesn't exist|is gone|used to|deleted|removed|renamed|will (?:write|create|add"
    r"|make|get|live|go)"
    r"|soll\w*|wird noch|noch nicht|gelöscht|entfernt|geplant|anzulegen|à créer|por crear|da creare)\b",
    re.IGNORECASE,
)
# “such as `docs/a.md`” · “see `docs/a.md`”
_ELSEWHERE = re.compile(
    r"\b(?:on|from|auf|sur|en) (?:the|his|her|their|my|a|dem|der|seinem|ihrem|le|el) (?:[^\W\d_]+ ){0,2}"
    r"(?:server|share|laptop|nas|drive|machine|desktop|stick|phone|tablet|rechner|laufwerk|serveur|ordinateur)\b"
    r"|\bin (?:the |his |her |their |an? |our )(?:\w+[ -])*(?!the\b)\w+(?:'s)? (?:repo|repository)\b"
    r"|\bbucket\b",
    re.IGNORECASE,
)
# “The report is written to `out/report.html`.” · “`src/report.py` writes it.”
_MADE = re.compile(
    r"\b(?:writes?|written|exports?|exported|saves?|saved|outputs?|generates?|creates?|produces?|renders?"
    r"|downloads?|schreibt|erzeugt|exportiert|speichert)(?: \w+){0,3} `?$",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"(?:\bfor (?:example|instance)|\be\.g\.|\bsuch as|\blike|\bsay|\bz\. ?B\.|\bzum Beispiel"
    r"|\bpar exemple|\bp\. ?ex\."
    r"|\bpor ejemplo|\bad esempio|\bnp\.|\bbijv\.|\bnamed|\bcalled|\bignores?|\bpattern)[\s,:]*"
    r"(?:an? |the |ein\w* )?(?:`[^`]*`(?:,|,? (?:or|and|oder|und))? )*`?$",
    re.IGNORECASE,
)


def project_of(root: Path) -> Path | None:
    """Return the project that the memory folder at `root` is about, as far as its surroundings tell.

    Known from Reverie's own mark in it, from the directory its sessions ran in (the transcripts beside it),
    or from the repository it lies in. None when nothing tells.
    """
    try:
        noted = owner(root)
    except ReverieError:
        noted = ""
    found = Path(noted) if noted else _ran_in(root.parent)
    if found is None and root.parent.parent.name != "projects":
        inside = paths.project_root(root)
        found = inside if inside != root.resolve() else None
    return found if found is not None and found.is_dir() else None


def _ran_in(folder: Path) -> Path | None:
    for file in sorted(folder.glob("*.jsonl"))[:20]:
        try:
            with file.open("rb") as opened:
                lines = opened.read(_HEAD_BYTES).split(b"\n")
        except OSError:
            continue
        for line in lines:
            try:
                record = orjson.loads(line)
            except ValueError:
                continue
            cwd = record.get("cwd") if isinstance(record, dict) else None
            if isinstance(cwd, str) and cwd.startswith("/"):
                return paths.project_root(Path(cwd))
    return None


def check(folder: Folder, project: Path | None) -> Iterator[Finding]:
    """Yield paths that lead nowhere and links to memories that are not there."""
    names = _names(folder)
    for file in folder.memories:
        yield from _dead(file, project)
        for number, line in enumerate(lines_of(file.text), start=1):
            for target in _WIKI.findall(line) if number >= file.body_line else ():
                if _fold(target) not in names:
                    what = f"links to [[{target}]], and no memory is called so"
                    yield Finding(
                        "note",
                        "dangling-name",
                        what,
                        "Mend the name, or take it out.",
                        path=file.path,
                        line=number,
                    )


def _dead(file: File, project: Path | None) -> Iterator[Finding]:
    named: set[str] = set()
    anchors = file.memory.anchors if file.memory else ()
    for text, sure in [*((a, True) for a in anchors), *_in_text(file.body)]:
        path = text.strip().partition(":")[0] if not re.match(r"[A-Za-z]+://", text) else ""
        if path in named or not _PATH.fullmatch(path) or not (sure or _looks_like_a_file(path)):
            continue
        named.add(path)
        if project is not None and _is_there(path, project) is False:
            what = f"names {path}, which is not in {project}"
            fix = "See whether the fact still holds: the file may have moved."
            level: Level = "warning" if sure else "note"
            yield Finding(level, "dead-path", what, fix, path=file.path, line=file.line_of(path))


def _in_text(body: str) -> Iterator[tuple[str, bool]]:
    """Yield what stands in backticks and is said to be there: no example, nothing yet to be made."""
    for sentence in sentences(body):
        for match in _CODE.finditer(sentence):
            before = sentence[: match.start()]
            elsewhere = _NOT_YET.search(sentence) or _ELSEWHERE.search(sentence)
            if not (elsewhere or _MADE.search(before) or _EXAMPLE.search(before)):
                yield match[1], False


def _looks_like_a_file(path: str) -> bool:
    """Whether it surely means a file: it has an extension, and no part of it is a stand-in."""
    parts = path.split("/")
    stand_in = any(part.lower() in ("path", "to", "foo", "bar", "...", "example") for part in parts)
    return bool(_EXTENSION.search(path)) and not stand_in and not _STANDS_FOR.search(path)


def _is_there(path: str, project: Path) -> bool | None:
    """Return whether `path` leads to a file of `project`; None where nobody can tell, as outside of it."""
    try:
        if path.startswith(("/", "~/")):
            whole = Path(os.path.normpath(Path(path).expanduser()))
            return os.path.lexists(whole) if whole.is_relative_to(project) else None
        whole = Path(os.path.normpath(project / path))
        if not whole.is_relative_to(project):
            return None
        if os.path.lexists(whole):
            return True
        # A package of a monorepo names its files from its own root, and a person the end of a path.
        return _ends_so(path.removeprefix("./").rstrip("/"), project)
    except (OSError, ValueError, RuntimeError):
        return None


def _ends_so(end: str, project: Path) -> bool | None:
    """Return whether some path in `project` ends with `end`; None where there are too many files to look."""
    first, _, below = end.partition("/")
    for seen, (here, folders, names) in enumerate(os.walk(project)):
        if seen == _MOST_FOLDERS:
            return None
        folders[:] = [name for name in folders if name not in _SKIPPED]
        found = Path(here, first, below)
        if (first in folders or first in names) and os.path.lexists(found):
            return True
    return False


def _names(folder: Folder) -> set[str]:
    found: set[str] = set()
    for file in folder.files:
        found.add(_fold(file.path.rsplit("/", 1)[-1]))
        if file.memory:
            found |= {_fold(name) for name in (file.memory.name, file.memory.title, *file.memory.aliases)}
    return found


def _fold(name: str) -> str:
    return name.strip().lower().rsplit("/", 1)[-1].removesuffix(".md").replace("_", "-").replace(" ", "-")
