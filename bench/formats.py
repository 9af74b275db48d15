"""Import, export and sync of 1,000 memories in each format, against reading and writing the same files."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path

from bench.measure import compare
from bench.row import OWN, Found, Group, Row, Target, found
from pipeline.app.application import App
from pipeline.app.carrying import export_to, import_from
from pipeline.app.syncing import sync_with
from pipeline.core.ids import derived_id
from pipeline.domain.memory import Memory
from pipeline.formats.carried import SAMPLE, Carried, Reading
from pipeline.formats.registry import NAMES, format_named

TITLE = "Formats of other programs"
_COUNT = 1_000
_READ = "reading the same files"
_FLOORS = {"import": f"{_READ}, writing the memories' files", "export": f"{_READ}, writing those there"}
_MOST: Mapping[str, float] = {"import": 350, "export": 200, "sync": 120}
_DEEDS: Mapping[str, str] = {
    "import": "1,000 memories taken in, one change",
    "export": "1,000 memories written",
    "sync": "1,000 memories held against those there, all the same",
}
_FILES = {"claude-mem": "memories.json", "mem0-json": "memories.json", "chatgpt-export": "conversations.json"}
_ROWS = tuple(
    Row(
        f"{verb}: {name}",
        f"`reverie {verb} {name}`: {work}",
        _FLOORS.get(verb, f"{_READ} on both sides"),
        Target(OWN, cpu=_MOST[verb]),
        how="in process, after one untimed round",
        full=True,
    )
    for name in NAMES
    for verb, work in _DEEDS.items()
)


def groups() -> list[Group]:
    """Return a group for each format."""
    return [
        Group(TITLE, tuple(row for row in _ROWS if row.name.endswith(f": {name}")), _of(name))
        for name in NAMES
    ]


def _of(name: str) -> Callable[[Path, int, Collection[str]], Mapping[str, Found]]:
    def measure(folder: Path, rounds: int, wanted: Collection[str]) -> Mapping[str, Found]:
        with _home(folder / "home"):
            return _measured(name, folder, rounds, wanted)

    return measure


def _measured(name: str, folder: Path, rounds: int, wanted: Collection[str]) -> Mapping[str, Found]:
    there, numbers = folder / "there" / _FILES.get(name, "notes"), count()
    _write(name, there)
    full = App(store=folder / "full")
    import_from(full, name, there)
    sync_with(full, name, there)
    stored, files = _files(folder / "full"), _files(there)

    def elsewhere(word: str) -> Path:
        return folder / f"{word}-{next(numbers)}"

    verbs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "import": (
            lambda: import_from(App(store=elsewhere("in")), name, there),
            lambda: _copied(files, stored, elsewhere("bare")),
        ),
        "export": (
            lambda: export_to(full, name, elsewhere("out") / there.name),
            lambda: _copied(stored, files, elsewhere("bare")),
        ),
        "sync": (
            lambda: sync_with(full, name, there),
            lambda: _copied([*stored, *files], [], elsewhere("bare")),
        ),
    }
    rows = {row.name: row for row in _ROWS if row.name in wanted}
    return {
        key: found(row, compare(*verbs[key.partition(":")[0]], rounds * row.rounds))
        for key, row in rows.items()
    }


@contextmanager
def _home(folder: Path) -> Iterator[None]:
    """Let what is measured keep its notes in `folder`, and ask no model."""
    mine = {"REVERIE_HOME": str(folder), "REVERIE_MODEL__PROVIDER": "offline"}
    before = {key: os.environ.get(key) for key in mine}
    os.environ.update(mine)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key)
            else:
                os.environ[key] = value


def _write(name: str, path: Path) -> None:
    format_ = format_named(name)
    records = [
        Carried(_memory(number, "task" if name == "keisei" else "decision")) for number in range(_COUNT)
    ]
    for file, data in format_.write(path, records, (), Reading()).files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data or b"")


def _memory(number: int, kind: str) -> Memory:
    text = (
        f"In harbour {number} ships of line {number * 7 % 1000} are unloaded from berth {number * 13 % 1000}."
    )
    return replace(
        SAMPLE,
        type=kind,
        name=f"harbour-{number}",
        title=f"Harbour {number}",
        description=text,
        body=f"{text}\n\nThe week before is quiet.\n",
        id=derived_id("bench", str(number)),
        pinned=False,
        sources=(),
        relations=(),
        aliases=(),
        replaces=(),
        steps=(),
        preconditions=(),
        postconditions=(),
    )


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(file for file in path.rglob("*") if _is_memory(file, path))


def _is_memory(file: Path, root: Path) -> bool:
    return file.is_file() and not any(part.startswith(".") for part in file.relative_to(root).parts)


def _copied(read: Collection[Path], write: Collection[Path], into: Path) -> None:
    """Read some files, and write the bytes of others into a new folder."""
    for file in read:
        file.read_bytes()
    if write:
        into.mkdir()
    for number, file in enumerate(write):
        (into / str(number)).write_bytes(file.read_bytes())
