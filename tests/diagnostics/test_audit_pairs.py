"""Two memories side by side: what excludes each other is told as a warning, what only looks like it is
not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.audit import KINDS, measured
from pipeline.diagnostics.audit import audit
from pipeline.domain.finding import Finding
from tests.support.claude_folders import NOW
from tests.support.pair_cases import FIXTURES

Memory = tuple[str, str, str]
"""Name, description and body."""


def pair(root: Path, *memories: Memory, days: tuple[str, str] = ("", "")) -> list[Finding]:
    """Return what an audit tells of `memories`, and of no index."""
    for (name, description, body), day in zip(memories, days, strict=True):
        front = {
            "name": name,
            "description": description,
            "type": "project",
            **({"updated": day} if day else {}),
        }
        lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in front.items())
        (root / f"{name}.md").write_text(f"---\n{lines}---\n{body}\n", "utf-8")
    return [finding for finding in audit(root, now=NOW).findings if finding.other]


RIVALS: dict[str, tuple[Memory, Memory]] = {
    "one value against another": (
        ("pump-watchdog", "Pump watchdog: 8 s", "The pump's watchdog is set to 8 s."),
        ("pump-settings", "Watchdog timeout of the pump is 30 seconds", "The pump's watchdog is 30 s."),
    ),
    "a count that changed": (
        ("choir-size", "The town choir has 48 singers", "The town choir has 48 singers, all paid."),
        (
            "choir-now",
            "Town choir: 46 singers after two left on 2026-08-20",
            "The town choir is 46 singers now.",
        ),
    ),
    "what is given up is in use": (
        ("payments", "Payments go through Quillpay", "All payments run over Quillpay."),
        (
            "checkout",
            "Payments take Marlo only; the Quillpay contract ended on 2026-06-20",
            "Closed in June.",
        ),
    ),
    "a person who left": (
        ("editor", "The editor is Prof. Ansa Vuorela", "Ask her about titles."),
        ("editor-change", "Prof. Odile Brandt took over as editor", "Vuorela retired; Brandt is the editor."),
    ),
    "moved from one to another": (
        ("build", "The site is built with Pelikan", "Run make."),
        ("build-move", "The site moved from Pelikan to Heron in May", "Heron builds the site."),
    ),
    "an older version": (
        ("engine", "Engine: Bramble 4.3", "The game is on Bramble 4.3."),
        ("engine-new", "Project was upgraded to Bramble 4.5 on 2026-10-10", "Files are converted."),
    ),
    "a not": (
        ("generated", "Commit the generated client code", "Commit the generated client code."),
        (
            "generated-never",
            "Never commit the generated client code",
            "Never commit the generated client code.",
        ),
    ),
}


@pytest.mark.parametrize("memories", RIVALS.values(), ids=RIVALS)
def test_what_excludes_each_other_is_a_warning(tmp_path: Path, memories: tuple[Memory, Memory]) -> None:
    assert [(f.level, f.code) for f in pair(tmp_path, *memories)] == [("warning", "contradiction")]


BESIDE: dict[str, tuple[Memory, Memory]] = {
    "two customers": (
        ("cutoff-farms", "Score cutoff for farms: 62 points", "Farms are called at 62 points."),
        ("cutoff-shops", "Score cutoff for shops: 48 points", "Shops are called at 48 points."),
    ),
    "two environments": (
        ("api-prod", "Prod: the api runs 6 replicas", "The api runs 6 replicas."),
        ("api-stage", "Stage: the api runs 2 replicas", "The api runs 2 replicas."),
    ),
    "two lists": (
        ("cutoff-farms", "Score cutoff for farms", "The score cutoff of the call list is 62 points."),
        ("cutoff-shops", "Score cutoff for shops", "The score cutoff of the call list is 48 points."),
    ),
    "a range and a value in it": (
        ("wax", "The pot of wax is poured at 62–68 degrees", "The pot of wax is poured at 62–68 degrees."),
        ("wax-pot", "The pot of wax is poured at 65 degrees", "The pot of wax is poured at 65 degrees."),
    ),
    "a default and what overrides it": (
        ("width", "The gallery images are 1200 px wide", "The gallery images are 1200 px wide by default."),
        ("width-2", "The gallery images are 1600 px wide", "The gallery images are 1600 px wide."),
    ),
    "one value in two units": (
        ("loaf", "The rye loaf weighs 1.5 kg baked", "The rye loaf weighs 1.5 kg baked."),
        ("loaf-2", "The rye loaf weighs 1500 g baked", "The rye loaf weighs 1500 g baked."),
    ),
    "a limit and a value below it": (
        ("mail", "A sent shop mail holds at most 20 MB", "A sent shop mail holds at most 20 MB."),
        ("mail-2", "A sent shop mail holds 8 MB", "A sent shop mail holds 8 MB."),
    ),
    "two currencies": (
        ("price", "The store price of the game is 14.99 USD", "The store price of the game is 14.99 USD."),
        ("price-2", "The store price of the game is 54.99 PLN", "The store price of the game is 54.99 PLN."),
    ),
    "two chapters": (
        ("length", "Whole text of chapter 3 is 9,000 words", "Whole text of chapter 3 is 9,000 words."),
        (
            "length-2",
            "Whole text of chapter 5 is 14,000 words",
            "Whole text of chapter 5 is 14,000 words.",
        ),
    ),
    "a history of both": (
        ("guard", "The import guard fires at 20 %", "The import guard fires at 20 %. It was 5 % in May."),
        ("guard-2", "The import guard fires at 5 %", "The import guard fires at 5 %."),
    ),
    "an older version that knows the newer": (
        ("engine", "Engine: Bramble 4.3", "The game is on Bramble 4.3, the demo on Bramble 4.5."),
        ("engine-2", "Project was upgraded to Bramble 4.5 on 2026-10-10", "Files are converted."),
    ),
    "two denials are none": (
        ("hints", "Every public function has type hints", "Every public function has type hints."),
        ("hints-none", "No public function without type hints", "No public function is without type hints."),
    ),
    "ended in another environment": (
        ("ci-stage", "Staging deploys go through Jenkins", "Staging deploys go through Jenkins."),
        ("ci", "Prod deploys moved from Jenkins to Actions", "Prod deploys are Actions."),
    ),
    "gone and come back": (
        ("proxy", "The proxy is Nginx", "The proxy is Nginx."),
        ("proxy-log", "The proxy moved from Nginx to Traefik", "In May it went back to Nginx."),
    ),
    "another day for another thing": (
        ("choir", "The choir meeting is on Monday", "It is on Monday."),
        ("team", "The team meeting moved from Monday to Tuesday", "It is on Tuesday."),
    ),
    "two rooms": (
        ("rent", "The rent of room A is 40 euros", "The rent of room A is 40 euros."),
        ("rent-b", "The rent of room B is 60 euros", "The rent of room B is 60 euros."),
    ),
    "an active verb": (
        ("builds", "Builds run on Jenkins", "Builds run on Jenkins."),
        ("artifacts", "Builds: Jenkins removed the artifacts", "Jenkins removed the artifacts."),
    ),
    "told of as history": (
        ("mail-before", "Mails were sent by Postling until May", "Mails were sent by Postling until May."),
        ("mail-now", "Mails: Postling was cancelled in May", "Mails go out by ourselves."),
    ),
}


@pytest.mark.parametrize("memories", BESIDE.values(), ids=BESIDE)
def test_what_can_stand_side_by_side_is_not_told(tmp_path: Path, memories: tuple[Memory, Memory]) -> None:
    assert pair(tmp_path, *memories) == []


def test_what_is_in_use_again_later_is_not_told(tmp_path: Path) -> None:
    payments, checkout = RIVALS["what is given up is in use"]
    assert pair(tmp_path, payments, checkout, days=("2026-09-01", "2026-06-22")) == []


def test_what_may_be_about_a_part_is_a_note(tmp_path: Path) -> None:
    whole = ("visit", "A guided visit of the old mill takes 60 minutes", "")
    part = ("visit-long", "A guided visit of the old mill takes 90 minutes", "A long visit takes 90 minutes.")
    assert [(f.level, f.code) for f in pair(tmp_path, whole, part)] == [("note", "perhaps-contradiction")]


DOUBLES: dict[str, tuple[str, str, bool]] = {
    "the same bytes": ("The logo is an SVG, never on red.", "The logo is an SVG, never on red.", True),
    "other order": ("Scan letters in grey at 400 dpi.", "At 400 dpi, scan letters in grey.", True),
    "another value": ("Scan letters in grey at 400 dpi.", "Scan letters in grey at 300 dpi.", False),
    "another place": (
        "Northern speakers of the dialect keep the length contrast of vowels before geminate consonants.",
        "Southern speakers of the dialect keep the length contrast of vowels before geminate consonants.",
        False,
    ),
}


@pytest.mark.parametrize(("one", "other", "double"), DOUBLES.values(), ids=DOUBLES)
def test_a_double_says_the_same_and_nothing_else(tmp_path: Path, one: str, other: str, double: bool) -> None:
    told = pair(tmp_path, ("a", one, one), ("b", other, other))
    assert (("warning", "duplicate") in {(f.level, f.code) for f in told}) is double


def test_no_pair_that_completes_each_other_is_told(tmp_path: Path) -> None:
    told = []
    for line in (FIXTURES / "beside.jsonl").read_text("utf-8").splitlines():
        known = json.loads(line)
        folder = tmp_path / known["id"]
        folder.mkdir()
        sides = [(known[side]["name"], known[side]["description"], known[side]["statement"]) for side in "ab"]
        told += [(known["id"], finding.message) for finding in pair(folder, *sides)]
    assert told == []


def test_nine_of_ten_warnings_are_right(tmp_path: Path) -> None:
    tallies, true = measured("looked_at", tmp_path)
    warnings = {kind: tallies[kind, "warning"] for kind in KINDS if (kind, "warning") in tallies}
    assert set(warnings) == {"contradiction", "double"}
    assert all(len(tally.right) >= 0.9 * len(tally.told) for tally in warnings.values())
    found = {kind: sum(len(t.right) for (of, _), t in tallies.items() if of == kind) for kind in KINDS}
    assert found["contradiction"] >= 11 and found["dead path"] >= 12 and found["outdated"] == 10
    assert len([thing for thing in true if thing[1] == "contradiction"]) == 23
