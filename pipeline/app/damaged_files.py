"""State files that can't be read and so count as empty: which, what is lost by that, and what mends it.

Whoever reads one goes on without it, so that nothing stops. Here a person hears of it. Files that are made
anew from what is elsewhere, and caches, are not among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline.core import json_file, jsonl
from pipeline.core.errors import cause
from pipeline.core.home import Home
from pipeline.domain.finding import Finding
from pipeline.hooklib import home_files
from pipeline.store.soundness import damaged

CODE = "damaged file"
_DELETE = "Delete it; no memory is lost with it."
_OBJECTS = (
    (
        home_files.INSTALLED,
        ("files", "made", "had"),
        "how settings files were before installing is not known",
        f"Delete it, then `reverie install`; the files as they were stay in {home_files.BACKUPS}/.",
    ),
    (
        home_files.OPENAI_KEY,
        (),
        "no key for a server of vectors is known",
        "`reverie config embeddings` takes it anew.",
    ),
    (home_files.HOOK_STATE, (), "hooks tell nothing of the work", "`reverie work` makes it anew."),
    (home_files.WATCH, (), "how the watcher is, is not known", "`reverie watch` makes it anew."),
    (
        f"{home_files.MIRRORS}/*.json",
        ("known", "seen"),
        "what both sides of a mirror had is not known, so what one of them deleted since comes back",
        f"{_DELETE} Then `reverie agent-memory sync` compares both anew.",
    ),
    (
        f"{home_files.SYNCS}/*.json",
        ("version", "pairs"),
        "what both sides of a format's sync had is not known",
        f"{_DELETE} Then sync again.",
    ),
    (
        f"{home_files.SHARING}/*/turn.json",
        ("store",),
        "the background keeps a store no longer in step",
        "`reverie sync` there, or `reverie team sync`, makes it anew.",
    ),
    (
        f"{home_files.SHARING}/*/state.json",
        ("version", "store", "remote"),
        "a store can't be kept in step",
        f"{_DELETE} Then `reverie sync init`, or `reverie team join`, as at first.",
    ),
)
"""Files that hold a JSON object, by name or pattern in the home: its keys, what is lost, what mends it."""


def in_home(home: Path) -> Iterator[Finding]:
    """Yield what can't be read of the state in `home`."""
    for pattern, keys, lost, fix in _OBJECTS:
        for file in sorted(home.glob(pattern)) if "*" in pattern else (home / pattern,):
            wrong = json_file.fault(file, keys)
            if wrong:
                yield _of(file, f"{wrong}; {lost}", fix)
    yield from _of_lines(
        Home(home).allowed,
        "a folder that you allowed does not count",
        "`reverie allow` in its project says yes again.",
    )


def in_use(home: Path, stores: Iterable[Path]) -> list[dict[str, str]]:
    """Return file, message and fix of what can't be read in `home`, and of the small files of `stores`."""
    found = [*in_home(home)]
    for store in dict.fromkeys(path for path in stores if path.is_dir()):
        found += [_of(store / item.path, item.message, item.fix) for item in damaged(store)]
    return [{"file": item.path, "message": item.message, "fix": item.fix} for item in found]


def _of_lines(file: Path, lost: str, fix: str) -> Iterator[Finding]:
    try:
        lines = jsonl.parse(file.read_bytes())
    except FileNotFoundError:
        return
    except OSError as error:
        yield _of(file, f"{cause(error)}; {lost}", fix)
        return
    for number in lines.torn:
        yield _of(file, f"line {number} is no JSON; {lost}", f"Remove the line. {fix}")


def _of(file: Path, message: str, fix: str) -> Finding:
    return Finding("error", CODE, message, fix, str(file))
