"""Finding memories, by words and by vectors: disposable indexes that are never trusted over the files.

``fts`` makes and keeps the index; ``index_reader`` and `pipeline.text.tokens` ask it, and are all that
the hooks import. `MemoryRow` and `RowSearch` search rows of a caller's own: docs/evaluation.md shows how.
They are loaded when they are first used.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pipeline.search.row_search import MemoryRow, RowSearch

__all__ = ["MemoryRow", "RowSearch"]


def __getattr__(name: str) -> object:
    if name in __all__:
        from pipeline.search import row_search

        return getattr(row_search, name)
    raise AttributeError(name)
