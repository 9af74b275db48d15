"""Which way of choosing memories for a prompt is best: ``python -m bench.recall [--half dev] [--together]``.

Twelve invented projects, six for tuning (``dev``) and six that no constant was fitted to (``test``); see
fixtures/README.md. For each way: recall@5 (of the memories that belong before a prompt, the share that came,
mean over the prompts that have any), precision (of all memories that came, the share that belonged), silence
(of the prompts to which none belongs, the share that got none), and the mean tokens put before a prompt.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bench.recall_cases import HALVES, NOW, Case, Project, laid_out
from pipeline.recall import Budget, retrieve
from pipeline.recall.live import fence
from pipeline.recall.live.question import parse_question
from pipeline.search.vectors import Nearest, fuse
from pipeline.search.vectors.embedded import WordLlamaEmbedder, has_wordllama
from pipeline.search.vectors.vector_file import text_of
from pipeline.store import Store
from pipeline.text.tokens import terms

MOST = 5
Way = Callable[[Project, Case], "list[str]"]
"""A way of choosing: the names of at most five memories for a prompt, best first."""


@dataclass(slots=True)
class Tally:
    """The sums behind one line of the table."""

    asked: int = 0
    wanting: int = 0
    recalled: float = 0.0
    came: int = 0
    right: int = 0
    quiet: int = 0
    tokens: int = 0
    missed: list[tuple[str, list[str]]] = field(default_factory=list)
    wrong: list[tuple[str, list[str]]] = field(default_factory=list)

    def add(self, case: Case, got: list[str], tokens: int) -> None:
        """Count one prompt and the memories it got."""
        self.asked += 1
        self.tokens += tokens
        counted = [name for name in got if name not in case.acceptable]
        right = [name for name in counted if name in case.relevant]
        self.came += len(counted)
        self.right += len(right)
        if case.relevant:
            self.wanting += 1
            self.recalled += len(right) / len(case.relevant)
        else:
            self.quiet += not counted
        if missed := sorted(case.relevant.difference(got)):
            self.missed.append((case.prompt, missed))
        if wrong := [name for name in counted if name not in case.relevant]:
            self.wrong.append((case.prompt, wrong))

    @property
    def recall(self) -> float:
        """Recall@5."""
        return self.recalled / max(1, self.wanting)

    @property
    def precision(self) -> float:
        """Precision over all prompts; 1 when nothing came at all."""
        return self.right / self.came if self.came else 1.0

    @property
    def silence(self) -> float:
        """Share of the prompts with nothing relevant that got nothing."""
        return self.quiet / max(1, self.asked - self.wanting)

    def row(self) -> tuple[str, str, str, str]:
        """Return the figures as they stand in the table."""
        mean = self.tokens / max(1, self.asked)
        return f"{self.recall:.2f}", f"{self.precision:.2f}", f"{self.silence:.2f}", f"{mean:.0f}"


def ours(project: Project, case: Case) -> list[str]:
    """Choose as the prompt hook does."""
    found = retrieve(
        case.prompt, project.store, Budget(), home=project.home, user_store=project.user_store,
        context=case.context, now=NOW.timestamp(), root=str(project.home),
    )  # fmt: skip
    return [item.name for item in sorted(found.items, key=lambda item: -item.score)]


def by_bm25(project: Project, case: Case) -> dict[str, float]:
    """Return BM25 scores of the sixty best of either store, stop words left out."""
    return _bm25(project, terms(case.prompt))


def _bm25(project: Project, asked: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for reader in project.readers():
        with reader:
            found |= {row.shown["name"]: row.score for row in reader.candidates(asked, 60)}
    return found


def scored(project: Project, case: Case) -> dict[str, float]:
    """Return our scores of every candidate, before floor and verdict."""
    found = retrieve(
        case.prompt, project.store, home=project.home, user_store=project.user_store,
        context=case.context, now=NOW.timestamp(),
    )  # fmt: skip
    return {Path(item.memory).stem: item.score for item in found.considered}


class Vectors:
    """The vectors of all memories, by wordllama, and of the prompts asked."""

    def __init__(self, projects: Iterable[Project]) -> None:
        self._embedder = WordLlamaEmbedder()
        self._nearest: dict[str, Nearest] = {}
        for project in projects:
            held = [
                document
                for place in (project.store, project.user_store)
                for document in Store.open(place).scan().documents
            ]
            made = self._embedder.embed([text_of(one.head, one.preview) for one in held])
            known = {one.head.name: vector for one, vector in zip(held, made, strict=True)}
            self._nearest[project.name] = Nearest(known)

    def cosines(self, project: Project, case: Case) -> dict[str, float]:
        """Return how like the prompt each memory is."""
        return self._nearest[project.name].scores(self._embedder.embed([case.prompt])[0])

    def alone(self, floor: float) -> Way:
        """Choose the five nearest that are at least `floor` near, whatever the words."""
        return lambda project, case: top(self.cosines(project, case), floor)

    def fused(self, weight: float, floor: float = 0.0) -> Way:
        """Choose by BM25 and vectors in one sum, relative to the best, as `fuse` makes it."""

        def way(project: Project, case: Case) -> list[str]:
            return top(fuse(by_bm25(project, case), self.cosines(project, case), weight=weight), floor)

        return way

    def added(self, weight: float, floor: float) -> Way:
        """Choose by our score plus `weight` of what the cosine has above 0.3, against a floor of its own."""

        def way(project: Project, case: Case) -> list[str]:
            words, near = scored(project, case), self.cosines(project, case)
            both = {name: words.get(name, 0.0) + weight * max(0.0, near[name] - 0.3) for name in near}
            return top(both, floor)

        return way


def asking(way: Way) -> Way:
    """Choose by `way`, but nothing for a prompt that asks for nothing, such as a slash command."""
    return lambda project, case: way(project, case) if parse_question(case.prompt).own else []


def top(scores: Mapping[str, float], floor: float) -> list[str]:
    """Return the five best of `scores` from `floor` up."""
    kept = [(score, name) for name, score in scores.items() if score > 0 and score >= floor]
    return [name for _, name in sorted(kept, key=lambda pair: (-pair[0], pair[1]))[:MOST]]


def tally(projects: Iterable[Project], way: Way) -> Tally:
    """Ask `way` every prompt of `projects`."""
    sums = Tally()
    for project in projects:
        sizes = _pieces(project)
        for case in project.cases:
            got = way(project, case)
            told = fence.brief([sizes[name] for name in got])
            sums.add(case, got, -(-fence.size(told) // 4))
    return sums


def _pieces(project: Project) -> dict[str, str]:
    """Return each memory of `project` in its fence, which is what its tokens are counted by."""
    found = {}
    for reader in project.readers():
        with reader:
            for row in reader.rows(list(reader.all_paths())):
                # As long as paths are in life, and the same wherever this runs.
                file = f"/home/somebody/.claude/projects/-home-somebody-{project.name}/memory/{row.path}"
                found[row.shown["name"]] = fence.piece(row.shown, now=NOW.timestamp(), file=file)
    return found


def ways(vectors: Vectors | None) -> dict[str, Way]:
    """Return what is compared, the default first; floors are those that were best on the dev half."""
    made: dict[str, Way] = {
        "words with a floor (default)": ours,
        "BM25, best five": lambda project, case: top(by_bm25(project, case), 0.0),
        f"BM25, floor {BM25_FLOOR}": asking(lambda project, case: top(by_bm25(project, case), BM25_FLOOR)),
        "our score, no floor": lambda project, case: top(scored(project, case), 0.0),
    }
    if vectors is not None:
        made |= {
            "embeddings, best five": vectors.alone(0.0),
            f"embeddings, floor {VECTOR_FLOOR}": asking(vectors.alone(VECTOR_FLOOR)),
            "BM25 + embeddings, equal": vectors.fused(0.5),
            "BM25 + embeddings, 0.3": vectors.fused(0.3),
            f"our score + {ADDED[0]} embeddings, floor {ADDED[1]}": asking(vectors.added(*ADDED)),
        }
    return made


BM25_FLOOR = 15.0
VECTOR_FLOOR = 0.43
ADDED = (0.1, 0.46)
"""Weight and floor. All of these are the best on the dev half by the measure that
`pipeline.recall.live.rank` names: recall plus 0.3 of the precision, less the share of
prompts that should have got nothing and did not."""


def main() -> None:
    """Print the table, and with ``--details`` what the default missed and what it brought wrongly."""
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description="Compare ways of recall.")
    parser.add_argument("--half", choices=HALVES, help="only this half of the projects")
    parser.add_argument("--together", action="store_true", help="all memories in every project's store")
    parser.add_argument("--details", action="store_true", help="name every miss and every wrong memory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        all_ = laid_out(Path(place), together=options.together)
        vectors = Vectors(all_) if has_wordllama() else None
        for half in [options.half] if options.half else HALVES:
            chosen = [project for project in all_ if project.half == half]
            _print(half, chosen, vectors, details=options.details)


def _print(half: str, chosen: list[Project], vectors: Vectors | None, *, details: bool) -> None:
    prompts = [case for project in chosen for case in project.cases]
    none = sum(not case.relevant for case in prompts)
    print(f"{half}: {len(prompts)} prompts, {none} of them with nothing relevant")
    print(f"{'way':44}{'recall@5':>10}{'precision':>11}{'silence':>9}{'tokens':>8}")
    for name, way in ways(vectors).items():
        found = tally(chosen, way)
        recall, precision, silence, tokens = found.row()
        print(f"{name:44}{recall:>10}{precision:>11}{silence:>9}{tokens:>8}")
        if details and way is ours:
            for kind, rows in (("missed", found.missed), ("wrong", found.wrong)):
                for prompt, which in rows:
                    print(f"    {kind}: {prompt[:90]!r}: {', '.join(which)}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
