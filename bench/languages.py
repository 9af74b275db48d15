"""What each language gets of search and recall: ``python -m bench.languages [--details]``.

The memories of `fixtures/languages`, sixteen languages in one store, are asked for twice: once with the
words that a memory has, once with the same words inflected, as somebody would type them. Counted is how many
of ten memories come among the first five, by `search` and by recall; the same of three more, which were
written after the endings and asked once; how many others recall brings with all these questions; and how many
of three prompts in that language, which need nothing, it leaves alone.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.app import search
from pipeline.app.application import App
from pipeline.core.ids import derived_id
from pipeline.domain.memory import Evidence, Memory
from pipeline.recall import Budget, retrieve
from pipeline.search.refresh import refresh_index
from pipeline.store import Store
from pipeline.store.files import document
from pipeline.text.slugs import slugify

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures" / "languages"
NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
FIRST = 5
WAYS = ("search, exact", "search, inflected", "recall, exact", "recall, inflected")
LATER = ("search, held back", "recall, held back")
HEADER = f"| language | {' | '.join((*WAYS, *LATER))} | others | left alone |"


@dataclass(slots=True)
class Row:
    """What one language gets: found memories by way, `others` that came by recall, and what it left alone."""

    language: str
    asked: int = 0
    others: int = 0
    idle: int = 0
    left_alone: int = 0
    found: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*WAYS, *LATER), 0))
    missed: list[str] = field(default_factory=list)

    def line(self) -> str:
        """Return the row of the table."""
        counts = " | ".join(str(self.found[way]) for way in (*WAYS, *LATER))
        return f"| {self.language} | {counts} | {self.others} | {self.left_alone} of {self.idle} |"


def load() -> dict[str, Any]:
    """Return what the fixtures hold, by language code."""
    return {file.stem: json.loads(file.read_text("utf-8")) for file in sorted(FIXTURES.glob("*.json"))}


@contextmanager
def laid_out(place: Path) -> Iterator[App]:
    """Yield the application over a store below `place` with the memories of all languages, indexed."""
    store = place / "store"
    store.mkdir()
    for one in load().values():
        for row in [*one["asked"], *one["beside"], *one.get("held_back", ())]:
            (store / f"{name_of(row)}.md").write_bytes(document.compose(_memory(row)))
    before = os.environ.get("CLAUDE_CONFIG_DIR")
    os.environ["CLAUDE_CONFIG_DIR"] = str(place / "claude")
    try:
        app = App(store=store)
        refresh_index(app.home, Store.open(store), NOW)
        yield app
    finally:
        if before is None:
            del os.environ["CLAUDE_CONFIG_DIR"]
        else:
            os.environ["CLAUDE_CONFIG_DIR"] = before


def name_of(row: dict[str, str]) -> str:
    """Return the name of the memory of a fixture."""
    return slugify(row["fact"])[:60].rstrip("-")


def rows(app: App, first: int | None = None) -> list[Row]:
    """Return what each language gets that has questions: of all, or of the `first` of each kind."""
    return [_row(app, one, first) for one in load().values() if one["asked"]]


def table(found: list[Row]) -> str:
    """Return `found` as the table of the documentation, with a last line of sums."""
    whole = Row(
        "**all**",
        sum(row.asked for row in found),
        sum(row.others for row in found),
        sum(row.idle for row in found),
        sum(row.left_alone for row in found),
        {way: sum(row.found[way] for row in found) for way in (*WAYS, *LATER)},
    )
    rule = "| --- |" + " ---: |" * (len(WAYS) + len(LATER) + 2)
    lines = [row.line() for row in sorted(found, key=lambda row: row.language)]
    return "\n".join([HEADER, rule, *lines, whole.line()])


def _row(app: App, one: dict[str, Any], first: int | None) -> Row:
    row = Row(one["language"])
    for case in one["asked"][:first]:
        row.asked += 1
        _ask(app, row, case, "exact", "exact")
        _ask(app, row, case, "inflected", "inflected")
    for case in one["held_back"][:first]:
        _ask(app, row, case, "inflected", "held back")
    for prompt in one["idle"][:first]:
        row.idle += 1
        came = _recalled(app, prompt)
        row.left_alone += not came
        row.missed += [f"idle: {prompt} -> {name}" for name in came]
    return row


def _ask(app: App, row: Row, case: dict[str, str], kind: str, column: str) -> None:
    question, wanted = case[kind], name_of(case)
    recalled = _recalled(app, question)
    row.others += len(set(recalled) - {wanted})
    for way, names in (("search", _searched(app, question)), ("recall", recalled)):
        if wanted in names:
            row.found[f"{way}, {column}"] += 1
        else:
            row.missed.append(f"{way}, {column}: {question} -> {case['fact']}")


def _searched(app: App, query: str) -> list[str]:
    return [hit.name for hit in search.search(app, query, limit=FIRST)]


def _recalled(app: App, prompt: str) -> list[str]:
    found = retrieve(prompt, app.store_path, Budget(), home=app.home, now=NOW.timestamp())
    return [item.name for item in found.items]


def _memory(row: dict[str, str]) -> Memory:
    source = Evidence(session="earlier", uuid=name_of(row), quote="as said", at=NOW.isoformat())
    return Memory(
        name=name_of(row), description=row["fact"], type="project", body=f"{row['fact']} {row['more']}\n",
        id=derived_id("languages", name_of(row)), created=NOW, updated=NOW, origin="user-stated",
        sources=(source,),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--details", action="store_true", help="name every miss")
    details = parser.parse_args().details
    with tempfile.TemporaryDirectory() as place, laid_out(Path(place)) as app:
        found = rows(app)
    print(table(found))
    for row in found if details else ():
        for line in row.missed:
            print(f"{row.language}: {line}")


if __name__ == "__main__":
    main()
