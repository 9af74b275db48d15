"""Finds the few documents of a look that a question is about, without making anything of the others."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.store.catalogue import bonds, database
from pipeline.store.catalogue.asking import Asker, Question, Texts
from pipeline.store.files.kept import Brief
from pipeline.store.files.scanning import Document

_MANY = 100
"""Documents of which the catalogue is asked for all at once."""


class Sieve:
    """Leaves those that may be meant, all that are; where the catalogue has no answer that is every one.

    A row that is damaged may hide its file here, since those that lack the word are not summed. So nothing
    hangs on it that `reindex`, which reads the files, does not mend.
    """

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._briefs: dict[str, tuple[Document, Brief]] = {}

    def saying(self, documents: Iterable[Document], word: str) -> set[str]:
        """Return the paths of those whose front matter may have `word`, which is plain ASCII."""
        return self._left(documents, lambda found: database.saying(found, word))

    def naming(self, documents: Iterable[Document], target: str) -> set[str]:
        """Return the paths of those of which a relation may lead to what `target` names."""
        return self._left(documents, lambda found: database.naming(found, target))

    def briefs(self, documents: Iterable[Document]) -> list[Brief]:
        """Return what a map of `documents` needs of each; of one that was asked for before it is known."""
        rows = [(item, self._briefs.get(item.path)) for item in documents]
        new = [item for item, known in rows if known is None or known[0] is not item]
        kept = self._asker.try_to_ask(database.briefs, _none) if len(new) > _MANY else {}
        for item in new:
            known = kept.get(item.path)
            fits = known is not None and item.cached and known[0] == item.digest
            self._briefs[item.path] = (item, known[1] if known and fits else bonds.of(item))
        if len(self._briefs) > 2 * len(rows) + _MANY:
            self._briefs = {item.path: self._briefs[item.path] for item, _ in rows}
        return [self._briefs[item.path][1] for item, _ in rows]

    @staticmethod
    def bring(documents: Iterable[Document]) -> None:
        """Ask the catalogue at once for `documents`, which lie apart and are looked into next."""
        wanted: dict[Texts, list[str]] = {}
        for item in documents:
            if isinstance(item.keeper, Texts):
                wanted.setdefault(item.keeper, []).append(item.path)
        for texts, paths in wanted.items():
            texts.fetch(paths)

    def _left(self, documents: Iterable[Document], question: Question[set[str] | None]) -> set[str]:
        found = self._asker.try_to_ask(question, _nobody_knows)
        # One that was read just now may not be in the catalogue as it is.
        return {item.path for item in documents if found is None or not item.cached or item.path in found}


def _nobody_knows() -> None:
    return None


def _none() -> dict[str, tuple[str, Brief]]:
    return {}
