"""Which provider makes a store's vectors, and what a store's own ``_config.json`` may say in that."""

import json
import sys

import pytest

from pipeline.config import EmbeddingSettings
from pipeline.core.errors import EmbeddingError
from pipeline.search.vectors import open_embedder, store_config
from pipeline.search.vectors.chain import StoreConfig
from tests.support.vectors import ollama, serving

NOBODY = "http://127.0.0.1:9"


def settings(**values):
    return EmbeddingSettings(**{"provider": "auto", "ollama_url": NOBODY, **values})


@pytest.fixture
def without_wordllama(monkeypatch):
    """As if the extra were not installed."""
    monkeypatch.setitem(sys.modules, "wordllama", None)


def test_off_is_off(tmp_path):
    with pytest.raises(EmbeddingError, match="off") as raised:
        open_embedder(EmbeddingSettings(), tmp_path)
    assert "provider" in raised.value.fix


@pytest.mark.parametrize("provider", ["wordllama", "ollama", "openai"])
def test_a_provider_that_is_named_is_taken_and_no_other(tmp_path, provider):
    assert open_embedder(settings(provider=provider), tmp_path).name == provider


def test_auto_takes_the_embedded_one_first(tmp_path):
    pytest.importorskip("wordllama", reason="the extra `semantic` is not installed")
    assert open_embedder(settings(), tmp_path).name == "wordllama"


def test_auto_goes_down_the_chain(tmp_path, without_wordllama, monkeypatch):
    with serving(ollama) as server:
        assert open_embedder(settings(ollama_url=server.url), tmp_path).name == "ollama"
        assert [path for path, _, _ in server.asked] == ["/api/version"]
    monkeypatch.setenv("REVERIE_TEST_KEY", "made-up")
    assert open_embedder(settings(openai_key_env="REVERIE_TEST_KEY"), tmp_path).name == "openai"


def test_nobody_there_says_what_was_tried(tmp_path, without_wordllama):
    with pytest.raises(EmbeddingError) as raised:
        open_embedder(settings(), tmp_path)
    assert str(raised.value).endswith(
        "wordllama (not installed), ollama (does not answer), openai (no key is named)"
    )
    assert "extra `semantic`" in raised.value.fix


def test_background_work_waits_for_the_provider_that_made_the_vectors(tmp_path):
    with pytest.raises(EmbeddingError, match="ollama") as raised:
        open_embedder(settings(), tmp_path, made_by="ollama")
    assert "reverie embed" in raised.value.fix


def test_a_person_may_go_on_with_another(tmp_path):
    pytest.importorskip("wordllama", reason="the extra `semantic` is not installed")
    assert open_embedder(settings(), tmp_path, made_by="ollama", change=True).name == "wordllama"


def test_a_made_by_that_names_nobody_is_ignored(tmp_path, without_wordllama):
    with serving(ollama) as server:
        assert open_embedder(settings(ollama_url=server.url), tmp_path, made_by="evil").name == "ollama"


def test_a_store_may_prefer_a_provider_and_name_a_model(tmp_path):
    (tmp_path / "_config.json").write_text(
        json.dumps({"embedding_provider": "ollama", "ollama_model": "other-model"}), "utf-8"
    )
    with serving(ollama) as server:
        found = open_embedder(settings(ollama_url=server.url), tmp_path)
    assert (found.name, found.model, getattr(found, "url", "")) == ("ollama", "other-model", server.url)


def test_a_model_in_the_settings_goes_before_the_stores(tmp_path):
    (tmp_path / "_config.json").write_text(json.dumps({"openai_model": "theirs"}), "utf-8")
    named = settings(provider="openai", openai_model="mine")
    assert open_embedder(named, tmp_path).model == "mine"
    assert open_embedder(settings(provider="openai"), tmp_path).model == "theirs"


def test_a_key_that_lies_in_a_store_is_never_used(tmp_path, without_wordllama):
    value = {"embedding_provider": "openai", "openai_api_key": "sk-found-in-a-folder"}
    (tmp_path / "_config.json").write_text(json.dumps(value), "utf-8")
    with pytest.raises(EmbeddingError) as raised:
        open_embedder(settings(), tmp_path)
    assert "is not used" in raised.value.fix
    assert "sk-found" not in f"{raised.value} {raised.value.fix} {store_config(tmp_path)}"


def test_a_store_turns_nothing_on_that_is_off(tmp_path):
    (tmp_path / "_config.json").write_text(json.dumps({"embedding_provider": "ollama"}), "utf-8")
    with serving(ollama) as server, pytest.raises(EmbeddingError):
        open_embedder(settings(provider="off", ollama_url=server.url), tmp_path)
    assert not server.asked


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"[]",
        b'{"embedding_provider": "evil"}',
        b"null",
        b"\xff",
        b'{"embedding_provider": 7, "ollama_model": ["x"]}',
        b"x" * 200_000,
    ],
)
def test_an_odd_config_says_nothing(tmp_path, raw):
    (tmp_path / "_config.json").write_bytes(raw)
    assert store_config(tmp_path) == StoreConfig()
