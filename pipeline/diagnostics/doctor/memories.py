"""Memories: the store's own rules, Claude Code's lock in it, and the search index beside it."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from pipeline.app import descriptions, folders, scopes
from pipeline.app.application import App
from pipeline.context import open_store
from pipeline.core.errors import ReverieError, StoreError
from pipeline.core.home import Home
from pipeline.domain.finding import Finding
from pipeline.ledger import files, secrets
from pipeline.revision.mending import broken_links, look
from pipeline.search.index_reader import NoIndexError, Reader, index_path
from pipeline.store import Store, fsck
from pipeline.store.ownership.host_lock import CONSOLIDATE_LOCK, lock_holder
from pipeline.store.ownership.moves import JOIN_BY_HAND, left_behind
from pipeline.text.humanize import count

_REINDEX = "`reverie reindex` builds it anew; until then hooks look at the files."


def check(app: App) -> Iterator[Finding]:
    """Yield how the store of this project, its team's, and the one for all projects, are."""
    store_path = app.store_path
    folder, file = folders.waiting(Path.cwd())
    if folder:
        message = (
            f"{file} names {folder} as memory folder, which waits for your yes; until then {store_path} is"
        )
        yield Finding("note", "store", message, "`reverie allow`, or remove autoMemoryDirectory there.")
    if store_path.is_dir():
        yield from _store(app, store_path)
        yield from _left_behind(app, store_path)
    else:
        yield Finding("note", "store", f"{store_path} does not exist yet; the first memory makes it")
    if app.team_path is not None:
        yield from _faults("team store", open_store(app.team_path, app.settings), app.clock.now())
    shared = Home(app.home).user_store
    if shared.is_dir() and shared != store_path:
        yield from _faults("user store", open_store(shared, app.settings), app.clock.now())


def _store(app: App, store_path: Path) -> Iterator[Finding]:
    try:
        store = app.open_store()
        if not store.writable():
            yield Finding(
                "error", "store", f"{store_path} can't be written", "Make the folder writable for you."
            )
        yield from _faults("store", store, app.clock.now())
        yield from _descriptions(app, store)
        yield from _secrets(app, store)
        yield from _lock(app, store_path)
        yield from _index(app, store)
    except ReverieError as error:
        yield Finding("error", "store", str(error), error.fix)


def _left_behind(app: App, store_path: Path) -> Iterator[Finding]:
    if not Home(app.home).ledger.exists():
        return
    try:
        with app.ledger(to_look=True) as ledger:
            message = left_behind(files.stores(ledger), store_path)
    except ReverieError:
        return  # what is wrong with the ledger is said where the work is looked at
    if message:
        yield Finding("note", "moved", message, JOIN_BY_HAND)


def _faults(what: str, store: Store, now: datetime) -> Iterator[Finding]:
    findings = fsck(store)
    for finding in findings:
        yield Finding(
            finding.level, f"{what} {finding.code}", f"{finding.path}: {finding.message}", finding.fix
        )
    faults, links = look(store, now=now).faults, list(broken_links(store))
    for finding in faults:
        yield Finding(
            finding.level, f"{what} {finding.code}", f"{finding.where}: {finding.message}", finding.fix
        )
    for finding in links[:1]:
        more = f"; {count(len(links) - 1, 'more link')} of the diary like it" if len(links) > 1 else ""
        message = f"{finding.where}: {finding.message}{more}"
        yield Finding(finding.level, f"{what} {finding.code}", message, finding.fix)
    if not findings and not faults:
        memories = len(store.scan().documents)
        counted = "1 memory" if memories == 1 else f"{memories} memories"
        theirs = "; others write there too, so it is changed at your word only" if store.is_team else ""
        yield Finding("ok", what, f"{store.path}: {counted}, nothing wrong{theirs}")


def _descriptions(app: App, store: Store) -> Iterator[Finding]:
    """Yield what was edited in its file while its title or its line in the index stayed."""
    for memory, lines in descriptions.edited_by_hand(store):
        message = f"{memory.path}: {descriptions.in_words(memory, lines)}"
        yield Finding("note", "description", message, descriptions.anew(memory, lines, scopes.option(app)))


def _secrets(app: App, store: Store) -> Iterator[Finding]:
    """Yield the files that hold a value which was recognised as a secret after they were written."""
    if not Home(app.home).ledger.exists():
        return
    try:
        with app.ledger(to_look=True) as ledger:
            known = secrets.recognised(ledger)
    except ReverieError:
        return  # what is wrong with the ledger is said where the work is looked at
    for file in sorted(store.path.rglob("*.md")) if len(known) else ():
        if file.is_file() and not file.is_symlink():
            text = file.read_text("utf-8", "replace")
            if known.mask(text) != text:
                message = f"{file} holds a value that was recognised as a secret elsewhere"
                fix = "Take it out, and change it where it is used: sessions have read it."
                yield Finding("error", "secret", message, fix)


def _lock(app: App, store_path: Path) -> Iterator[Finding]:
    file = store_path / CONSOLIDATE_LOCK
    if not file.exists() and not file.is_symlink():
        return
    if not stat.S_ISREG(file.lstat().st_mode):
        message = f"{file} is no regular file, so neither Claude Code nor a dream can take it"
        yield Finding("error", "lock", message, "Remove it.")
        return
    try:
        holder = lock_holder(file, app.clock.now())
    except StoreError as error:
        yield Finding("error", "lock", str(error), error.fix)
        return
    if holder is not None:
        message = f"process {holder} consolidates this folder; Reverie waits for it"
        yield Finding("note", "lock", message, f"It ends by itself within the hour: {file}.")


def _index(app: App, store: Store) -> Iterator[Finding]:
    snapshot = store.scan()
    documents = {item.path: item for item in snapshot.documents}
    try:
        with Reader(index_path(str(app.home), str(store.path))) as reader:
            known = reader.all_paths()
    except NoIndexError as error:
        if documents:
            yield Finding("note", "search index", str(error) or "there is none", _REINDEX)
        return
    stale = [
        path
        for path, item in documents.items()
        if known.get(path) != (item.stamp.size, item.stamp.mtime_ns, item.stamp.ctime_ns)
    ]
    gone = known.keys() - documents.keys() - {*snapshot.broken}
    behind = len(stale) + len(gone)
    if behind:
        message = f"behind by {behind} of {len(documents)} memories; the next worker pass brings it up"
        yield Finding("note", "search index", message, _REINDEX)
    else:
        yield Finding("ok", "search index", f"{len(documents)} memories, up to date")
