"""Vectors from a server: Ollama's own interface, and the one OpenAI has made common.

A server on another machine gets texts without secrets (`pipeline.safety.redaction`), and only because the
settings name it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.core import paths
from pipeline.core.errors import EmbeddingError
from pipeline.hooklib.plain import well_formed
from pipeline.llm.live_guard import is_loopback
from pipeline.safety.redaction import redact
from pipeline.search.vectors import kept_key
from pipeline.search.vectors.embedder import BATCH, MAX_CHARS, unit_vectors
from pipeline.search.vectors.http import fetch_json, key_in

FIRST_SECONDS = 300.0
"""Longest wait for the first vectors: a model may have to be loaded, or fetched (seed 2, C-09)."""
LATER_SECONDS = 60.0
PROBE_SECONDS = 2.0
"""Longest wait for a sign of life before a provider counts as absent (seed 2, C-C13)."""
OPENAI_URL = "https://api.openai.com/v1"


class Server:
    """What both have in common: batches, waiting, the length of the vectors, no secrets leaving."""

    name = ""

    def __init__(self, url: str, model: str) -> None:
        self.url = url.rstrip("/")
        self.model = model
        self.dim = 0
        self.patience = 0.0
        """Seconds to wait for vectors where somebody waits for them; 0 for the usual ones."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a unit vector for each text, 50 in one question. Raises EmbeddingError."""
        vectors: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            batch = [self._sendable(text) for text in texts[start : start + BATCH]]
            usual = LATER_SECONDS if self.dim else FIRST_SECONDS
            raw = self._ask(batch, self.patience or usual)
            found = unit_vectors(raw, count=len(batch), dim=self.dim, provider=self._label)
            self.dim = len(found[0])
            vectors += found
        return vectors

    def _ask(self, batch: list[str], timeout: float) -> Any:
        raise NotImplementedError

    @property
    def _label(self) -> str:
        return f"{self.name} ({self.model})"

    def _sendable(self, text: str) -> str:
        text = well_formed(text[:MAX_CHARS])
        if not is_loopback(self.url):
            text = redact(text).text
        # An empty text is refused by some servers.
        return text or " "


class OllamaEmbedder(Server):
    """Ollama's ``POST /api/embed``, which takes several texts. Models are not fetched unasked."""

    name = "ollama"

    def answers(self) -> bool:
        """Whether an Ollama answers within 2 seconds."""
        try:
            fetch_json(f"{self.url}/api/version", timeout=PROBE_SECONDS, provider=self.name)
        except EmbeddingError:
            return False
        return True

    def _ask(self, batch: list[str], timeout: float) -> Any:
        fix = f"Start Ollama and fetch the model: ollama pull {self.model}"
        body = {"model": self.model, "input": batch}
        found = fetch_json(f"{self.url}/api/embed", body, timeout=timeout, provider=self._label, fix=fix)
        return found.get("embeddings") if isinstance(found, dict) else None


class OpenAIEmbedder(Server):
    """``POST <base>/embeddings`` as OpenAI and many others answer it.

    The key is taken from the environment variable that the settings name, else it is the one that a person
    had kept for this address. A server that is not OpenAI's own may do without.
    """

    name = "openai"

    def __init__(self, url: str, model: str, key_env: str) -> None:
        super().__init__(url or OPENAI_URL, model)
        self._key_env = key_env

    def answers(self) -> bool:
        """Whether all is there that a question needs; nothing is sent to find out."""
        return bool(self._key()) or (not self._key_env and self.url != OPENAI_URL)

    def _key(self) -> str:
        return key_in(self._key_env) or kept_key.kept(paths.home_dir(), self.url)

    def _ask(self, batch: list[str], timeout: float) -> Any:
        if not self.answers():
            raise EmbeddingError(
                f"there is no key for {self._label}: {self._key_env or 'no variable is named'}",
                fix="`reverie config embeddings --openai-key -` keeps one; or name the environment variable"
                " that has it in embeddings.openai_key_env.",
            )
        body = {"model": self.model, "input": batch, "encoding_format": "float"}
        key = self._key()
        fix = "See [embeddings] in config.toml: openai_base_url, openai_model, openai_key_env."
        found = fetch_json(
            f"{self.url}/embeddings", body, key=key, timeout=timeout, provider=self._label, fix=fix
        )
        return _in_order(found.get("data") if isinstance(found, dict) else None)


def _in_order(data: Any) -> Any:
    """Return the vectors of `data` by their ``index``; None when it is not what is documented."""
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        return None
    indexes = [item.get("index") for item in data]
    if not all(type(index) is int for index in indexes) or sorted(indexes) != list(range(len(data))):
        return None
    return [item.get("embedding") for _, item in sorted(zip(indexes, data, strict=True), key=lambda p: p[0])]


def is_remote(embedder: object) -> bool:
    """Whether texts leave this machine when `embedder` is asked."""
    return isinstance(embedder, Server) and not is_loopback(embedder.url)
