"""Two weeks in which Claude writes every day and a dream runs every night.

Claude adds, edits and rewrites files, a person edits two of them, and a model merges and relates what it
finds. At the end no byte of the person's is lost, every file kept its identity, and every dream can be undone
to the very bytes before it.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.intake.authors import note_authors
from pipeline.llm.fakes import Scripted
from pipeline.llm.request import Request
from tests.support.claudes import Claude, put
from tests.support.dreaming import Dreaming, shown

TOPICS = ("mailer", "importer", "printer")
FACTS = (
    "listens on port {n}",
    "writes its log to /var/log/{t}-{n}",
    "is restarted on day {n}",
    "keeps {n} copies",
)
DAYS = 14
_LINE = re.compile(r"^    \[([mf]\d+)\.(\d+)\] (.*)$", re.MULTILINE)


def tidy(request: Request) -> Scripted:
    """Merge pairs that say one sentence in common, and relate two others."""
    text = request.messages[0].content
    handles = [handle for handle in shown(request).values() if handle.startswith("m")]
    said: dict[str, list[tuple[str, str]]] = {}
    for handle, number, sentence in _LINE.findall(text):
        said.setdefault(sentence.strip(), []).append((handle, number))
    operations: list[dict[str, object]] = []
    used: set[str] = set()
    for places in said.values():
        first = {handle: number for handle, number in reversed(places) if handle in handles}
        free = sorted(first.keys() - used)[:2]
        if len(free) == 2:
            one, other = free
            covered = [{"sentence": f"{other}.{first[other]}", "by": f"{one}.{first[one]}"}]
            operations.append(_op("merge", free, into=one, covered=covered))
            used |= {*free}
    rest = [handle for handle in handles if handle not in used][:2]
    if len(rest) == 2:
        operations.append(_op("relate", rest, relation="RELATED_TO"))
    return {"operations": operations}


def _op(kind: str, ids: list[str], **values: object) -> dict[str, object]:
    return {"op": kind, "ids": ids, "reason": f"{kind} in a simulation", **values}


@dataclass
class Weeks:
    """The folder over two weeks: what Claude knows it wrote, and what the person did."""

    bench: Dreaming
    rng: random.Random
    persons: dict[str, bytes] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    deeds: list[str] = field(default_factory=list)

    @property
    def root(self) -> Path:
        return self.bench.store.root

    def files(self) -> dict[str, bytes]:
        """The memory files of the folder, those of the archive among them."""
        found = {
            file.relative_to(self.root).as_posix(): file.read_bytes() for file in self.root.rglob("*.md")
        }
        made = ("MEMORY", "CORE", "REFLECTION", ".reverie", "episodes")
        return {path: data for path, data in found.items() if not path.startswith(made)}

    def live(self) -> list[str]:
        return sorted(path.removesuffix(".md") for path in self.files() if "/" not in path)

    def day(self, number: int) -> None:
        """Let a day pass: three to five deeds of Claude's, on two of the days one of the person's."""
        session = f"{number:08d}-0000-4000-8000-000000000000"
        claude = Claude(self.bench.ledger, self.root, self.bench.clock, session)
        claude.hears(f"day {number}: keep what you learn")
        for deed in range(self.rng.randint(3, 5)):
            free = [name for name in self.live() if f"{name}.md" not in self.persons]
            kind = self.rng.choice(("add", "add", "edit", "rewrite")) if free else "add"
            topic = self.rng.choice(TOPICS)
            text = f"The {topic} {self.fact(topic)}. The {topic} {self.fact(topic)}."
            if kind == "add":
                claude.writes(f"{topic}-{number}-{deed}", text)
            elif kind == "rewrite":
                claude.writes(self.rng.choice(free), text)
            else:
                name = self.rng.choice(free)
                body = (self.root / f"{name}.md").read_text("utf-8").rpartition("---\n")[2].strip()
                claude.edits(name, body.split("\n")[-1], f"{body.split(chr(10))[-1]} Seen on day {number}.")
        claude.read()
        if number in (4, 9):
            self.by_hand(number)

    def fact(self, topic: str) -> str:
        return self.rng.choice(FACTS).format(n=self.rng.randint(1, 2), t=topic)

    def by_hand(self, number: int) -> None:
        name = next(name for name in self.live() if f"{name}.md" not in self.persons)
        file = self.root / f"{name}.md"
        raw = file.read_bytes() + f"And by hand on day {number}.\n".encode()
        put(file, raw, self.bench.clock.now() + timedelta(hours=8))
        self.persons[file.name] = raw

    def night(self) -> None:
        """Dream; take it back to the byte, and do it again."""
        note_authors(self.bench.ledger, self.bench.store, now=self.bench.clock.now())
        before = self.files()
        report = self.bench.dream()
        assert report.word in ("done", "nothing"), report.reason
        if report.actions:
            after = self.files()
            assert after != before
            self.bench.store.undo(report.run_id)
            assert self.files() == before, "taken back, byte for byte"
            self.bench.store.undo(f"undo-{report.run_id}")
            assert self.files() == after, "and done again"
            self.deeds += [action.op for action in report.actions]
        for document in self.bench.store.scan().documents:
            assert self.ids.setdefault(document.path, document.id) == document.id, document.path


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.whole)])
def test_two_weeks_of_writing_between_dreams(bench: Dreaming, seed: int) -> None:
    weeks = Weeks(bench, random.Random(seed))
    bench.set(generations=50, retire_share=0.5)
    for number in range(DAYS):
        bench.model(tidy)
        weeks.day(number)
        weeks.night()
        bench.later(days=1)
    assert weeks.deeds.count("merge") >= 4 and weeks.deeds.count("relate") >= 3, "the dreams did something"
    assert len(weeks.persons) == 2
    for path, raw in weeks.persons.items():
        assert (weeks.root / path).read_bytes() == raw
    note_authors(bench.ledger, bench.store, now=bench.clock.now())
    authors = {document.path: document.identity for document in bench.store.scan().documents}
    assert all(known is None or known.tended for path, known in authors.items() if path not in weeks.persons)
    assert not any(known.tended for path in weeks.persons if (known := authors[path]) is not None)
