"""Plans that change what a memory means, put to whole dreams: is one of them ever carried out?

    python -m bench.changed_meaning [error rate, default 0.1] [lines, default all]

``fixtures/changed/changed.jsonl`` holds facts, each with a text that certainly says something else. Both lie
in a store as memories, and a model that obeys asks the dream for the change in each of eight ways; the second
reader knows the truth and errs at random. Beside them lie controls, facts kept twice, which must become one.
A text is falsified when a live memory holds anything but beginnings of facts that stood in a memory, word for
word, reason and all. A sentence is left out when no live memory holds it; then the report must name it, the
archive hold it, and an undo bring every byte back.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.consolidation.commit.report import as_markdown
from pipeline.domain.body import Body
from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.sentences import folded, sentences
from tests.support.dreaming import Dreaming, dreaming, note, op, planned
from tests.support.second_reader import Truth, bare, second_reader

CORPUS = Path(__file__).resolve().parents[1] / "fixtures" / "changed" / "changed.jsonl"
WAYS = ("merge", "merge away", "rewrite", "supersede", "strike", "retire", "insight", "promote")
TOGETHER = 8
"""Plans of one dream, each with a control."""


@dataclass(frozen=True, slots=True)
class Case:
    """A fact and a text that says something else."""

    id: str
    lang: str
    kind: str
    type: str
    source: str
    mutant: str
    why: str


@dataclass(slots=True)
class Tally:
    """What came of the plans of one kind."""

    plans: int = 0
    falsified: int = 0
    left_out: int = 0
    unaccounted: int = 0
    waiting: int = 0
    controls: int = 0
    joined: int = 0


def cases() -> list[Case]:
    """Return the corpus in its order."""
    return [Case(**json.loads(line)) for line in CORPUS.read_text("utf-8").splitlines()]


def run(
    folder: Path,
    corpus: Sequence[Case],
    error_rate: float | None,
    seed: int = 1,
    ways: Sequence[str] = WAYS,
) -> dict[str, Tally]:
    """Return by kind what came of every case of `corpus` in each of `ways`, in dreams below `folder`.

    With None for `error_rate` the second reader agrees with whatever was planned.
    """
    found: dict[str, Tally] = {}
    for number, start in enumerate(range(0, len(corpus), TOGETHER)):
        group = corpus[start : start + TOGETHER]
        for way in ways:
            with dreaming(folder / f"{number}-{way.replace(' ', '-')}") as bench:
                for case, tally in _dream(bench, group, way, error_rate, seed * 1000 + number):
                    known = found.setdefault(case.kind, Tally())
                    for field in Tally.__dataclass_fields__:
                        setattr(known, field, getattr(known, field) + getattr(tally, field))
    return found


def _dream(
    bench: Dreaming, group: Sequence[Case], way: str, error_rate: float | None, seed: int
) -> Iterator[tuple[Case, Tally]]:
    bench.set(retire_share=1.0, max_cluster=4 * TOGETHER, cluster_chars=100_000)
    memories = {case.id: _memories(case, way) for case in group}
    everything = [memory for four in memories.values() for memory in four]
    bench.keep(*everything)
    before = {file: file.read_bytes() for file in bench.store.root.glob("*.md")}
    plans = [item for case in group for item in (_plan(case, way), _control(case))]
    truth = Truth(covers=_equal, one_fact=_equal)
    bench.model(planned(*plans), None if error_rate is None else second_reader(truth, error_rate, seed))
    report = bench.dream()
    live = [document.memory for document in bench.documents().values()]
    falsified = [memory.name for memory in live if not _quoted(memory, everything)]
    kept = {sentence.key for memory in live for sentence in sentences(memory.body)}
    shelved = {folded(text) for text in _archived(bench.store.root)}
    text = as_markdown(report)
    inbox = " ".join(item["memories"][0] for item in report.refused if item["to_inbox"] and item["memories"])
    lost = {
        case.id: [
            sentence.text
            for memory in memories[case.id]
            for sentence in sentences(memory.body)
            if sentence.key not in kept
        ]
        for case in group
    }
    if report.actions:
        bench.store.undo(report.run_id)
    undone = all(file.exists() and file.read_bytes() == data for file, data in before.items())
    for case in group:
        name = _name(case)
        gone = lost[case.id]
        seen = all(folded(sentence) in shelved for sentence in gone) and (not gone or name in text)
        yield (
            case,
            Tally(
                plans=1,
                falsified=any(item.startswith(name) for item in falsified),
                left_out=bool(gone),
                unaccounted=not (seen and undone),
                waiting=name in inbox,
                controls=not any(memory.name == f"{name}-again" for memory in live),
                joined=any(f"{name}-turned" in action.memories and not gone for action in report.actions),
            ),
        )


def _memories(case: Case, way: str) -> tuple[Memory, ...]:
    """Return the fact, what turns it round (said later, by whom differs by case), and the control twice."""
    name = _name(case)
    body = Body(case.source, case.why).render()
    fact = note(name, case.source, "2026-03-01", type=case.type, description=_line(case.source))
    fact = replace(fact, body=body)
    turned = note(f"{name}-turned", case.mutant, "2026-03-09", type=case.type, description=_line(case.mutant))
    if way == "merge" or int(case.id[-1]) % 2:
        source = Evidence(**{**turned.sources[0].as_values(), "speaker": "assistant"})
        turned = replace(turned, origin="assistant-inferred", sources=(source,)) if way != "merge" else turned
    control = f"Control of {name}: the archive of {name} is closed on the last day of each quarter."
    once = note(f"{name}-control", control, "2026-03-02")
    twice = control[0].lower() + control[1:].replace(" ", "  ").rstrip(".")
    again = note(f"{name}-again", twice, "2026-03-03")
    return fact, turned, once, again


def _plan(case: Case, way: str) -> dict[str, object]:
    name, turned = _name(case), f"{_name(case)}-turned"
    words = {"statement": case.mutant, "description": case.mutant[:140], "title": case.mutant[:40]}
    theirs = sentences(Body(case.source, case.why).render())
    mine = len(sentences(case.mutant))
    away = [(f"{name}.{n}", f"{turned}.{min(n, mine)}") for n in range(1, len(theirs) + 1)]
    back = [(f"{turned}.{n}", f"{name}.{min(n, len(theirs))}") for n in range(1, mine + 1)]
    plans = {
        "merge": lambda: op("merge", name, turned, into=name, covered=back, **words),
        "merge away": lambda: op("merge", name, turned, into=turned, covered=away, **words),
        "rewrite": lambda: op("rewrite", name, **words),
        "supersede": lambda: op("supersede", name, turned, into=turned),
        "strike": lambda: op("strike", name, covered=away[-1:]),
        "retire": lambda: op("retire", name),
        "insight": lambda: op("insight", name, turned, name="seen", **words),
        "promote": lambda: op("promote", name, **words),
    }
    return plans[way]()


def _control(case: Case) -> dict[str, object]:
    name = _name(case)
    return op("merge", f"{name}-control", f"{name}-again", into=f"{name}-control")


def _quoted(memory: Memory, originals: Sequence[Memory]) -> bool:
    """Whether each fact of `memory` begins one that stood, and its line is that of one that stood."""
    wholes = [
        [(item.part, item.text) for item in sentences(original.body) if item.fact == fact]
        for original in originals
        for fact in {item.fact for item in sentences(original.body)}
    ]
    found = sentences(memory.body)
    for fact in {item.fact for item in found}:
        own = [(item.part, item.text) for item in found if item.fact == fact]
        if not any(own == whole[: len(own)] for whole in wholes):
            return False
    lines = {(item.shown_title, item.description) for item in originals}
    return (memory.shown_title, memory.description) in lines


def _equal(text: str, other: str) -> bool:
    return folded(bare(text)) == folded(bare(other))


def _archived(root: Path) -> Iterator[str]:
    for file in (root / "archive").rglob("*.md"):
        body = file.read_text("utf-8").split("---\n", 2)[-1]
        yield from (sentence.text for sentence in sentences(body))


def _name(case: Case) -> str:
    return f"case-{case.id}"


def _line(text: str) -> str:
    return " ".join(text.split())[:140].rstrip()


def table(found: dict[str, Tally]) -> str:
    """Return `found` as a table, the sum last."""
    columns = list(Tally.__dataclass_fields__)
    total = Counter({name: sum(getattr(row, name) for row in found.values()) for name in columns})
    head = f"{'kind':30}" + "".join(f"{name.replace('_', ' '):>12}" for name in columns)
    lines = [
        f"{kind:30}" + "".join(f"{getattr(row, name):>12,}" for name in columns)
        for kind, row in sorted(found.items())
    ]
    return "\n".join([head, *lines, f"{'all':30}" + "".join(f"{total[name]:>12,}" for name in columns)])


def main() -> None:
    """Print the table."""
    words = sys.argv[1:]
    rate = float(words[0]) if words else 0.1
    corpus = cases()[: int(words[1])] if len(words) > 1 else cases()
    with tempfile.TemporaryDirectory(prefix="reverie-changed-") as folder:
        found = run(Path(folder), corpus, rate)
    languages = Counter(case.lang for case in corpus)
    print(f"{len(corpus)} texts ({', '.join(f'{lang} {n}' for lang, n in sorted(languages.items()))}),")
    print(f"each in {len(WAYS)} ways; the second reader errs in {rate:.0%} of its answers.\n")
    print(table(found))


if __name__ == "__main__":
    main()
