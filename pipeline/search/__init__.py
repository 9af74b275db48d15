"""Finding memories by their words: a disposable SQLite index beside the ledger, never trusted over files.

``fts`` makes and keeps the index; ``index_reader`` and `pipeline.text.tokens` ask it, and are all that
the hooks import.
"""
