"""Finds the few documents of a look that a question is about, without making anything of the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pipeline.store.catalogue import database
from pipeline.store.catalogue.asking import Asker, Question
from pipeline.store.files.scanning import Document


class Sieve:
    """Leaves those that may be meant, all that are; where the catalogue has no answer that is every one."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def saying(self, documents: Iterable[Document], word: str) -> set[str]:
        """Return the paths of those whose front matter may have `word`, which is plain ASCII."""
        return self._left(documents, lambda found: database.saying(found, word))

    def of_types(self, documents: Iterable[Document], types: Collection[str]) -> set[str]:
        """Return the paths of those that may be of one of `types`; what is of no type is a project."""
        return self._left(documents, lambda found: database.of_types(found, types))

    def _left(self, documents: Iterable[Document], question: Question[set[str] | None]) -> set[str]:
        found = self._asker.try_to_ask(question, _nobody_knows)
        # One that was read just now may not be in the catalogue as it is.
        return {item.path for item in documents if found is None or not item.cached or item.path in found}


def _nobody_knows() -> None:
    return None
