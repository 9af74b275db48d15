"""`audit` tells who wrote the files of a folder as `adopt` and `why` do, and a look leaves no trace."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from pipeline.core.clock import SystemClock
from pipeline.ledger import open_ledger
from pipeline.store import Store
from tests.support.claudes import Claude, put, stamped
from tests.support.stores import die_at, memory, save

AT = datetime(2026, 11, 20, 9, tzinfo=UTC)
LATER = AT + timedelta(hours=1)
OFFERED = {
    "person": "a person: it was changed, and no session did it",
    "mixed": "Claude, in a file that held words of others",
    "unknown": "nobody can tell",
}
EACH = {
    "reverie": 1,
    "claude": 2,
    "person": 1,
    "mixed": 1,
    "unknown": 3,
    "held": 2,
    "apart": 1,
    "misnamed": 0,
    "note": "",
}
PLAN = [
    "1 file is Reverie's own.",
    "2 files Claude wrote would take part: recalled, and merged or retired in a dream. `reverie undo` takes"
    " that back.",
    "1 file you wrote stays yours: recalled, and changed only at your yes: `reverie adopt`.",
    "1 file with words of Claude and of others waits for your yes too: `reverie adopt`.",
    "3 files nobody knows who wrote wait for your yes: `reverie adopt`. Until then recalled, and never"
    " changed.",
    "2 files are pinned, not UTF-8, or were changed since Reverie wrote them: they stay as they are.",
    "1 file lies where Reverie changes nothing by itself, as in a team's folder.",
]


def plain(name, text, more=""):
    return f"---\nname: {name}\ndescription: {text}\ntype: project\n{more}---\n\n{text}\n"


@pytest.fixture
def folder(desk):
    """Files of every kind; `ours` are Reverie's, two of `Claude's` a transcript tells of."""
    desk.here("status")
    root = desk.store
    save(Store.open(root, create=True), memory("ours"), memory("edited"))
    edited = root / "edited.md"
    put(edited, edited.read_text("utf-8") + "By hand.\n", LATER)
    for name in ("nobodys-a", "nobodys-b", "both"):
        put(root / f"{name}.md", plain(name, f"What {name} says."), AT)
    put(root / "copied.md", stamped("copied", "A copy says nothing of itself.", "s-2", AT), LATER)
    put(root / "pinned.md", plain("pinned", "Never change this.", "pinned: true\n"), AT)
    put(root / "team" / "theirs.md", plain("theirs", "A colleague wrote this."), AT)
    with open_ledger(ledger(desk)) as opened:
        session = Claude(opened, root, SystemClock())
        session.talk.now = AT
        session.writes("deploys", "Deploys go out on Mondays.")
        session.writes("gulls", "Gulls are counted at dawn.")
        session.writes("linter", "The linter wants tabs.")
        session.edits("both", "says", "tells")
        session.read()
    mine = root / "linter.md"
    put(mine, mine.read_text("utf-8").replace("tabs", "spaces"), LATER)
    return root


def ledger(desk):
    return desk.project.parent / ".claude" / "reverie" / "ledger.sqlite"


def everything(desk):
    """Every path of the person's home, with the bytes and the time of each file."""
    return {
        path: (path.read_bytes(), path.stat().st_mtime_ns) if path.is_file() else None
        for path in desk.project.parent.rglob("*")
    }


def test_every_screen_has_the_same_numbers_and_sentences(desk, folder):
    seen = desk.here("audit", "--short", "--json").json
    assert (seen["writers"], seen["plan"]) == (EACH, PLAN)
    assert desk.here("audit", "--json").json["writers"] == EACH
    assert desk.here("audit", folder, "--json").json["writers"] == EACH
    for words in (("audit",), ("audit", "--short"), ("init", "--yes")):
        said = " ".join(desk.here(*words).out.split())
        assert [sentence for sentence in PLAN if sentence not in said] == [], words


def test_the_numbers_are_those_of_adopt_and_why(desk, folder):
    offered = Counter(row["author"] for row in desk.here("adopt", "--dry-run", "--json").json["files"])
    assert offered == {author: EACH[part] for part, author in OFFERED.items()}
    told = {
        file.stem: desk.here("why", file.stem, "--json").json["author"] for file in folder.glob("[a-z]*.md")
    }
    by = Counter("reverie" if author is None else author["by"] for author in told.values())
    assert by == {"reverie": 1, "claude": 2 + 1, "person": 1 + 1, "unknown": 3 + 1}, (
        "held ones have an author"
    )


def test_a_look_writes_nothing(desk, folder):
    before = everything(desk)
    for words in (("audit",), ("audit", "--short"), ("audit", "--short", "--json"), ("audit", folder)):
        assert desk.run(*words).out
        assert everything(desk) == before, words


def test_without_a_ledger_the_files_alone_tell_and_none_is_made(desk, folder):
    for file in ledger(desk).parent.iterdir():
        if file.is_file():
            file.unlink()
    before = everything(desk)
    seen = desk.here("audit", "--short", "--json").json
    # The stamps of two tell the second in which they were written; the edited ones are nobody's known.
    assert {key: seen["writers"][key] for key in ("claude", "person", "mixed", "unknown")} == {
        "claude": 2,
        "person": 0,
        "mixed": 0,
        "unknown": 5,
    }
    assert seen["plan"][-1] == "This is by the files alone: no session that was read tells of them."
    assert everything(desk) == before


def test_a_ledger_that_cannot_be_read_is_said(desk, folder):
    ledger(desk).write_bytes(b"no database at all, and longer than a header of one would be" * 20)
    before = everything(desk)
    seen = desk.here("audit", "--short", "--json").json
    assert seen["writers"]["claude"] == 2
    assert "what was read of sessions can't be looked at" in seen["plan"][-1]
    assert everything(desk) == before


def test_a_folder_that_is_no_store_of_any_project_is_told_by_its_files(desk, tmp_path):
    root = tmp_path / "elsewhere"
    put(root / "a.md", stamped("a", "Kelp is measured weekly.", "s-1", AT), AT)
    put(root / "b.md", plain("b", "Boats leave at six."), AT)
    before = everything(desk)
    seen = desk.here("audit", root, "--short", "--json", code=1).json
    # Its stamp agrees with its time, but of that session nothing is known here.
    assert (seen["writers"]["claude"], seen["writers"]["unknown"]) == (0, 2)
    assert seen["plan"][-1].startswith("This is by the files alone")
    assert everything(desk) == before


def test_where_all_is_known_nothing_is_said_of_what_was_not_looked_at(desk, tmp_path):
    root = ledger(desk).parents[1] / "projects" / "-sure" / "memory"
    put(root / "a.md", stamped("a", "Kelp is measured weekly.", "s-1", AT), AT)
    put(root.parent / "s-1.jsonl", "{}\n", AT)
    seen = desk.here("audit", root, "--short", "--json", code=1).json
    (sentence,) = seen["plan"]
    assert sentence.startswith("1 file Claude wrote would take part")


def test_a_change_that_was_cut_short_is_left_to_who_finishes_it(desk, folder):
    store = Store.open(folder)
    assert die_at("store.intent_written", lambda: save(store, memory("half-done"), id="run-2")) == -9
    before = everything(desk)
    assert desk.here("audit", "--short", "--json").json["writers"] == EACH
    assert everything(desk) == before
    assert Store.open(folder).read("half-done"), "the next who opens it to write does finish it"
