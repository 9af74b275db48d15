"""The stores and labelled prompts of ``fixtures/recall``, laid out as files with their indexes made."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pipeline.core.ids import derived_id
from pipeline.domain.memory import Evidence, Memory
from pipeline.search import index_reader
from pipeline.search.meaning import words_file
from pipeline.search.refresh import refresh_index
from pipeline.search.vectors import word_table
from pipeline.search.vectors.embedded import has_wordllama
from pipeline.store import Store
from pipeline.store.files import document

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "recall"
NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
HALVES = ("dev", "test")


@dataclass(frozen=True, slots=True)
class Case:
    """A prompt, what was said before it, and the names of the memories that belong before it.

    One that is `acceptable` is neither missed when it stays away nor wrong when it comes.
    """

    prompt: str
    context: str
    relevant: frozenset[str]
    acceptable: frozenset[str]


@dataclass(frozen=True, slots=True)
class Project:
    """A project's store and its person's store for all projects, on disk, and its prompts."""

    name: str
    half: str
    home: Path
    store: Path
    user_store: Path
    cases: list[Case]

    def readers(self) -> list[index_reader.Reader]:
        """Return a reader of either store's index."""
        return [
            index_reader.Reader(index_reader.index_path(str(self.home), str(one)))
            for one in (self.store, self.user_store)
        ]


def load(name: str) -> dict[str, Any]:
    """Return one fixture as it stands in its file."""
    loaded: dict[str, Any] = json.loads((FIXTURES / f"{name}.json").read_text("utf-8"))
    return loaded


def names() -> list[str]:
    """Return the projects there are."""
    return sorted(path.stem for path in FIXTURES.glob("*.json"))


def laid_out(place: Path, *, together: bool = False, words: bool = True) -> list[Project]:
    """Return all projects, laid out below `place`.

    Homes have the table of word vectors where the extra is installed, unless `words` is false.

    With `together` the memories of all projects are in each one's store, those of the others being noise.
    """
    loaded = [load(name) for name in names()]
    everything = [row for one in loaded for row in one["memories"]]
    projects = []
    for one in loaded:
        home = place / one["project"] / "home"
        (home / "memory").mkdir(parents=True)
        project = Project(
            name=one["project"],
            half=one["half"],
            home=home,
            store=_filled(place / one["project"] / "store", everything if together else one["memories"]),
            user_store=_filled(home / "memory", one["user_memories"]),
            cases=[_case(row) for row in one["prompts"]],
        )
        if words and has_wordllama():
            _put_table(place, home)
        for store in (project.store, project.user_store):
            refresh_index(home, Store.open(store), NOW)
        projects.append(project)
    return projects


def _put_table(place: Path, home: Path) -> None:
    """Put the table of word vectors into `home`; it is made once for all that lie below `place`."""
    made = Path(words_file(str(place)))
    if not made.exists():
        word_table.make(place)
    file = Path(words_file(str(home)))
    file.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(made, file)


def _filled(store: Path, rows: Sequence[dict[str, Any]]) -> Path:
    store.mkdir(exist_ok=True)
    for row in rows:
        (store / f"{row['name']}.md").write_bytes(document.compose(_memory(row)))
    return store


def _memory(row: dict[str, Any]) -> Memory:
    said = NOW - timedelta(days=row["days"])
    source = Evidence(
        session=row.get("session", "earlier"), uuid=row["name"], quote="as said", at=said.isoformat()
    )
    return Memory(
        name=row["name"], description=row["description"], type=row["type"], body=row["body"],
        id=derived_id("recall", row["name"]), tags=tuple(row["tags"]), importance=row["importance"],
        created=said, updated=said, origin="user-stated", sources=(source,), cues=tuple(row.get("cues", ())),
    )  # fmt: skip


def _case(row: dict[str, Any]) -> Case:
    return Case(
        row["prompt"],
        row.get("context", ""),
        frozenset(row["relevant"]),
        frozenset(row.get("acceptable", ())),
    )
