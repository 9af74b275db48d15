"""Finding memories by their words: a disposable SQLite index beside the ledger, never trusted over files."""

from pipeline.search.fts import SearchIndex, SearchRow, index_file
from pipeline.search.words import terms

__all__ = ["SearchIndex", "SearchRow", "index_file", "terms"]
