"""How often an audit is right when it speaks: ``python -m bench.audit [looked_at|held_back] [--details]``.

Fourteen memory folders with known contradictions, doubles, dead paths and deadlines, and with many more
things that only look like one; see fixtures/README.md. The rules were made over the half ``looked_at``. For
each kind and level: how many findings there are, how many of them are right (precision), and how many of
all there are to find it names (recall). A pair counts once, whichever of its two files is named first.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.diagnostics.audit import audit
from pipeline.domain.finding import Finding
from tests.support.claude_folders import HALVES, NOW, UNREADABLE, labels, lay_out, names

CODES = {
    "contradiction": "contradiction",
    "perhaps-contradiction": "contradiction",
    "duplicate": "double",
    "dead-path": "dead path",
    "deadline-over": "outdated",
    "front-matter": "unreadable",
}
"""Which finding tells of which kind."""
LEVELS = {
    "contradiction": ("warning", "note"),
    "double": ("warning",),
    "dead path": ("note",),
    "outdated": ("note",),
    "unreadable": ("error",),
}
"""The kinds, and at which levels each is told."""
KINDS = tuple(LEVELS)

Thing = tuple[str, str, frozenset[str]]
"""A folder, a kind, and the one or two files it is about."""


@dataclass(slots=True)
class Tally:
    """What was told of one kind at one level, and what of it is true."""

    told: dict[Thing, list[Finding]] = field(default_factory=dict)
    right: set[Thing] = field(default_factory=set)


def about(folder: str, finding: Finding) -> Thing | None:
    """Return what `finding` tells, None when it is of no kind that is counted."""
    kind = CODES.get(finding.code)
    if kind is None:
        return None
    pair = finding.other if kind in ("contradiction", "double") else ""
    return folder, kind, frozenset(filter(None, (finding.path, pair)))


def truth(half: str) -> set[Thing]:
    """Return all there is to find in the folders of `half`."""
    found = {(known.folder, known.kind.replace("_", " "), frozenset(known.files)) for known in labels(half)}
    found |= {
        (folder, "unreadable", frozenset((file,))) for folder, file in UNREADABLE if folder in names(half)
    }
    return {thing for thing in found if thing[1] in KINDS}


def measured(half: str, place: Path) -> tuple[dict[tuple[str, str], Tally], set[Thing]]:
    """Audit each folder of `half`; return what was told by kind and level, and what is true."""
    true = truth(half)
    tallies: dict[tuple[str, str], Tally] = {}
    for name in names(half):
        laid = lay_out(half, name, place)
        for finding in audit(laid.memory, now=NOW, project=laid.project).findings:
            thing = about(name, finding)
            if thing is None:
                continue
            tally = tallies.setdefault((thing[1], finding.level), Tally())
            tally.told.setdefault(thing, []).append(finding)
            if thing in true:
                tally.right.add(thing)
    return tallies, true


def main() -> None:
    """Print the table, with ``--details`` what was told by mistake and what was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.audit", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("half", nargs="?", choices=HALVES, default=HALVES[0])
    parser.add_argument("--details", action="store_true", help="name what is false and what is missed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reverie-bench-") as folder:
        tallies, true = measured(options.half, Path(folder))
    print(f"{'kind':15}{'level':9}{'there':>7}{'told':>6}{'right':>7}{'precision':>11}{'recall':>8}")
    for kind in KINDS:
        there = {thing for thing in true if thing[1] == kind}
        for level in LEVELS[kind]:
            tally = tallies.get((kind, level), Tally())
            told, right = len(tally.told), len(tally.right)
            precision = f"{right / told:.2f}" if told else "-"
            recall = f"{right / len(there):.2f}" if there else "-"
            print(f"{kind:15}{level:9}{len(there):7}{told:6}{right:7}{precision:>11}{recall:>8}")
    if options.details:
        details(tallies, true)


def details(tallies: dict[tuple[str, str], Tally], true: set[Thing]) -> None:
    """Print each false finding, and each thing that nothing told."""
    for (kind, level), tally in sorted(tallies.items()):
        for thing in sorted(tally.told.keys() - tally.right, key=str):
            for finding in tally.told[thing]:
                print(f"false  {kind}, {level}: {thing[0]}/{finding.where}: {finding.message}")
    named = {thing for tally in tallies.values() for thing in tally.told}
    for folder, kind, files in sorted(true - named, key=str):
        print(f"missed {kind}: {folder}: {', '.join(sorted(files))}")


if __name__ == "__main__":
    main()
