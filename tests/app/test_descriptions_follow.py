"""A description follows the text that made it; one that a person wrote stays, and is named where it lags."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.app import recall
from pipeline.app.application import App
from pipeline.app.writing import Change, NewMemory, as_edited, store_memory, to_edit, update_memory
from pipeline.diagnostics.doctor import memories as looked_at
from pipeline.domain.memory import Memory
from pipeline.store.files.described import is_left_behind, is_made_of
from tests.support.extraction import Bench

TEXT, OWN = "The mailer listens on port 8025. It is for tests.", "Where the mailer listens: port 8025"
ANEW = TEXT.replace("8025", "9000")


def written(app: App, bench: Bench, description: str = "") -> Path:
    new = NewMemory(type="project", name="mailer", content=TEXT, title="Mailer", description=description)
    return bench.store.root / store_memory(app, bench.store, new).memory.path


def edited(app: App, bench: Bench) -> Memory:
    """Return the memory after a person changed the number below its front matter, and nothing else."""
    document = to_edit(bench.store, "mailer")
    front, text = document.raw.rsplit(b"---\n", 1)
    return as_edited(app, bench.store, document, front + b"---\n" + text.replace(b"8025", b"9000")).memory


def index_of(bench: Bench) -> str:
    return (bench.store.root / "MEMORY.md").read_text("utf-8")


def test_an_edited_file_is_told_anew_where_its_text_made_the_line(app: App, bench: Bench) -> None:
    file = written(app, bench)
    before = file.read_bytes()
    assert edited(app, bench).description == ANEW
    assert "8025" not in index_of(bench) and "9000" in index_of(bench)
    changed = zip(before.split(b"\n"), file.read_bytes().split(b"\n"), strict=True)
    assert [old.partition(b":")[0] for old, new in changed if old != new] in (
        [b"description", TEXT.encode()],
        [b"description", b"updated", TEXT.encode()],
    )


def test_what_a_person_wrote_stays_and_is_named(app: App, bench: Bench) -> None:
    written(app, bench, OWN)
    assert edited(app, bench).description == OWN
    _, notes = recall.show(app, "mailer")
    assert len(notes) == 1 and OWN in notes[0] and 'mailer --description ""' in notes[0]
    other = update_memory(app, bench.store, "mailer", Change(content="The mailer has port 7000 for tests."))
    assert other.memory.description == OWN
    anew = update_memory(app, bench.store, "mailer", Change(description=""))
    assert anew.memory.description == "The mailer has port 7000 for tests."
    assert recall.show(app, "mailer")[1] == []


@pytest.mark.parametrize("description", ["", OWN])
def test_a_file_changed_in_an_editor_is_left_as_it_is_and_named(
    app: App, bench: Bench, description: str
) -> None:
    file = written(app, bench, description)
    front, text = file.read_text("utf-8").rsplit("---\n", 1)
    theirs = f"{front}---\n{text.replace('8025', '9000')}"
    file.write_text(theirs, "utf-8")
    app.follow(bench.store)
    told = [item for item in looked_at.check(app) if item.code == "description"]
    assert [item.level for item in told] == ["note"] and (description or TEXT) in told[0].message
    assert recall.show(app, "mailer")[1] and file.read_text("utf-8") == theirs
    update_memory(app, bench.store, "mailer", Change(description=""))
    assert "8025" not in index_of(bench)
    assert not [item for item in looked_at.check(app) if item.code == "description"]


@pytest.mark.parametrize(
    ("line", "before", "after", "made", "left"),
    [
        ("We ship on Mondays", "We ship on Mondays.", "We ship on Fridays.", True, True),
        ("We ship on Mondays", "We ship on Mondays.", "Never ship on Mondays.", True, True),
        ("We ship. It is quick.", "We ship. It is quick. Ask Ann.", "It is slow.", True, True),
        ("It is quick.", "We ship. It is quick. Ask Ann.", "It is quick. We ship.", True, False),
        ("We ship on all of…", "We ship on all of the Mondays.", "We ship on all of May.", True, False),
        ("Shipping days", "We ship on Mondays.", "We ship on Fridays.", False, False),
        ("Shipping on Mondays", "We ship on Mondays.", "We ship on Fridays.", False, True),
        ("Ship at 10", "We ship at 10 o'clock.", "We ship at 11 o'clock.", False, True),
        ("We ship", "We ship on Mondays.", "We ship on Fridays.", False, False),
        ("", "We ship.", "We sail.", False, False),
    ],
)
def test_what_fits_a_former_text(line: str, before: str, after: str, made: bool, left: bool) -> None:
    assert (is_made_of(line, before), is_left_behind(line, before, after)) == (made, left)
