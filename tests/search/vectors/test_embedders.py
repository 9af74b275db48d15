"""Who makes vectors: wordllama in this process, Ollama and OpenAI's interface over HTTP."""

import logging
import math
import os
import subprocess
import sys

import pytest

from pipeline.core.errors import ConfigError, EmbeddingError, LiveCallError
from pipeline.search.vectors import OllamaEmbedder, OpenAIEmbedder, WordLlamaEmbedder
from pipeline.search.vectors.embedder import unit_vectors
from tests.support.vectors import ollama, openai, serving

WITHOUT_THE_EXTRA = """
import sys
sys.modules["wordllama"] = None
from pipeline.search.vectors import WordLlamaEmbedder
from pipeline.core.errors import EmbeddingError
try:
    WordLlamaEmbedder().embed(["x"])
except EmbeddingError as error:
    print(error, "|", error.fix)
"""


def length(vector):
    return math.sqrt(sum(value * value for value in vector))


def cosine(one, other):
    return sum(left * right for left, right in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def wordllama():
    pytest.importorskip("wordllama", reason="the extra `semantic` is not installed")
    return WordLlamaEmbedder()


def test_wordllama_puts_like_texts_near_each_other(wordllama):
    tabs, indent, port, blank = wordllama.embed(
        ["use tabs", "indent with tabs", "the database is on port 5432", ""]
    )
    assert {len(tabs), len(indent), len(port), len(blank)} == {wordllama.dim}
    assert length(tabs) == pytest.approx(1)
    assert cosine(tabs, indent) > 0.6 > 0.3 > cosine(tabs, port)
    assert set(blank) == {0.0}


def test_wordllama_gives_each_text_its_own_vector_whatever_stands_beside_it(wordllama):
    texts = [f"note {number} on the deployment" for number in range(120)]
    together = wordllama.embed(texts)
    assert len(together) == 120
    assert together[117] == pytest.approx(wordllama.embed([texts[117]])[0], abs=1e-6)


def test_loading_wordllama_leaves_the_log_as_it_was(wordllama):
    code = (
        "import logging; from pipeline.search.vectors import WordLlamaEmbedder; "
        "WordLlamaEmbedder().embed(['x']); print(logging.getLogger().handlers, logging.getLogger().level)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", str(logging.WARNING)]


def test_without_the_extra_it_says_how_to_get_it():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_EXTRA], capture_output=True, text=True, check=True
    )
    assert "wordllama can't be loaded" in done.stdout
    assert "[semantic]'`" in done.stdout


def test_ollama_is_asked_fifty_at_a_time():
    with serving(ollama) as server:
        embedder = OllamaEmbedder(server.url + "/", "nomic-embed-text")
        vectors = embedder.embed([f"text {number}" for number in range(120)])
    assert [len(batch) for batch in server.inputs] == [50, 50, 20]
    assert {path for path, _, _ in server.asked} == {"/api/embed"}
    assert server.asked[0][2]["model"] == "nomic-embed-text"
    assert (len(vectors), embedder.dim) == (120, 3)
    assert all(length(vector) == pytest.approx(1) for vector in vectors)


def test_openai_gets_its_key_from_the_named_variable_and_is_put_in_order(monkeypatch):
    monkeypatch.setenv("REVERIE_TEST_KEY", "made-up")
    monkeypatch.setenv("OPENAI_API_KEY", "never-looked-at")
    with serving(openai) as server:
        embedder = OpenAIEmbedder(f"{server.url}/v1", "some-model", "REVERIE_TEST_KEY")
        one, two = embedder.embed(["one", "two"])
        assert embedder.embed(["one"]) == [one] != [two]
    path, headers, body = server.asked[0]
    assert (path, headers["Authorization"]) == ("/v1/embeddings", "Bearer made-up")
    assert body == {"model": "some-model", "input": ["one", "two"], "encoding_format": "float"}


def test_a_server_of_ones_own_needs_no_key():
    with serving(openai) as server:
        OpenAIEmbedder(server.url, "m", "").embed(["one"])
    assert "Authorization" not in server.asked[0][1]


@pytest.mark.parametrize("variable", ["", "REVERIE_NO_SUCH"])
def test_openai_itself_is_not_asked_without_a_key(variable):
    embedder = OpenAIEmbedder("", "m", variable)
    assert not embedder.answers()
    with pytest.raises(EmbeddingError, match="there is no key") as raised:
        embedder.embed(["one"])
    assert "openai_key_env" in raised.value.fix


