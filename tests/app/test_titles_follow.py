"""What was made of a memory's text follows it: title and name; what a person gave stays."""

from __future__ import annotations

import pytest

from pipeline.app import memories
from pipeline.app.application import App
from pipeline.app.writing import Change, update_memory
from pipeline.domain.memory import Memory
from tests.support.extraction import Bench

OLD, NEW = "We deploy on Fridays.", "We never deploy on Fridays, only on Mondays."


def changed(app: App, bench: Bench, text: str, **given: str) -> Memory:
    name = memories.add(app, OLD, kind="project", **given).name
    return update_memory(app, app.open_store(), name, Change(content=text)).memory


def test_a_title_and_a_name_made_of_the_text_follow_it(app: App, bench: Bench) -> None:
    found = changed(app, bench, NEW)
    title = NEW.rstrip(".")
    assert (found.title, found.description, found.name) == (
        title,
        NEW,
        "we-never-deploy-on-fridays-only-on-mondays",
    )
    assert found.path == f"{found.name}.md"
    again = bench.store.scan().by_name("we-deploy-on-fridays")
    assert (
        again is not None
        and again.memory.title == title
        and OLD not in (bench.store.root / "MEMORY.md").read_text("utf-8")
    )
    assert OLD.rstrip(".") not in again.raw.decode()


@pytest.mark.parametrize(
    ("given", "text", "title", "name"),
    [
        ({"title": "Deploy days"}, NEW, "Deploy days", "we-deploy-on-fridays"),
        ({"name": "deploy-day"}, NEW, NEW.rstrip("."), "deploy-day"),
        ({}, f"{OLD} At noon.", OLD.rstrip("."), "we-deploy-on-fridays"),
    ],
)
def test_what_a_person_gave_stays(
    app: App, bench: Bench, given: dict[str, str], text: str, title: str, name: str
) -> None:
    found = changed(app, bench, text, **given)
    assert (found.title, found.name) == (title, name)


def test_undo_brings_back_title_and_name(app: App, bench: Bench) -> None:
    changed(app, bench, NEW)
    bench.store.undo(bench.store.history()[0].run)
    found = bench.store.scan().by_name("we-deploy-on-fridays")
    assert found is not None and (found.name, found.memory.title) == (
        "we-deploy-on-fridays",
        "We deploy on Fridays",
    )
