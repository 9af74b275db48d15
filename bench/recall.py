"""Which way of finding memories is best: words, vectors, or both, on messy prompts of four invented projects.

    python -m bench.recall [--half dev|test] [--misses]

``fixtures/recall/*.json`` hold a project's memories, those of its person for all projects, and prompts with
the memories that bear on them: typed fast, in several languages, most of them with nothing that does. Two
projects (half ``dev``) may be used to choose constants; the other two (``test``) are only looked at.

Columns: prompts with something relevant that got any of it (hit) and the share of the relevant memories that
were among the five given (recall@5); of all given, the share that was relevant or acceptable (precision);
prompts with nothing relevant that got nothing (silent); tokens a prompt on average. The vectors' threshold
and the weight of a fusion are the best on dev, by hits with at least as many silent prompts as words have.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pipeline import embeddings
from pipeline.domain.memory import Evidence, Memory
from pipeline.embeddings import WordLlamaEmbedder
from pipeline.errors import EmbeddingError
from pipeline.ids import derived_id
from pipeline.indexing import refresh_index
from pipeline.recall import Budget, retrieve
from pipeline.recall.question import ask as question_of
from pipeline.search import ask
from pipeline.search.words import terms
from pipeline.store import ChangeSet, Store

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "recall"
NOW = datetime(2026, 11, 27, 10, tzinfo=UTC)
MOST = 5
Given = tuple[list[str], int]
"""The names of the memories given, best first, and how many tokens they took."""


@dataclass(frozen=True)
class Prompt:
    """A prompt, what was said before it, and the names of the memories that bear on it, or may."""

    text: str
    context: str
    relevant: frozenset[str]
    acceptable: frozenset[str]


@dataclass(frozen=True)
class Project:
    """One project laid out on disk with its index, and its prompts."""

    name: str
    half: str
    home: Path
    store: Path
    prompts: tuple[Prompt, ...]
    texts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Score:
    """How one way of finding did over some prompts; shares from 0 to 1."""

    hit: float
    recall: float
    precision: float
    silent: float
    tokens: float


def load(root: Path) -> list[Project]:
    """Lay out every fixture below `root` and return the projects, by name."""
    return [
        _lay_out(root / file.stem, json.loads(file.read_text("utf-8")))
        for file in sorted(FIXTURES.glob("*.json"))
    ]


def _lay_out(place: Path, value: Mapping[str, Any]) -> Project:
    home, store = place / "home", place / "memory"
    texts: dict[str, str] = {}
    for folder, memories in ((store, value["memories"]), (home / "memory", value["user_memories"])):
        opened = Store.open(folder, create=True)
        made = [_memory(item) for item in memories]
        opened.apply(ChangeSet("laid", "bench", [opened.put(memory) for memory in made]))
        refresh_index(home, opened, NOW)
        texts |= {memory.name: embeddings.text_of(memory, memory.body[:200]) for memory in made}
    prompts = tuple(
        Prompt(
            item["prompt"],
            item.get("context", ""),
            frozenset(item["relevant"]),
            frozenset(item.get("acceptable", ())),
        )
        for item in value["prompts"]
    )
    return Project(value["project"], value["half"], home, store, prompts, texts)


def _memory(item: Mapping[str, Any]) -> Memory:
    said = NOW - timedelta(days=item["days"])
    source = Evidence(
        session=item.get("session", "earlier"), uuid="u", quote="as it was said", at=said.isoformat()
    )
    return Memory(
        name=item["name"],
        description=item["description"],
        type=item["type"],
        body=item["body"],
        id=derived_id("bench", item["name"]),
        tags=tuple(item["tags"]),
        importance=item["importance"],
        created=said,
        updated=said,
        origin="user-stated",
        sources=(source,),
    )


def by_bm25(project: Project, prompt: Prompt) -> Given:
    """Return the best five by BM25 alone, of both stores, with no floor."""
    rows = []
    for place in (project.store, project.home / "memory"):
        with ask.Reader(ask.index_path(str(project.home), str(place))) as reader:
            rows += reader.candidates(terms(prompt.text), MOST)
    rows.sort(key=lambda row: -row.score)
    names = [str(row.shown["name"]) for row in rows[:MOST]]
    return names, sum(len(project.texts[name]) for name in names) // 4


def by_words(project: Project, prompt: Prompt) -> Given:
    """Return what the prompt hook gives."""
    found = _retrieved(project, prompt, Budget())
    return [item.name for item in found.items], found.tokens


def _retrieved(project: Project, prompt: Prompt, budget: Budget) -> Any:
    return retrieve(
        prompt.text,
        project.store,
        budget,
        home=project.home,
        user_store=project.home / "memory",
        session="present",
        context=prompt.context,
        now=NOW.timestamp(),
    )


class Vectors:
    """The vectors of every memory and prompt of some projects, and what is found by them."""

    def __init__(self, projects: Iterable[Project]) -> None:
        embedder = WordLlamaEmbedder()
        self._cosines: dict[tuple[str, str], dict[str, float]] = {}
        for project in projects:
            names = list(project.texts)
            known = embedder.embed([project.texts[name] for name in names])
            asked = embedder.embed([prompt.text for prompt in project.prompts])
            for prompt, vector in zip(project.prompts, asked, strict=True):
                self._cosines[project.name, prompt.text] = {
                    name: sum(a * b for a, b in zip(vector, other, strict=True))
                    for name, other in zip(names, known, strict=True)
                }

    def alone(self, least: float) -> Callable[[Project, Prompt], Given]:
        """Return the way of finding the five nearest memories of at least the cosine `least`."""

        def find(project: Project, prompt: Prompt) -> Given:
            if not question_of(prompt.text).own:
                return [], 0
            near = sorted(self._cosines[project.name, prompt.text].items(), key=lambda pair: -pair[1])
            return _sized(project, [name for name, cosine in near[:MOST] if cosine >= least])

        return find

    def fused(self, weight: float, floor: float) -> Callable[[Project, Prompt], Given]:
        """Return the way of adding `weight` of the cosine to the score of words; `floor` bounds the sum."""

        def find(project: Project, prompt: Prompt) -> Given:
            if not question_of(prompt.text).own:
                return [], 0
            found = _retrieved(
                project, prompt, Budget(memories=1_000, floor=0.0, chars=10**9, session_chars_left=10**9)
            )
            words = {item.name: item.score for item in found.items}
            cosines = self._cosines[project.name, prompt.text]
            sums = {
                name: (1 - weight) * words.get(name, 0.0) + weight * cosine
                for name, cosine in cosines.items()
            }
            best = sorted(sums.items(), key=lambda pair: -pair[1])[:MOST]
            return _sized(project, [name for name, value in best if value >= floor])

        return find


def _sized(project: Project, names: list[str]) -> Given:
    return names, sum(len(project.texts[name]) for name in names) // 4


def score(find: Callable[[Project, Prompt], Given], projects: Iterable[Project]) -> Score:
    """Return how `find` does over the prompts of `projects`."""
    hits: list[bool] = []
    shares: list[float] = []
    silent: list[bool] = []
    right: list[bool] = []
    tokens: list[int] = []
    for project in projects:
        for prompt in project.prompts:
            names, cost = find(project, prompt)
            tokens.append(cost)
            right += [name in prompt.relevant | prompt.acceptable for name in names]
            if prompt.relevant:
                found = prompt.relevant & set(names[:MOST])
                hits.append(bool(found))
                shares.append(len(found) / len(prompt.relevant))
            else:
                silent.append(not set(names) - prompt.acceptable)
    return Score(_mean(hits), _mean(shares), _mean(right), _mean(silent), _mean(tokens))


def _mean(values: list[Any]) -> float:
    return sum(values) / len(values) if values else 0.0


def tuned(vectors: Vectors, dev: list[Project]) -> tuple[float, float, float]:
    """Return the threshold of vectors alone, and weight and floor of the fusion, that do best on `dev`."""
    silent = score(by_words, dev).silent

    def worth(found: Score) -> tuple[bool, float, float]:
        return found.silent >= silent, found.hit if found.silent >= silent else found.silent, found.precision

    least = max((step / 50 for step in range(5, 45)), key=lambda one: worth(score(vectors.alone(one), dev)))
    pairs = [(weight / 20, floor / 50) for weight in range(2, 14, 2) for floor in range(5, 30)]
    return least, *max(pairs, key=lambda pair: worth(score(vectors.fused(*pair), dev)))


def ways(projects: list[Project]) -> dict[str, Callable[[Project, Prompt], Given]]:
    """Return every way of finding, by what it is called; those with vectors only where they can be made."""
    found: dict[str, Callable[[Project, Prompt], Given]] = {
        "BM25, top 5": by_bm25,
        "words (default)": by_words,
    }
    try:
        vectors = Vectors(projects)
    except EmbeddingError:
        return found  # the extra `semantic` is not installed
    least, weight, floor = tuned(vectors, [project for project in projects if project.half == "dev"])
    found[f"vectors >= {least:.2f}"] = vectors.alone(least)
    found[f"fusion {weight:.2f}, >= {floor:.2f}"] = vectors.fused(weight, floor)
    return found


def main() -> None:
    """Print the table, and with --misses what the default got wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.recall")
    parser.add_argument("--half", choices=["dev", "test"], default="")
    parser.add_argument("--misses", action="store_true", help="show what words missed or gave wrongly")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reverie-recall-") as root:
        projects = load(Path(root))
        found = ways(projects)
        for half in [options.half] if options.half else ["dev", "test"]:
            chosen = [project for project in projects if project.half == half]
            prompts = [prompt for project in chosen for prompt in project.prompts]
            bare = sum(not prompt.relevant for prompt in prompts)
            print(f"{half}: {len(prompts)} prompts of {len(chosen)} projects, {bare} with nothing relevant")
            print(f"{'':24}{'hit':>7}{'recall@5':>10}{'precision':>11}{'silent':>8}{'tokens':>8}")
            for name, find in found.items():
                one = score(find, chosen)
                print(
                    f"{name:24}{one.hit:7.3f}{one.recall:10.3f}{one.precision:11.3f}{one.silent:8.3f}{one.tokens:8.0f}"
                )
            print()
            if options.misses:
                _tell_misses(chosen)


def _tell_misses(projects: list[Project]) -> None:
    for project in projects:
        for prompt in project.prompts:
            names, _ = by_words(project, prompt)
            missed = sorted(prompt.relevant - set(names))
            wrong = [name for name in names if name not in prompt.relevant | prompt.acceptable]
            if missed or wrong:
                print(f"{project.name}: {prompt.text[:100]!r}\n    missed {missed}, wrong {wrong}")


if __name__ == "__main__":
    main()
