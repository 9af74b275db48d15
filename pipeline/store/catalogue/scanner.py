"""Looks at one store again and again, reading only the files that changed since the last look.

What it read goes into the catalogue when the store is changed or brought in step, and where many files had
to be read. A change itself trusts the catalogue while the folders have the times that it knows: what was
written into a file in place meanwhile is seen by the next look at all of them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from pipeline.core.clock import SystemClock
from pipeline.core.collector import collector_paused
from pipeline.domain.authorship import By
from pipeline.hooklib.memory_format import is_memory
from pipeline.hooklib.ownership import OURS
from pipeline.store.catalogue import asking, database, one_look
from pipeline.store.catalogue.asking import Asker, Catalogued, Taken, Texts
from pipeline.store.catalogue.look import Look
from pipeline.store.catalogue.news import News
from pipeline.store.derived.core_page import Memories
from pipeline.store.derived.memory_index_writer import MemoryIndexWriter
from pipeline.store.files import memory_index, scanning
from pipeline.store.files.kept import Row
from pipeline.store.files.layout import GRAPH, folder_times, memory_files
from pipeline.store.files.scanning import Document, Snapshot
from pipeline.store.ownership import twins
from pipeline.store.ownership.identities import Identities
from pipeline.store.ownership.permission import is_adoptable
from pipeline.store.ownership.written_log import WrittenLog

Listener = Callable[[list[Document]], object]
"""Is told all memories."""
_MANY = 32
"""Files that had to be read, from which on a look alone puts what they say into the catalogue."""
_FOLDER_TICK_NS = 20_000_000
"""Two changes of a folder within one tick of the kernel's clock leave the same times; ticks are shorter."""
_MARKED_NS = 60_000_000_000
_AT_ONCE = 1_000
"""Files that are read before what they say goes into the catalogue and out of memory."""
_AT_HAND = 64 << 20
"""Bytes of files that stay at hand where all are read: the search index is made from them at once."""


