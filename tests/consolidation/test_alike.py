"""Neighbours by vectors: they come after those by words, and only where vectors are fresh."""

import pytest

from pipeline.config import EmbeddingSettings, Settings
from pipeline.consolidation.choose.gather import gather
from pipeline.consolidation.choose.neighbours import with_vectors
from pipeline.ledger import dreams
from pipeline.search.vectors import VectorFile, text_of
from pipeline.search.vectors.vector_file import save as save_vectors
from pipeline.store import Store
from tests.support.dreaming import GENEROUS, NOW, note
from tests.support.stores import memory, save

VECTORS = {"a": [1.0, 0.0], "b": [0.96, 0.28], "c": [0.8, 0.6], "d": [0.0, 1.0]}


@pytest.fixture
def documents(tmp_path):
    store = Store.open(tmp_path / "store", create=True)
    save(store, *(memory(f"m-{one}", id=one, body=f"Fact {one}.\n") for one in VECTORS))
    return store.scan().documents


def vectors(documents, **changed):
    made = VectorFile("p", "m", 2)
    for item in documents:
        text = changed.get(item.id) or text_of(item.head, item.preview)
        made.put(item.id, text, VECTORS[item.id])
    return made


def near(by_words, documents, made, one="a", **bounds):
    (found,) = [item.memory for item in documents if item.id == one]
    return with_vectors(lambda _: list(by_words), documents, made, **bounds)(found)


def test_vectors_add_to_what_words_found(documents):
    made = vectors(documents)
    assert near([], documents, made) == ["b", "c"]
    assert near(["d", "c"], documents, made) == ["d", "c", "b"]
    assert near(["d"], documents, made, limit=1) == ["d", "b"]
    assert near([], documents, made, floor=0.9) == ["b"]


def test_a_reworded_memory_is_found_by_words_only(documents):
    made = vectors(documents, b="what it said before", a="")
    assert near(["d"], documents, made) == ["d", "c"]
    made = vectors(documents, a="what it said before")
    assert near(["d"], documents, made) == ["d"]


def test_without_vectors_it_is_the_function_by_words_itself(documents):
    def by_words(_):
        return []

    assert with_vectors(by_words, documents, VectorFile()) is by_words


@pytest.mark.parametrize(("provider", "together"), [("off", False), ("auto", True)])
def test_two_notes_without_a_common_word_meet_in_a_dream_only_with_vectors(bench, provider, together):
    changed, alike = note("tabs", "Indent with tabs."), note("einzug", "Einrückung mittels Tabulator.")
    bench.keep(changed, alike)
    bench.settings = Settings(spend=GENEROUS, embeddings=EmbeddingSettings(provider=provider))
    snapshot = bench.store.scan()
    made = VectorFile("p", "m", 2)
    for item in snapshot.documents:
        made.put(item.id, text_of(item.head, item.preview), [1.0, 0.0])
    save_vectors(bench.store.root, made, NOW)
    seen = {item.id: item.digest for item in snapshot.documents if item.id == alike.id}
    dreams.mark_seen(bench.ledger, str(bench.store.path), seen)
    gathered = gather(bench.desk(), bench.store.scan(), bench.home, ceiling=2)
    assert (alike.id in gathered.memories) is together
