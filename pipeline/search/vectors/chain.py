"""Which provider makes the vectors of a store: what the settings name, or the first that is there.

``auto`` goes by a chain: whoever made the store's vectors, then what a schema v3 ``_config.json`` names,
then wordllama, Ollama, OpenAI. Another provider means that every memory gets a new vector, so background
work waits for one that is down and only a person's `reverie embed` goes on down the chain (seed 2, C-10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from pipeline.core.atomic import write_atomic
from pipeline.core.errors import EmbeddingError
from pipeline.core.extras import how_to_install
from pipeline.search.vectors.embedded import WordLlamaEmbedder, has_wordllama
from pipeline.search.vectors.embedder import Embedder
from pipeline.search.vectors.remote import OllamaEmbedder, OpenAIEmbedder
from pipeline.search.vectors.vector_file import read_bytes
from pipeline.store.files.versions import STORE_CONFIG

if TYPE_CHECKING:
    from pipeline.config import EmbeddingSettings

OLLAMA_MODEL = "nomic-embed-text"
OPENAI_MODEL = "text-embedding-3-small"
CHAIN = ("wordllama", "ollama", "openai")
_SEEDS = ("ollama", "openai")
_MOST = 100_000


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """What a store's ``_config.json`` says of vectors, each empty where it says nothing.

    The file may come from somebody else along with the store. It may prefer a provider and name models; it
    can't name a server, and a key in it is never used: `has_key` is there to tell the person so.
    """

    provider: str = ""
    ollama_model: str = ""
    openai_model: str = ""
    has_key: bool = False


def store_config(root: Path) -> StoreConfig:
    """Read the ``_config.json`` of the store at `root`; an absent or unreadable one says nothing."""
    try:
        held = orjson.loads(read_bytes(root / STORE_CONFIG, _MOST))
    except (OSError, EmbeddingError, ValueError):
        return StoreConfig()
    if not isinstance(held, dict):
        return StoreConfig()
    texts = {key: value for key, value in held.items() if isinstance(value, str)}
    provider = texts.get("embedding_provider", "")
    return StoreConfig(
        provider if provider in CHAIN else "",
        texts.get("ollama_model", ""),
        texts.get("openai_model", ""),
        bool(held.get("openai_api_key")),
    )


def write_store_config(root: Path, values: Mapping[str, str]) -> bool:
    """Write `values` into the ``_config.json`` of the store at `root`, if it has one; True if it was written.

    All else in it stays as it is, and no key comes in. The schema knows two providers, others are left out.
    """
    file = root / STORE_CONFIG
    try:
        held = orjson.loads(read_bytes(file, _MOST))
    except (OSError, EmbeddingError, ValueError):
        return False
    known = {key: value for key, value in values.items() if key != "embedding_provider" or value in _SEEDS}
    if not isinstance(held, dict) or held | known == held:
        return False
    write_atomic(file, orjson.dumps({**held, **known}, option=orjson.OPT_INDENT_2) + b"\n")
    return True


def open_embedder(
    settings: EmbeddingSettings, root: Path, *, made_by: str = "", change: bool = False
) -> Embedder:
    """Return who makes the vectors of the store at `root`.

    `made_by` is the provider of the vectors that are there; with `change` another may take its place when it
    does not answer. Raises EmbeddingError when nobody is there, which says what was tried.
    """
    config = store_config(root)
    if settings.provider not in ("off", "auto"):
        return _make(settings.provider, settings, config)
    if settings.provider == "off":
        raise EmbeddingError("vectors are off", fix='Set provider = "auto" under [embeddings].')
    names = [name for name in dict.fromkeys((made_by, config.provider, *CHAIN)) if name in CHAIN]
    if made_by in CHAIN and not change:
        names = [made_by]
    for name in names:
        embedder = _make(name, settings, config)
        if _is_there(embedder):
            return embedder
    refusals = ", ".join(f"{name} ({_WHY_NOT[name]})" for name in names)
    raise EmbeddingError(f"nobody can make vectors: {refusals}", fix=_fix(made_by, change, config))


_WHY_NOT = {
    "wordllama": "not installed",
    "ollama": "does not answer",
    "openai": "no key is named",
}


def _make(name: str, settings: EmbeddingSettings, config: StoreConfig) -> Embedder:
    if name == "wordllama":
        return WordLlamaEmbedder()
    if name == "ollama":
        model = settings.ollama_model or config.ollama_model or OLLAMA_MODEL
        return OllamaEmbedder(settings.ollama_url, model)
    model = settings.openai_model or config.openai_model or OPENAI_MODEL
    return OpenAIEmbedder(settings.openai_base_url, model, settings.openai_key_env)


def _is_there(embedder: Embedder) -> bool:
    if isinstance(embedder, OllamaEmbedder | OpenAIEmbedder):
        return embedder.answers()
    return has_wordllama()


def _fix(made_by: str, change: bool, config: StoreConfig) -> str:
    if made_by and not change:
        return "Start it again, or let `reverie embed` make all vectors anew with another one."
    fix = f"{how_to_install('semantic')} Or see [embeddings] in config.toml."
    if config.has_key:
        fix += (
            f" The key in {STORE_CONFIG} is not used: give it to `reverie config embeddings --openai-key -`."
        )
    return fix
