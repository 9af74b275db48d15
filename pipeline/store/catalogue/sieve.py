"""Finds the few documents of a look that a question is about, without making anything of the others."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.store.catalogue import database
from pipeline.store.catalogue.asking import Asker, Question
from pipeline.store.files.scanning import Document


class Sieve:
    """Leaves those that may be meant, all that are; where the catalogue has no answer that is every one.

    A row that is damaged may hide its file here, since those that lack the word are not summed. So nothing
    hangs on it that `reindex`, which reads the files, does not mend.
    """

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def saying(self, documents: Iterable[Document], word: str) -> set[str]:
        """Return the paths of those whose front matter may have `word`, which is plain ASCII."""
        return self._left(documents, lambda found: database.saying(found, word))

    def _left(self, documents: Iterable[Document], question: Question[set[str] | None]) -> set[str]:
        found = self._asker.try_to_ask(question, _nobody_knows)
        # One that was read just now may not be in the catalogue as it is.
        return {item.path for item in documents if found is None or not item.cached or item.path in found}


def _nobody_knows() -> None:
    return None
