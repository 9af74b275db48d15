"""One store at this moment: what its search index suggests, corrected by the files that are on disk.

No worker need be alive: a file that is gone is not suggested, one that changed is read, and one that the
index does not know is read as well. Of a store with more than `SMALL` memories only the folders' own times
are compared, and the files that the index suggests; an edit in place of a file it does not suggest is found
after the next worker pass.
"""

import os

from pipeline.hooklib import ownership
from pipeline.recall.live import store_files
from pipeline.search import index_reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pipeline.recall.live.store_files import Found, Stamp
    from pipeline.text.stems import Forms

SMALL = 1_000
"""Memories up to which every file is looked at for each prompt; to do so costs a bare start for 1,500."""
CANDIDATES = 60
MOST_RULES = 40
"""Rules about what a prompt orders that are looked at besides."""
MOST_HOLDING = 2_000
"""A word that more memories hold than this is not looked up: it leads nowhere, and slowly."""
MOST_READ = 50
"""Changed and new files read for one prompt: the suggested ones first, then the newest."""


class Shelf:
    """The store at `root`, a real path; `everywhere` says that it holds memories for all projects.

    `team` says that others write in it as well (`hooklib.ownership.is_team`).

    `total` counts its memories; `problems` gets a line for what can't be looked at.
    """

    def __init__(self, home: str, store: str, everywhere: bool, problems: "list[str]") -> None:
        self.root = os.path.realpath(store)
        self.everywhere = everywhere
        self.team = ownership.is_team(store) or ownership.is_team(self.root)
        self.total = 0
        self._problems = problems
        self._reader: index_reader.Reader | None = None
        self._file = index_reader.index_path(home, self.root)
        try:
            self._reader = index_reader.Reader(self._file)
            self.total = self._reader.count()
        except index_reader.NoIndexError as error:
            self._drop(str(error))

    def find(
        self, terms: "list[str]", keys: "Sequence[str]" = (), forms: "Forms | None" = None
    ) -> "list[Found]":
        """Return the memories that may hold `terms`: what the index suggests and what it does not know.

        Rules that `keys` lead to (`text.actions`) are among them; `forms` are further stems of a term.
        """
        try:
            return self._find(terms, keys, forms or {})
        except index_reader.NoIndexError as error:
            self._drop(str(error))
            return self._find(terms, keys, forms or {})

    def languages(self) -> "Collection[str]":
        """Return the languages, besides English, of the memories that the index knows."""
        try:
            return self._reader.languages() if self._reader else ()
        except index_reader.NoIndexError as error:
            self._drop(str(error))
            return ()

    def documents(self, term: str, forms: "Sequence[str]" = ()) -> int:
        """Return how many memories hold `term`, or one of its `forms`, as the index knows them."""
        try:
            return self._reader.document_count(term, forms) if self._reader else 0
        except index_reader.NoIndexError as error:
            self._drop(str(error))
            return 0

    def close(self) -> None:
        """Close the index."""
        if self._reader:
            self._reader.close()
            self._reader = None

    def _find(self, terms: "list[str]", keys: "Sequence[str]", forms: "Forms") -> "list[Found]":
        rows, ruled = self._suggested(terms, keys, forms)
        try:
            disk, changed = self._compare()
        except OSError as error:
            if isinstance(error, index_reader.NoIndexError):
                raise
            self._problems.append(f"{error.strerror}: {self.root}")
            return []
        found: list[Found] = []
        reading: list[str] = []
        for row in rows:
            stamp = store_files.stamp_of(self.root, row.path) if disk is None else disk.get(row.path)
            if stamp is not None and stamp == row.stamp:
                found.append(self._from_row(row, ruled.get(row.path)))
            elif stamp is not None:
                reading.append(row.path)
        reading += [path for path in changed if path not in set(reading)]
        read = [
            store_files.read(self.root, path, self.everywhere, rules=bool(keys), stemmed=bool(forms))
            for path in reading[:MOST_READ]
        ]
        found += [item for item in read if item is not None]
        self.total = max(self.total, len(found))
        return found

    def _suggested(
        self, terms: "list[str]", keys: "Sequence[str]", forms: "Forms"
    ) -> "tuple[list[index_reader.Row], dict[str, list[str]]]":
        """Return what the index suggests, and by path the moments of rules that `keys` lead to."""
        few = [term for term in terms if self.documents(term, forms.get(term, ())) <= MOST_HOLDING]
        rows = self._reader.candidates(few, CANDIDATES, forms) if self._reader else []
        ruled = self._reader.ruled(keys) if self._reader and keys else {}
        if self._reader and ruled:
            known = {row.path for row in rows}
            rows += self._reader.rows([path for path in ruled if path not in known][:MOST_RULES])
        return rows, ruled

    def _compare(self) -> "tuple[dict[str, Stamp] | None, list[str]]":
        """Return the files on disk (None: not all looked at), and those that the index has otherwise or not.

        The latter newest first, by the time that can't be set back.
        """
        if self._reader and self.total > SMALL:
            new = self._new_names(self._reader) if self._moved(self._reader) else []
            stamps = {path: found for path in new if (found := store_files.stamp_of(self.root, path))}
            return None, sorted(stamps, key=lambda path: (-stamps[path][2], path))
        listed = store_files.listing(self.root)
        known = self._reader.all_paths() if self._reader else {}
        other = [path for path, stamp in listed.items() if known.get(path) != stamp]
        return listed, sorted(other, key=lambda path: (-listed[path][2], path))

    def _new_names(self, reader: "index_reader.Reader") -> "list[str]":
        known = reader.all_paths()
        return [path for path in store_files.listing(self.root, stamps=False) if path not in known]

    def _moved(self, reader: "index_reader.Reader") -> bool:
        """Whether a file came to or left one of the folders since the index was made."""
        known = reader.folders()
        return not known or any(
            store_files.folder_stamp(self.root, folder) != stamp for folder, stamp in known.items()
        )

    def _from_row(self, row: "index_reader.Row", moments: "list[str] | None") -> "Found":
        return store_files.Found(
            self.root,
            row.path,
            row.digest,
            row.stamp,
            row.fields,
            row.shown,
            False,
            self.everywhere,
            row.vector,
            moments,
            row.stems,
        )

    def _drop(self, cause: str) -> None:
        """Go on without the index: the newest files are read instead. Having none yet is no problem."""
        self.close()
        if os.path.exists(self._file):
            self._problems.append(f"only the newest memories are looked at, as the index can't be: {cause}")
