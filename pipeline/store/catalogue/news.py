"""What a look tells the catalogue."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pipeline.store.files.scanning import Document
from pipeline.store.ownership.written_log import Appended


@dataclass(slots=True)
class News:
    """What a look found that the catalogue does not have.

    `documents` were read, `gone` are paths that are memories no more. `others` are the files that can't be
    taken and why MEMORY.md says so, "" where it does not, and `folders` the times of all folders, None where
    that was not looked at. `changed` says that more than stamps did; `makes` that a look at all files found
    it, so that a catalogue which is not there may begin with it. `written` is the stamp of the log of what we
    wrote and all that it says, `appended` what was added to it. `seen_ns` is from when on a change of a file
    or folder has another stamp, `folders_ns` that of folders where it is another.
    """

    documents: Sequence[Document] = ()
    gone: Collection[str] = ()
    others: Mapping[str, str] | None = None
    folders: Mapping[str, tuple[int, int]] | None = None
    seen_ns: int = 0
    changed: bool = True
    makes: bool = False
    folders_ns: int = 0
    written: tuple[str, Mapping[str, str]] | None = None
    appended: Sequence[Appended] = ()
