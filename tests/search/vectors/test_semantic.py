"""Vectors in use: a real store, a real ledger, servers on the loopback address."""

import json
import logging
from datetime import timedelta

import pytest

from pipeline.config import EmbeddingSettings, Settings, SpendSettings
from pipeline.core.clock import FixedClock
from pipeline.core.errors import EmbeddingError, SpendError
from pipeline.ledger import calls, open_ledger, outages
from pipeline.search import semantic, vectors
from pipeline.search.vectors.remote import is_remote
from pipeline.store import Store
from tests.support.stores import NOW, memory, save
from tests.support.vectors import Scripted, ollama, openai, serving

FOREIGN = "---\nname: by-hand\ndescription: A note without an id.\n---\nIt was written by hand.\n"


@pytest.fixture
def store(tmp_path):
    made = Store.open(tmp_path / "memory", create=True)
    save(made, memory("tabs", title="Indentation"), memory("port", body="The port is 5432.\n"))
    return made


@pytest.fixture
def ledger(tmp_path):
    with open_ledger(tmp_path / "ledger.sqlite") as ledger:
        yield ledger


def at(server, **values):
    return EmbeddingSettings(**{"provider": "ollama", "ollama_url": server.url, **values})


def meter(ledger, **caps):
    return calls.LedgerMeter(ledger, SpendSettings(**caps), FixedClock(NOW))


def test_every_memory_gets_a_vector_of_title_and_preview(store, ledger):
    (store.root / "by-hand.md").write_text(FOREIGN, "utf-8")
    with serving(ollama) as server:
        done = semantic.refresh(store, at(server), NOW, meter(ledger))
    assert (done.made, done.pending) == (3, 0)
    (batch,) = server.inputs
    assert sorted(batch) == [
        "By hand. It was written by hand.",
        "Indentation. Indent with tabs.",
        "Port. The port is 5432.",
    ]
    ids = {document.path: document.id for document in store.scan().documents}
    assert ids["by-hand.md"] in vectors.load(store.root).entries


def test_two_files_with_one_id_have_a_vector_each(store):
    save(store, memory("twin", id=store.read("tabs").id), id="run-2")
    assert len(semantic.texts(store.scan().documents)) == 3


def test_a_question_finds_what_is_like_it(store, ledger):
    with serving(ollama) as server:
        semantic.refresh(store, at(server), NOW, meter(ledger))
        documents = store.scan().documents
        found = semantic.cosines(
            store, documents, "Indentation. Indent with tabs.", at(server), meter(ledger)
        )
    assert found[store.read("tabs").path] == pytest.approx(1, abs=1e-3)
    assert found.keys() == {item.path for item in documents}


def test_a_reworded_memory_is_left_to_its_words(store, ledger):
    with serving(ollama) as server:
        semantic.refresh(store, at(server), NOW, meter(ledger))
        file = store.root / store.read("port").path
        file.write_text(file.read_text("utf-8").replace("5432.\n", "5433.\n"), "utf-8")
        found = semantic.cosines(store, store.scan().documents, "port", at(server), meter(ledger))
    assert found.keys() == {store.read("tabs").path}


@pytest.mark.parametrize("change", [{"ollama_model": "another"}, {"provider": "openai"}])
def test_a_question_to_another_model_is_refused(store, ledger, change):
    with serving(ollama) as server:
        semantic.refresh(store, at(server), NOW, meter(ledger))
        asked = len(server.asked)
        with pytest.raises(EmbeddingError, match="another model"):
            semantic.cosines(store, store.scan().documents, "port", at(server, **change), meter(ledger))
    assert len(server.asked) == asked


def test_a_question_to_a_store_without_vectors_says_how_to_make_them(store, ledger):
    with pytest.raises(EmbeddingError, match="no vectors") as raised:
        semantic.cosines(store, [], "port", EmbeddingSettings(provider="ollama"), meter(ledger))
    assert "reverie embed" in raised.value.fix


def test_what_stays_on_this_machine_is_not_booked(store, ledger):
    with serving(ollama) as server:
        semantic.refresh(store, at(server), NOW, meter(ledger))
    assert calls.list_calls(ledger) == []


def test_a_server_elsewhere_is_booked_like_any_model(ledger):
    metered = semantic.Metered(Scripted(name="openai", model="text-embedding-3-small"), meter(ledger))
    metered.embed([f"text {number}" for number in range(120)])
    booked = calls.list_calls(ledger)
    assert [(call.purpose, call.provider, call.outcome) for call in booked] == [("embed", "openai", "ok")] * 3
    assert 0 < sum(call.dollars for call in booked) < 0.001