def test_a_key_alone_asks_nobody_where_live_calls_are_forbidden(monkeypatch):
    monkeypatch.setenv("REVERIE_TEST_KEY", "made-up")
    with pytest.raises(LiveCallError):
        OpenAIEmbedder("", "m", "REVERIE_TEST_KEY").embed(["one"])


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((404, {"error": "model not found"}), "answered 404"),
        ((500, b"\xff\xfe"), "answered 500"),
        ((200, b"{"), "no JSON"),
        ((200, b"[" * 100_000), "no JSON"),
        ((200, []), "no list of vectors for 2 texts"),
        ((200, {"embeddings": [[1.0, 2.0]]}), "1 vectors for 2 texts"),
        ((200, {"embeddings": [[1.0, 2.0], [1.0]]}), "a vector of 1 numbers where 2"),
        ((200, {"embeddings": [[1.0, None], [1.0, 2.0]]}), "no list of finite numbers"),
        ((200, b'{"embeddings": [[1.0, NaN], [1.0, 2.0]]}'), "no list of finite numbers"),
        ((200, b'{"embeddings": [[1.0, 1e999], [1.0, 2.0]]}'), "no list of finite numbers"),
        ((200, {"embeddings": [[], []]}), "no list of finite numbers"),
        ((302, b"http://127.0.0.1:1/elsewhere"), "answered 302"),
    ],
)
def test_an_answer_that_is_no_vectors_is_an_error_that_says_so(answer, told):
    with serving(lambda path, body: answer) as server, pytest.raises(EmbeddingError, match=told) as raised:
        OllamaEmbedder(server.url, "m").embed(["one", "two"])
    assert raised.value.fix


@pytest.mark.parametrize(
    "data",
    [
        "text",
        [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [2.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 2, "embedding": [2.0]}],
        [{"index": [0], "embedding": [1.0]}, {"index": 1, "embedding": [2.0]}],
        [{"index": True, "embedding": [1.0]}, {"index": 0, "embedding": [2.0]}],
        [{"embedding": [1.0]}, {"embedding": [2.0]}],
        [[1.0], [2.0]],
    ],
)
def test_vectors_whose_places_are_unclear_are_refused(data):
    with serving(lambda path, body: (200, {"data": data})) as server, pytest.raises(EmbeddingError):
        OpenAIEmbedder(server.url, "m", "").embed(["one", "two"])


def test_a_model_that_changes_the_length_of_its_vectors_is_refused():
    dims = iter([3, 4])
    with serving(lambda path, body: ollama(path, body, next(dims))) as server:
        embedder = OllamaEmbedder(server.url, "m")
        embedder.embed(["one"])
        with pytest.raises(EmbeddingError, match="4 numbers where 3"):
            embedder.embed(["two"])


@pytest.mark.parametrize("key", ["made-up-key", "made\nup"])
def test_a_key_never_gets_into_a_message(monkeypatch, key):
    monkeypatch.setenv("REVERIE_TEST_KEY", key)
    with serving(lambda path, body: (401, f"bad key {key}".encode())) as server:
        embedder = OpenAIEmbedder(server.url, "m", "REVERIE_TEST_KEY")
        with pytest.raises(EmbeddingError) as raised:
            embedder.embed(["one"])
    shown = [str(raised.value), repr(raised.value.__cause__), repr(raised.value.__context__)]
    assert "[key]" in shown[0] or "no key has" in shown[0]
    assert not any(key in text or repr(key)[1:-1] in text for text in shown)


def test_nobody_at_the_address_is_an_error_with_the_way_out():
    with pytest.raises(EmbeddingError, match="can't be reached") as raised:
        OllamaEmbedder("http://127.0.0.1:9", "nomic-embed-text").embed(["one"])
    assert "ollama pull nomic-embed-text" in raised.value.fix
    assert not OllamaEmbedder("http://127.0.0.1:9", "m").answers()


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://127.0.0.1", "127.0.0.1:11434", "http://", "http://[x"]
)
def test_what_is_no_web_address_is_a_fault_of_the_settings(url):
    with pytest.raises(ConfigError):
        OllamaEmbedder(url, "m").embed(["one"])


def test_no_proxy_stands_between_this_machine_and_itself(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with serving(ollama) as server:
        assert OllamaEmbedder(server.url, "m").embed(["one"])


def test_a_text_is_sent_bounded_and_as_utf8():
    with serving(ollama) as server:
        OllamaEmbedder(server.url, "m").embed(["x" * 100_000, "\ud800", ""])
    (batch,) = server.inputs
    assert [len(text) for text in batch] == [4_000, 1, 1]


def test_secrets_stay_here_when_the_server_is_elsewhere():
    secret = "AKIA" + "Q3EGRIXXLZOBW5TC"
    embedder = OllamaEmbedder("http://vectors.example:11434", "m")
    assert secret not in embedder._sendable(f"the key is {secret}")
    assert secret in OllamaEmbedder("http://localhost:11434", "m")._sendable(f"the key is {secret}")


@pytest.mark.parametrize("vector", [[3.0, 4.0], [3e300, 4e300], [3e-300, 4e-300], [3, 4]])
def test_vectors_have_length_one_whatever_their_size(vector):
    assert unit_vectors([vector], count=1, dim=0, provider="x") == [pytest.approx([0.6, 0.8])]


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, pipeline.search.vectors, pipeline.search.semantic; print(*sys.modules)"
    environment = {**os.environ}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert not {"wordllama", "numpy", "urllib.request", "http.client", "anthropic"} & set(done.stdout.split())
