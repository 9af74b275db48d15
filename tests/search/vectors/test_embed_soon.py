"""What a person writes by hand has its vector at once where somebody answers, and never waits for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.app.application import App
from pipeline.app.writing import Change, NewMemory, store_memory, update_memory
from pipeline.core import paths
from pipeline.core.clock import iso
from pipeline.search import vectors
from tests.support.extraction import NOW
from tests.support.vectors import ollama, serving


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REVERIE_NOW", iso(NOW))
    monkeypatch.setenv("REVERIE_EMBEDDINGS__PROVIDER", "ollama")
    return paths.projects_dir() / "-home-dev-shop" / "memory"


def write(place: Path, url: str, monkeypatch: pytest.MonkeyPatch, text: str = "The pond is deep.") -> App:
    monkeypatch.setenv("REVERIE_EMBEDDINGS__OLLAMA_URL", url)
    app = App(store=place)
    store_memory(app, app.open_store(create=True), NewMemory(type="project", content=text))
    return app


def made(place: Path) -> int:
    return len(vectors.load(place).entries)


def test_a_memory_has_its_vector_as_soon_as_it_is_written(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(ollama) as server:
        app = write(home, server.url, monkeypatch)
        assert (made(home), len(server.inputs)) == (1, 1)
        update_memory(app, app.open_store(), "the-pond-is-deep", Change(content="The pond is shallow."))
        assert made(home) == 1 and "shallow" in server.inputs[-1][0]


def test_a_provider_that_is_down_or_at_fault_leaves_it_to_the_worker(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home, "http://127.0.0.1:9", monkeypatch)

    def fails(path: str, body: Any) -> tuple[int, Any]:
        return 500, {"error": "no such model"}

    with serving(fails) as server:
        app = write(home, server.url, monkeypatch, "The pond is cold.")
        assert server.asked
    assert made(home) == 0 and len(app.open_store().scan().documents) == 2


def test_more_than_one_question_holds_is_the_worker_s(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir(parents=True)
    for number in range(50):
        (home / f"m{number}.md").write_text(f"---\nname: m{number}\n---\nThis is {number}.\n")
    with serving(ollama) as server:
        write(home, server.url, monkeypatch)
        assert not server.asked and made(home) == 0