class Scanner:
    """What this process knows of the files of the store at `root`; with `keeps` it may keep it in a file."""

    def __init__(
        self,
        root: Path,
        written: WrittenLog,
        identities: Identities,
        index: MemoryIndexWriter,
        *,
        keeps: bool,
    ) -> None:
        self._root = root
        self._written = written
        self._identities = identities
        self._index = index
        self.asker = Asker(root, keeps=keeps)
        self.together = self.asker.together
        self.asker.refill = partial(self.scan, keep=True)
        written.look_up = self._look_up
        self._known: Mapping[str, Document] = {}
        self._attributed: object = None
        self._in_step: tuple[str, int] | None = None
        self._stale = False
        self._ahead: Look | None = None
        """What the first look starts from, if that was asked for before it."""
        self._last: Snapshot | None = None
        """What the last look found, while nothing was written through here since."""
        self._looked: tuple[float, dict[str, tuple[int, int]]] = (0.0, {})
        """When that look began, and the times of the folders then."""

    # -- all files --------------------------------------------------------------------------------

    def scan(self, *, keep: bool = False, anew: bool = False) -> Snapshot:
        """Return every memory and every problem; only files that changed are read again.

        With `keep` the catalogue is brought in step, whatever it holds; `anew` reads every file and makes it
        again from nothing. Within `one_look` a plain look is what the first one found.
        """
        if not (keep or anew) and self._last is not None and self._is_recent():
            self._attribute_anew(self._last.documents)
            return self._last
        began = one_look.moment()
        if anew:
            self.asker.start_anew()
            self._known, self._in_step = {}, None
        with collector_paused(), self.together():
            look = self._look(keep, spare=_AT_HAND if anew else 0)
            self._keep(look, keep)
            self._attribute_anew(look.snapshot.documents, anyhow=not look.all_known)
        look.snapshot.problems += self._index.problems()
        look.snapshot.like(self._last)
        self._known = look.settled()
        self._last, self._looked = look.snapshot, (began, look.folders)
        return look.snapshot

    def open_ahead(self) -> None:
        """Ask the catalogue for all that the first look starts from; that one need only look at the files."""
        if not self._known:
            with collector_paused():
                self._ahead = self._begin(anew=False)
                self._written.paths()
                self._identities.known("")

    def _is_recent(self) -> bool:
        """Whether the last look will do for the answer that is under way (`one_look`)."""
        began, folders = self._looked
        return one_look.counts(began) and folders == folder_times(self._root)

    def last_look(self) -> Snapshot:
        """Return what the last look found, while nothing was written through here since; else look."""
        return self._last or self.scan()

    def scan_again(self) -> Snapshot:
        """Return what the last look found while the same names are there, else look anew.

        Good enough where we wrote nothing meanwhile: a file edited in place is seen by the next look.
        """
        last, state = self._last, self.asker.try_to_ask(database.state, _nothing)
        known = (self._written.stamp(), self._identities.stamp())
        if last is None or state is None or state != self._in_step or known != self._attributed:
            return self.scan(keep=True)
        names = {item.path for item in last.documents} | _others(last).keys()
        there = set(_listed(self._root, folder_times(self._root)))
        return last if there == {path for path in names if path.endswith(".md")} else self.scan(keep=True)

    def ids(self) -> dict[str, str]:
        """Return the id of each memory by its path."""
        return {document.path: document.id for document in self.scan().documents}

    def look_over(self) -> tuple[list[str], Counter[By]]:
        """Return what `Snapshot.left_out` does, and how many files wait for a yes to all, by who wrote them.

        Nothing is made of the files that are ours and unchanged. Copies are not counted, nor files of which
        nobody looked yet who wrote them.
        """
        look, ours = self._begin(anew=False), self._written.paths()
        for path, stamp in memory_files(self._root, look.snapshot.problems):
            row = look.rows.get(path)
            if row is None or not row.tells_of(stamp):
                scanning.read_into(look.snapshot, self._root, path, stamp)
            elif path not in ours:
                look.snapshot.documents.append(Document.from_row(self._root, row, look.texts))
        look.snapshot.problems += self._index.problems()
        waiting = Counter[By]()
        for document in look.snapshot.documents:
            known = self._identities.known(document.path)
            if document.path not in ours and known is not None and known.digest == document.digest:
                document.hand, document.identity = self._written.hand(document), known
                waiting[known.by] += is_adoptable(document, self._written)
        return look.snapshot.left_out(), +waiting

    # -- what a change needs ----------------------------------------------------------------------

    def ready(self) -> None:
        """Bring the catalogue in step with what the folders hold by name; nothing is read but what is new.

        Good enough for an index or a free name; every file that is changed is compared on its own.
        """
        seen_ns, times = _now_ns(), folder_times(self._root)
        known, last = self.asker.try_to_ask(database.folders, _no_times)
        if self._stale or known != times or not times or not self.asker.is_right_place:
            self.scan(keep=True)
        elif not all(ctime + _FOLDER_TICK_NS < last for _, ctime in times.values()):
            # Written to in the very tick of that look: whether by us alone only the names can say.
            known_paths = self.asker.try_to_ask(database.paths, set[str])
            if set(_listed(self._root, times)) != {path for path in known_paths if path.endswith(".md")}:
                self.scan(keep=True)
            else:
                self.asker.note(News(folders=times, seen_ns=seen_ns, changed=False))

    def shelf(self) -> Catalogued:
        """Return the entries of MEMORY.md as the catalogue has them."""
        return Catalogued(self.asker)

    def shelf_anew(self) -> Catalogued:
        """Return them after a look at all files."""
        self.scan(keep=True)
        return self.shelf()

    def memories(self, documents: Sequence[Document]) -> Memories:
        """Return `documents`, all of the store, as CORE.md is made from them: hardly any is read for it.

        Which there are, they say, and what was just read: after a look that left the catalogue as it was,
        that is behind.
        """
        by_path = {item.path: item for item in documents}
        kept = {worth.path: worth for worth in self.asker.ask(lambda found: list(database.worths(found)))}
        worths = [
            kept[path] if item.cached and path in kept else item.worth() for path, item in by_path.items()
        ]
        return Memories(worths, lambda path: by_path[path].id, lambda path: by_path[path].head)

    def taken(
        self, ident: str, path: str, paths: Container[str], names: Container[str]
    ) -> tuple[Taken, Taken]:
        """Return the paths and names that are taken, but for those of the memory `ident` and file `path`.

        `paths` and `names`, common forms, are taken besides: they are planned.
        """
        self.ready()
        return asking.taken(self.asker, ident=ident, path=path, paths=paths, names=names)

    def took(self, paths: Iterable[str]) -> None:
        """Take in what a change of ours made of the files at `paths`."""
        self._last = None
        seen_ns, found, folders = _now_ns(), Snapshot(), folder_times(self._root)
        touched = [path for path in dict.fromkeys(paths) if _is_memory(path, folders)]
        for path in touched:
            scanning.read_into(found, self._root, path)
        there = {item.path for item in found.documents}
        others = self.asker.try_to_ask(database.others, dict[str, str])
        others = {path: why for path, why in others.items() if path not in touched} | _others(found)
        times, told_ns = _marked(self._root, folders)
        news = News(
            found.documents,
            [path for path in touched if path not in there],
            others,
            times,
            seen_ns,
            folders_ns=told_ns,
            appended=self._written.appended,
        )
        self._stale = not self.asker.note(news)
        self._written.appended.clear()

    @contextmanager
    def writing_beside(self) -> Iterator[None]:
        """Let the catalogue stay in step with folders into which we write files that are no memories."""
        before, (known, _) = folder_times(self._root), self.asker.try_to_ask(database.folders, _no_times)
        yield
        if known == before != folder_times(self._root):
            times, seen_ns = _marked(self._root, folder_times(self._root))
            self.asker.note(News(folders=times, folders_ns=seen_ns, changed=False))

    def fault(self) -> str:
        """Return why the catalogue that is there can't be used, "" where it can or there is none."""
        return self.asker.fault()

    def forget(self) -> None:
        """Look at every file anew at the next change: somebody else's change set was found."""
        self._stale, self._last = True, None

    # -- parts ------------------------------------------------------------------------------------

    def _begin(self, *, anew: bool) -> Look:
        seen_ns, order = _now_ns(), list[str]()
        look = Look(
            Snapshot(), folder_times(self._root), seen_ns, Texts(self.asker, order), order, known=self._known
        )
        if not self._known or anew:
            # Of before the rows: what is noted meanwhile makes it another.
            look.state = self.asker.try_to_ask(database.state, _nothing)
            look.in_step = bool(self._known) and look.state is not None and look.state == self._in_step
        ahead, self._ahead = self._ahead, None
        if ahead is not None and not self._known and not anew and ahead.state == look.state:
            ahead.folders, ahead.seen_ns = look.folders, look.seen_ns
            return ahead
        if not self._known or (anew and not look.in_step):
            look.take_up(self._root, self.asker.rows(mends=anew), knows=not self._known)
        return look

    def _look(self, keep: bool, *, spare: int = 0) -> Look:
        look = self._begin(anew=keep)
        look.spare = spare
        same, was_known, found = 0, look.known.get, look.snapshot.documents
        for path, stamp in memory_files(self._root, look.snapshot.problems, known=look.known):
            known = was_known(path)
            if known is not None and known.stamp == stamp:
                same += 1
                found.append(known)
                if keep and not look.in_step and look.row(path, stamp) is None:
                    look.read.append(known)
                continue
            look.order.append(path)
            row = look.row(path, stamp)
            if row is not None:
                found.append(Document.from_row(self._root, row, look.texts))
            else:
                scanning.read_into(look.snapshot, self._root, path, stamp)
                look.read += found[-1:] if _is_last(look.snapshot, path) else []
            if len(look.read) >= _AT_ONCE and self.asker.kept:
                self._put_down(look)
        look.all_known = same == len(found) == len(look.known)
        return look

    def _put_down(self, look: Look) -> None:
        """Let the catalogue keep what was read so far, so that this process need not."""
        if self.asker.note(News(look.read, seen_ns=look.seen_ns, makes=True)):
            look.leave(look.read)
            look.read.clear()

    def _keep(self, look: Look, keep: bool) -> None:
        there = look.known if look.all_known else {item.path: item for item in look.snapshot.documents}
        before = self._known if look.in_step else look.rows
        gone = set[str]() if before is there else before.keys() - there
        if look.state is not None and not (look.read or gone):
            self._in_step = look.state
        elif keep or not look.all_known:
            self._in_step = None
        many = len(look.read) + len(gone) > _MANY
        if not keep and not (many and self.asker.kept):
            return
        others = _others(look.snapshot)
        changed = bool(gone) or any(_differs(item, look.rows.get(item.path)) for item in look.read)
        if not (look.read or gone) and self._knows(look, others):
            return
        news = News(look.read, gone, others, look.folders, look.seen_ns, changed, makes=True)
        news.written = self._written.digests()
        self._stale = not self.asker.note(news) and not keep
        # Others may have thrown it away meanwhile, or it had to be given up.
        had = self.asker.try_to_ask(database.memories, set[str])
        if had != there.keys():
            missing = [item for path, item in there.items() if path not in had]
            news = News(missing, had - there.keys(), others, look.folders, look.seen_ns, makes=True)
            self.asker.note(news)
        if many:
            look.leave(look.read)

    def _look_up(self, path: str, stamp: str) -> str | None:
        return self.asker.try_to_ask(lambda found: database.written(found, path, stamp), _nothing)

    def _knows(self, look: Look, others: dict[str, str]) -> bool:
        """Whether the catalogue has the folders as they were at this look, and `others`."""
        known, last = self.asker.try_to_ask(database.folders, _no_times)
        if self._look_up("", self._written.stamp()) is None:
            return False
        in_step = known == look.folders and all(c + _FOLDER_TICK_NS < last for _, c in known.values())
        return in_step and self.asker.try_to_ask(database.others, dict[str, str]) == others

    def _attribute_anew(self, documents: list[Document], *, anyhow: bool = False) -> None:
        known = (self._written.stamp(), self._identities.stamp())
        if anyhow or known != self._attributed:
            self._attribute(documents)
            self._attributed = known

    def _attribute(self, documents: list[Document]) -> None:
        """Say of each of `documents`, all of the store, whose it is."""
        present = {document.path for document in documents}
        self._written.tell(documents)
        for document in documents:
            document.identity = None
        known = (item for item in documents if not (item.hand == OURS and item.own_id))
        self._identities.tell(known, present)
        twins.part(self._root, documents, self._written, self._identities)


