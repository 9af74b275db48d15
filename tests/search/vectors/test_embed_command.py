"""`reverie embed`, and the worker's own refresh."""

import json

import pytest

from tests.cli.conftest import make_desk
from tests.support.vectors import ollama, serving
from tests.support.workshop import Workshop


@pytest.fixture
def desk(tmp_path):
    made = make_desk(tmp_path)
    made.here("add", "Indent with tabs.", "--name", "tabs")
    made.here("add", "The port is 5432.", "--name", "port")
    return made


def on(server, provider="ollama"):
    return {"REVERIE_EMBEDDINGS__PROVIDER": provider, "REVERIE_EMBEDDINGS__OLLAMA_URL": server.url}


def test_off_says_how_to_turn_it_on_and_writes_nothing(desk):
    said = desk.here("embed", code=1)
    assert "vectors are off" in said.err and "[embeddings]" in said.err
    assert not (desk.store / "_embeddings.json").exists()


def test_it_makes_what_is_missing_and_then_nothing(desk):
    with serving(ollama) as server:
        first = desk.here("embed", **on(server))
        assert "2 made, 2 in all, by ollama (nomic-embed-text)" in first.out
        assert "0 made, 2 in all" in desk.here("embed", **on(server)).out
        (found,) = desk.here("embed", "--anew", "--json", **on(server)).json
    assert found["vectors"]["made"] == 2 and found["store"] == str(desk.store)
    assert len(json.loads((desk.store / "_embeddings.json").read_bytes())["entries"]) == 2


def test_a_provider_that_is_down_ends_with_what_is_pending_and_code_1(desk):
    said = desk.here(
        "embed", code=1, REVERIE_EMBEDDINGS__PROVIDER="ollama",
        REVERIE_EMBEDDINGS__OLLAMA_URL="http://127.0.0.1:9",
    )  # fmt: skip
    assert "2 without a vector" in said.err and "can't be reached" in said.err


def test_all_covers_the_stores_that_are_known_and_the_one_for_all_projects(desk):
    home = desk.project.parent / ".claude" / "reverie"
    desk.here("add", "Greet in German.", "--name", "german", "--store", home / "memory")
    with serving(ollama) as server:
        found = desk.here("embed", "--all", "--json", **on(server)).json
    made = [(one["store"], one["vectors"]["total"]) for one in found]
    assert made == [(str(desk.store), 2), (str(home / "memory"), 1)]


def test_wordllama_embeds_without_any_server(desk):
    pytest.importorskip("wordllama", reason="the extra `semantic` is not installed")
    said = desk.here("embed", REVERIE_EMBEDDINGS__PROVIDER="auto")
    assert "2 made, 2 in all, by wordllama (l2_supercat_256)" in said.out


def test_the_worker_gives_what_it_wrote_a_vector(tmp_path):
    with serving(ollama) as server:
        shop = Workshop(tmp_path, {"REVERIE_MODEL__PROVIDER": "offline", **on(server)})
        session = shop.session()
        session.user("From now on name branches after the ticket, because the board links them.")
        session.assistant("Branches carry the ticket's name now.")
        shop.fire(session)
        assert shop.work(REVERIE_NOW="2026-03-02T09:05:00+00:00") == 0
    assert len(shop.memories()) == 1
    assert len(json.loads((shop.store / "_embeddings.json").read_bytes())["entries"]) == 1


def test_the_worker_makes_no_vectors_while_they_are_off(tmp_path):
    with serving(ollama) as server:
        shop = Workshop(tmp_path, {"REVERIE_MODEL__PROVIDER": "offline", **on(server, provider="off")})
        session = shop.session()
        session.user("From now on name branches after the ticket, because the board links them.")
        session.assistant("Branches carry the ticket's name now.")
        shop.fire(session)
        assert shop.work(REVERIE_NOW="2026-03-02T09:05:00+00:00") == 0
    assert len(shop.memories()) == 1 and not server.asked
    assert not (shop.store / "_embeddings.json").exists()


def found(desk, *arguments, **env):
    return [hit["name"] for hit in desk.here("search", *arguments, "--json", **env).json]


def bilingual(path, body):
    """A model that knows one word of another language."""
    vectors = [[1.0, 0.0] if "tabs" in text or "Einzug" in text else [0.0, 1.0] for text in body["input"]]
    return 200, {"embeddings": vectors}


def test_search_finds_by_likeness_what_shares_no_word_once_there_are_vectors(desk):
    with serving(bilingual) as server:
        said = desk.here("search", "Einzug", **on(server))
        assert "no vectors were made yet" in said.err and "reverie embed" in said.err
        desk.here("embed", **on(server))
        assert found(desk, "Einzug", **on(server)) == ["tabs"]
        assert found(desk, "Einzug", "port", **on(server)) == ["port", "tabs"]
        assert found(desk, "Einzug") == []


def test_search_goes_by_words_while_a_provider_is_down(desk):
    with serving(ollama) as server:
        desk.here("embed", **on(server))
    said = desk.here("search", "port", **on(server))
    assert "port" in said.out and "by words alone" in said.err
