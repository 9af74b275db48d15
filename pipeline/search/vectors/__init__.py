"""Vectors of memories: who makes them, where they lie, which are alike. Off unless the settings say so.

Nothing here is on the path of a hook, and nothing depends on it: without vectors, memories are found by
their words.
"""

from pipeline.embeddings.base import Embedder
from pipeline.embeddings.chain import open_embedder, store_config
from pipeline.embeddings.embedded import WordLlamaEmbedder
from pipeline.embeddings.fuse import fuse
from pipeline.embeddings.nearest import Nearest
from pipeline.embeddings.refresh import Refreshed, refresh
from pipeline.embeddings.remote import OllamaEmbedder, OpenAIEmbedder
from pipeline.embeddings.vector_file import VECTORS, VectorFile, load, text_of

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