def _now_ns() -> int:
    return int(SystemClock().now().timestamp() * 1e9)


def _marked(root: Path, folders: dict[str, tuple[int, int]]) -> tuple[dict[str, tuple[int, int]], int]:
    """Give `folders` that changed just now a time that no clock gives, so that each later change shows.

    Return the times that they then have, and from when on these tell of every change.
    """
    now, wanted = _now_ns(), dict[str, int]()
    for folder, (mtime, ctime) in folders.items():
        if ctime + _FOLDER_TICK_NS >= now:
            wanted[folder] = mtime - mtime % 1_000_000 + int.from_bytes(os.urandom(2)) * 15 + 1
            with suppress(OSError):
                os.utime(root / folder, ns=(now, wanted[folder]))
    times = folder_times(root)
    shows = all(folder in times and times[folder][0] == mtime for folder, mtime in wanted.items())
    return times, now + (_MARKED_NS if shows else 0)


def _differs(item: Document, row: Row | None) -> bool:
    """Whether more of `item` than a time of no account is not as in `row`; mtime dates what has no date."""
    return row is None or (row.digest, row.mtime_ns) != (item.digest, item.stamp.mtime_ns)


def _no_times() -> tuple[dict[str, tuple[int, int]], int]:
    return {}, 0


def _nothing() -> None:
    return None


def _listed(root: Path, folders: Iterable[str]) -> Iterator[str]:
    """Yield the path of all that has the name of a memory in `folders`."""
    for folder in folders:
        if folder != GRAPH:
            start = f"{folder}/" if folder else ""
            with suppress(FileNotFoundError, NotADirectoryError):
                names = os.listdir(root / folder)  # noqa: PTH208 - a tenth of pathlib's time, for every name
                yield from [start + name for name in names if is_memory(name, at_root=not folder)]


def _is_memory(path: str, folders: Collection[str]) -> bool:
    folder, _, name = path.rpartition("/")
    return folder in folders and folder != GRAPH and is_memory(name, at_root=not folder)


def _is_last(snapshot: Snapshot, path: str) -> bool:
    return bool(snapshot.documents) and snapshot.documents[-1].path == path


def _others(snapshot: Snapshot) -> dict[str, str]:
    """Return the paths of `snapshot` at which no memory is, and why MEMORY.md lists them, else ""."""
    found = dict.fromkeys((problem.path for problem in snapshot.problems), "")
    found |= dict.fromkeys(snapshot.broken, memory_index.BROKEN)
    return found | dict.fromkeys(snapshot.unsettled, memory_index.UNSETTLED)
