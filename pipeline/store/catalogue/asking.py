"""Asks a store's catalogue, and goes on without a file where that can't be used."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Collection, Container, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import TypeVar

from pipeline.core.errors import cause
from pipeline.store.catalogue import database
from pipeline.store.catalogue.damage import Unusable, is_damage
from pipeline.store.catalogue.database import Catalogue
from pipeline.store.catalogue.news import News
from pipeline.store.files.kept import Kept, Row
from pipeline.store.files.layout import PRIVATE
from pipeline.store.files.shelf import Entry, Shelf

LOG = logging.getLogger("reverie.store")
FILE = f"{PRIVATE}/catalogue.sqlite"
NO_CATALOGUE = (sqlite3.Error, OSError)
"""Whatever is wrong with a derived file, the markdown has it all."""
_USED_OF = 8
"""One of so many texts that were asked for must have been used for asking for more at once the next time."""

Found = TypeVar("Found")
Question = Callable[[sqlite3.Connection], Found]


def in_words(error: Exception) -> str:
    """Return what was wrong with a catalogue."""
    return str(error) if isinstance(error, sqlite3.Error) else cause(error)


class Asker:
    """The catalogue of the store at `root`; `keeps` says that it may be written at all."""

    def __init__(self, root: Path, *, keeps: bool) -> None:
        self._root = root
        self._keeps = keeps
        self._catalogue = Catalogue(root / FILE, looks=not keeps)
        self._failed = False
        self._lost = False
        """Whether the file had to be given up, so that what it held has to be noted again."""
        self.refill: Callable[[], object] = int
        """Looks at all files again and notes them, when the file had to be given up."""

    @property
    def kept(self) -> bool:
        """Whether a file holds the catalogue, or one can be made."""
        return self._keeps and not self._failed and (self._root / PRIVATE).is_dir()

    @property
    def is_right_place(self) -> bool:
        """Whether what was noted last went where it is kept now: into the file, or into memory."""
        return self.kept == (self._catalogue.file is not None)

    def together(self) -> AbstractContextManager[None]:
        """Ask within by one connection whatever this thread asks; see `Catalogue.together`."""
        return self._catalogue.together()

    def ask(self, question: Question[Found]) -> Found:
        """Return what `question` finds; where the file can't be used, in a catalogue made in memory."""
        if not self._lost:
            try:
                return self._ask(question)
            except NO_CATALOGUE as error:
                self._fail(error)
        self._lost = False
        self.refill()
        return self._ask(question)

    def try_to_ask(self, question: Question[Found], otherwise: Callable[[], Found]) -> Found:
        """Return what `question` finds, what `otherwise` gives where there is no catalogue."""
        try:
            return self._ask(question)
        except NO_CATALOGUE:
            return otherwise()

    def rows(self, *, mends: bool) -> list[Row]:
        """Return the rows of all files, none where there is no catalogue; `mends` leaves no damaged one.

        Whoever mends notes all files thereafter.
        """
        try:
            return self._ask(database.rows)
        except NO_CATALOGUE as error:
            if mends and self._keeps and is_damage(error) and not isinstance(error, Unusable):
                LOG.warning("%s is made anew: %s", self._root / FILE, in_words(error))
                self._discard()
            return []

    def note(self, news: News) -> bool:
        """Take in `news`; False where no file can be written, and then there is none for this process.

        Whoever needs one tells it all again, and it is kept in memory.
        """
        try:
            self._choose()
            self._catalogue.note(news)
        except NO_CATALOGUE as error:
            self._fail(error)
            return False
        return True

    def keep_value(self, key: str, value: str) -> None:
        """Keep `value` under `key`, where there is a catalogue."""
        try:
            self._catalogue.set_value(key, value)
        except NO_CATALOGUE as error:
            self._fail(error)

    def fault(self) -> str:
        """Return why the file that is there can't be used, "" where it can or there is none."""
        if not (self._root / FILE).exists():
            return ""
        try:
            with Catalogue(self._root / FILE, looks=True).reading() as connection:
                database.check(connection)
        except NO_CATALOGUE as error:
            return in_words(error)
        return ""

    def _ask(self, question: Question[Found]) -> Found:
        with self._catalogue.reading() as connection:
            return question(connection)

    def _choose(self) -> None:
        """Keep the catalogue in its file, or in memory where there is no folder for it, or it failed."""
        if not self.is_right_place:
            self._catalogue = Catalogue(self._root / FILE if self.kept else None)

    def _fail(self, error: Exception) -> None:
        """Work without the file from now on, and leave none that is damaged."""
        if self._failed or self._catalogue.file is None:
            return
        self._failed = self._lost = True
        LOG.warning("%s can't be used, every file is read instead: %s", self._root / FILE, in_words(error))
        if is_damage(error):
            self._discard()
        self._catalogue = Catalogue(None)

    def start_anew(self) -> None:
        """Throw the file away, sound as it may look; what is noted next makes it again."""
        self._discard()

    def _discard(self) -> None:
        self._catalogue.close()
        try:
            Catalogue(self._root / FILE).discard()
        except OSError as refused:
            LOG.warning("%s can't be removed: %s", self._root / FILE, in_words(refused))


