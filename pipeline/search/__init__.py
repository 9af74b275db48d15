"""Finding memories, by words and by vectors: disposable indexes that are never trusted over the files.

``fts`` makes and keeps the index; ``index_reader`` and `pipeline.text.tokens` ask it, and are all that
the hooks import.
"""
