"""Vectors of memories: who makes them, where they lie, which are alike. Off unless the settings say so.

Nothing here is on the path of a hook, and nothing depends on it: without vectors, memories are found by
their words.
"""

from typing import TYPE_CHECKING

from pipeline.core.lazily import exports

if TYPE_CHECKING:
    from pipeline.search.vectors.chain import open_embedder, store_config
    from pipeline.search.vectors.embedded import WordLlamaEmbedder
    from pipeline.search.vectors.embedder import Embedder
    from pipeline.search.vectors.fusion import fuse
    from pipeline.search.vectors.nearest import Nearest
    from pipeline.search.vectors.remote import OllamaEmbedder, OpenAIEmbedder
    from pipeline.search.vectors.sync import Refreshed, refresh
    from pipeline.search.vectors.vector_file import VECTORS, VectorFile, load, text_of

__getattr__ = exports(
    __name__,
    {
        "chain": "open_embedder store_config",
        "embedded": "WordLlamaEmbedder",
        "embedder": "Embedder",
        "fusion": "fuse",
        "nearest": "Nearest",
        "remote": "OllamaEmbedder OpenAIEmbedder",
        "sync": "Refreshed refresh",
        "vector_file": "VECTORS VectorFile load text_of",
    },
)

__all__ = [
    "VECTORS",
    "Embedder",
    "Nearest",
    "OllamaEmbedder",
    "OpenAIEmbedder",
    "Refreshed",
    "VectorFile",
    "WordLlamaEmbedder",
    "fuse",
    "load",
    "open_embedder",
    "refresh",
    "store_config",
    "text_of",
]