def test_a_question_that_failed_is_booked_as_failed(ledger):
    with pytest.raises(EmbeddingError):
        semantic.Metered(Scripted(most=0), meter(ledger)).embed(["one"])
    (call,) = calls.list_calls(ledger)
    assert (call.outcome, call.dollars) == ("failed", 0.0)


def test_a_cap_leaves_the_rest_pending(tmp_path, ledger):
    texts = {f"id{number:03}": f"text {number}" for number in range(120)}
    bounded = semantic.Metered(Scripted(), meter(ledger, calls_per_hour=2))
    done = vectors.refresh(tmp_path, texts, bounded, NOW)
    assert (done.made, done.pending) == (100, 20)
    assert "spend.calls_per_hour" in done.reason
    with pytest.raises(SpendError):
        bounded.embed(["one more"])


@pytest.mark.parametrize(
    ("url", "remote"),
    [
        ("http://localhost:1", False),
        ("http://[::1]:1", False),
        ("https://vectors.example", True),
        ("x", True),
    ],
)
def test_only_a_server_on_this_machine_counts_as_here(url, remote):
    assert is_remote(vectors.OllamaEmbedder(url, "m")) is remote
    assert not is_remote(vectors.WordLlamaEmbedder())


def test_off_touches_nothing_and_says_nothing(store, ledger, caplog):
    before = sorted(store.root.rglob("*"))
    with caplog.at_level(logging.WARNING, "reverie.worker"):
        semantic.keep_fresh(store, Settings(), ledger, FixedClock(NOW))
    assert sorted(store.root.rglob("*")) == before
    assert caplog.records == []


def test_in_the_background_a_provider_that_is_down_is_a_line_in_the_log(store, ledger, caplog):
    settings = Settings(embeddings=EmbeddingSettings(provider="ollama", ollama_url="http://127.0.0.1:9"))
    with caplog.at_level(logging.WARNING, "reverie.worker"):
        semantic.keep_fresh(store, settings, ledger, FixedClock(NOW))
    (record,) = caplog.records
    assert "2 memories without a vector: ollama (nomic-embed-text) can't be reached" in record.getMessage()


def test_in_the_background_a_server_that_is_down_is_not_asked_by_each_pass(store, ledger):
    clock, refuse = FixedClock(NOW), True

    def answer(path, body):
        return (503, b"busy") if refuse else ollama(path, body)

    with serving(answer) as server:
        settings = Settings(embeddings=at(server))
        semantic.keep_fresh(store, settings, ledger, clock)
        asked = len(server.inputs)
        for minute in range(1, 10):
            clock.at = NOW + timedelta(seconds=4 * minute)
            semantic.keep_fresh(store, settings, ledger, clock)
        assert len(server.inputs) == asked > 0
        refuse = False
        clock.at = NOW + timedelta(seconds=60)
        semantic.keep_fresh(store, settings, ledger, clock)
        assert len(vectors.load(store.root).entries) == 2
        assert outages.known(ledger, "embeddings") is None


@pytest.mark.parametrize("url", ["no address", "http://[x"])
def test_in_the_background_a_wrong_address_is_a_line_in_the_log(store, ledger, caplog, url):
    settings = Settings(embeddings=EmbeddingSettings(provider="ollama", ollama_url=url))
    with caplog.at_level(logging.WARNING, "reverie.worker"):
        semantic.keep_fresh(store, settings, ledger, FixedClock(NOW))
    assert len(caplog.records) == 1


def test_openai_is_sent_no_more_than_title_and_preview(store, ledger):
    with serving(openai) as server:
        settings = EmbeddingSettings(provider="openai", openai_base_url=server.url)
        save(store, memory("long", body="word " * 5_000), id="run-2")
        semantic.refresh(store, settings, NOW, meter(ledger))
    assert max(len(text) for batch in server.inputs for text in batch) < 300


def test_the_file_is_the_stores_and_ignored_by_git(store, ledger):
    with serving(ollama) as server:
        semantic.refresh(store, at(server), NOW + timedelta(days=1), meter(ledger))
    store.reindex(now=NOW)
    assert "_embeddings.json" in (store.root / ".gitignore").read_text("utf-8").splitlines()
    assert len(json.loads((store.root / "_embeddings.json").read_bytes())["entries"]) == 2
