"""The two ways in which s09 brings its memories before a model, over any folder such as ``.memory/``.

The index goes into the system prompt, once a turn of the person's. Files come on demand: a model chooses by
name and description, words do where it can't be asked; who is unsure brings none.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from pipeline.context import look_at_store
from pipeline.core.errors import ModelError, SpendError
from pipeline.hooklib.memory_format import INDEX, INDEX_BYTES, INDEX_LINES
from pipeline.hooklib.plain import lines_of
from pipeline.llm import Client
from pipeline.recall.live.fence import neutralise
from pipeline.recall.prepared.prefetch import MOST_CHOSEN, PERSON_TEXTS, Selection, known, listing, question
from pipeline.safety.invisible import visible_line
from pipeline.store import Document
from pipeline.store.files.layout import read_regular
from pipeline.text.tokens import terms

LOG = logging.getLogger("reverie.s09")
TAG = "relevant_memories"
FILE_LINES, FILE_BYTES, SESSION_BYTES = 200, 4_096, 60_000
_RECENT_CHARS = 2_000
_CUT = "… cut: the rest is in the file"


def index_text(folder: Path) -> str:
    """Return the index in `folder` as it goes into a system prompt; a line says where it was cut."""
    file = folder / INDEX
    if not file.is_file():
        return ""
    text = neutralise(read_regular(file)[0].decode("utf-8", "replace")).strip()
    return _cut(text, INDEX_LINES, INDEX_BYTES)


class Loader:
    """Brings the files of one folder into one session: none twice unless it changed, and within its room.

    Without a `client` words choose.
    """

    def __init__(self, folder: Path, *, client: Client | None = None, model: str = "") -> None:
        self._folder, self._client, self._model = folder, client, model
        self._sent: dict[str, str] = {}
        self._room = SESSION_BYTES

    def load(self, texts: Sequence[str]) -> str:
        """Return the files that bear on the last `texts` of the person, in one tag; "" for none."""
        parts = []
        for document in self.chosen(texts):
            if self._sent.get(document.path) == document.digest:
                continue
            part = _cut(neutralise(document.raw.decode("utf-8", "replace")).strip(), FILE_LINES, FILE_BYTES)
            size = len(part.encode())
            if size > self._room:
                break
            self._room -= size
            self._sent[document.path] = document.digest
            parts.append(part)
        return "\n\n".join([f"<{TAG}>", *parts, f"</{TAG}>"]) if parts else ""

    def chosen(self, texts: Sequence[str]) -> list[Document]:
        """Return the memories that bear on the last `texts` of the person, five at most."""
        documents = look_at_store(self._folder).scan().documents
        recent = [visible_line(text) for text in texts[-PERSON_TEXTS:] if text.strip()]
        listed = listing(documents)
        if not recent or not listed:
            return []
        names = self._asked(recent, listed)
        if names is None:
            names = by_words(recent, listed)
        by_name = {visible_line(document.name): document for document in reversed(documents)}
        return [by_name[name] for name in names if name in by_name]

    def _asked(self, recent: Sequence[str], listed: dict[str, str]) -> list[str] | None:
        """Return the names that a model chose; None where it gave no answer."""
        if self._client is None:
            return None
        conversation = "\n".join(f"user: {text}" for text in recent)[-_RECENT_CHARS:]
        try:
            answered = self._client.complete(question(self._model, listed, conversation), Selection)
        except (ModelError, SpendError) as error:
            LOG.warning("no memories were chosen by a model, words choose: %s", error)
            return None
        return known(answered.value.names, listed)


def by_words(recent: Sequence[str], listed: dict[str, str]) -> list[str]:
    """Return the names in `listed` that share words with `recent`, those that share most first."""
    asked = {*terms(" ".join(recent)[-_RECENT_CHARS:])}
    shared = {name: len(asked & {*terms(line)}) for name, line in listed.items()}
    found = sorted((name for name in shared if shared[name]), key=lambda name: -shared[name])
    return found[:MOST_CHOSEN]


def _cut(text: str, most_lines: int, most_bytes: int) -> str:
    """Return the lines of `text` that fit, and one that says if it was cut."""
    lines = lines_of(text)
    room = most_bytes - len(_CUT.encode()) - 1
    if len(lines) <= most_lines and len(text.encode()) <= most_bytes:
        return text
    kept: list[str] = []
    for line in lines[: most_lines - 1]:
        size = len(line.encode()) + 1
        if size > room:
            break
        kept.append(line)
        room -= size
    return "\n".join([*kept, _CUT])
