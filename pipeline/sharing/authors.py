"""Who says what of a team's memories: the keys of a file that tell it, and whose a text of several is."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pipeline.core.errors import DocumentError
from pipeline.sharing.revisions import Revision
from pipeline.store.files import document

Records = Callable[[str], list[Revision]]
"""Gives all records of a memory that are known on this machine."""
AUTHOR = "author"
"""In the front matter of a team's memory: who of the team says it."""
SINCE = "decided"
"""In the front matter of a team's memory: the day since which it holds."""
AND = " and "
"""What stands between the authors of a text that has words of several."""


def author_in(revision: Revision) -> str:
    """Return whose text `revision` says that it is, "" where it names nobody or is none."""
    try:
        return str(document.parse((revision.file or "").encode(), revision.path).extra.get(AUTHOR, ""))
    except DocumentError:
        return ""


def people(authors: Iterable[str]) -> str:
    """Return `authors`, of whom one may be several already, each once."""
    return AND.join(sorted({name for author in authors for name in author.split(AND)}))