class Texts:
    """Gives what the catalogue keeps of the files at `order`, the more at once the more of them are used."""

    def __init__(self, asker: Asker, order: Sequence[str]) -> None:
        self._asker = asker
        self._order = order
        self._places: dict[str, int] = {}
        self._asked = self._used = 0
        self._held: dict[str, Kept] = {}

    def __call__(self, path: str) -> Kept | None:
        """Return what is kept of the file at `path`, None where nothing is."""
        if path not in self._held:
            paths = self._next(path)
            self._asked, self._used = len(paths), 0
            self._held = self._asker.try_to_ask(lambda found: database.kept(found, paths), dict[str, Kept])
        self._used += 1
        return self._held.pop(path, None)

    def fetch(self, paths: Collection[str]) -> None:
        """Ask for all of `paths` at once, which are wanted next."""
        self._held = self._asker.try_to_ask(lambda found: database.kept(found, [*paths]), dict[str, Kept])

    def _next(self, path: str) -> list[str]:
        """Return `path` and those behind it: more than before, fewer where hardly any was used."""
        enough = self._used * _USED_OF >= self._asked
        count = min(2 * self._asked, database.AT_ONCE) if enough else self._asked // 4
        if count <= 1:
            return [path]
        if not self._places:
            self._places = {item: number for number, item in enumerate(self._order)}
        start = self._places.get(path)
        return [path] if start is None else list(islice(self._order, start, start + count))


class Catalogued(Shelf):
    """The entries of MEMORY.md as the catalogue has them."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def best(self, count: int) -> list[Entry]:
        """Return the first `count` in their order, all for -1."""
        return self._asker.ask(lambda found: database.best(found, count))

    def count(self) -> int:
        """Return how many there are."""
        return self._asker.ask(database.count)

    def among(self, paths: Collection[str]) -> set[str]:
        """Return those of `paths` that there are."""
        return self._asker.ask(lambda found: database.among(found, paths))

    def lines(self) -> set[str]:
        """Return the lines of all."""
        return self._asker.ask(database.lines)

    def broken(self) -> dict[str, str]:
        """Return the files that can't be read as a memory, and why."""
        return {path: why for path, why in self._asker.ask(database.others).items() if why}

    def state(self) -> str:
        """Return what is another text as soon as any entry is, "" where nobody can say."""
        return self._asker.try_to_ask(database.changes, str)

    def noted(self, key: str) -> str:
        """Return what `note` was last given for `key`, "" for nothing."""
        return self._asker.try_to_ask(lambda found: database.value(found, key), str)

    def note(self, key: str, value: str) -> None:
        """Keep `value` under `key`, where there is a catalogue."""
        self._asker.keep_value(key, value)


class Taken:
    """The common forms of the names, or with `of_paths` of the paths, that are taken in a store.

    What the files at `but` have is not; `more` is taken besides.
    """

    def __init__(self, asker: Asker, *, of_paths: bool, but: Collection[str], more: Container[str]) -> None:
        self._asker = asker
        self._of_paths = of_paths
        self._but = but
        self._more = more

    def __contains__(self, form: object) -> bool:
        if form in self._more:
            return True
        found = self._asker.ask(lambda on: database.takers(on, str(form), of_name=not self._of_paths))
        return any(path not in self._but for path in found)


def taken(
    asker: Asker, *, ident: str, path: str, paths: Container[str], names: Container[str]
) -> tuple[Taken, Taken]:
    """Return the paths and the names that are taken, but for those of the memory `ident` and file `path`.

    `paths` and `names`, common forms, are taken besides.
    """
    own = {*asker.ask(lambda found: database.with_id(found, ident)), path}
    return (
        Taken(asker, of_paths=True, but=own, more=paths),
        Taken(asker, of_paths=False, but=own, more=names),
    )
